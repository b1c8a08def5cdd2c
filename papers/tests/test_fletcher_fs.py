"""FS, made sound: it stops by the deviation of its noise, and holds at budgets and counts that are extreme."""

import math

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.mechanisms.release import outcomes_from
from privet.privacy.events import Mechanism
from privet.trees.explicit_trees import TreeBuilder
from privet.trees.structure import FeatureCodes, Threshold
from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier
from privet_papers.fletcher_islam_2017.pruning import prune_by_error

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
FOUR_CELLS = Schema({"x": Numeric(0, 1, bins=4)}, classes=["no", "yes"])
COUNTS_OF_A_SPLIT = 2 * 2  # two children, two classes


class Exact:
    """Outcomes without noise and the best candidates, whatever the event."""

    def noisy(self, values, event):
        return values

    def choose(self, scores, event):
        return scores.argmax(axis=1).astype(np.int64)


@pytest.mark.parametrize(("delta", "mechanism"), [(0.0, Mechanism.LAPLACE), (1e-6, Mechanism.GAUSSIAN)])
def test_a_node_stops_if_and_only_if_its_count_is_below_the_deviation_of_its_noise(delta, mechanism):
    tree = FSTreeClassifier(epsilon=0.5, delta=delta, schema=SCHEMA, max_depth=1, prune=False)
    count = tree.plan().events[0]
    assert count.mechanism is mechanism
    deviation = math.sqrt(2 * count.parameter**2 if mechanism is Mechanism.LAPLACE else count.parameter)
    least = math.ceil(COUNTS_OF_A_SPLIT * deviation)
    for n, grows in ((least, True), (least - 1, False)):
        X = np.linspace(0, 1, n).reshape(-1, 1)
        with outcomes_from(Exact()):
            tree.fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
        assert (tree.model_.structure.leaf_offsets[-1] > 1) == grows


def test_summed_counts_of_a_pruned_tree_keep_their_sign():
    builder = TreeBuilder(FeatureCodes.of(FOUR_CELLS.encoding(4)))
    builder.grow([Threshold(0, 1)])
    assert (prune_by_error(builder.finish(), np.full((2, 2), 2**62 + 2**61)) > 0).all()


@pytest.mark.parametrize("epsilon", [1e-9, 1e-11, 1e-13])  # below, the scale of its counts is refused
def test_a_public_head_start_fits_an_integer_at_any_budget(epsilon):
    X = np.linspace(0, 1, 50).reshape(-1, 1)
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    FSTreeClassifier(epsilon, schema=FOUR_CELLS, criterion="information").fit(X, y).predict(X)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_where_no_feature_can_be_split_the_tree_is_a_leaf(delta):
    schema = Schema({"only": Categorical(["k"])}, classes=[0, 1])
    model = FSTreeClassifier(8.0, delta=delta, schema=schema, n_rows_hint=50).fit([["k"]] * 50, [1] * 50)
    assert model.predict([["k"]]).tolist() == [1]
    assert model.privacy_.epsilon <= 8.0

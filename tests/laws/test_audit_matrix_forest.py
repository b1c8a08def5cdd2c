"""The exact audit of the matrix forest: every mode and strategy spends what it says, no more and hardly less."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, MatrixForestClassifier, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.errors import ParameterError
from privet.learners.matrix_forest import p_identity
from privet.learners.matrix_forest.learner import MatrixForest
from privet.privacy.terms import Allowance
from privet.trees.kernels.count import LeafClassCounts

pytestmark = pytest.mark.law

TWO = {"a": Categorical([0, 1]), "b": Categorical([0, 1])}
BATCH = [[0, 0], [1, 0]]
PAIRS = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [3, 3, 3, 3]])


def subject(learner, neighbours="add_remove", delta=0.0, classes=2):
    schema = Schema(TWO, classes=list(range(classes)), neighbours=neighbours)
    return Subject(learner, schema, Allowance.of(1.0, delta))


def forest(mode, strategy, *, n_trees=2, depth=1, voting="weight", batch=None, **more):
    return MatrixForest(mode, strategy, n_trees, depth, voting, batch=batch, **more)


TRAINING = [
    forest("training", "leaves"),
    forest("training", "leaves", n_trees=3, depth=2),
    forest("training", "cells"),
    forest("training", "cells", n_trees=None, depth=2),
    forest("training", "marginals"),
    forest("training", "marginals", n_trees=None),
    forest("training", "p-identity", n_trees=None),
    forest("training", PAIRS),
    forest("training", "cells", tune="released", depth=2),
    forest("training", "cells", n_trees=4, n_ensembles=2, subset_features=1),
    forest("training", "leaves", n_trees=4, n_ensembles=2, subset_features=1),
    forest("prediction", "cells", batch=BATCH),
    forest("prediction", "leaves", batch=BATCH),
    forest("prediction", "marginals", batch=BATCH, n_trees=None),
    forest("prediction", "p-identity", batch=BATCH),
    forest("prediction", "queries", batch=BATCH),
]


def ids(learner):
    strategy = learner.strategy if isinstance(learner.strategy, str) else "explicit"
    return f"{learner.mode}-{strategy}-{learner.n_trees}-{learner.voting}"


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("learner", TRAINING, ids=ids)
def test_the_whole_claim_is_spent_and_no_more(learner, neighbours):
    found = exact_audit(subject(learner, neighbours), 2)
    assert not found.refuted
    assert found.loss >= 0.99


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "learner", [TRAINING[0], TRAINING[2], TRAINING[4], TRAINING[5], forest("training", "gaussian")], ids=ids
)
def test_under_delta_the_whole_of_rho_is_spent_and_no_more(learner, neighbours):
    found = exact_audit(subject(learner, neighbours, delta=1e-6), 2)
    assert not found.refuted
    assert found.loss >= 0.99 * found.claimed


def test_a_changed_label_costs_no_more_than_a_replaced_record():
    for learner in (TRAINING[0], TRAINING[2], TRAINING[5]):
        found = exact_audit(subject(learner, "label"), 2)
        assert not found.refuted
        assert found.loss >= 0.99


def test_the_even_split_of_the_baseline_spends_less_than_it_says():
    found = exact_audit(subject(forest("prediction", "per-query", batch=[[0, 0], [1, 1]])), 2)
    assert found.loss == pytest.approx(0.5)


# (learner, classes, records, largest loss found under add_remove and under replace; the claim is 1)
AGGREGATE = [
    (forest("aggregate", "leaves"), 2, 2, 1.0, 1.0),
    (forest("aggregate", "leaves", voting="hard"), 2, 2, 1.0, 1.0),
    (forest("aggregate", "leaves", voting="hard", n_trees=1), 3, 2, 1.0, 0.75),
    (forest("aggregate", "queries", batch=BATCH), 2, 2, 0.780930, 0.75),
    (forest("aggregate", "queries", batch=BATCH, voting="hard"), 2, 2, 0.780930, 0.450365),
    (forest("aggregate", "per-query", batch=BATCH), 2, 2, 0.780930, 0.75),
]


@pytest.mark.parametrize(("learner", "classes", "records", "added", "replaced"), AGGREGATE)
def test_trees_on_disjoint_data_cost_as_much_as_one(learner, classes, records, added, replaced):
    for neighbours, expected in [("add_remove", added), ("replace", replaced)]:
        found = exact_audit(subject(learner, neighbours, classes=classes), records)
        assert not found.refuted
        assert found.loss == pytest.approx(expected, abs=1e-5)


def test_p_identity_over_leaves_of_disjoint_trees(monkeypatch):
    monkeypatch.setattr(p_identity, "GRID_BITS", 2)  # a coarse grid, so that every outcome can be looked at
    found = exact_audit(subject(forest("aggregate", "p-identity", batch=[[0, 0]])), 1)
    assert not found.refuted
    assert found.loss >= 0.4


@dataclass(frozen=True)
class HalfToEachTree:
    """Kernel: the first half of the records to one tree, the second half to the other."""

    n: int

    def __call__(self, block):
        return (block.rows.astype(np.int64) >= self.n // 2).astype(np.int32)


class EqualSplit(MatrixForest):
    """Bug: equal parts of the data, as "randomly split into disjoint subsets" may be read."""

    def _count(self, table, release, setting, place, measurement):
        n = int(table.aggregate(LeafClassCounts(setting.all_trees, table.encoding.n_classes)).sum()) // 2
        dealt = table.derive("tree", HalfToEachTree(n))
        return dealt.aggregate(LeafClassCounts(setting.all_trees, table.encoding.n_classes, part="tree"))


def test_the_equal_split_is_refuted():
    found = exact_audit(subject(EqualSplit("aggregate", "leaves", 2, 1, "weight")), 4)
    assert found.refuted
    assert found.loss == pytest.approx(3.0)


@pytest.mark.parametrize("mode", ["training", "prediction"])
def test_a_strategy_that_does_not_support_the_votes_is_refused(mode):
    schema = Schema(TWO, classes=[0, 1])
    unsupported = np.ones((1, 4), np.int64)  # A = [1 1 1 1]: the sum says nothing about its parts
    clf = MatrixForestClassifier(schema=schema, mode=mode, strategy=unsupported, n_trees=4, max_depth=1)
    with pytest.raises(ParameterError, match="does not support"):
        clf.fit([[0, 0], [1, 1]], [0, 1], **({"batch": BATCH} if mode == "prediction" else {}))
    assert not hasattr(clf, "privacy_")


def test_norms_are_those_of_the_explicit_matrix():
    plan = subject(TRAINING[7])._public[2]
    event = next(plan.whole.events())
    assert event.sensitivity == Fraction(int(PAIRS.sum(axis=0).max()))

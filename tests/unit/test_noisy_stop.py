"""What is released is weighed by the standard deviation of its noise, whichever mechanism added it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.mechanisms.release import outcomes_from
from privet.privacy.events import Mechanism
from privet.privacy.laws import DiscreteGaussian, DiscreteLaplace
from privet.privacy.terms import Terms
from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier

SCHEMA = Schema({"x": Numeric(0, 1)}, classes=["no", "yes"])
COUNTS_OF_A_SPLIT = 2 * 2  # two children, two classes


class Exact:
    """Outcomes without noise and the best candidates, whatever the event."""

    def noisy(self, values, event):
        return values

    def choose(self, scores, event):
        return scores.argmax(axis=1).astype(np.int64)


@pytest.mark.parametrize("parameter", [Fraction(400), Fraction(10**6, 7)])
def test_the_deviation_of_an_event_is_that_of_its_law(parameter):
    terms = Terms()
    laplace, gaussian = terms.laplace("counts", 1 / parameter), terms.gaussian("counts", 1 / (2 * parameter))
    assert laplace.deviation == pytest.approx(math.sqrt(DiscreteLaplace(laplace.parameter).variance), rel=1e-3)
    assert gaussian.deviation == pytest.approx(math.sqrt(DiscreteGaussian(gaussian.parameter).variance), rel=1e-3)
    assert terms.noise("counts", None).deviation == 0
    assert terms.permute_and_flip("split", parameter).deviation == 0


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

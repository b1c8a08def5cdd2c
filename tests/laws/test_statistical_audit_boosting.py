"""The black-box audit of boosting as a whole, on pairs where one record moves most: not refuted, and not blind.

What is looked at is in the fitted model: the score at the record's place, and which way the trees push it there. Where
one release holds nearly the whole budget the lower bound comes near the claim. With all parts (bins, base, splits,
leaves, annealing) each has a small part of it, and leaves that are mostly noise say nothing. Few trainings see nothing
there, so the same audit must refute a learner that adds less noise than it claims.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from privet import BoostingClassifier, BoostingRegressor, Categorical, Numeric, Schema
from privet.audit import NeighbourPair, statistical_audit
from privet.audit.neighbour_pair import data_set
from privet.audit.projections import Steps

pytestmark = [pytest.mark.law, pytest.mark.slow]

ONE = {"a": Categorical([0, 1])}
TWO = {**ONE, "x": Numeric(0, 1, bins=4)}  # with bins to be found
ONE_TREE = {"n_trees": 1, "max_depth": 1}
# At epsilon 4, rules ask for histograms or stumps, or for descent and, with two classes and pure epsilon, for one step.
FEW, SOME = {"n_rows_hint": 10}, {"n_rows_hint": 50}
WITHOUT = {"n_rows_hint": "unknown"}  # as few records have no parts that could be told apart
THREE = (0, 1, 2)


@dataclass(frozen=True)
class Setting:
    """A learner, what is looked at in its model, and the other records beside the one that comes or goes."""

    estimator: type
    delta: float
    parameters: dict
    view: Callable
    others: tuple = ()  # values of feature a, and labels
    features: dict = field(default_factory=lambda: ONE)
    classes: tuple = (0, 1)

    @property
    def schema(self):
        target = Numeric(0, 1) if self.estimator is BoostingRegressor else Categorical(list(self.classes))
        return Schema(self.features, target)

    def audit(self, claim, trainings, spent=None):
        """Audit a claim; `spent` is what is really spent, if that is not the same."""
        rest = (0.9,) * (len(self.features) - 1)
        records = [((a, *rest), label) for a, label in (*self.others, (0, 1))]
        sides = [data_set(side, self.schema) for side in (records[:-1], records)]
        pair = NeighbourPair("one-in-its-place", "any", *sides, "add_remove", "any", (self.view,), self.schema)
        train = partial(self.train, epsilon=spent or claim)
        claimed = {"epsilon": claim, "delta": self.delta, "relation": "add_remove"}
        return statistical_audit(train, [pair], **claimed, max_trainings=trainings)

    def train(self, X, y, epsilon):
        return self.estimator(epsilon, self.delta, self.schema, random_state=0, **self.parameters).fit(X, y)

    def __str__(self):
        named = [f"{name}={value}" for name, value in self.parameters.items()]
        return "-".join([self.estimator.__name__, f"delta={self.delta}", *named])


def here(fitted):
    """Return the codes of the record that comes or goes."""
    return np.array([[0], [3]], dtype=np.uint8)[: fitted.model_.encoding.n_features]


def score_here(fitted):
    """Return the score at the record's place, of its own class where each has one."""
    return float(fitted.model_.scores(here(fitted))[0, :2][-1])


def push_of_trees(fitted):
    """Return which way the trees push the score there."""
    return int(np.sign(fitted.model_.contributions(here(fitted))[2].sum()))


SCORE = Steps(score_here, -4, 4, 8)
CONTRARY, FAR, ELSEWHERE = ((0, 0),) * 4, ((1, 1),) * 10, ((1, 0),) * 10

ALL_PARTS = [
    Setting(BoostingClassifier, 0.0, {}, Steps(score_here, -4, 4, 4), CONTRARY, TWO),
    Setting(BoostingClassifier, 1e-6, {}, Steps(score_here, -4, 4, 4), CONTRARY, TWO),
    Setting(BoostingClassifier, 1e-6, SOME, Steps(score_here, -4, 4, 4), CONTRARY, TWO, THREE),
    Setting(BoostingRegressor, 0.0, WITHOUT, Steps(score_here, 0, 1, 4), ELSEWHERE, TWO),
    Setting(BoostingRegressor, 1e-6, {}, Steps(score_here, 0, 0.24, 4), ELSEWHERE, TWO),  # a narrow window: short steps
]


@pytest.mark.parametrize(
    ("setting", "floor"),
    [
        (Setting(BoostingClassifier, 0.0, SOME, SCORE, classes=THREE), 2.0),
        (Setting(BoostingClassifier, 1e-6, FEW, SCORE, classes=THREE), 2.0),
        (Setting(BoostingClassifier, 0.0, FEW, SCORE), 0.3),
        (Setting(BoostingClassifier, 0.0, SOME, SCORE), 0.1),
        (Setting(BoostingRegressor, 0.0, ONE_TREE | WITHOUT, push_of_trees, FAR), 0.1),
    ],
    ids=str,
)
def test_what_one_record_does_is_seen_and_is_within_the_claim(setting, floor):
    report = setting.audit(4.0, 1200 if setting.view is SCORE else 2000)
    assert floor < report.lower <= 4.0
    assert not report.refuted


@pytest.mark.parametrize("setting", ALL_PARTS, ids=str)
def test_the_whole_learner_is_not_refuted(setting):
    assert not setting.audit(0.5, 400).refuted


@pytest.mark.parametrize("setting", ALL_PARTS, ids=str)
def test_with_far_less_noise_than_it_claims_it_is_refuted(setting):
    assert setting.audit(0.5, 400, spent=64.0).refuted

"""The exact audit of PrivaTree: its true loss never exceeds the claim, and is not silently far below it either."""

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from privet import Categorical, Numeric, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.estimators.learning import Hints
from privet.learners.privatree.tree import SEARCHES, PrivaTree
from privet.privacy.terms import Allowance
from privet.trees.quantiles import JointQuantiles

pytestmark = pytest.mark.law

TWO = {"a": Categorical([0, 1]), "b": Categorical([0, 1])}
HALF_FOR_LEAVES = {"max_leaf_error": Fraction(1, 10**12), "leaves": "labels"}
MANY = Hints(n_rows=10**9)


def subject(learner, neighbours="add_remove", delta=0.0, features=TWO, classes=(0, 1), hints=MANY):
    schema = Schema(features, classes=list(classes), neighbours=neighbours)
    return Subject(learner, schema, Allowance.of(2.0, delta), hints=hints)


# (setting, records, neighbours, largest loss found; the claim is 2)
EXPECTED = [
    (PrivaTree(2, **HALF_FOR_LEAVES), 3, "add_remove", 1.239880),
    (PrivaTree(1, criterion="gini", **HALF_FOR_LEAVES), 3, "add_remove", 1.166667),
    (PrivaTree(2, criterion="errors", **HALF_FOR_LEAVES), 3, "add_remove", 1.489880),
    (PrivaTree(1, **HALF_FOR_LEAVES), 3, "replace", 1.310687),
    (PrivaTree(1, **HALF_FOR_LEAVES), 3, "label", 1.206797),
    (PrivaTree(1, **{**HALF_FOR_LEAVES, "leaves": "counts"}), 3, "add_remove", 1.833334),
    (PrivaTree(1, n_trees=2, **HALF_FOR_LEAVES), 2, "add_remove", 1.413593),
    (PrivaTree(1, n_trees=2, composition="disjoint", **HALF_FOR_LEAVES), 2, "add_remove", 1.112764),
    (PrivaTree(1, stop=True, **HALF_FOR_LEAVES), 3, "add_remove", 1.311990),
    (PrivaTree(1, stop=True, **HALF_FOR_LEAVES), 3, "replace", 1.248464),
    (PrivaTree(2, stop=True, **{**HALF_FOR_LEAVES, "leaves": "counts"}), 2, "add_remove", 1.761912),
]


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "records", "neighbours", "expected"), EXPECTED)
def test_the_exact_loss_is_below_the_claim_and_what_it_was(learner, records, neighbours, expected):
    found = exact_audit(subject(learner, neighbours), records)
    assert not found.refuted
    assert found.claimed == 2.0
    assert found.loss == pytest.approx(expected, abs=1e-4)


def test_missing_values_and_three_classes_cost_nothing_more():
    learner = PrivaTree(1, **HALF_FOR_LEAVES)
    features = {"x": Numeric(0, 1, bins=2, missing=True)}
    found = exact_audit(subject(learner, features=features, classes=(0, 1, 2)), 2)
    assert not found.refuted
    assert found.loss == pytest.approx(1.1842287, abs=1e-4)


def test_private_quantiles_are_charged_for_every_feature_and_level():
    learner = PrivaTree(1, grid="quantiles", **HALF_FOR_LEAVES)
    features = {"x": Numeric(0, 1, bins=3), "y": Numeric(0, 1, bins=2)}
    found = exact_audit(subject(learner, features=features), 2)
    assert not found.refuted
    assert found.loss == pytest.approx(1.1666667, abs=1e-4)


def test_all_quantiles_in_one_draw_are_charged_for_every_feature(monkeypatch):
    monkeypatch.setitem(SEARCHES, "jointexp", JointQuantiles(2))
    learner = PrivaTree(1, grid="jointexp", **HALF_FOR_LEAVES)
    found = exact_audit(subject(learner, features={"x": Numeric(0, 1, bins=3)}), 3)
    assert not found.refuted
    assert found.loss == pytest.approx(1.264921, abs=1e-4)


@dataclass(frozen=True)
class Greedy(PrivaTree):
    """Lets a leaf that stops spend all that its path had left before the choice to stop."""

    def plan(self, encoding, terms, share, hints):
        plan = super().plan(encoding, terms, share, hints)
        (tree,) = plan.trees
        (level,) = tree.levels
        spent_before = level.choice.parameter * level.choice.sensitivity
        early = replace(level.early, parameter=tree.leaves.parameter + spent_before)
        return replace(plan, trees=(replace(tree, levels=(replace(level, early=early),)),))


def test_a_stopped_leaf_that_spends_what_its_choice_has_spent_is_refuted():
    settings = {**HALF_FOR_LEAVES, "leaf_part": Fraction(1, 5), "stop": True}
    features = {"x": Categorical([0, 1])}
    losses = [exact_audit(subject(kind(1, **settings), features=features), 7).loss for kind in (PrivaTree, Greedy)]
    assert losses[0] <= 2.0 < losses[1]


def test_with_delta_the_concentrated_loss_stays_below_rho():
    found = exact_audit(subject(PrivaTree(1, **HALF_FOR_LEAVES), delta=1e-6), 3)
    assert not found.refuted
    assert 0.5 * found.claimed < found.loss <= found.claimed

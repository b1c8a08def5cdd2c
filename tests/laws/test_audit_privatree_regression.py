"""The exact audit of the tree for a regression target: its true loss never exceeds the claim, nor is it far below."""

from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from privet import Categorical, Numeric, Schema
from privet.audit.enumeration import Subject
from privet.audit.exact import exact_audit
from privet.estimators.learning import Hints
from privet.learners.privatree.regression import PrivaTreeForRegression
from privet.privacy.terms import Allowance

pytestmark = pytest.mark.law

TWO = {"a": Categorical([0, 1]), "b": Categorical([0, 1])}
FEW, MANY = Hints(n_rows=100), Hints(n_rows=10**9)


def subject(learner, neighbours="add_remove", delta=0.0, features=TWO, hints=MANY):
    schema = Schema(features, target=Numeric(0, 1), neighbours=neighbours)
    return Subject(learner, schema, Allowance.of(2.0, delta), hints=hints, levels=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "neighbours", "hints"),
    [
        (PrivaTreeForRegression(1), "add_remove", FEW),
        (PrivaTreeForRegression(1), "add_remove", MANY),
        (PrivaTreeForRegression(1, criterion="mix"), "add_remove", FEW),
        (PrivaTreeForRegression(1, criterion="mix"), "add_remove", MANY),
        (PrivaTreeForRegression(1, criterion="deviations"), "add_remove", FEW),
        (PrivaTreeForRegression(1, stop=True), "add_remove", FEW),
        (PrivaTreeForRegression(1), "replace", FEW),
        (PrivaTreeForRegression(1), "label", FEW),
    ],
)
def test_the_exact_loss_is_below_the_claim_and_not_far_below(learner, neighbours, hints):
    found = exact_audit(subject(learner, neighbours, hints=hints), 2)
    assert not found.refuted
    assert found.claimed == 2.0
    assert found.loss > 0.9


def test_with_delta_the_concentrated_loss_stays_below_rho():
    found = exact_audit(subject(PrivaTreeForRegression(1), delta=1e-6, hints=FEW, features={"a": TWO["a"]}), 2)
    assert not found.refuted
    # one candidate: its choice costs a share of the claim and can lose nothing
    assert 0.1 * found.claimed < found.loss <= found.claimed


@dataclass(frozen=True)
class TooSharpChoice(PrivaTreeForRegression):
    """Chooses splits as if a record's loss were a fourth of what it may be."""

    def plan(self, encoding, terms, share, hints):
        plan = super().plan(encoding, terms, share, hints)
        (tree,) = plan.trees
        levels = tuple(
            replace(level, choice=replace(level.choice, parameter=level.choice.parameter * 4)) for level in tree.levels
        )
        return replace(plan, trees=(replace(tree, levels=levels),))


def test_choices_for_a_smaller_cap_are_refuted():
    losses = [exact_audit(subject(kind(1), hints=FEW), 2).loss for kind in (PrivaTreeForRegression, TooSharpChoice)]
    assert losses[0] <= 2.0 < losses[1]


@dataclass(frozen=True)
class TooLittleNoise(PrivaTreeForRegression):
    """Gives leaves noise for residuals on a grid that is twenty times coarser than theirs."""

    def plan(self, encoding, terms, share, hints):
        plan = super().plan(encoding, terms, share, hints)
        (tree,) = plan.trees
        leaves = replace(tree.leaves, parameter=tree.leaves.parameter * Fraction(1, 20))
        return replace(plan, trees=(replace(tree, leaves=leaves),))


def test_leaves_with_noise_for_another_grid_are_refuted():
    features = {"a": TWO["a"]}
    losses = [
        exact_audit(subject(kind(1), features=features, hints=FEW), 2).loss
        for kind in (PrivaTreeForRegression, TooLittleNoise)
    ]
    assert losses[0] <= 2.0 < losses[1]

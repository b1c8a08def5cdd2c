"""A fit is charged in full to a budget before its learner grows, and refused if too little is left."""

from __future__ import annotations

from fractions import Fraction

from privet.audit.report import Finding
from privet.audit.way_in.made_frames import columns_of, frame_of, labels_of
from privet.audit.way_in.watching import finding, reach
from privet.errors import BudgetError
from privet.estimators.base import PrivateEstimator
from privet.parameters import public_rng
from privet.privacy.budgets.blocks import Budget, budget

FLAW = "a fit inside a budget draws before it is charged, or is charged too little"


def budget_audit(estimator: PrivateEstimator) -> list[Finding]:
    """Fit twice under a budget that suffices for one fit; a fit without a proof must be refused at once."""
    planned = estimator.plan()
    if not planned.proven:
        with budget(epsilon=1000.0, delta=0.5):
            fine = _is_refused(estimator)
        return [finding("budgets: nothing proven", FLAW, "" if fine else "a fit without a guarantee was let through")]
    with budget(epsilon=planned.epsilon, delta=planned.delta) as handle:
        problem = _charged_first(estimator, handle)
        if not problem and not _is_refused(estimator):
            problem = "a second fit reached the learner although the first had used the budget up"
    return [finding("budgets: charged before drawing", FLAW, problem, "charged in full, and the next fit refused")]


def _charged_first(estimator: PrivateEstimator, handle: Budget) -> str:
    planned = estimator.plan()
    epsilon, delta = _reach(estimator, handle)
    if Fraction(epsilon) < Fraction(planned.epsilon) or Fraction(delta) < Fraction(planned.delta):
        return (
            f"when the learner was asked to grow, epsilon {epsilon:g} and delta {delta:g} had been charged "
            f"of {planned.epsilon:g} and {planned.delta:g}"
        )
    return ""


def _reach(estimator: PrivateEstimator, handle: Budget) -> tuple[float, float]:
    schema = estimator.schema
    assert schema is not None
    frame, labels = frame_of(schema, columns_of(schema, 4, public_rng(8))), labels_of(schema, 4)
    spent: tuple[float, float] = reach(estimator, frame, labels, lambda _: (handle.spent, handle.spent_delta))
    return spent


def _is_refused(estimator: PrivateEstimator) -> bool:
    schema = estimator.schema
    assert schema is not None
    frame, labels = frame_of(schema, columns_of(schema, 4, public_rng(8))), labels_of(schema, 4)
    try:
        reach(estimator, frame, labels, lambda _: None)
    except BudgetError:
        return True
    return False

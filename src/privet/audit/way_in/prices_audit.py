"""A single release planned with the whole allowance costs no more than the allowance, recomputed from exact laws.

The conversions from (epsilon, delta) to the parameter of a mechanism pass through `Terms` and, with delta, through
zCDP. Here the loss of the resulting mechanism is computed from its exact law, for one unit with as many rows as it may
have, without using any of those formulas.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privet.audit.pure_noise import PURE_NOISE
from privet.audit.report import Finding
from privet.audit.way_in.watching import finding
from privet.estimators.base import PrivateEstimator
from privet.privacy import laws
from privet.privacy.events import Event, Mechanism
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Numeric
from privet.schema.schema import Schema, Unit

FLAW = "the noise is too small for what is charged"
UNIT_ROWS = (1, 2, 5)


def prices_audit(estimator: PrivateEstimator) -> list[Finding]:
    """Spend the claim on one count, on two under cube noise, and on one selection, for units of a few sizes."""
    schema = estimator.schema
    assert schema is not None
    assert estimator.epsilon is not None
    allowance = Allowance.of(estimator.epsilon, estimator.delta)
    rows = {1, *UNIT_ROWS} if schema.unit is None else {1, *UNIT_ROWS, schema.unit.max_rows}
    problem = ""
    for r in sorted(rows):
        terms = Terms.of(
            Schema({"x": Numeric(0, 1)}, classes=[0, 1], neighbours=schema.neighbours, unit=Unit("unit", r))
        )
        steps = r if schema.neighbours == "add_remove" else 2 * r
        problem = problem or _noise(terms.noise("a count", allowance.whole), allowance, r, steps)
        if allowance.rho is None:
            cube = terms.cube("counts", allowance.epsilon, groups=(1, 1))
            problem = problem or _noise(cube, allowance, r, steps)
        problem = problem or _choice(terms.choice("a choice", allowance.whole), allowance, steps)
    return [finding("prices: one release for all of the budget", FLAW, problem, "no more than the claim")]


def _noise(event: Event, allowance: Allowance, rows: int, steps: int) -> str:
    """Move one or two counts as far as a unit can."""
    if event.mechanism in PURE_NOISE:
        loss = Fraction(steps) / event.parameter
        return "" if loss <= allowance.epsilon else f"a unit of {rows} rows moves counts by {float(loss):g} scales"
    # With replacement one count falls and another rises, so each row moves them by the square root of two at least.
    distance = rows * (1.0 if steps == rows else math.sqrt(2.0))
    delta = _gaussian_delta(distance, event.parameter, float(allowance.epsilon))
    if delta <= float(allowance.delta) * (1 + 1e-6):
        return ""
    return f"for a unit of {rows} rows delta is {delta:.3g} at the claimed epsilon, not {float(allowance.delta):.3g}"


def _gaussian_delta(distance: float, sigma_squared: Fraction, epsilon: float) -> float:
    """Return delta of Gaussian noise at a shift: exact for whole shifts, that of the continuous law for others."""
    if not distance.is_integer():
        from scipy.special import ndtr

        m = distance / math.sqrt(float(sigma_squared))
        return float(ndtr(m / 2 - epsilon / m) - math.exp(epsilon) * ndtr(-m / 2 - epsilon / m))
    law, shift = laws.DiscreteGaussian(sigma_squared), int(distance)
    # The event is that the log-ratio of k - shift against k is above epsilon: all k from a threshold on.
    first = math.floor(epsilon * float(sigma_squared) / shift + shift / 2) + 1
    above, shifted = (float(law.cdf(-(first - move))) for move in (0, shift))
    return shifted - math.exp(epsilon) * above


def _choice(event: Event, allowance: Allowance, steps: int) -> str:
    """Between two candidates, move the score of one as far as a unit can, from and to the middle."""
    pf = event.mechanism is Mechanism.PERMUTE_AND_FLIP
    law = laws.permute_and_flip if pf else laws.exponential_mechanism
    loss, spread = 0.0, 0.0
    for start in range(-2 * steps, 2 * steps + 1):
        logs = np.log(law([0, start], event.parameter)) - np.log(law([0, start + steps], event.parameter))
        loss, spread = max(loss, float(np.abs(logs).max())), max(spread, float(logs.max() - logs.min()))
    if allowance.rho is None:
        return "" if loss <= float(allowance.epsilon) * (1 + 1e-9) else f"a selection loses {loss:g}"
    rho = spread**2 / 8
    return "" if rho <= float(allowance.rho) * (1 + 1e-9) else f"a selection costs rho {rho:g}"

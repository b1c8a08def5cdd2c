"""DPGDF (Xin et al. 2019) as printed: labels by smooth sensitivity inside the exponential mechanism. Not private.

As `privet.learners.baselines.dpgdf`, but for the leaves: the most frequent class scores 1, all others 0, divided by
e^(-j epsilon) with j the margin of the leaf. The scale depends on the data, and no finite epsilon holds.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.base import PrivateClassifier
from privet.encoding import Encoding
from privet.errors import ParameterError, UnsoundWarning
from privet.events import Mechanism, Plan
from privet.learning import Hints
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_whole
from privet.randomness import PublicRng
from privet.release import Release
from privet.schema import Schema
from privet.structure import Domains
from privet.structure.one_against_rest import RANGE, grow_one_against_rest, one_against_rest
from privet.tables import Table
from privet.terms import Share, Terms, unproven

FLAW = "smooth sensitivity in the exponential mechanism: the scale depends on the data, and no finite epsilon holds"
_STEPS = 1 << 32
_MOST_SCORE = float(1 << 60)  # stands for all that is larger


@dataclass(frozen=True)
class PrintedDPGDF:
    """The learner: splits by average Gini, labels by the smooth-sensitivity rule."""

    max_depth: int = 4
    bins: int = 32

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Half for the splits, equally over levels; half for the labels, whose proof does not hold."""
        if share is None or share.epsilon is None:
            raise ParameterError("the printed algorithm is for pure epsilon: set epsilon, and leave delta at 0")
        depth = self.max_depth if len(one_against_rest(Domains.of(encoding))) else 0
        level = share * Fraction(1, 2 * max(depth, 1))
        events = {
            f"splits {i}": terms.choice(f"splits of level {i + 1}", level, score_range=RANGE) for i in range(depth)
        }
        labels = unproven("labels of the leaves", Mechanism.EXPONENTIAL, Fraction(1, _STEPS), FLAW)
        return Plan.in_sequence({"epsilon": float(share.epsilon / 2)}, **events, leaves=labels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> Forest:
        """Split level by level, then label by the printed rule."""
        levels = [event for role, event in plan.events.items() if role.startswith("splits")]
        growth = grow_one_against_rest(table, release, levels, one_against_rest(Domains.of(table.encoding)))
        epsilon = plan.facts["epsilon"]
        assert isinstance(epsilon, float)
        labels = release.choose(_scores(growth.leaf_counts, epsilon), plan["leaves"])
        return Forest(table.encoding, growth.finish(), LeafLabels(labels.astype(np.uint16)))


def _scores(counts: NDArray[np.int64], epsilon: float) -> NDArray[np.int64]:
    """Return epsilon u / (2 S) in grid steps, with u = 1 for the most frequent class and S = e^(-j epsilon)."""
    ordered = np.sort(counts, axis=1)
    margin = ordered[:, -1] - (ordered[:, -2] if counts.shape[1] > 1 else 0)
    exponent = epsilon / 2 * np.exp(np.minimum(margin * epsilon, 600.0))
    scaled = np.rint(np.minimum(exponent * _STEPS, _MOST_SCORE)).astype(np.int64)
    return np.where(counts == ordered[:, -1:], scaled[:, np.newaxis], 0)


class DPGDFClassifier(PrivateClassifier):
    """DPGDF as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon, delta, schema, max_depth, n_rows_hint, random_state, n_jobs
        As in `privet.DPGDFTreeClassifier`; delta must be zero.

    Notes
    -----
    *Privacy.* None: the ledger says so, and why; `fit` warns.
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, **unsupported: Any) -> Self:
        """Fit as printed, with a warning."""
        warnings.warn(f"{FLAW}; for comparison only", UnsoundWarning, stacklevel=2)
        return super().fit(X, y, **unsupported)

    def _learner(self) -> PrintedDPGDF:
        check_whole("max_depth", self.max_depth, 1, 12)
        return PrintedDPGDF(int(self.max_depth))

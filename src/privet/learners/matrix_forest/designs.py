"""From public facts to a design: which strategy, with how much of the budget, and how noisy a vote it will give.

A design is made before any data is seen. It knows the forest, the batch if there is one, and for every strategy the
noise that a vote will have; `strategy="auto"` takes the smallest. Everything here is public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.matrix_forest.marginals import GRID, best_marginals
from privet.learners.matrix_forest.p_identity import best_p_identity
from privet.learners.matrix_forest.settings import InfeasibleError, Setting
from privet.learners.matrix_forest.strategy import Explicit, Identity, Leaves, Queries, Strategy
from privet.learners.matrix_forest.votes import BatchVotes, ForestVotes, Workload
from privet.privacy import laws
from privet.privacy.events import Event, Mechanism

Slots = Literal["cells", "leaves"]

NAMES = ("leaves", "gaussian", "cells", "marginals", "p-identity", "queries", "per-query")
BASELINES = ("per-query",)  # shown in plans, never chosen by "auto"

MOST_CELL_VALUES = 20_000_000  # cells times classes: 160 MB
MOST_FEATURES_OF_MARGINALS = 12
MOST_SLOTS_OF_P_IDENTITY = 20_000
MOST_ENTRIES_OF_P_IDENTITY = 3_200_000
MOST_CELLS_OF_EXPLICIT = 300


@dataclass(frozen=True, eq=False)
class Measurement:
    """One strategy on one set of slots, with the events that its groups will be charged as."""

    slots: Slots
    strategy: Strategy
    workload: Workload | None
    events: tuple[Event, ...]
    weight: float  # of its votes among all

    @property
    def variances(self) -> list[float]:
        """The noise variance of each group."""
        return [_variance(event) for event in self.events]

    @property
    def answers_batch_only(self) -> bool:
        """Whether it answers the points of the batch, but not every other point."""
        if isinstance(self.strategy, Queries):
            return True
        if not isinstance(self.strategy, Explicit) or not isinstance(self.workload, BatchVotes):
            return False
        assert self.workload.cells is not None
        return not self.strategy.supports(ForestVotes(self.workload.cells, self.workload.depth))

    def batch_votes(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes of the batch, given what the strategy estimated."""
        assert isinstance(self.workload, BatchVotes)
        return estimate if isinstance(self.strategy, Queries) else self.workload.rows() @ estimate

    @property
    def vote_variance(self) -> float:
        """The noise variance of its part of a vote."""
        if self.workload is None:
            assert isinstance(self.strategy, Leaves)
            return self.strategy.vote_variance(None, self.variances)
        return self.weight**2 * self.strategy.vote_variance(self.workload, self.variances)


@dataclass(frozen=True, eq=False)
class StrategyCandidate:
    """A strategy for the whole forest: its measurements, or why it cannot be used."""

    name: str
    measurements: tuple[Measurement, ...] = ()
    refused: str = ""

    @cached_property
    def noise(self) -> float:
        """The standard deviation of the noise of one class's vote, in records; infinite if it cannot be used."""
        return math.inf if self.refused else math.sqrt(sum(part.vote_variance for part in self.measurements))

    @property
    def rank(self) -> float:
        """The noise to six digits: of strategies that differ by rounding only, the one named first is taken."""
        return float(f"{self.noise:.6g}")


@dataclass(frozen=True, eq=False)
class StrategyDesign:
    """The strategy that was chosen, and all that were looked at.

    Printed, it is a table with the expected noise of a vote for each candidate.
    """

    setting: Setting
    chosen: StrategyCandidate
    candidates: tuple[StrategyCandidate, ...]

    @property
    def answers_batch_only(self) -> bool:
        """Whether the votes of the batch follow from what is measured, and not those of every other point."""
        return any(part.answers_batch_only for part in self.chosen.measurements)

    def __str__(self) -> str:
        lines = [f"{self.setting.mode}: expected noise per vote (standard deviation, in records)"]
        for candidate in sorted(self.candidates, key=lambda candidate: candidate.rank):
            mark = "*" if candidate is self.chosen else " "
            said = f"cannot be used: {candidate.refused}" if candidate.refused else f"{candidate.noise:.4g}"
            lines.append(f" {mark} {candidate.name:<11} {said}")
        return "\n".join(lines)


def make_design(setting: Setting, strategy: str | NDArray[Any]) -> StrategyDesign:
    """Choose the strategy, from public facts alone.

    Parameters
    ----------
    setting : Setting
        The public facts.
    strategy : str or array
        "auto" for the smallest expected noise, the name of a strategy, or a matrix of the user's own over the cells.
    """
    if not isinstance(strategy, str):
        own = _candidate(setting, "explicit", lambda s: _explicit(s, strategy))
        return StrategyDesign(setting, _usable(own), (own,))
    if strategy != "auto":
        named = _candidate(setting, strategy, BUILDERS[strategy])
        return StrategyDesign(setting, _usable(named), (named,))
    candidates = tuple(_candidate(setting, name, BUILDERS[name]) for name in _looked_at(setting))
    usable = [candidate for candidate in candidates if not candidate.refused and candidate.name not in BASELINES]
    if not usable:
        reasons = "; ".join(f"{candidate.name}: {candidate.refused}" for candidate in candidates if candidate.refused)
        raise ParameterError(f"no strategy can be used here ({reasons}): use fewer or smaller features, or ensembles")
    return StrategyDesign(setting, min(usable, key=lambda candidate: candidate.rank), candidates)


def design_in_closed_form(setting: Setting, names: Sequence[str]) -> StrategyDesign | None:
    """Return the best design of some strategies whose noise needs no search; None if none can be used."""
    candidates = tuple(_candidate(setting, name, BUILDERS[name]) for name in names)
    usable = [candidate for candidate in candidates if not candidate.refused]
    return StrategyDesign(setting, min(usable, key=lambda candidate: candidate.rank), candidates) if usable else None


def _looked_at(setting: Setting) -> list[str]:
    """Return the strategies that may make sense; p-identity is for batches, and returns the identity without one."""
    leaves = [] if setting.n_trees is None else ["gaussian" if setting.gaussian else "leaves"]
    cells = [] if setting.mode == "aggregate" else ["cells", "marginals"]
    direct = ["queries", "per-query"] if setting.votes_suffice else []
    return [*leaves, *cells, *(["p-identity", *direct] if setting.batch is not None else [])]


def _usable(candidate: StrategyCandidate) -> StrategyCandidate:
    if candidate.refused:
        raise ParameterError(f"strategy={candidate.name!r} cannot be used: {candidate.refused}")
    return candidate


def _candidate(setting: Setting, name: str, build: Callable[[Setting], tuple[Measurement, ...]]) -> StrategyCandidate:
    try:
        measurements = build(setting)
    except InfeasibleError as error:
        return StrategyCandidate(name, refused=str(error))
    for part in measurements:
        # Whatever made the strategy, it is checked: what is not supported would leave answers without noise.
        if part.workload is not None and not part.strategy.supports(part.workload):
            return StrategyCandidate(name, refused="it does not support the votes (W A+ A is not W)")
    return StrategyCandidate(name, measurements)


def _leaves(setting: Setting) -> tuple[Measurement, ...]:
    """A = T: every leaf of every tree; or, of trees on disjoint data, the identity over leaves."""
    if setting.n_trees is None:
        raise InfeasibleError("the infinite forest has no leaves: set n_trees, or use 'cells' or 'marginals'")
    strategy = Leaves(n_trees=setting.n_trees, together=setting.mode != "aggregate")
    # Sums over leaves are what the trees' votes are: there is no other workload to support.
    return (_measurement(setting, "leaves", strategy, None, Fraction(1), 1.0),)


def _gaussian(setting: Setting) -> tuple[Measurement, ...]:
    if setting.share is not None and not setting.gaussian:
        raise InfeasibleError("it needs delta > 0: set delta, far below 1 / (number of records), or use 'leaves'")
    return _leaves(setting)


def _cells(setting: Setting) -> tuple[Measurement, ...]:
    return _over_cells(setting, lambda workload: Identity())


def _marginals(setting: Setting) -> tuple[Measurement, ...]:
    most = max(ensemble.cells.n_features for ensemble in setting.ensembles)
    if most > MOST_FEATURES_OF_MARGINALS:
        raise InfeasibleError(
            f"{most} features have {2**most} marginals, the most are 2^{MOST_FEATURES_OF_MARGINALS}: "
            "use ensembles over fewer features"
        )
    return _over_cells(setting, lambda workload: best_marginals(workload, gaussian=setting.gaussian))


def _p_identity(setting: Setting) -> tuple[Measurement, ...]:
    if setting.mode == "aggregate":
        _needs_batch(setting)
        workload = setting.leaf_workload
        _check_slots(setting, workload.matrix.shape[1])
        return (_measurement(setting, "leaves", best_p_identity(workload), workload, Fraction(1), 1.0),)
    for ensemble in setting.ensembles:
        _check_slots(setting, ensemble.cells.number)
    return _over_cells(setting, best_p_identity)


def _queries(setting: Setting, *, evenly: bool = False) -> tuple[Measurement, ...]:
    _needs_batch(setting)
    if not setting.votes_suffice:
        raise InfeasibleError("it measures the batch's weight votes and nothing else: use voting='weight'")
    if setting.mode == "aggregate":
        workload = setting.leaf_workload
        return (_measurement(setting, "leaves", Queries(workload, evenly), workload, Fraction(1), 1.0),)

    def own(workload: Workload) -> Strategy:
        assert isinstance(workload, BatchVotes)
        return Queries(workload, evenly)

    return _over_cells(setting, own)


def _per_query(setting: Setting) -> tuple[Measurement, ...]:
    return _queries(setting, evenly=True)


def _explicit(setting: Setting, matrix: Any) -> tuple[Measurement, ...]:
    values = np.asarray(matrix)
    if values.dtype.kind not in "iu" or len(setting.ensembles) != 1 or setting.mode == "aggregate":
        raise InfeasibleError(
            "a matrix must hold whole numbers, and serves one ensemble over cells; scale it up if need be"
        )
    n_cells = setting.ensembles[0].cells.number
    if n_cells > MOST_CELLS_OF_EXPLICIT:
        raise InfeasibleError(
            f"there are {n_cells} cells; the exact check of a matrix takes up to {MOST_CELLS_OF_EXPLICIT}"
        )
    if values.ndim != 2 or values.shape[1] != n_cells:
        raise InfeasibleError(f"the matrix must have {n_cells} columns, one for each cell, got shape {values.shape}")
    measurements = _over_cells(setting, lambda workload: Explicit(values.astype(np.int64)))
    if measurements[0].answers_batch_only and not setting.votes_suffice:
        raise InfeasibleError("it supports the batch's weight votes and nothing else: use voting='weight'")
    return measurements


BUILDERS: Mapping[str, Callable[[Setting], tuple[Measurement, ...]]] = {
    "leaves": _leaves,
    "gaussian": _gaussian,
    "cells": _cells,
    "marginals": _marginals,
    "p-identity": _p_identity,
    "queries": _queries,
    "per-query": _per_query,
}


def _over_cells(setting: Setting, choose: Callable[[Workload], Strategy]) -> tuple[Measurement, ...]:
    if setting.mode == "aggregate":
        raise InfeasibleError("trees on disjoint data are measured by leaves: use 'leaves', 'p-identity' or 'queries'")
    n_cells = sum(ensemble.cells.number for ensemble in setting.ensembles)
    if n_cells * setting.n_classes > MOST_CELL_VALUES:
        # Python refuses to print numbers of thousands of digits, and many features span so many cells.
        spanned = str(n_cells) if n_cells.bit_length() < 64 else f"over 2^{n_cells.bit_length() - 1}"
        raise InfeasibleError(
            f"the features span {spanned} cells, the most are {MOST_CELL_VALUES // setting.n_classes}: "
            "use 'leaves' or 'gaussian', fewer bins, or ensembles over subsets of the features"
        )
    strategies = [choose(workload) for workload in setting.workloads]
    parts = _budget_parts(setting)
    return tuple(
        _measurement(setting, "cells", strategy, workload, part, setting.weight(ensemble))
        for strategy, workload, part, ensemble in zip(
            strategies, setting.workloads, parts, setting.ensembles, strict=True
        )
    )


def _budget_parts(setting: Setting) -> list[Fraction]:
    """Split the budget among ensembles: as the cube root of a vote's noise for Laplace, its square root for Gaussian.

    Sum v_e / epsilon_e^2 is smallest at epsilon_e ~ v_e^(1/3), sum v_e / rho_e at rho_e ~ v_e^(1/2).
    """
    power = 1 / 2 if setting.gaussian else 1 / 3
    traces = [
        ForestVotes(ensemble.cells, ensemble.depth, ensemble.n_trees).trace * setting.weight(ensemble) ** 2
        for ensemble in setting.ensembles
    ]
    wanted = [trace**power for trace in traces]
    steps = [int(GRID * share / sum(wanted)) for share in wanted]
    steps[0] += GRID - sum(steps)
    return [Fraction(step, GRID) for step in steps]


def _measurement(
    setting: Setting, slots: Slots, strategy: Strategy, workload: Workload | None, part: Fraction, weight: float
) -> Measurement:
    # Hard votes of disjoint trees: a record may move one leaf's label, which is in two places of a one-hot row, or in
    # one place if only one column is measured. Labels move both ways, so two records may move in the same direction.
    places = 2 if setting.hard and setting.n_classes > 2 else 1
    # Counts of single slots: a record adds one to each that it is in.
    largest = 1 if isinstance(strategy, Identity) and setting.gaussian and not setting.hard else None
    events = []
    for group, (share, norm) in enumerate(zip(strategy.parts, strategy.norms, strict=True)):
        events.append(
            setting.terms.noise(
                _described(slots, strategy, group),
                None if setting.share is None else setting.share * (part * share),
                l1=norm.l1 * places,
                l2_squared=norm.l2_squared * places,
                signed=setting.hard,
                largest=largest,
            )
        )
    if part == 1 and len(events) == 1:  # all that is charged
        events = [setting.terms.sharpened(events[0], setting.share)]
    return Measurement(slots, strategy, workload, tuple(events), weight)


def _described(slots: Slots, strategy: Strategy, group: int) -> str:
    what = {"PIdentity": f"{slots} and sums of {slots}", "Queries": "votes of the batch"}
    kind = type(strategy).__name__
    if kind == "Explicit":
        return "class counts of the strategy's rows"
    if kind == "Marginals":
        return f"class counts of marginal {group + 1} of {len(strategy.parts)}"
    return f"class counts of {what.get(kind, slots)}"


def _variance(event: Event) -> float:
    if event.mechanism is Mechanism.LAPLACE:
        return laws.DiscreteLaplace(event.parameter).variance
    if event.mechanism is Mechanism.GAUSSIAN:
        return laws.DiscreteGaussian(event.parameter).variance
    return 0.0


def _needs_batch(setting: Setting) -> None:
    if setting.batch is None:
        raise InfeasibleError("it needs a public batch: fit(X, y, batch=...)")


def _check_slots(setting: Setting, slots: int) -> None:
    rows = slots if setting.batch is None else setting.batch.shape[1]
    if slots > MOST_SLOTS_OF_P_IDENTITY or rows * slots > MOST_ENTRIES_OF_P_IDENTITY:
        raise InfeasibleError(
            f"{rows} sums over {slots} slots are too many to optimise; the most are {MOST_ENTRIES_OF_P_IDENTITY} "
            "entries: use a smaller batch, or 'cells' or 'leaves'"
        )

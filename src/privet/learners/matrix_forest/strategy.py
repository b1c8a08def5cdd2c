"""What is measured: matrices A with non-negative integer entries, and the way back from noisy measurements to counts.

A *slot* is a cell of the domain or a leaf of the forest; counts have a row for each slot and a column for each class. A
strategy turns them into integers (A times the counts), says how far one record can move these, and estimates the
slots from the noisy integers. Nothing here sees a record, draws noise, or is secret: a bad strategy costs accuracy,
never privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.matrix_forest.domain_cells import DomainCells, FeatureSet, over_supersets
from privet.learners.matrix_forest.votes import BatchVotes, Workload
from privet.tables.protocol import Floats, IntArray

WHOLE = (Fraction(1),)
MOST_ENTRY = 1 << 24  # so that products with counts stay far within 64 bits


@dataclass(frozen=True)
class StrategyNorm:
    """How far one record can move integers, from which it was left out: in L1, and in squared L2."""

    l1: int
    l2_squared: int


class Strategy(Protocol):
    """A matrix A, in groups of rows that get noise of one scale each."""

    @property
    def parts(self) -> tuple[Fraction, ...]:
        """The part of the budget that each group gets; they add up to one."""
        ...

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """The largest column norms of each group, for a record in one slot; exact."""
        ...

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return A times the counts, group by group, in integers."""
        ...

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return A+ times the noisy measurements: the least-squares estimate of the counts, weighted by precision."""
        ...

    def supports(self, workload: Workload) -> bool:
        """Whether W A+ A = W, decided exactly."""
        ...

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return the noise variance of a vote, averaged over the workload's queries."""
        ...


@dataclass(frozen=True)
class Identity:
    """Every slot for itself: the noisy histogram of all cells."""

    parts: tuple[Fraction, ...] = WHOLE

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """A record is in one slot."""
        return (StrategyNorm(1, 1),)

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return the counts."""
        return [counts]

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return the noisy counts."""
        return noisy[0].astype(np.float64)

    def supports(self, workload: Workload) -> bool:
        """Always: the identity spans everything."""
        return True

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return the mean squared norm of a query times the variance of a slot."""
        return workload.trace * variances[0]


@dataclass(frozen=True)
class Leaves(Identity):
    """Every leaf for itself. Where all trees see all records, this is A = T as a matrix over cells.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    together : bool
        Whether a record is in a leaf of every tree, or in a leaf of one tree only.
    """

    n_trees: int = 1
    together: bool = True

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """As many ones as there are leaves that a record is in."""
        return (StrategyNorm(self.n_trees, self.n_trees),) if self.together else (StrategyNorm(1, 1),)

    def vote_variance(self, workload: Workload | None, variances: Sequence[float]) -> float:
        """Return the variance of a sum over one leaf of each tree, divided by their number if each sees all records."""
        return variances[0] / self.n_trees if self.together else variances[0] * self.n_trees


@dataclass(frozen=True)
class Marginals:
    """Counts of some marginals of the domain, each with a part of the budget (theta_S of McKenna et al. 2018).

    Parameters
    ----------
    cells : DomainCells
        The domain.
    sets : tuple of tuple of int
        The features of each marginal.
    parts : tuple of Fraction
        The budget of each, adding up to one.
    """

    cells: DomainCells
    sets: tuple[FeatureSet, ...]
    parts: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if sum(self.parts) != 1 or min(self.parts) <= 0 or len(set(self.sets)) != len(self.parts):
            raise ParameterError("the marginals' parts of the budget must be positive and add up to one")

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """A record is in one count of each marginal."""
        return (StrategyNorm(1, 1),) * len(self.sets)

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return the counts of each marginal."""
        table = counts.reshape(*self.cells.dims, -1)
        return [table.sum(axis=self._outside(chosen)).reshape(-1, table.shape[-1]) for chosen in self.sets]

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return the sum over R of P_R / a_R, times the precision-weighted marginals, each spread over its cells."""
        total = np.zeros((*self.cells.dims, noisy[0].shape[-1]))
        for chosen, values, precision in zip(self.sets, noisy, self._precisions(variances), strict=True):
            shape = [size if feature in chosen else 1 for feature, size in enumerate(self.cells.dims)]
            total += precision * values.reshape(*shape, -1)
        strength = self._strength(variances)
        inverse = np.divide(1.0, strength, out=np.zeros_like(strength), where=strength > 0)
        return self.cells.apply(inverse, total.reshape(self.cells.number, -1))

    def supports(self, workload: Workload) -> bool:
        """Whether every subspace that the workload touches lies within a measured marginal; sets are compared exactly.

        Votes of trees of depth h touch at the most every subspace of up to h features.
        """
        measured = over_supersets(self._on_sets([1.0] * len(self.sets))) > 0
        needed = (self.cells.set_sizes <= workload.depth) & (self.cells.multiplicities > 0)
        return bool(measured[needed].all())

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return the sum over R of t_R / a_R."""
        strength = self._strength(variances)
        energies = np.where(strength > 0, workload.energies, 0.0)
        return float((energies / np.where(strength > 0, strength, 1.0)).sum())

    def _outside(self, chosen: FeatureSet) -> tuple[int, ...]:
        return tuple(feature for feature in range(self.cells.n_features) if feature not in chosen)

    def _precisions(self, variances: Sequence[float]) -> list[float]:
        # Without noise (epsilon=None) any weights give the exact counts back.
        return [1 / variance if variance > 0 else 1.0 for variance in variances]

    def _strength(self, variances: Sequence[float]) -> Floats:
        """Return a_R: the sum of precision times N(S) over the measured marginals that contain R."""
        return over_supersets(self._on_sets(self._precisions(variances)) * self.cells.cells_per_count)

    def _on_sets(self, values: Sequence[float]) -> Floats:
        array = np.zeros((2,) * self.cells.n_features)
        for chosen, value in zip(self.sets, values, strict=True):
            array[tuple(int(feature in chosen) for feature in range(self.cells.n_features))] = value
        return array


@dataclass(frozen=True, eq=False)
class Explicit:
    """A matrix of the user's own.

    Parameters
    ----------
    matrix : int64 array of shape (measurements, slots)
        Non-negative whole numbers; only their ratios matter.
    """

    matrix: IntArray
    parts: tuple[Fraction, ...] = WHOLE

    def __post_init__(self) -> None:
        sound = self.matrix.ndim == 2 and self.matrix.dtype == np.int64 and self.matrix.size > 0
        if not sound or self.matrix.min() < 0 or self.matrix.max() > MOST_ENTRY:
            raise ParameterError(
                f"a strategy must be a matrix of whole numbers from 0 to {MOST_ENTRY}, a row for each measurement"
            )

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """The largest column sum, and the largest sum of a column's squares."""
        return (column_norm(self.matrix),)

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return the matrix times the counts."""
        return [self.matrix @ counts]

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return the least-squares estimate of the slots."""
        return self._pseudo_inverse @ noisy[0].astype(np.float64)

    def supports(self, workload: Workload) -> bool:
        """Decide by elimination over the rationals."""
        return supports(self.matrix, workload.whole_rows())

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return the mean squared norm of a row of W A+, times the variance of a measurement."""
        answers = workload.rows() @ self._pseudo_inverse
        return float((answers**2).sum() / len(answers)) * variances[0]

    @cached_property
    def _pseudo_inverse(self) -> Floats:
        inverse: Floats = np.linalg.pinv(self.matrix.astype(np.float64))
        return inverse


@dataclass(frozen=True, eq=False)
class Queries:
    """The queries of a batch themselves, noise on every answer: A = W. It answers this batch and nothing else.

    Parameters
    ----------
    workload : BatchVotes
        The batch.
    evenly : bool
        Split the budget evenly among the queries, as Definitions 4 and 7 of Tajima et al. do, instead of paying for
        what one record can really change in all of them together. The baseline that the paper starts from.
    """

    workload: BatchVotes
    evenly: bool = False
    parts: tuple[Fraction, ...] = WHOLE

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """The exact column norms, or as many times one query's largest entry as there are queries."""
        exact = column_norm(self.workload.matrix)
        if not self.evenly:
            return (exact,)
        largest, number = int(self.workload.matrix.max()), len(self.workload.matrix)
        return (StrategyNorm(number * largest, number * largest**2),)

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return the answers, as whole numbers."""
        return [self.workload.matrix @ counts]

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return the noisy votes of the batch, not an estimate of the slots."""
        return noisy[0] / self.workload.scale

    def supports(self, workload: Workload) -> bool:
        """Itself, and nothing else is asked."""
        return workload is self.workload

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return the variance of a vote."""
        return variances[0] / self.workload.scale**2


def column_norm(matrix: IntArray) -> StrategyNorm:
    """Return the exact norms of a matrix of whole numbers, however large: a norm that overflowed would be too small."""
    largest = max(abs(int(matrix.max())), abs(int(matrix.min())))
    whole = matrix if len(matrix) * largest**2 < 2**63 else matrix.astype(object)
    return StrategyNorm(int(abs(whole).sum(axis=0).max()), int((whole**2).sum(axis=0).max()))


def supports(strategy: NDArray[Any], workload: NDArray[Any]) -> bool:
    """Return whether the strategy's rows span every row of the workload: whether ``W A+ A = W``, decided exactly.

    ``W A+ z`` is an unbiased answer to W, and free of anything but the measurements, only if every row of W is a
    combination of rows of A. With W = I and A = [1 1] the printed form ``W D + W A+ z`` releases the difference of two
    counts without noise.

    Examples
    --------
    >>> import numpy as np
    >>> supports(np.array([[1, 1]]), np.eye(2, dtype=int))
    False
    >>> supports(np.array([[1, 1], [1, -1]]), np.eye(2, dtype=int))
    True
    """
    basis: dict[int, list[Fraction]] = {}
    for row in strategy.tolist():
        rest = _reduce([Fraction(entry) for entry in row], basis)
        lead = next((place for place, entry in enumerate(rest) if entry), None)
        if lead is not None:
            basis[lead] = [entry / rest[lead] for entry in rest]
    rows = {tuple(row) for row in workload.tolist()}
    return not any(any(_reduce([Fraction(entry) for entry in row], basis)) for row in rows)


def _reduce(row: list[Fraction], basis: dict[int, list[Fraction]]) -> list[Fraction]:
    """Subtract what the basis rows span; each basis row starts with a one at its key."""
    for lead in sorted(basis):
        if row[lead]:
            factor = row[lead]
            row = [entry - factor * other for entry, other in zip(row, basis[lead], strict=True)]
    return row

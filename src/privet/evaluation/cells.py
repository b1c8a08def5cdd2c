"""The public cells in which predicted shares are counted, and how cells with few records are put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from privet.errors import ParameterError
from privet.estimators.learning import Model
from privet.parameters import public_rng
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, IntArray

MADE_UP = 4096  # records drawn from the schema alone
MADE_UP_SEED = 24
MOST_SHARES = 128  # a model with no more different shares than that has a cell for each of them
EVEN_MARKS = 256  # of all other models: marks at even distances,
ODDS_MARKS = 32  # and at even distances of the log-odds, from 1/1000 to 999/1000
SMALLEST_SHARE = 0.001
DECISION = 0.5  # of two classes, the second is predicted if its share is above this, unless an objective says otherwise

BLOCKS, FINE_CELLS, COARSE_CELLS = 40, 90, 6  # about so many, or one more where the decision divides one
FEW_CELLS = 112  # no more than that are not put together at all
NEIGHBOURING = 2.0  # blocks: how far the averages of crowds reach


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """Cells for the predicted share of one class.

    Attributes
    ----------
    marks : float array
        Ascending, within [0, 1].
    exact : bool
        Whether each mark is a cell of its own, between the open cells to both sides. If not, a mark belongs to the cell
        below it.
    decision : float
        A mark: above it the class is predicted, where it is the second of two.
    """

    marks: Floats
    exact: bool
    decision: float = DECISION

    def of(self, shares: Floats) -> IntArray:
        """Return the cell of each share. Each depends on that share alone."""
        below = np.searchsorted(self.marks, shares, side="left")
        return (below + np.searchsorted(self.marks, shares, side="right") if self.exact else below).astype(np.int64)

    @property
    def n_cells(self) -> int:
        """How many there are."""
        return len(self.marks) * (2 if self.exact else 1) + 1

    @property
    def first_above(self) -> int:
        """The first cell above the decision, which is always a mark."""
        place = int(np.searchsorted(self.marks, self.decision))
        return 2 * place + 2 if self.exact else place + 1

    @property
    def lows(self) -> Floats:
        """The lower end of each cell."""
        return self._ends()[:-1].repeat(2)[1:] if self.exact else self._ends()[:-1]

    @property
    def highs(self) -> Floats:
        """The upper end of each cell."""
        return self._ends()[1:].repeat(2)[:-1] if self.exact else self._ends()[1:]

    def _ends(self) -> Floats:
        return np.concatenate([[0.0], self.marks, [1.0]])


def made_up_codes(encoding: Encoding) -> NDArray[np.unsignedinteger]:
    """Draw codes of records that nobody has, evenly from the public domains; the same in every call."""
    rng = public_rng(MADE_UP_SEED)
    drawn = [rng.integers(0, size, MADE_UP) for size in encoding.n_codes.tolist()]
    return np.ascontiguousarray(np.array(drawn), dtype=encoding.dtype)


def score_cells(model: Model, n_scores: int, decision: float = DECISION) -> tuple[ScoreCells, ...]:
    """Choose cells for the shares of the last `n_scores` classes; one begins at the decision.

    *Privacy.* The model is public, and so are made-up records and what the model predicts for them. The cells depend on
    nothing else.
    """
    try:
        shares = model.votes(made_up_codes(model.encoding))[:, -n_scores:]
    except ParameterError as error:  # raised for public records, so it says nothing about private ones
        raise ParameterError(
            "this model does not predict for every record of its schema, so it cannot be evaluated privately: "
            "fit it without a batch"
        ) from error
    return tuple(_cells_for(np.ascontiguousarray(shares[:, place]), decision) for place in range(n_scores))


def _cells_for(shares: Floats, decision: float) -> ScoreCells:
    values = np.unique(shares)
    if len(values) <= MOST_SHARES:
        return ScoreCells(np.union1d(values, [decision]), exact=True, decision=decision)
    furthest = np.log(1 / SMALLEST_SHARE - 1)
    odds = 1 / (1 + np.exp(np.linspace(furthest, -furthest, ODDS_MARKS)))
    even = np.arange(1, EVEN_MARKS) / EVEN_MARKS
    marks = np.unique(np.round(np.concatenate([odds, even]), 6))
    return ScoreCells(np.union1d(marks, [decision]), exact=False, decision=decision)


def block_starts(cells: ScoreCells) -> IntArray:
    """Return where blocks of neighbouring cells begin; one begins at the decision."""
    block = max(1, cells.n_cells // BLOCKS)
    return np.union1d(np.arange(0, cells.n_cells, block), [cells.first_above]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Merged:
    """Which cells are put together to fine ones, and which fine ones to coarser ones.

    Attributes
    ----------
    fine : int64 array
        The cell at which each fine one begins; one begins at the decision.
    coarse : int64 array
        The fine cell at which each coarser one begins; one begins at the decision.
    lows, highs : float arrays
        The ends of the fine cells; equal where a cell holds a single share, so that all records in it are tied.
    first_above : int
        The first fine cell above the decision.
    """

    fine: IntArray
    coarse: IntArray
    lows: Floats
    highs: Floats
    first_above: int

    @staticmethod
    def by(crowds: IntArray, deviation: float, cells: ScoreCells) -> Merged:
        """Put cells together so that each has about as many records, and fewer where the prediction is clear.

        Parameters
        ----------
        crowds : int64 array
            Released counts of the blocks. They are used for nothing else: cells that were chosen by the very noise that
            is left in their counts would bias all figures.
        deviation : float
            The standard deviation of their noise.
        cells : ScoreCells
            The cells.
        """
        blocks, n = block_starts(cells), cells.n_cells
        sizes = np.diff([*blocks, n])
        middles = (cells.lows + cells.highs) / 2
        # Where each share has a cell of its own, a crowd says nothing about the next one.
        likely = crowds if cells.exact else _smoothed(crowds.astype(np.float64), deviation)
        crowded = np.repeat(np.maximum(likely, deviation / 4 + 1) / sizes, sizes)
        weights = crowded * np.sqrt(middles * (1 - middles) + SMALLEST_SHARE)
        decision = cells.first_above
        fine = np.arange(n) if n <= FEW_CELLS else even_starts(weights, FINE_CELLS, decision)
        above = int(np.searchsorted(fine, decision))
        coarse = even_starts(np.add.reduceat(weights, fine), COARSE_CELLS, above)
        return Merged(fine, coarse, cells.lows[fine], cells.highs[[*(fine[1:] - 1), n - 1]], above)

    @property
    def n_cells(self) -> int:
        """How many fine cells there are."""
        return len(self.fine)

    @property
    def points(self) -> NDArray[np.bool_]:
        """Which fine cells hold a single share."""
        points: NDArray[np.bool_] = self.lows == self.highs
        return points


def _smoothed(crowds: Floats, deviation: float) -> Floats:
    """Average over neighbouring blocks; what differs from the average is kept as far as it exceeds noise."""
    average: Floats = gaussian_filter1d(crowds, NEIGHBOURING, mode="constant")
    apart = crowds - average
    beyond_noise = max(0.0, 1 - deviation**2 * len(crowds) / max(float(apart @ apart), 1.0))
    return average + beyond_noise * apart


def even_starts(weights: Floats, parts: int, decision: int) -> IntArray:
    """Divide a row of weights into parts of about the same sum; return where they begin. One begins at `decision`."""
    before = np.concatenate([[0.0], np.cumsum(weights)[:-1]]) / weights.sum()
    part = np.floor(before * parts)
    return np.union1d(np.flatnonzero(np.diff(part, prepend=-1.0)), [decision]).astype(np.int64)

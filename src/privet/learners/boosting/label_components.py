"""The directions in which labels are measured: principal components of public features.

An additive model gives each cell of each feature an effect. Before any label is seen it is known how the records spread
over the cells, so it is known which combinations of effects the records can tell apart at all, and how well. Effects
are taken to be smooth along an ordered feature. The combinations that then vary most over the records, the principal
components of the features as that prior sees them, are few, whatever the number of features and cells; and it is their
number that noise has to be paid for. Everything here is a function of features and of public constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privet.learners.boosting.cells import CellGrid
from privet.learners.boosting.gradients import Norm
from privet.privacy.events import Event
from privet.tables.protocol import Floats, IntArray

CAPS: dict[Norm, int] = {"l1": 1 << 14, "l2": 1 << 20}  # on a record's size
MOST_COMPONENTS = 96
SIGNAL = 1.0  # the variance that all effects together are expected to have, on targets of -1 and 1
LINE, ROUGH, REACH = 2.0, 0.5, 0.5  # of effects along an ordered feature: a line, and what deviates from it, how far on
CONSTANT = 0.3  # how much the mean of all targets is expected to vary
MEAN_SIZE = 0.8  # of a component over its deviation, if it were normal


@dataclass(frozen=True, eq=False)
class Components:
    """So many numbers for each record, each a sum over its cells.

    Attributes
    ----------
    offsets : int64 array
        Where each feature's cells begin.
    table : int64 array of shape (total number of cells + 1, n_components)
        What each cell adds, in whole numbers; the last row is what every record has.
    unit : float
        What stands for one.
    norm : {"l1", "l2"}
        What a record's size is: the sum of its numbers' sizes, or of their squares. It is held within `CAPS`, about its
        mean. A larger record is shortened, its target as well: in a regression it counts for less.
    variance : float64 array of shape (n_components,)
        How much their coefficients are expected to vary.
    """

    offsets: IntArray
    table: IntArray
    unit: float
    norm: Norm
    variance: Floats

    @property
    def cap(self) -> int:
        """A record's largest size."""
        return CAPS[self.norm]

    @property
    def n(self) -> int:
        """The number of components."""
        return int(self.table.shape[1])


def components_of(grid: CellGrid, pairs: IntArray, norm: Norm, price: float) -> Components:
    """Return the components that are worth their noise.

    Parameters
    ----------
    grid : CellGrid
        The cells.
    pairs : int64 array
        How many records are in both of two cells; in the last row and column, in one.
    norm : {"l1", "l2"}
        For which kind of noise.
    price : float
        The variance of the noise of a single component in which all records have size one.

    Notes
    -----
    A record's numbers have a mean square of x_i in component i, and these add up to one. With n records the noise in a
    coefficient then has variance ``a / x_i``, with ``a = price / n^2`` (times the number of components for Laplace
    noise), and sampling adds ``1 / n``. Of an effect with variance v the part ``v u / (v + u)`` stays unknown, where u
    is the sum of the two. The sum of all these is least where their derivatives in x_i are the same, or x_i is zero:
    ``x_i = (v_i c - a) / (v_i + 1 / n)`` for one c, where that is positive.
    """
    counts = pairs.astype(np.float64)
    counts[-1, -1] = n = max(counts[-1, -1], 1.0)  # without any record there is still a constant
    root = _root_of_matrix(_prior(grid))
    spread, directions = np.linalg.eigh(root @ counts @ root)
    # Those of the largest spread come last; what does not vary at all is left out.
    some = np.flatnonzero(spread > 1e-9 * spread[-1])[::-1][:MOST_COMPONENTS]
    effects = root @ directions[:, some] / np.sqrt(spread[some] / n)  # those of mean square one
    variances = SIGNAL * spread[some] / n
    amounts = _amounts(variances, price / n**2, 1 / n, norm)
    used = np.flatnonzero(amounts > 0)
    sizes = np.sqrt(amounts[used])
    unit = math.sqrt(CAPS[norm]) if norm == "l2" else CAPS[norm] / (MEAN_SIZE * float(sizes.sum()))
    table = np.rint(unit * effects[:, used] * sizes).astype(np.int64)
    return Components(grid.cells.offsets, table, unit, norm, variances[used] / amounts[used])


def price_of(event: Event, largest: int, norm: Norm) -> float:
    """Return the price for `components_of` of planned noise; `largest` stands for one in the target."""
    unit = math.sqrt(CAPS[norm]) if norm == "l2" else CAPS[norm] / MEAN_SIZE
    return (event.deviation / (largest * unit)) ** 2


def _amounts(variances: Floats, noise: float, sampling: float, norm: Norm) -> Floats:
    """Return the mean square of each component."""
    if norm == "l2":
        return _divided(variances, noise, sampling)[0]
    best, least = np.zeros_like(variances), np.inf
    for number in range(1, len(variances) + 1):
        amounts, unknown = _divided(variances[:number], noise * number, sampling)
        unknown += float(variances[number:].sum())
        if unknown < least:
            best, least = np.concatenate([amounts, np.zeros(len(variances) - number)]), unknown
    return best


def _divided(variances: Floats, noise: float, sampling: float) -> tuple[Floats, float]:
    """Divide one among the components; return the parts, and how much of the effects stays unknown."""

    def parts(level: float) -> Floats:
        return np.maximum(variances * level - noise, 0.0) / (variances + sampling)

    # With the largest level below one component alone would get more than one; none gets anything with the smallest.
    low, high = noise / variances.max(), (noise + variances.max() + sampling) / variances.max()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if parts(middle).sum() > 1 else (middle, high)
    amounts = parts(high)
    amounts[0] = max(amounts[0], 1e-6)
    amounts /= amounts.sum()
    held = np.maximum(amounts, 1e-300)  # both parts of the fraction times that, so that little budget overflows nothing
    unknown = variances * (sampling * held + noise) / ((variances + sampling) * held + noise)
    return amounts, float(unknown.sum())


def _prior(grid: CellGrid) -> Floats:
    """Return how effects of cells are expected to vary together; the last is that of the constant."""
    offsets, n_features = grid.cells.offsets, len(grid.cells.offsets) - 1
    prior = np.zeros((int(offsets[-1]) + 1,) * 2)
    for feature in range(n_features):
        cells = slice(int(offsets[feature]), int(offsets[feature + 1]))
        own = np.eye(cells.stop - cells.start)
        if grid.domains.ordered[feature]:
            present = int(grid.domains.n_cells[feature])
            rank = (2 * np.arange(present) + 1 - present) / present
            apart = np.abs(rank[:, np.newaxis] - rank)
            own[:present, :present] = LINE * np.outer(rank, rank) + ROUGH * np.exp(-apart / REACH)
        prior[cells, cells] = own / n_features
    prior[-1, -1] = CONSTANT
    return prior


def _root_of_matrix(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root

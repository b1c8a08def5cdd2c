"""What the columns of a regression on ranks hold, how large a record is in them, and how far it moves their products.

A category has a column of its own. A numeric feature has a line of its rank among its cells, and for Gaussian noise a
bend as well. Noise is paid for the largest record that there can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.learners.boosting.gradients import Norm
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray

WEIGHT = 64  # what stands for one in a column
CONSTANT = 32  # in the column that every record has; little, since it takes part in every product


@dataclass(frozen=True)
class ColumnSizes:
    """What a feature may have of a record's size, in the columns' units.

    Attributes
    ----------
    norm : {"l1", "l2"}
        What a record's size is: the sum of its values' sizes, or of their squares; the constant's too.
    functions : int
        Columns of a numeric feature.
    category : int
        A category's value.
    numeric : int
        A numeric feature's part of the cap: less than its mean for evenly spread ranks, as records that are far out may
        count for less.
    """

    norm: Norm
    functions: int
    category: int
    numeric: int

    def cap(self, encoding: Encoding) -> int:
        """Return a record's largest size; records of categories alone all have just that."""
        ordered = sum(column.ordered for column in encoding.columns)
        power, n_categorical = self._power, encoding.n_features - ordered
        cap: int = CONSTANT**power + self.numeric * ordered + self.category**power * n_categorical
        return cap

    def largest_products(self, encoding: Encoding, levels: int = 0) -> Fraction:
        """Return the most that a record adds to all products of columns: the sum of their sizes, or of their squares.

        Parameters
        ----------
        encoding : Encoding
            The features.
        levels : int
            Numeric features have at most ``2^levels`` cells; for zero, as many as they have codes.

        Notes
        -----
        *Privacy.* Write x for ``|v|``, or for ``v^2`` where sizes are squares, of each of a record's values v. S is
        the sum of its x, its size. The products of the upper triangle have ``(S^2 + sum of x^2) / 2``. Of a
        category, its product with the constant says how often it occurs. So its square is not released, and its
        ``x^2`` is taken away in place of being added: ``(S^2 + Q) / 2``, with Q the sum of ``x^2`` over the constant
        and numeric features less that over categories.

        *What Q can be.* The constant and one category for each categorical feature are in every record: they have K of
        S and k of Q. Whatever m is, each of the f numeric features has ``sum of x^2 <= m (sum of x) - e``, where e is
        the least of ``m (sum of x) - sum of x^2`` over all cells that there can be, and a missing value, which is a
        category. So ``Q <= k + m (S - K) - f e = m S - z`` with ``z = m K - k + f e``.

        *A record within the cap c* has ``S^2 + Q <= c^2 + m c - z``. *A larger one* is shortened to the cap and rounded
        towards zero. No product is then larger than if all x were multiplied with ``c / S`` exactly, and those have
        ``c^2 (1 + Q / S^2)``, with ``Q / S^2 <= (m S - z) / S^2``. That falls in S from ``2 z / m`` on, and everywhere
        if z is not positive. If c is no less than that, it is at most what it is for S = c, and the bound is
        ``c^2 + m c - z`` again; else it is at most its maximum, ``m^2 / (4 z)``.

        All this holds for every m above zero; the one that gives the least is taken.
        """
        cap, constant, category = self.cap(encoding), CONSTANT**self._power, self.category**self._power
        cells = [column.n_values for column in encoding.columns if column.ordered]
        n_categorical = encoding.n_features - len(cells)
        in_all, in_all_squared = constant + n_categorical * category, constant**2 - n_categorical * category**2
        if not cells:
            return Fraction(cap**2 + in_all_squared, 2)
        most_cells = min(max(cells), 1 << levels) if levels else max(cells)
        of_cell, of_cell_squared = self.of_cells(most_cells)
        bounds = []
        for slope in _slopes(self._power):
            least = min(int((slope * of_cell - of_cell_squared).min()), slope * category + category**2)
            less = slope * in_all - in_all_squared + len(cells) * least
            within = 2 * less <= slope * cap
            bounds.append(Fraction(slope * cap - less) if within else Fraction(cap**2 * slope**2, 4 * less))
        return (cap**2 + min(bounds)) / 2

    def of_cells(self, most_cells: int) -> tuple[IntArray, IntArray]:
        """Return the sums of x and of ``x^2`` of every cell that a numeric feature of so many cells can have, and more.

        A rank r is within ``1 - 1 / n`` of zero, for n cells or fewer. Its line is the whole number next to ``64 r``:
        for a line of l, r is at most 1/128 from ``l / 64``. The bend is the whole number next to ``96 r^2 - 32``, so it
        is between what the ends of that interval give, rounded down and up. Signs do not matter for sizes.
        """
        pairs = []
        for line in range((2 * WEIGHT * (most_cells - 1) + most_cells) // (2 * most_cells) + 1):
            low, high = (3 * ends**2 for ends in (max(2 * line - 1, 0), min(2 * line + 1, 2 * WEIGHT)))
            pairs += [(line, bend) for bend in range(low // 512 - 32, -(-high // 512) - 32 + 1)]
        x = np.abs(np.array(pairs, dtype=np.int64)[:, : self.functions]) ** self._power
        return x.sum(axis=1), (x**2).sum(axis=1)

    @property
    def _power(self) -> int:
        return 1 if self.norm == "l1" else 2


SIZES: dict[Norm, ColumnSizes] = {
    "l1": ColumnSizes("l1", 1, WEIGHT // 2, 2 * WEIGHT // 5),
    "l2": ColumnSizes("l2", 2, 45, 2 * WEIGHT**2 // 5),
}


def line_and_bend(n_cells: int, functions: int) -> IntArray:
    """Return what the cells of a numeric feature have in its columns, by their rank: int64 (n_cells, functions)."""
    rank = (2 * np.arange(n_cells) + 1 - n_cells) / n_cells
    both = np.stack([rank, (3 * rank**2 - 1) / 2], axis=1)
    values: IntArray = np.rint(WEIGHT * both[:, :functions]).astype(np.int64)
    return values


def _slopes(power: int) -> range:
    """Return the slopes to try: in 16ths of the largest x, up to twice that."""
    step = WEIGHT**power // 16
    return range(step, 32 * step + 1, step)

"""Columns that are turned and shortened, so that records are about as long in every direction.

Noise is the same in every direction, and as large as the largest record. Where columns follow each other, as sizes and
weights do, records are long in the direction that all columns share and short in all others: noise is paid for what
they share, and drowns what sets them apart. The matrix M that makes of the products of columns about a unit matrix
turns and shortens the columns, and sums are taken of ``M v`` in place of v.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.descent_base import sums_by_column
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE
from privet.learners.boosting.gradients import ONE, whole_root
from privet.learners.boosting.regression_base import Design
from privet.tables.protocol import Block, Floats, IntArray

LIMIT_STATE = "limit"
LENGTH = 1 << 12  # of a usual record when it is turned
LARGEST_MATRIX = 1 << 19  # the root of the sum of its squares, so that squared lengths are below 2^63
_FINE = 10  # bits of what a gradient is shortened by


@dataclass(frozen=True, eq=False)
class Turn:
    """How columns are turned and shortened; made of released values.

    Attributes
    ----------
    matrix : int64 array of shape (n_columns + 1, n_columns + 1)
        What a record's whole-numbered values are multiplied with.
    scale : float
        How many times the root of the inverse of the products of columns that is.
    usual : float
        The length of a usual record when it is turned, without that scale.
    """

    matrix: IntArray
    scale: float
    usual: float

    @staticmethod
    def of(gram: Floats, penalty: float, n_records: float) -> Turn:
        """Take the root of the inverse, with a penalty, and with eigenvalues, which noise can make negative, held.

        The sum of all records' squared lengths is the trace of the products of turned columns.
        """
        eigenvalues, vectors = np.linalg.eigh(gram)
        held = np.maximum(eigenvalues, 0.0)
        root = (vectors / np.sqrt(held + penalty)) @ vectors.T
        usual = math.sqrt(float((held / (held + penalty)).sum()) / n_records)
        scale = min(LENGTH / (WEIGHT * max(usual, 1e-9)), LARGEST_MATRIX / float(np.linalg.norm(root)))
        return Turn(np.rint(scale * root).astype(np.int64), scale, usual)

    @property
    def back(self) -> Floats:
        """From sums of turned columns to weights of the columns as they were."""
        back: Floats = self.matrix.T / self.scale
        return back


@compiled
def _find_limits(
    cells: NDArray[Any], offsets: IntArray, turned: IntArray, constant: IntArray, farthest: int, out: NDArray[np.int32]
) -> None:
    n_columns = constant.size
    of_record = np.zeros(n_columns, np.int64)
    for row in range(cells.shape[0]):
        of_record[:] = constant
        for feature in range(cells.shape[1]):
            of_cell = turned[offsets[feature] + np.int64(cells[row, feature])]
            for k in range(n_columns):
                of_record[k] += of_cell[k]
        size = np.int64(0)
        for k in range(n_columns):
            size += of_record[k] * of_record[k]
        out[row] = min(whole_root(np.int64(farthest) // max(size, np.int64(1))), np.int64(ONE))


@dataclass(frozen=True, eq=False)
class RecordLimits:
    """How long each record's gradient may be, so that its product with the turned record is no longer than allowed.

    Parameters
    ----------
    design : Design
        The columns.
    matrix : int64 array
        What turns them.
    farthest : int
        The largest squared length of a product, below 2^62.

    Notes
    -----
    *Privacy.* With s the squared length of a turned record and F that largest one, a limit is at most the root of
    ``F / s``, rounded down twice: s times the limit's square is at most F. The same in all steps.

    *No overflow.* A record has at most 401 values of at most 64 each, since there are no more columns than that: its
    length is below 2^11. That of ``M v`` is below 2^31, as the squares of M add up to less than ``(2^19 + 401)^2``, so
    s is below 2^62.
    """

    design: Design
    matrix: IntArray
    farthest: int

    def __call__(self, block: Block) -> NDArray[np.int32]:
        """Return int32 limits, at most `ONE`, which no gradient is longer than."""
        of, out = self.design, np.zeros(block.target.size, np.int32)
        by_cell = np.zeros((len(of.value), len(self.matrix)), np.int64)
        for column, value in zip(of.column.T, of.value.T, strict=True):
            by_cell += value[:, np.newaxis] * self.matrix.T[column]
        constant = CONSTANT * self.matrix[:, -1]
        _find_limits(block.state[CELL_STATE], of.offsets, by_cell, constant, self.farthest, out)
        return out


@compiled
def _add_limited(
    cells: NDArray[Any], offsets: IntArray, limit: NDArray[np.int32], gradient: NDArray[np.int32], sums: IntArray
) -> None:
    n_scores = sums.shape[1]
    of_record = np.zeros(n_scores, np.int64)
    for row in range(cells.shape[0]):
        most = np.int64(limit[row])
        if n_scores == 1:
            of_record[0] = min(max(np.int64(gradient[row, 0]), -most), most)
        else:
            size = np.int64(0)
            for k in range(n_scores):
                of_record[k] = gradient[row, k]
                size += of_record[k] * of_record[k]
            if size > most * most:
                factor = whole_root((most * most << (2 * _FINE)) // size)
                for k in range(n_scores):
                    shorter = (abs(of_record[k]) * factor) >> _FINE
                    of_record[k] = shorter if of_record[k] > 0 else -shorter
        for feature in range(cells.shape[1]):
            of_cell = sums[offsets[feature] + np.int64(cells[row, feature])]
            for k in range(n_scores):
                of_cell[k] += of_record[k]


@dataclass(frozen=True, eq=False)
class TurnedSums:
    """Add up the products of every turned column with the gradients, which are shortened to each record's limit.

    Gradients are added up by cell first, and by column; turned is what comes of that.

    Notes
    -----
    *Privacy.* A record adds ``M v`` times its gradient a, where ``|a|`` is at most its limit l: one number is cut off
    there, and several are multiplied with the whole part f of ``2^10 l / |a|`` over 2^10 and rounded towards zero, so
    that their squares add up to at most ``|a|^2 f^2 / 2^20 <= l^2``. So the squares of all that a record adds are at
    most ``s l^2``, which `RecordLimits` bounds.

    *No overflow.* Sums of ``v a`` are multiplied with M modulo 2^64, which is exact as long as the result is within
    n times the root of that bound, below 2^63.
    """

    design: Design
    matrix: IntArray
    n_scores: int = 1

    def __call__(self, block: Block) -> IntArray:
        """Return int64 sums of shape (n_columns + 1, n_scores)."""
        gradient = np.asarray(block.state[GRADIENT_STATE], dtype=np.int32)
        limits = np.asarray(block.state[LIMIT_STATE], dtype=np.int32)
        by_cell = np.zeros((len(self.design.value), self.n_scores), np.int64)
        _add_limited(block.state[CELL_STATE], self.design.offsets, limits, gradient, by_cell)
        sums: IntArray = self.matrix @ sums_by_column(self.design, by_cell)
        return sums

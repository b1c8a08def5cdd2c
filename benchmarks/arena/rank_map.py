"""Private quantiles of every numeric feature from Gaussian counts, and the columns that linear peers learn from.

Each number is put into one of 4096 equal cells of its public range, and the cells are counted at twelve dyadic levels.
A record adds one to one count of each level and feature, so it moves all counts together by the root of 12 x features.
The estimated distribution divides each dyadic cell between its halves by their noisy counts, less so where noise is
larger than what the cell holds, and evenly where nothing is known. A value's rank under it is its column.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from arena.gaussian_privacy import deviation

LEVELS = 12


@dataclass(frozen=True)
class Columns:
    """Features as others see them: `codes` with public ends of numbers and sizes of categories (0 for a number)."""

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sizes: np.ndarray

    def fine(self) -> np.ndarray:
        """The place of each number among the cells of the finest level."""
        numbers = self.sizes == 0
        share = (self.codes[:, numbers] - self.low[numbers]) / (self.high[numbers] - self.low[numbers])
        return np.clip((share * 2**LEVELS).astype(np.int64), 0, 2**LEVELS - 1)


def distributions(fine: np.ndarray, mu: float, rows: float, rng: np.random.Generator) -> np.ndarray:
    """Return each feature's estimated share of records below each border of the finest cells.

    Parameters
    ----------
    fine : ndarray
        Finest cells of the records, a column for each numeric feature.
    mu : float
        What may be spent on all counts together.
    rows : float
        The public hint of how many records there are.
    rng : Generator
        Draws the noise.
    """
    n_features = fine.shape[1]
    noise = deviation(1.0, mu, LEVELS * max(1, n_features))
    shares = np.ones((n_features, 1))
    for level in range(1, LEVELS + 1):
        cells = fine >> (LEVELS - level)
        counts = np.stack([np.bincount(column, minlength=2**level) for column in cells.T], axis=0, dtype=np.float64)
        noisy = counts + noise * rng.normal(size=counts.shape)
        first, second = noisy[:, 0::2], noisy[:, 1::2]
        held = shares * rows
        # The halves' difference has variance 2 noise^2; what the cell holds is an upper bound of it.
        tilt = np.clip((first - second) * held / (held**2 + 2 * noise**2), -1, 1)
        shares = np.stack([shares * (1 + tilt) / 2, shares * (1 - tilt) / 2], axis=2).reshape(n_features, -1)
    return np.concatenate([np.zeros((n_features, 1)), np.cumsum(shares, axis=1)], axis=1)


def ranks(fine: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return the middle rank of each record's cell, from 0 to 1."""
    middles = (below[:, :-1] + below[:, 1:]) / 2
    return np.stack([middles[feature, column] for feature, column in enumerate(fine.T)], axis=1)


def linear_columns(columns: Columns, rank: np.ndarray) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Numbers as ranks from -1 to 1, categories as indicators, and a constant; rows of norm at most one.

    Returns the columns, and how many the constant and each feature have.
    """
    made = [sparse.csr_matrix(np.ones((len(columns.codes), 1)))]
    numbers = iter((2 * rank - 1).T)
    for feature, size in enumerate(columns.sizes):
        if size:
            made.append(_indicators(columns.codes[:, feature].astype(np.int64), int(size)))
        else:
            made.append(sparse.csr_matrix(next(numbers)[:, None]))
    return _scaled(made)


def additive_columns(columns: Columns, rank: np.ndarray, n_cells: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Numbers as indicators of cells of nearly equal share, categories as indicators, a constant; rows of norm one.

    Returns the columns, and how many the constant and each feature have.
    """
    made = [sparse.csr_matrix(np.ones((len(columns.codes), 1)))]
    numbers = iter(rank.T)
    for feature, size in enumerate(columns.sizes):
        if size:
            made.append(_indicators(columns.codes[:, feature].astype(np.int64), int(size)))
        else:
            cell = np.minimum((next(numbers) * n_cells).astype(np.int64), n_cells - 1)
            made.append(_indicators(cell, n_cells))
    return _scaled(made)


def _scaled(made: list[sparse.csr_matrix]) -> tuple[sparse.csr_matrix, np.ndarray]:
    whole = sparse.hstack(made, format="csr", dtype=np.float32) / np.float32(np.sqrt(len(made)))
    return whole, np.array([part.shape[1] for part in made])


def _indicators(codes: np.ndarray, size: int) -> sparse.csr_matrix:
    rows = np.arange(len(codes) + 1)
    return sparse.csr_matrix((np.ones(len(codes), np.float32), codes, rows), shape=(len(codes), size))

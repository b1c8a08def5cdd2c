"""p-identity strategies (McKenna et al. 2018): every slot, and p sums over slots, with column norms of exactly one.

A = [I; B] diag(1 / s) with B >= 0 and s = 1 + the column sums of B. It has full rank, so it supports every workload;
only its noise depends on B. B = 0 (the identity) is always a local minimum, so the search starts at the queries
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privet.learners.matrix_forest.strategy import WHOLE, StrategyNorm
from privet.learners.matrix_forest.votes import Workload
from privet.tables.protocol import Floats, IntArray

GRID_BITS = 20
WARM_START = 3.0  # times the queries, relative to their largest column sum
MOST_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class PIdentity:
    """The strategy, its entries multiples of 2^-20.

    Parameters
    ----------
    diagonal : int64 array of shape (slots,)
        The weight of each slot on its own, in steps of the grid; positive.
    sums : int64 array of shape (p, slots)
        The weights of the sums. Every column of the whole matrix adds up to 2^20.
    """

    diagonal: IntArray
    sums: IntArray
    parts: tuple[Fraction, ...] = WHOLE

    @classmethod
    def on_grid(cls, B: Floats) -> PIdentity:
        """Round [I; B] diag(1 / s) down to the grid; what a column loses goes to its diagonal."""
        share = B / (1 + B.sum(axis=0))
        sums = np.floor(share * (1 << GRID_BITS)).astype(np.int64)
        sums = sums[sums.any(axis=1)]
        return cls((1 << GRID_BITS) - sums.sum(axis=0), sums)

    @property
    def norms(self) -> tuple[StrategyNorm, ...]:
        """The exact norms, after rounding."""
        squares = int((self.diagonal**2 + (self.sums**2).sum(axis=0)).max())
        return (StrategyNorm(int((self.diagonal + self.sums.sum(axis=0)).max()), squares),)

    def measure(self, counts: IntArray) -> list[IntArray]:
        """Return the weighted slots, then the sums."""
        return [np.concatenate([self.diagonal[:, None] * counts, self.sums @ counts])]

    def estimate(self, noisy: Sequence[IntArray], variances: Sequence[float]) -> Floats:
        """Return A+ z, by the Woodbury identity: nothing larger than p x p is inverted."""
        slots = len(self.diagonal)
        values = noisy[0][:slots] + self._scaled.T @ noisy[0][slots:]
        return (values - self._scaled.T @ np.linalg.solve(self._core, self._scaled @ values)) / self.diagonal[:, None]

    def supports(self, workload: Workload) -> bool:
        """Whether it has full rank: no slot's own weight is zero."""
        return bool((self.diagonal > 0).all())

    def vote_variance(self, workload: Workload, variances: Sequence[float]) -> float:
        """Return tr(W'W (A'A)^-1) per query, times the variance of a measurement."""
        rows = workload.rows() / self.diagonal
        crossed = rows @ self._scaled.T
        reduced = (crossed * np.linalg.solve(self._core, crossed.T).T).sum()
        return float(((rows**2).sum() - reduced) / len(rows)) * variances[0]

    @cached_property
    def _scaled(self) -> Floats:
        return self.sums / self.diagonal

    @cached_property
    def _core(self) -> Floats:
        return np.eye(len(self.sums)) + self._scaled @ self._scaled.T


def loss_and_gradient(B: Floats, diagonal: Floats, times_gram: Callable[[Floats], Floats]) -> tuple[float, Floats]:
    """Return tr(G (A'A)^-1), which is the noise of all queries, and its gradient by B.

    Parameters
    ----------
    B : array of shape (p, slots)
        The sums.
    diagonal : array of shape (slots,)
        The diagonal of G = W'W.
    times_gram : callable
        Multiplies rows by G.
    """
    s = 1 + B.sum(axis=0)
    M = np.linalg.solve(np.eye(len(B)) + B @ B.T, B)
    U = times_gram(M * s) * s
    w = diagonal * s**2 - (B * U).sum(axis=0)
    return float(w.sum()), -2 * (U - (U @ B.T) @ M) + 2 * w / s


def best_p_identity(workload: Workload, start: Floats | None = None) -> PIdentity:
    """Return the strategy that the search reaches from the queries, or the identity where that is better."""
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    rows = workload.rows()
    rows = rows / np.abs(rows).max()
    diagonal = (rows**2).sum(axis=0)
    if len(rows) < rows.shape[1] // 2:

        def times_gram(left: Floats) -> Floats:
            return np.asarray((left @ rows.T) @ rows)
    else:
        gram = rows.T @ rows

        def times_gram(left: Floats) -> Floats:
            return np.asarray(left @ gram)

    first = rows if start is None else start
    B0 = WARM_START * first / first.sum(axis=0).max()

    def objective(flat: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_and_gradient(flat.reshape(B0.shape), diagonal, times_gram)
        return float(np.log(loss)), gradient.reshape(-1) / loss

    options = {"maxiter": MOST_ITERATIONS, "maxfun": MOST_ITERATIONS + 20}
    # One thread: the products are small, and a strategy should not depend on the machine.
    with threadpool_limits(1, user_api="blas"):
        bounds = [(0.0, None)] * B0.size
        result = minimize(objective, B0.reshape(-1), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    nothing = PIdentity(np.full(rows.shape[1], 1 << GRID_BITS), np.zeros((0, rows.shape[1]), np.int64))
    found = PIdentity.on_grid(np.maximum(result.x, 0.0).reshape(B0.shape))
    return min(
        nothing, found, key=lambda strategy: strategy.vote_variance(workload, [float(strategy.norms[0].l1) ** 2])
    )

"""Choosing marginals: how to split a budget among the 2^d marginals of a domain so that votes get little noise.

The loss is a smooth function of 2^d numbers, but for Laplace noise not a convex one: the full table alone is always a
local minimum. So there are several starts, and what is returned is the best of all, rounded to a grid.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from privet.learners.matrix_forest.domain_cells import DomainCells, over_subsets, over_supersets
from privet.learners.matrix_forest.strategy import Marginals
from privet.learners.matrix_forest.votes import Workload
from privet.parameters import public_rng
from privet.tables.protocol import Floats

GRID = 1 << 20  # parts of the budget are multiples of 2^-20
STARTS = 2
MOST_FEATURES_OF_RANDOM_STARTS = 8
TRACE_OF_ALL = 1e-6  # how much of a batch's largest energy every other subspace counts for
NEGLIGIBLE = 1e-4  # parts below this are given to the others


def loss_and_gradient(theta: Floats, cells: DomainCells, energies: Floats, *, gaussian: bool) -> tuple[float, Floats]:
    """Return the noise of a vote, relative to unit noise on a single marginal, and its gradient.

    Parameters
    ----------
    theta : array of shape (2, ..., 2)
        The weight of each marginal, not negative. Laplace noise: the budget's parts are theta / sum(theta),
        precisions go with their squares. Gaussian noise: parts are theta^2 / sum(theta^2), precisions go with the
        parts.
    cells, energies
        The domain, and the workload's t_R.
    gaussian : bool
        Which noise.
    """
    per_count = cells.cells_per_count
    strength = over_supersets(theta**2 * per_count)
    active = energies > 0
    if (strength[active] <= 0).any():
        return np.inf, np.zeros_like(theta)
    ratio = np.divide(energies, strength, out=np.zeros_like(energies), where=active)
    error = float(ratio.sum())
    slope = np.divide(ratio, strength, out=np.zeros_like(energies), where=active)
    from_strength = -2 * theta * per_count * over_subsets(slope)
    if gaussian:
        total = float((theta**2).sum())
        return total * error, 2 * theta * error + total * from_strength
    total = float(theta.sum())
    return total**2 * error, 2 * total * error + total**2 * from_strength


@lru_cache(maxsize=64)
def best_marginals(workload: Workload, *, gaussian: bool) -> Marginals:
    """Return marginals with parts of the budget for which the workload's noise is smallest, of all starts.

    The starts are the full table, all marginals of the trees' depth, and a few random ones. Only public facts matter,
    so that the choice is remembered.
    """
    from scipy.optimize import minimize

    cells, energies = workload.cells, workload.energies
    assert cells is not None
    shape, depth = (2,) * cells.n_features, workload.depth
    # Whatever the batch, all that trees of this depth can ask is supported: a model answers other points as well.
    needed = (cells.set_sizes <= depth) & (cells.multiplicities > 0)
    energies = np.where(needed, np.maximum(energies, TRACE_OF_ALL * energies.max()), 0.0)

    def logarithm(flat: Floats) -> tuple[float, Floats]:
        loss, gradient = loss_and_gradient(flat.reshape(shape), cells, energies, gaussian=gaussian)
        return float(np.log(loss)), (gradient / loss).reshape(-1)

    rng = public_rng(0)  # a fixed seed: the same public facts always give the same strategy
    full = np.zeros(shape)
    full[(1,) * cells.n_features] = 1.0
    of_depth = (cells.set_sizes == depth).astype(np.float64)
    starts = [of_depth + 1e-3, np.sqrt(cells.multiplicities) + 1e-3]
    if cells.n_features <= MOST_FEATURES_OF_RANDOM_STARTS:
        starts += [rng.random(shape) ** 2 + 1e-3 for _ in range(STARTS)]
    found = [full, of_depth]
    for start in starts:
        bounds = [(0.0, None)] * start.size
        result = minimize(logarithm, (start / start.sum()).reshape(-1), jac=True, method="L-BFGS-B", bounds=bounds)
        found.append(np.maximum(result.x, 0.0).reshape(shape))
    rounded = [_on_grid(theta, cells, gaussian=gaussian) for theta in found]
    return min(rounded, key=lambda marginals: _loss(marginals, energies, gaussian=gaussian))


def _on_grid(theta: Floats, cells: DomainCells, *, gaussian: bool) -> Marginals:
    """Leave out negligible marginals and round parts to the grid; the largest takes what is left."""
    weights = (theta**2 if gaussian else theta).reshape(-1)
    parts = weights / weights.sum()
    parts = np.where(parts < NEGLIGIBLE, 0.0, parts)
    steps = np.floor(parts / parts.sum() * GRID).astype(np.int64)
    steps[steps.argmax()] += GRID - int(steps.sum())
    sets = cells.subsets()
    kept = np.flatnonzero(steps).tolist()
    return Marginals(cells, tuple(sets[i] for i in kept), tuple(Fraction(int(steps[i]), GRID) for i in kept))


def _loss(marginals: Marginals, energies: Floats, *, gaussian: bool) -> float:
    theta = np.zeros((2,) * marginals.cells.n_features)
    for chosen, part in zip(marginals.sets, marginals.parts, strict=True):
        place = tuple(int(feature in chosen) for feature in range(marginals.cells.n_features))
        theta[place] = float(part) ** (0.5 if gaussian else 1.0)
    return loss_and_gradient(theta, marginals.cells, energies, gaussian=gaussian)[0]

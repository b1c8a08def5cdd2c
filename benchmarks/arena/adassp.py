"""Adaptive sufficient statistics perturbation (AdaSSP; Wang, 2018): ridge regression from noisy products.

Three releases with a third of the budget each: the smallest eigenvalue of the products of columns, those products, and
the products with the target. The ridge is what the first one leaves to be desired. Rows have norm at most one, targets
too (a vector of one target for each class), so a record moves each of the three by at most one. As in the paper, but
with exact Gaussian accounting in place of (epsilon / 3, delta / 3) each: less noise for the same guarantee.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import sparse

from arena.gaussian_privacy import deviation, part_of

FAILURE = 0.05  # the paper's rho: how often the bound of the noise's norm may be exceeded; privacy does not hang on it


def weights(X: sparse.csr_matrix, targets: np.ndarray, mu: float, delta: float, rng: np.random.Generator) -> np.ndarray:
    """Return a column of weights for each column of targets."""
    n_columns = X.shape[1]
    noise = deviation(1.0, part_of(mu, 1 / 3))
    products = (X.T @ X).toarray().astype(np.float64)
    smallest = np.linalg.eigvalsh(products)[0] + noise * (rng.normal() - math.sqrt(math.log(6 / delta)))
    ridge = max(0.0, noise * math.sqrt(n_columns * math.log(2 * n_columns**2 / FAILURE)) - max(0.0, smallest))
    upper = np.triu(products + noise * rng.normal(size=products.shape))
    noisy = upper + np.triu(upper, 1).T
    sums = X.T @ targets + noise * rng.normal(size=(n_columns, targets.shape[1]))
    return np.linalg.lstsq(noisy + ridge * np.eye(n_columns), sums, rcond=None)[0]

"""The float prototype that boosting grew out of, written down from its description: to compare with, not to deploy.

Noise is drawn with floating-point numbers and nothing is audited; two classes only. In zCDP: quantile bins (10% of
rho), a ridge regression on counts of pairs of groups (30%), then annealed rounds of trees of depth three.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from arena.data import Problem
from arena.methods import Answer
from privet.privacy.conversions import epsilon_to_zcdp

CELLS, LEVELS, GROUPS = 1024, 4, 4
BINS_PART, BASE_PART, ROUNDS, DEPTH = 0.1, 0.3, 60, 3


@dataclass(frozen=True)
class Prototype:
    """A method of the arena."""

    delta: float
    name: str = "prototype"
    rivals: str = "approximate"

    def can(self, problem: Problem) -> bool:
        """Only two classes."""
        return problem.n_classes == 2

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train on a split's records, and return the test records' chances of the two classes."""
        begun = time.process_time()
        rng = np.random.default_rng([split, round(1000 * epsilon)])
        rho = float(epsilon_to_zcdp(Fraction(epsilon).limit_denominator(1000), Fraction(self.delta)))
        train, test = problem.split(split)
        cells, n_cells, ordered = _bins(problem, train, BINS_PART * rho, rng)
        label = problem.labels[train].astype(float)
        columns = _columns(cells, n_cells, ordered)
        scores = np.clip(2.5 * columns @ _regression(columns[train], label, BASE_PART * rho, rng), -4, 4)
        scores = _rounds(cells, n_cells, ordered, train, label, scores, (1 - BINS_PART - BASE_PART) * rho, rng)
        second = 1 / (1 + np.exp(-scores[test]))
        return Answer(np.stack([1 - second, second], axis=1), time.process_time() - begun)


def _select(scores: np.ndarray, rho: float, rng: np.random.Generator) -> int:
    """The exponential mechanism for scores that a record moves by at most one either way."""
    return int(np.argmax(math.sqrt(8 * rho) * scores / 2 + rng.gumbel(size=scores.size)))


def _bins(problem: Problem, train: np.ndarray, rho: float, rng: np.random.Generator):
    low, high, sizes = problem.domains
    ordered, cells, n_cells = sizes == 0, problem.codes.copy(), sizes.copy()
    for feature in np.flatnonzero(ordered):
        share = (problem.codes[:, feature] - low[feature]) / (high[feature] - low[feature])
        fine = np.clip((share * CELLS).astype(int), 0, CELLS - 1)
        below = np.concatenate([[0], np.cumsum(np.bincount(fine[train], minlength=CELLS))])
        cuts, pending = [], [(0, CELLS, LEVELS)]
        while pending:
            first, last, level = pending.pop()
            if level == 0 or last - first < 2:
                continue
            inner = np.arange(first + 1, last)
            uneven = np.abs(2 * below[inner] - below[first] - below[last])
            cut = int(inner[_select(-uneven, rho / ordered.sum() / LEVELS, rng)])
            cuts.append(cut)
            pending += [(first, cut, level - 1), (cut, last, level - 1)]
        cells[:, feature] = np.searchsorted(np.sort(cuts), fine, side="right")
        n_cells[feature] = len(cuts) + 1
    return cells.astype(int), n_cells, ordered


def _columns(cells: np.ndarray, n_cells: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    found = [np.ones((len(cells), 1))]
    for feature, n in enumerate(n_cells):
        groups = min(GROUPS, n) if ordered[feature] else n
        found.append(np.eye(groups)[cells[:, feature] * groups // n if ordered[feature] else cells[:, feature]])
    return np.hstack(found)


def _regression(columns: np.ndarray, label: np.ndarray, rho: float, rng: np.random.Generator) -> np.ndarray:
    ones = columns[0].sum()  # as many as there are features, and the constant
    noise = [math.sqrt(squared / rho) for squared in (ones * (ones + 1) / 2, ones)]  # half of rho each
    upper = np.triu(columns.T @ columns + noise[0] * rng.normal(size=(columns.shape[1],) * 2))
    values, vectors = np.linalg.eigh(upper + np.triu(upper, 1).T)
    sums = columns.T @ (2 * label - 1) + noise[1] * rng.normal(size=columns.shape[1])
    return vectors @ ((vectors.T @ sums) / (np.maximum(values, 0) + noise[0] * math.sqrt(columns.shape[1])))


def _rounds(cells, n_cells, ordered, train, label, scores, rho, rng):
    left, part = rho, rho / ROUNDS
    while left > 1e-9 * rho:
        part = min(part, left)
        left -= part
        chance = 1 / (1 + np.exp(-scores[train]))
        gradient, node = chance - label, np.zeros(len(cells), int)
        # categories are cut along an order, new for each tree
        orders = [np.arange(n) if kept else rng.permutation(n) for n, kept in zip(n_cells, ordered, strict=True)]
        places = np.stack([order[cells[:, feature]] for feature, order in enumerate(orders)], axis=1)
        for level in range(DEPTH):
            below = np.zeros_like(node)
            for here in range(2**level):
                rows = train[node[train] == here]
                feature, cut = _split(places[rows], gradient[node[train] == here], n_cells, part / 2 / DEPTH, rng)
                below[node == here] = places[node == here, feature] > cut
            node = 2 * node + below
        noise, leaves = 1 / math.sqrt(part), 2**DEPTH
        of_gradient = np.bincount(node[train], gradient, leaves) + noise * rng.normal(size=leaves)
        of_curvature = np.bincount(node[train], chance * (1 - chance), leaves) + noise / 3.3 * rng.normal(size=leaves)
        of_curvature = np.maximum(of_curvature, 1e-3)
        spread = max(0.0, (of_gradient**2 - noise**2).sum()) / (of_curvature**2).sum()
        values = -0.7 * of_gradient * of_curvature * spread / (of_curvature**2 * spread + noise**2)
        scores = scores + np.clip(values, -2, 2)[node]
        if (of_gradient**2).sum() / (leaves * noise**2) < 2:
            part *= 2
    return scores


def _split(places, gradient, n_cells, rho, rng):
    scores, splits = [], []
    for feature, n in enumerate(n_cells):
        left = np.cumsum(np.bincount(places[:, feature], gradient, n))
        scores.append(np.abs(left[:-1]) + np.abs(left[-1] - left[:-1]))
        splits += [(feature, cut) for cut in range(n - 1)]
    return splits[_select(np.concatenate(scores), rho, rng)]

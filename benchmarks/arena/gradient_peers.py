"""Peers without a library: gradient descent and sufficient statistics after private quantiles, in NumPy."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from arena import adassp, descent
from arena.data import Problem, Task
from arena.descent import Pace
from arena.gaussian_privacy import mu_of, part_of
from arena.methods import Answer
from arena.rank_map import Columns, additive_columns, distributions, linear_columns, ranks

QUANTILES_SHARE = 0.1
UNITS = 64


@dataclass(frozen=True)
class GradientPeer:
    """Linear or additive scores, or a network, trained after private quantiles.

    Parameters
    ----------
    name : str
        As tables show it.
    kind : str
        "linear", "additive", "network", or "statistics" for AdaSSP.
    delta : float
        Above zero.
    pace : Pace, optional
        How to descend; AdaSSP does not.
    cells : int
        Into how many a number is cut for "additive".
    """

    name: str
    kind: str
    delta: float
    pace: Pace | None = None
    cells: int = 8
    rivals: str = "approximate"

    def can(self, problem: Problem | Task) -> bool:
        """Any number of classes; a number to predict with sufficient statistics only."""
        return problem.n_classes > 0 or self.kind == "statistics"

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train on a split's records; noise is repeatable, as nothing here is to be deployed."""
        train, test = problem.split(split)
        rng = np.random.default_rng([split, round(1000 * epsilon), zlib.crc32(problem.task.name.encode())])
        with threadpool_limits(1):
            start = time.process_time()
            prediction = self._trained(problem, train, test, epsilon, rng)
            return Answer(prediction, time.process_time() - start)

    def _trained(self, problem, train, test, epsilon, rng):
        mu = mu_of(epsilon, self.delta)
        everyone = Columns(problem.codes, *problem.domains)
        fine, rank = everyone.fine(), np.zeros((len(problem.codes), 0))
        if fine.shape[1]:
            below = distributions(fine[train], part_of(mu, QUANTILES_SHARE), problem.rows_hint, rng)
            rank, mu = ranks(fine, below), part_of(mu, 1 - QUANTILES_SHARE)
        additive = self.kind == "additive"
        X, groups = additive_columns(everyone, rank, self.cells) if additive else linear_columns(everyone, rank)
        if self.kind == "statistics":
            return self._by_statistics(problem, X, train, test, mu, rng)
        labels, n_classes, rows = problem.labels[train], problem.n_classes, problem.rows_hint
        if self.kind == "network":
            longest = float(np.sqrt(len(everyone.sizes) + 1))
            dense = X.toarray() * np.float32(longest)
            found = descent.network(dense[train], longest, labels, n_classes, UNITS, mu, rows, self.pace, rng)
            return descent.shares(descent.hidden_units(dense[test], found) @ found[1])
        found = descent.linear(X[train], groups, labels, n_classes, mu, rows, self.pace, rng)
        return descent.shares(X[test] @ found)

    def _by_statistics(self, problem, X, train, test, mu, rng):
        if problem.n_classes == 0:
            low, high = problem.target_range
            targets = (2 * problem.labels[train] - low - high)[:, None] / (high - low)
            found = np.clip((X[test] @ adassp.weights(X[train], targets, mu, self.delta, rng))[:, 0], -1, 1)
            return (low + high + (high - low) * found) / 2
        targets = np.eye(problem.n_classes)[problem.labels[train]]
        if problem.n_classes == 2:
            targets = targets[:, 1:] - targets[:, :1]
        return descent.shares(X[test] @ adassp.weights(X[train], targets, mu, self.delta, rng))


# The best of `TRIED` on the tuning sets, by average rank of accuracy and AUC alike: docs/results/new_peers_tuning.csv,
# made by `new_peers.py --tune`. AdaSSP has nothing to choose.
SETTINGS: dict[str, tuple[str, Pace, int]] = {
    "DP-GD logistic": ("linear", Pace(100, 0.25, 0.3, 100.0), 8),
    "DP-GD additive": ("additive", Pace(100, 0.25, 0.3, 100.0), 8),
    "DP-GD network": ("network", Pace(60, 1.0, 0.3, 5.0), 8),
}
TRIED: dict[str, list[tuple[Pace, int]]] = {
    "DP-GD logistic": [
        (Pace(100, 0.25, 0.3, 100.0), 8),
        (Pace(100, 0.25, 1.0, 100.0), 8),
        (Pace(100, 0.1, 0.3, 100.0), 8),
        (Pace(100, 0.5, 0.3, 100.0), 8),
        (Pace(60, 0.25, 0.3, 100.0), 8),
    ],
    "DP-GD additive": [
        (Pace(100, 0.25, 0.3, 100.0), 8),
        (Pace(100, 0.25, 0.3, 100.0), 16),
        (Pace(100, 0.25, 1.0, 100.0), 8),
        (Pace(100, 0.1, 0.3, 100.0), 8),
        (Pace(60, 0.25, 0.3, 100.0), 8),
    ],
    "DP-GD network": [
        (Pace(60, 1.0, 0.3, 5.0), 8),
        (Pace(60, 1.0, 0.1, 5.0), 8),
        (Pace(60, 0.3, 0.3, 5.0), 8),
    ],
}


def gradient_peers(delta: float) -> list[GradientPeer]:
    """Every peer of this module with its settings."""
    descending = [GradientPeer(name, kind, delta, pace, cells) for name, (kind, pace, cells) in SETTINGS.items()]
    return [*descending, GradientPeer("AdaSSP", "statistics", delta)]


def tried(name: str, delta: float) -> list[GradientPeer]:
    """Return a peer with each of the settings that were tried for it, named after these."""
    kind = SETTINGS[name][0]
    found = []
    for pace, cells in TRIED[name]:
        text = f"steps={pace.steps}, clip={pace.clip:g}, step={pace.step:g}, most={pace.most:g}"
        text += f", cells={cells}" if kind == "additive" else ""
        found.append(GradientPeer(f"{name}({text})", kind, delta, pace, cells))
    return found

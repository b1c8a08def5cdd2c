"""The values that released sums of gradients and curvatures give to the leaves of one tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.learners.boosting.gradients import ONE
from privet.privacy.events import Event
from privet.tables.protocol import Floats, IntArray

LARGEST_VALUE = 2.0  # of a leaf
UPPER_NODES = 4  # the levels down to so many nodes have the margin that is asked for, those below them one of 1
NEXT_TO_NOTHING = 1e-9  # the curvature of no records
SMALLEST = 1e-300  # divisor


class Newton(Protocol):
    """What a loss must say of itself for Newton steps: the number of scores, and how curvatures are stated."""

    @property
    def n_scores(self) -> int:
        """Number of scores."""
        ...

    @property
    def curvature(self) -> float:
        """How many times the curvature is stated."""
        ...


@dataclass(frozen=True, eq=False)
class LeafValues:
    """The values of one tree's leaves, made of released sums.

    Attributes
    ----------
    values : float64 array of shape (n_leaves, n_scores)
        To be added to the scores.
    noise : float64 array of the same shape
        The standard deviation that the noise of the gradients' sums gives to them.
    strength : float
        Mean square of the gradients' sums over the noise's variance.
    """

    values: Floats
    noise: Floats
    strength: float


def leaf_values(
    sums: IntArray,
    event: Event,
    loss: Newton,
    learning_rate: float,
    margin: float = 1.0,
    *,
    exact_curvatures: bool = False,
    possible: NDArray[np.bool_] | None = None,
) -> LeafValues:
    """Return noise-aware values: Newton steps, what each level of the tree adds to them shrunk by how noisy it is.

    The root's step is that of all records together. Each split moves its children away from it, by what one has more
    than its share of their gradient. The higher a split, the more leaves inform it, and since splits were chosen for
    their effect, the higher ones have more of it: so each level is shrunk by itself.

    With G and H the sums of gradients and curvatures of a node, ``D = (G1 H2 - G2 H1) / (H1 + H2)`` is what the first
    of two children has too much, and ``-D / H1`` and ``D / H2`` is what the split adds to their parent's step. For the
    root, ``-G / H`` is what it adds to zero. Where effects ``D / M``, with ``M = H1 H2 / (H1 + H2)``, are taken to have
    variance ``t = max(0, sum of (D^2 - margin s^2)) / sum of M^2`` on a level, s^2 being the noise's variance in D, the
    best linear guess is ``M^2 t / (M^2 t + s^2)`` times what was seen. Without noise all this is Newton's ``-G / H``.

    Parameters
    ----------
    sums : int64 array of shape (n_leaves, 2 n_scores)
        As released; leaves from left to right, children of one parent side by side.
    event : Event
        The noise.
    loss : Loss
        Whose gradients were added up.
    learning_rate : float
        The part of a step that is taken.
    margin : float
        How much of what is seen counts as noise, in units of what noise would give on average: 1 for an unbiased guess.
        Zero where there is no base: the first round must not be shrunk to nothing, and later ones do no worse by it.
        That is enough for the first two levels; those below them have a margin of 1.
    exact_curvatures : bool
        Whether the noise is in the gradients alone.
    possible : bool array of shape (n_leaves,), optional
        Which leaves can have records at all; what was released of the others is known to be noise.
    """
    noise_deviation = event.deviation / ONE
    gradient = sums[:, : loss.n_scores] / ONE
    # A curvature below its own noise is known to be small, not how small.
    least = 1e-6 if exact_curvatures else max(noise_deviation, 1e-6)
    curvature = np.maximum(sums[:, loss.n_scores :] / ONE, least) / loss.curvature
    possible = np.ones(len(sums), np.bool_) if possible is None else possible
    gradient[~possible], curvature[~possible] = 0.0, NEXT_TO_NOTHING
    variance = np.where(possible, noise_deviation**2, 0.0)[:, np.newaxis]
    weights = _weights(gradient, curvature, variance, possible[:, np.newaxis], margin)
    steps = _steps(gradient, curvature, weights)
    # Given the weights, steps are linear in the gradients' sums: what each of those adds, one at a time.
    each = _steps_of_units(curvature, weights)
    values = np.clip(learning_rate * steps, -LARGEST_VALUE, LARGEST_VALUE)
    noise = learning_rate * noise_deviation * np.sqrt((each[possible] ** 2).sum(axis=0))
    strength = float("inf") if noise_deviation == 0 else float((gradient[possible] ** 2).mean()) / noise_deviation**2
    return LeafValues(values, noise, strength)


def _weights(
    gradient: Floats, curvature: Floats, variance: Floats, possible: NDArray[np.bool_], margin: float
) -> list[Floats]:
    """Return by how much each level's effects are shrunk, from the leaves up; the last is the root's.

    A node that can have no records has no noise, and a split of which that is a child has no effect.
    """
    weights = []
    while len(gradient) > 1:
        first, second = curvature[0::2], curvature[1::2]
        whole = first + second
        seen, size = _contrast(gradient, curvature), first * second / whole
        noise = (variance[0::2] * second**2 + variance[1::2] * first**2) / whole**2
        weights.append(
            _weight(seen, size, noise, possible[0::2] & possible[1::2], margin if len(gradient) <= UPPER_NODES else 1.0)
        )
        gradient, curvature, variance = gradient[0::2] + gradient[1::2], whole, variance[0::2] + variance[1::2]
        possible = possible[0::2] | possible[1::2]
    return [*weights, _weight(gradient, curvature, variance, possible, margin)]


def _weight(seen: Floats, size: Floats, variance: Floats, counts: NDArray[np.bool_], margin: float) -> Floats:
    squares, of_noise = (np.where(counts, of, 0.0) for of in (size**2, variance))
    effects = max(0.0, float((np.where(counts, seen**2, 0.0) - margin * of_noise).sum()))
    effects /= max(float((squares * np.ones_like(seen)).sum()), SMALLEST)
    weight: Floats = squares * effects / np.maximum(squares * effects + variance, SMALLEST)
    return weight


def _contrast(gradient: Floats, curvature: Floats) -> Floats:
    first, second = curvature[0::2], curvature[1::2]
    contrast: Floats = (gradient[0::2] * second - gradient[1::2] * first) / (first + second)
    return contrast


def _steps(gradient: Floats, curvature: Floats, weights: list[Floats]) -> Floats:
    """Return the leaves' steps: the root's, and what each level of splits adds."""
    if len(gradient) == 1:
        return -weights[-1] * gradient / curvature
    above = _steps(gradient[0::2] + gradient[1::2], curvature[0::2] + curvature[1::2], weights[1:])
    effect = weights[0] * _contrast(gradient, curvature)
    steps = np.repeat(above, 2, axis=0)
    steps[0::2] -= effect / curvature[0::2]
    steps[1::2] += effect / curvature[1::2]
    return steps


def _steps_of_units(curvature: Floats, weights: list[Floats]) -> Floats:
    """Return the leaves' steps where one leaf's sums are one and all others zero, for each leaf."""
    units = np.repeat(np.eye(len(curvature))[:, np.newaxis], curvature.shape[1], axis=1)
    steps = _steps(units, curvature[..., np.newaxis], [weight[..., np.newaxis] for weight in weights])
    return np.ascontiguousarray(np.moveaxis(steps, 2, 0))

"""Noisy gradient descent over the whole batch: linear scores and a network of one hidden layer.

Every step releases the sum of all records' gradients, each cut off at an L2 norm, with Gaussian noise. All steps are
fixed in advance and see all records, so that their noise is accounted exactly by `arena.gaussian_privacy` and needs no
argument about samples. Norms of gradients have closed forms here, so none is held for a single record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from arena.gaussian_privacy import deviation

MOMENTUM = 0.9


@dataclass(frozen=True)
class Pace:
    """How to descend.

    Parameters
    ----------
    steps : int
        How many sums are released.
    clip : float
        The most that a record's gradient may measure.
    step : float
        The length of a step in units of what noise moves by itself, so that it grows with the number of records.
    most : float
        The longest step size, where noise is no limit.
    """

    steps: int
    clip: float
    step: float
    most: float

    def size(self, time: int, mu: float, rows: float, numbers: int) -> float:
        """Return the step size for sums divided by `rows` and `clip`; it falls to zero."""
        free = self.step * rows * mu / np.sqrt(self.steps * numbers)
        return float(min(self.most, free) * (1 - time / self.steps))


def shares(scores: np.ndarray) -> np.ndarray:
    """Return a chance for each class: two for one column of scores, else as many as there are columns."""
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def residuals(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the gradient of the logistic loss by the scores."""
    if scores.shape[1] == 1:
        return expit(scores) - labels[:, None].astype(scores.dtype)
    chances = shares(scores)
    chances[np.arange(len(labels)), labels] -= 1
    return chances


def centred(total: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Subtract from each feature's columns of a noisy sum their mean, as if its indicators had been centred.

    Otherwise all columns learn the classes' shares first, and the differences between cells late.
    """
    means = np.add.reduceat(total, np.cumsum(groups) - groups, axis=0) / groups[:, None]
    means[groups == 1] = 0
    return total - np.repeat(means, groups, axis=0)


def _descend(weights, gradient_of, mu, rows, pace, rng, after=lambda noisy: noisy):
    """Follow noisy sums with momentum; `gradient_of` returns sums of gradients that were cut off at `pace.clip`."""
    noise = deviation(pace.clip, mu, pace.steps)
    moving = [np.zeros_like(part) for part in weights]
    numbers = sum(part.size for part in weights)
    for time in range(pace.steps):
        size = pace.size(time, mu, rows, numbers)
        for part, move, total in zip(weights, moving, gradient_of(weights), strict=True):
            noisy = after(total + noise * rng.normal(size=total.shape))
            move *= MOMENTUM
            move += noisy / (rows * pace.clip)
            part -= size * move
    return weights


def linear(
    X: sparse.csr_matrix,
    groups: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    mu: float,
    rows: float,
    pace: Pace,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return weights of logistic regression, one column for two classes, by mu-GDP sums of gradients.

    `groups` says how many columns each feature has.
    """
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    turned = X.T.tocsr()

    def gradient_of(weights):
        wrong = residuals(X @ weights[0], labels)
        lengths = norms * np.sqrt((wrong**2).sum(axis=1))
        return [turned @ (wrong * cut(lengths, pace.clip)[:, None])]

    start = np.zeros((X.shape[1], scores_for(n_classes)), np.float32)
    return _descend([start], gradient_of, mu, rows, pace, rng, lambda noisy: centred(noisy, groups))[0]


def network(
    X: np.ndarray,
    longest: float,
    labels: np.ndarray,
    n_classes: int,
    units: int,
    mu: float,
    rows: float,
    pace: Pace,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return the two weight matrices of a network with one hidden layer of `units`, by mu-GDP sums of gradients.

    `longest` is the public bound of a row's norm, by which the first weights are scaled.
    """
    first = rng.normal(size=(X.shape[1], units)) / longest
    # The second layer starts at zero, so that nothing is claimed before something is learned.
    weights = [first.astype(X.dtype), np.zeros((units + 1, scores_for(n_classes)), X.dtype)]
    return _descend(weights, lambda now: network_sums(X, labels, now, pace.clip), mu, rows, pace, rng)


def network_sums(X: np.ndarray, labels: np.ndarray, weights: list[np.ndarray], clip: float) -> list[np.ndarray]:
    """Return the sums of the records' gradients by both layers, each record's whole gradient cut off at `clip`."""
    hidden = hidden_units(X, weights)
    wrong = residuals(hidden @ weights[1], labels)
    back = (wrong @ weights[1][:-1].T) * (1 - hidden[:, :-1] ** 2)
    squared = (X**2).sum(axis=1) * (back**2).sum(axis=1) + (hidden**2).sum(axis=1) * (wrong**2).sum(axis=1)
    kept = cut(np.sqrt(squared), clip)[:, None].astype(X.dtype)
    return [X.T @ (back * kept), hidden.T @ (wrong * kept)]


def hidden_units(X: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """Return the hidden layer with a constant behind it."""
    hidden = np.tanh(X @ weights[0])
    return np.hstack([hidden, np.ones((len(X), 1), X.dtype)])


def cut(lengths: np.ndarray, most: float) -> np.ndarray:
    """Return the factor that brings each length down to `most`."""
    return np.minimum(1.0, most / np.maximum(lengths, 1e-12))


def scores_for(n_classes: int) -> int:
    """Return how many columns of scores tell so many classes apart."""
    return 1 if n_classes == 2 else n_classes

"""Made-up records for a schema, drawn from public facts alone.

Real columns go together and are skewed, so these are, too: a few hidden factors drive all features, values crowd in
some cells, and categories have unequal shares. There are two kinds of law. In one, the target depends on a few features
by random steps and on products of two of them, as strongly as asked. In the other, classes are clusters: the factors
lie around a centre for each class, so that every feature says something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from privet.randomness.public import PublicRng
from privet.schema.encoding import Column, Encoding, RangeTarget
from privet.tables.protocol import IntArray

FACTORS = 4  # hidden ones, which make features go together
SHARED = 0.7  # of a feature's variance that is due to them
FADING = 0.5  # weight of each further feature in the target, in relation to the one before
STEPS = 8  # of the function by which a feature acts on the target
PAIRS = 4  # of features whose products act on the target
FALLING = 0.7  # share of each further class, in relation to the one before, where no shares are given
DEVIATIONS = 3.0  # of a number on either side of the middle of its range


@dataclass(frozen=True)
class Strength:
    """How the features determine the target.

    Attributes
    ----------
    logits : float
        How much they say: the standard deviation of the logits, or of the explained part of a number in relation to
        that of the rest.
    products : float
        The part of it that is due to pairs of features, and not to single ones.
    apart : float
        For classes that are clusters, how far their centres are from the middle of all, in deviations of a factor; zero
        for classes that are drawn by logits.
    """

    logits: float
    products: float
    apart: float = 0.0


@dataclass(frozen=True)
class MadeUpRecords:
    """Made-up records, before they become codes.

    Attributes
    ----------
    places : array of shape (n_features, n_rows)
        Where each value is among all values of its feature, from 0 to 1.
    gaps : array of the same shape
        A value is missing where this is below the feature's share of missing values.
    target : int32 array
        As in a table.
    """

    places: NDArray[np.float64]
    gaps: NDArray[np.float64]
    target: NDArray[np.int32]


class World:
    """A made-up law of records, from which any number of them can be drawn.

    Parameters
    ----------
    encoding : Encoding
        The features, and the classes or the range of the target.
    strength : Strength
        How the features determine the target.
    rng : PublicRng
        Draws the law.
    shares : sequence of float, optional
        The classes' shares, where they are public.
    """

    def __init__(
        self, encoding: Encoding, strength: Strength, rng: PublicRng, shares: Sequence[float] | None = None
    ) -> None:
        n_features, n_classes = encoding.n_features, encoding.n_classes
        self._target, self._strength = encoding.target, strength
        loadings = rng.normal(size=(n_features, FACTORS))
        self._loadings = np.sqrt(SHARED / (loadings**2).sum(axis=1, keepdims=True)) * loadings
        self._shapes = [_Shape(column, rng) for column in encoding.columns]
        outputs = n_classes if n_classes > 2 else 1  # a score for each class; one is enough for two, or for a number
        weights = np.stack([FADING ** rng.permutation(n_features) for _ in range(outputs)])
        self._weights = weights * rng.choice([-1.0, 1.0], weights.shape)
        self._steps = rng.normal(size=(outputs, n_features, STEPS)).cumsum(axis=2)
        self._pairs = rng.integers(n_features, size=(outputs, PAIRS, 2))
        self._intercepts = np.zeros(outputs)
        if n_classes:
            given = np.asarray(default_shares(n_classes) if shares is None else shares, np.float64)
            self._shares = given / given.sum()
            directions = rng.normal(size=(FACTORS, n_classes))
            self._centres = strength.apart * directions / np.sqrt((directions**2).sum(axis=0))
            self._balance(rng)

    def draw(self, n_rows: int, rng: PublicRng) -> MadeUpRecords:
        """Draw records."""
        factors = rng.normal(size=(FACTORS, n_rows))
        own = np.sqrt(1 - SHARED) * rng.normal(size=(len(self._loadings), n_rows))
        if self._clustered:
            target = rng.choice(len(self._shares), n_rows, p=self._shares).astype(np.int32)
            factors = (factors + self._centres[:, target]) / np.sqrt(1 + self._strength.apart**2 / FACTORS)
            places = ndtr(self._loadings @ factors + own)
        else:
            places = ndtr(self._loadings @ factors + own)
            target = self._targets(self._logits(places), rng)
        return MadeUpRecords(places, rng.random(places.shape), target)

    def codes(self, records: MadeUpRecords, encoding: Encoding) -> NDArray[Any]:
        """Return the records as a learner sees them; the learners' grids may differ from the one given at first."""
        codes = np.empty(records.places.shape, encoding.dtype)
        for place, (shape, column) in enumerate(zip(self._shapes, encoding.columns, strict=True)):
            codes[place] = shape.codes(column, records.places[place], records.gaps[place])
        return codes

    @property
    def _clustered(self) -> bool:
        return self._strength.apart > 0 and not isinstance(self._target, RangeTarget)

    def _logits(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each output what the features say about it: only what can be seen in their codes counts."""
        places = np.stack([shape.seen(row) for shape, row in zip(self._shapes, places, strict=True)])
        steps = np.minimum((places * STEPS).astype(np.int64), STEPS - 1)
        sums = np.zeros((len(self._weights), places.shape[1]))
        for feature, step in enumerate(steps):
            sums += self._weights[:, feature, None] * self._steps[:, feature, :][:, step]
        centred = places - 0.5
        products = (centred[self._pairs[..., 0]] * centred[self._pairs[..., 1]]).sum(axis=1)
        part = self._strength.products
        mixed = np.sqrt(1 - part) * _standard(sums) + np.sqrt(part) * _standard(products)
        return np.asarray(self._strength.logits * mixed + self._intercepts[:, None])

    def _targets(self, logits: NDArray[np.float64], rng: PublicRng) -> NDArray[np.int32]:
        if isinstance(self._target, RangeTarget):
            number = (logits[0] + rng.normal(size=logits.shape[1])) / np.sqrt(1 + self._strength.logits**2)
            levels = (0.5 + number / (2 * DEVIATIONS)) * self._target.levels
            return np.asarray(np.clip(levels, 0, self._target.levels - 1), np.int32)
        if len(logits) == 1:
            return np.asarray(rng.logistic(size=logits.shape[1]) < logits[0], np.int32)
        return np.asarray((logits + rng.gumbel(size=logits.shape)).argmax(axis=0), np.int32)

    def _balance(self, rng: PublicRng) -> None:
        """Set intercepts so that the classes get about their shares."""
        shares = self._shares
        logits = self._logits(self.draw(2000, rng).places)
        if len(logits) == 1:
            self._intercepts[0] = -np.quantile(logits[0] - rng.logistic(size=logits.shape[1]), shares[0])
            return
        noisy = logits + rng.gumbel(size=logits.shape)
        for _ in range(30):
            winners = (noisy + self._intercepts[:, None]).argmax(axis=0)
            got = np.bincount(winners, minlength=len(shares)) / len(winners)
            self._intercepts += (0.5 + self._strength.logits / 2) * np.log((shares + 1e-3) / (got + 1e-3))


class _Shape:
    """How the values of one feature are spread over its codes."""

    def __init__(self, column: Column, rng: PublicRng) -> None:
        self._power = rng.choice([1.0, 1.0, 2.0, 4.0])  # 1: as many in each cell; else they crowd in low cells
        falling = (1.0 + rng.permutation(column.n_values)) ** -rng.choice([0.0, 0.5, 1.0])
        self._borders = (falling / falling.sum()).cumsum()  # of categories
        self._missing = rng.choice([0.0, 0.0, 0.05, 0.2]) if column.missing_code is not None else 0.0
        self._column = column

    def seen(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the places as far as the codes of a feature with few values show them."""
        if self._column.ordered and self._column.n_values > 2 * STEPS:
            return places
        return (self._coded(self._column, places) + 0.5) / self._column.n_values

    def codes(self, column: Column, places: NDArray[np.float64], gaps: NDArray[np.float64]) -> IntArray:
        """Return codes on the grid of a column, some of them missing."""
        return np.where(gaps < self._missing, column.code_of_missing, self._coded(column, places))

    def _coded(self, column: Column, places: NDArray[np.float64]) -> IntArray:
        if column.ordered:
            codes = (places**self._power * column.n_values).astype(np.int64)
        else:
            codes = np.searchsorted(self._borders, places)
        return np.asarray(np.minimum(codes, column.n_values - 1), np.int64)


def default_shares(n_classes: int) -> list[float]:
    """Return shares that fall from class to class, as they often do."""
    falling = FALLING ** np.arange(n_classes)
    return [float(share) for share in falling / falling.sum()]


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values with mean zero and variance one in each row."""
    centred = values - values.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    return np.asarray(centred / np.where(spread == 0, 1, spread))

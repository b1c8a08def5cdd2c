"""Flaws to plant in privet, one at a time, to see whether `privet.audit.audit` finds them.

Each changes one function of the library for as long as a block lasts. In most of them the law of a single draw, the
model's bytes and the ledger's sums stay right: they are flaws that a review would miss.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np

import privet
from privet import Categorical, Numeric, Schema
from privet.estimators import base
from privet.mechanisms import release, samplers
from privet.privacy import budgets, terms
from privet.privacy.conversions import epsilon_to_zcdp
from privet.privacy.terms import Terms
from privet.randomness.public import SeededSource
from privet.schema import encoding
from privet.tables import MemoryTable, part
from privet.tables import reading as fitting

SCHEMA = Schema(
    {"age": Numeric(0, 100), "income": Numeric(0, 1000, missing=True), "colour": Categorical(["red", "green", "blue"])},
    classes=["no", "yes"],
)


@dataclass(frozen=True)
class Plant:
    """A flaw, how it is planted, what finds it, and a learner that suffers from it."""

    name: str
    flaw: str
    place: str
    plant: Callable[[], Iterator[None]]
    found_by: str  # how the name of a finding begins that must refute it
    learner: str = "RandomDecisionForestClassifier"
    settings: dict[str, Any] = field(default_factory=dict)
    neighbours: str = "add_remove"

    def estimator(self) -> Any:
        """Return the learner, small, with a claim of epsilon 1."""
        schema = Schema(SCHEMA.features, SCHEMA.target, neighbours=self.neighbours)
        settings = {"n_trees": 2, "max_depth": 2, "random_state": 0, **self.settings}
        return getattr(privet, self.learner)(epsilon=1.0, schema=schema, **settings)

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let the library have the flaw inside the block."""
        yield from self.plant()


def one_coin_key() -> Iterator[None]:
    def coins(self: Any, weights: Any) -> Any:
        if "key" not in vars(self):
            self.key = samplers.key(self._source)
        return release.Coins(self.key, weights)

    with patch.object(release.Drawn, "coins", coins):
        yield


def antithetic_noise() -> Iterator[None]:
    def mirrored(draw: Any) -> Any:
        def drawn(parameter: Fraction, size: int, source: Any) -> Any:
            noise = draw(parameter, size, source)
            noise[size - size // 2 :] = -noise[: size // 2]
            return noise

        return drawn

    names = ("discrete_laplace", "discrete_gaussian")
    with patch.multiple(samplers, **{name: mirrored(getattr(samplers, name)) for name in names}):
        yield


def rows_not_squared() -> Iterator[None]:
    right = Terms.gaussian

    def gaussian(self: Terms, name: str, rho: Fraction, *, l2_squared: Fraction | int = 1, **keywords: Any) -> Any:
        event = right(self, name, rho, l2_squared=Fraction(l2_squared, self.max_rows), **keywords)
        return replace(event, sensitivity=Fraction(l2_squared))

    with patch.object(Terms, "gaussian", gaussian):
        yield


def median_for_missing() -> Iterator[None]:
    right = encoding.Column.encode

    def encode(self: Any, values: Any, out: Any) -> None:
        if self.ordered and self.dtype_problem(values) is None:
            numbers = values.numbers().astype(np.float64)
            if values.absent is not None:
                numbers[values.absent] = np.nan
            known = numbers[np.isfinite(numbers)]
            filled = np.where(np.isnan(numbers), np.median(known), numbers) if len(known) else numbers
            values = replace(values, data=filled, absent=None, labels=None)
        right(self, values, out)

    with patch.object(encoding.Column, "encode", encode):
        yield


def overlapping_blocks() -> Iterator[None]:
    right = MemoryTable._divided

    def divided(self: Any, n_rows: int) -> list[slice]:
        return [slice(block.start, min(block.stop + 1, n_rows)) for block in right(self, n_rows)]

    with patch.object(MemoryTable, "_divided", divided):
        yield


def shared_draws() -> Iterator[None]:
    right = release.Drawn.choose

    def choose(self: Any, scores: Any, event: Any) -> Any:
        rows, back = np.unique(scores, axis=0, return_inverse=True)
        return right(self, np.ascontiguousarray(rows), event)[back.ravel()]

    with patch.object(release.Drawn, "choose", choose):
        yield


def coins_in_turn() -> Iterator[None]:
    def dealt(self: Any, block: Any) -> Any:
        return (block.rows % np.uint64(len(self.weights))).astype(np.int32)

    with patch.object(release.Coins, "__call__", dealt):
        yield


def overlapping_parts() -> Iterator[None]:
    def within(self: Any, block: Any) -> Any:
        target = np.where(block.state[self.state] >= self.part, block.target, np.int32(-1))
        return self.kernel(replace(block, target=target))

    with patch.object(part._WithinPart, "__call__", within):
        yield


def one_row_too_many() -> Iterator[None]:
    right = fitting.bound_rows

    def bound_rows(*arguments: Any, **keywords: Any) -> Any:
        given = inspect.signature(right).bind(*arguments, **keywords)
        given.arguments["max_rows"] += 1
        return right(*given.args, **given.kwargs)

    with patch.object(fitting, "bound_rows", bound_rows):
        yield


def rare_categories_pooled() -> Iterator[None]:
    right = encoding.Column.encode

    def encode(self: Any, values: Any, out: Any) -> None:
        right(self, values, out)
        if not self.ordered:
            counts = np.bincount(out, minlength=self.n_codes)
            out[counts[out] < 3] = self.code_of_unknown

    with patch.object(encoding.Column, "encode", encode):
        yield


def noise_starts_over() -> Iterator[None]:
    with patch.object(release, "_source", lambda: SeededSource(7)):
        yield


def budget_charged_late() -> Iterator[None]:
    charge, note, waiting = budgets.charge, base.PrivateEstimator._note_public_facts, []

    def later(*arguments: Any, **keywords: Any) -> None:
        waiting.append((arguments, keywords))

    def note_and_charge(self: Any, *arguments: Any) -> None:
        note(self, *arguments)
        while waiting:
            given, named = waiting.pop()
            charge(*given, **named)

    with (
        patch.object(budgets, "charge", later),
        patch.object(base.PrivateEstimator, "_note_public_facts", note_and_charge),
    ):
        yield


def twice_the_rho() -> Iterator[None]:
    right = epsilon_to_zcdp
    with patch.object(terms, "epsilon_to_zcdp", lambda epsilon, delta: 2 * right(epsilon, delta)):
        yield


def replacing_is_one_step() -> Iterator[None]:
    right = Terms.permute_and_flip

    def permute_and_flip(self: Terms, name: str, epsilon: Fraction, **keywords: Any) -> Any:
        return right(replace(self, neighbours="add_remove"), name, epsilon, **keywords)

    with patch.object(Terms, "permute_and_flip", permute_and_flip):
        yield


def scale_a_little_small() -> Iterator[None]:
    right = Terms.laplace

    def laplace(self: Terms, *arguments: Any, **keywords: Any) -> Any:
        event = right(self, *arguments, **keywords)
        return replace(event, parameter=event.parameter * Fraction(1023, 1024))

    with patch.object(Terms, "laplace", laplace):
        yield


def labels_from_others() -> Iterator[None]:
    right = encoding.ClassTarget.encode

    def encode(self: Any, values: Any) -> Any:
        classes = right(self, values)
        known = classes[classes >= 0]
        return np.where(classes < 0, np.bincount(known).argmax(), classes).astype(np.int32) if len(known) else classes

    with patch.object(encoding.ClassTarget, "encode", encode):
        yield


def clear_winner_without_draw() -> Iterator[None]:
    right = release.Release.choose

    def choose(self: Any, scores: Any, event: Any) -> Any:
        ranked = np.sort(scores, axis=1)
        clear = ranked[:, -1] - ranked[:, -2] >= 9 if scores.shape[1] > 1 else np.zeros(len(scores), dtype=bool)
        winners = scores.argmax(axis=1).astype(np.int64)
        winners[~clear] = right(self, scores[~clear], event)
        return winners

    with patch.object(release.Release, "choose", choose):
        yield


def large_counts_without_noise() -> Iterator[None]:
    right = release.Release.noisy

    def noisy(self: Any, values: Any, event: Any) -> Any:
        released = np.array(values, dtype=np.int64)
        small = np.abs(released) < 12
        released[small] = right(self, released[small], event)
        return released

    with patch.object(release.Release, "noisy", noisy):
        yield


def rate_grows_with_scores() -> Iterator[None]:
    right = release.Release.choose

    def choose(self: Any, scores: Any, event: Any) -> Any:
        many = bool(np.size(scores)) and int(np.max(scores)) >= 8
        return right(self, scores, replace(event, parameter=2 * event.parameter) if many else event)

    with patch.object(release.Release, "choose", choose):
        yield


LABELS = {"leaves": "labels", "voting": "majority"}
COINS = {"composition": "disjoint", **LABELS}
PLANTS = [
    Plant(
        "one coin key",
        "all mixtures of a fit share one coin key",
        "Drawn.coins",
        one_coin_key,
        "coins: fresh keys",
        settings=COINS,
    ),
    Plant(
        "antithetic noise",
        "half of the noise is the other half, negated",
        "samplers.discrete_laplace",
        antithetic_noise,
        "draws",
    ),
    Plant(
        "r for r squared",
        "Gaussian noise for a unit of r rows is made for r, not r squared",
        "Terms.gaussian",
        rows_not_squared,
        "search",
        settings={"delta": 1e-6},
    ),
    Plant(
        "median for missing", "missing values take the column's median", "Column.encode", median_for_missing, "encoding"
    ),
    Plant("overlapping blocks", "blocks overlap by a row", "MemoryTable._divided", overlapping_blocks, "blocks"),
    Plant("shared draws", "equal rows of scores share a draw", "Drawn.choose", shared_draws, "draws", settings=LABELS),
    Plant(
        "coins in turn",
        "records are dealt in turn, not by a keyed hash",
        "Coins.__call__",
        coins_in_turn,
        "coins: independent",
        settings=COINS,
    ),
    Plant(
        "overlapping parts",
        "a part of a mixture holds the records of later parts too",
        "PartOf.aggregate",
        overlapping_parts,
        "coins: parts",
        settings=COINS,
    ),
    Plant(
        "one row too many",
        "a unit keeps one row more than its maximum",
        "fitting.bound_rows",
        one_row_too_many,
        "units",
    ),
    Plant(
        "rare categories pooled",
        "a category of fewer than three records becomes another",
        "Column.encode",
        rare_categories_pooled,
        "encoding",
    ),
    Plant("noise starts over", "every fit draws the same noise", "release._source", noise_starts_over, "draws"),
    Plant(
        "budget charged late",
        "a budget is charged when the model has been grown",
        "budgets.charge",
        budget_charged_late,
        "budgets",
    ),
    Plant(
        "twice the rho",
        "(epsilon, delta) is turned into twice its rho",
        "conversions.epsilon_to_zcdp",
        twice_the_rho,
        "prices",
        settings={"delta": 1e-6},
    ),
    Plant(
        "replacing is one step",
        "a selection forgets that replacing is two steps",
        "Terms.permute_and_flip",
        replacing_is_one_step,
        "exact",
        settings=LABELS,
        neighbours="replace",
    ),
    Plant(
        "scale a little small",
        "a Laplace scale is a thousandth too small",
        "Terms.laplace",
        scale_a_little_small,
        "exact",
    ),
    Plant(
        "labels from others",
        "an unknown label becomes the most frequent one",
        "ClassTarget.encode",
        labels_from_others,
        "labels",
    ),
]

# What only larger data sets than those of the fixed pairs show.
PLANTS_FOR_THE_SEARCH = [
    Plant(
        "clear winner without draw",
        "a candidate that leads by nine wins without a draw",
        "Release.choose",
        clear_winner_without_draw,
        "search",
        settings=LABELS,
    ),
    Plant(
        "large counts without noise",
        "counts of twelve and more get no noise",
        "Release.noisy",
        large_counts_without_noise,
        "search",
    ),
    Plant(
        "rate grows with scores",
        "a selection's rate doubles where a score reaches eight",
        "Release.choose",
        rate_grows_with_scores,
        "search",
        settings=LABELS,
    ),
]

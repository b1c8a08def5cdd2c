"""What each feature adds to the scores of an additive model: its own table, and its part of the trees.

A tree of a few levels mixes features. It is taken apart as an average: what a value of one feature adds, with all other
features drawn anew, each of its steps being equally likely. A step is an interval between two cuts that the model uses,
or a category; since cuts are private quantiles, steps are closer to the data than equal widths would be. No record is
looked at. What only combinations of features add is not in the shapes; `Shapes.beyond` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.boosting.gradients import SCORE_BITS
from privet.models.reading import code_in_words, interval_in_words
from privet.parameters import public_rng
from privet.schema.encoding import ClassTarget, Column
from privet.tables.protocol import Floats, IntArray

if TYPE_CHECKING:
    from privet.learners.boosting.additive import Additive

Bools = NDArray[np.bool_]

MADE_UP_RECORDS, SEED = 4_096, 0  # the same each time, to estimate how much is beyond the shapes
_UNIT = 2.0**-SCORE_BITS


@dataclass(frozen=True, eq=False)
class Shape:
    """What the steps of one feature add, on average over all others, around a mean of zero.

    Attributes
    ----------
    column : Column
        The feature.
    ends : tuple of int
        The last code of each step; a category, "another" and "missing" are steps of their own.
    labels : tuple of str
        The steps in words.
    values : float64 array of shape (n_steps, n_scores)
        What each adds.
    noise : float64 array of the same shape
        Its standard deviation that is due to noise, as for `Additive.noise_deviations`.
    importance : float
        As `Additive.importances` has it.
    """

    column: Column
    ends: tuple[int, ...]
    labels: tuple[str, ...]
    values: Floats
    noise: Floats
    importance: float

    @property
    def n_present(self) -> int:
        """How many steps are values of the feature, not "another" or "missing"."""
        return sum(end < self.column.n_values for end in self.ends)


@dataclass(frozen=True, eq=False)
class Shapes:
    """The shapes of a model's features, the most important first.

    Attributes
    ----------
    shapes : tuple of Shape
        One for each feature.
    scores : tuple of str
        What each score is of: the second class, each class, or the target.
    unit : str
        What scores are counted in.
    start : float64 array of shape (n_scores,)
        The mean to which the shapes add: of made-up records whose steps are all equally likely.
    from_trees : float
        The part of all importances that comes from the trees; the rest comes from the tables.
    beyond : float
        The part of the scores' variance over made-up records that is in no shape: what only combinations of features
        add, and what holding the tables' sum within bounds takes away.
    """

    shapes: tuple[Shape, ...]
    scores: tuple[str, ...]
    unit: str
    start: Floats
    from_trees: float
    beyond: float

    @property
    def acting(self) -> tuple[Shape, ...]:
        """The shapes of features that the model uses."""
        return tuple(shape for shape in self.shapes if shape.importance > 0)


def shapes_of(model: Additive) -> Shapes:
    """Return the shapes of a model, made of released values alone."""
    steps = _steps(model)
    values, variances = _of_tables(model, steps)
    for leaf, box in _boxes(model, steps):
        shares = {feature: float(inside.mean()) for feature, inside in box.items()}
        for feature, inside in box.items():
            others = float(np.prod([share for other, share in shares.items() if other != feature]))
            weight = others * (inside - shares[feature])[:, np.newaxis]
            values[feature] += weight * (model.values[leaf] * _UNIT)
            variances[feature] += (weight * model.noise[leaf]) ** 2
    tables, trees = model.importance_parts()
    total = float((tables + trees).sum()) or 1.0
    start, beyond = _beyond(model, steps, values)
    scale, unit, names = scale_of(model)
    shapes = [
        Shape(
            column,
            tuple(steps[feature].tolist()),
            tuple(_labels(column, steps[feature])),
            scale * values[feature],
            scale * np.sqrt(variances[feature]),
            float(tables[feature] + trees[feature]) / total,
        )
        for feature, column in enumerate(model.encoding.columns)
    ]
    shapes.sort(key=lambda shape: -shape.importance)
    low = 0.0 if isinstance(model.encoding.target, ClassTarget) else model.encoding.target.low
    return Shapes(tuple(shapes), names, unit, low + scale * start, float(trees.sum()) / total, beyond)


def made_up_scores(model: Additive) -> Floats:
    """Return the scores of made-up records whose steps are all equally likely; the same in every call."""
    rng = public_rng(SEED)
    present = [ends[ends < column.n_values] for ends, column in zip(_steps(model), model.encoding.columns, strict=True)]
    codes = np.array([ends[rng.integers(ends.size, size=MADE_UP_RECORDS)] for ends in present])
    return model.scores(codes.astype(model.encoding.dtype))


def _steps(model: Additive) -> list[IntArray]:
    """Return where the steps of each feature end."""
    return [_ends(model, feature) for feature in range(model.encoding.n_features)]


def named(whole: Shapes, name: str) -> Shape:
    """Return the shape of a feature, or say which features there are."""
    for shape in whole.shapes:
        if shape.column.name == name:
            return shape
    raise ParameterError(f"no feature is called {name!r}; there are {', '.join(s.column.name for s in whole.shapes)}")


def scale_of(model: Additive) -> tuple[float, str, tuple[str, ...]]:
    """Return what a score of one is worth, what it is counted in, and what each score is of."""
    target = model.encoding.target
    if not isinstance(target, ClassTarget):
        return target.high - target.low, "units of the target", ("the target",)
    if len(target.classes) == 2:
        return 1.0, "log-odds", (str(target.classes[1]),)
    return 1.0, "log-odds, up to a constant", tuple(str(name) for name in target.classes)


def _ends(model: Additive, feature: int) -> IntArray:
    """Return the last code of each step: where the table changes or a tree cuts, and every code without an order."""
    column, last = model.encoding.columns[feature], model.encoding.columns[feature].n_values - 1
    if not column.ordered:
        return np.arange(column.n_codes)
    table = model.tables[model.offsets[feature] : model.offsets[feature] + column.n_values]
    ends = [np.flatnonzero((table[1:] != table[:-1]).any(axis=1)), np.arange(last, column.n_codes)]
    if model.trees is not None:
        splits = model.trees.splits
        ends.append(np.minimum(splits.cut[splits.feature == feature].astype(np.int64), last))
    return np.unique(np.concatenate(ends))


def _of_tables(model: Additive, steps: list[IntArray]) -> tuple[list[Floats], list[Floats]]:
    """Return what the tables add to each step, around a mean of zero, and the variance of its noise."""
    values, variances = [], []
    for begin, ends in zip(model.offsets[:-1], steps, strict=True):
        table = model.tables[begin + ends].astype(np.float64) * _UNIT
        values.append(table - table.mean(axis=0))
        variances.append(np.repeat(model.table_noise[begin + ends][:, np.newaxis] ** 2, model.n_scores, axis=1))
    return values, variances


def _boxes(model: Additive, steps: list[IntArray]) -> Iterator[tuple[int, Mapping[int, Bools]]]:
    """Yield every leaf with the steps of the features on its path that lead to it."""
    if model.trees is None:
        return
    splits, inner = model.trees.splits, model.trees.splits.feature.shape[1]

    def below(tree: int, node: int, box: dict[int, Bools]) -> Iterator[tuple[int, Mapping[int, Bools]]]:
        if node >= inner:
            yield tree * (inner + 1) + node - inner, box
            return
        feature = int(splits.feature[tree, node])
        codes, column = steps[feature], model.encoding.columns[feature]
        if splits.set_index[tree, node] >= 0:
            second = splits.in_set(int(splits.set_index[tree, node]), codes)
        else:
            second = codes > splits.cut[tree, node]
            if splits.missing_first[tree, node] and column.missing_code is not None:
                second = second & (codes != column.missing_code)
        so_far = box.get(feature, np.ones(codes.size, dtype=bool))
        for side, inside in ((1, so_far & ~second), (2, so_far & second)):
            yield from below(tree, 2 * node + side, {**box, feature: inside})

    for tree in range(model.trees.n_trees):
        yield from below(tree, 0, {})


def _beyond(model: Additive, steps: list[IntArray], values: list[Floats]) -> tuple[Floats, float]:
    """Return the mean score of made-up records, and the part of the variance that the shapes do not have."""
    rng = public_rng(SEED)
    drawn = [rng.integers(ends.size, size=MADE_UP_RECORDS) for ends in steps]
    codes = np.array([ends[places] for ends, places in zip(steps, drawn, strict=True)]).astype(model.encoding.dtype)
    scores = model.scores(codes)
    shaped = sum((value[places] for value, places in zip(values, drawn, strict=True)), np.zeros_like(scores))
    left = scores - shaped
    start: Floats = left.mean(axis=0)
    rest, in_shapes = float(left.var(axis=0).sum()), float(sum((value**2).mean(axis=0).sum() for value in values))
    return start, rest / (rest + in_shapes) if rest + in_shapes > 1e-12 else 0.0


def _labels(column: Column, ends: IntArray) -> Iterator[str]:
    """Yield the steps of a feature in words."""
    before = None
    for end in ends.tolist():
        if not column.ordered or end >= column.n_values:
            yield code_in_words(column, end)
            continue
        border = None
        if end < column.n_values - 1:
            border = column.cut_in_words(column.cuts[end]) or f"{column.cuts[end]:.6g}"
        yield interval_in_words(before, border, "any number")
        before = border

"""An additive model: one table for each feature, and small trees on top; all of it made of released values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.boosting.gradients import LARGEST_SCORE, SCORE_BITS
from privet.schema.encoding import ClassTarget, Encoding, FieldsOnly, RangeTarget
from privet.tables.protocol import Floats, IntArray
from privet.trees.complete_trees import CompleteTrees
from privet.trees.kernels.vote import sum_values
from privet.trees.structure import FeatureCodes

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privet.learners.boosting.shapes import Shapes

Link = Literal["logistic", "softmax", "range"]

_UNIT = 2.0**-SCORE_BITS


@dataclass(frozen=True, eq=False)
class Additive(FieldsOnly):
    """Tables and trees whose values are added up to scores.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    start : int64 array of shape (n_scores,)
        What every record starts with. All scores are in fixed point, so that adding them up is exact.
    tables : int64 array of shape (total number of codes, n_scores)
        What each code of each feature adds, features one after the other.
    low, high : int
        The sum of start and tables is held within these.
    trees : CompleteTrees or None
        The trees; None where there are none.
    values : int64 array of shape (n_leaves, n_scores)
        What each leaf adds.
    noise : float64 array of the same shape
        The standard deviation of each leaf's value that is due to noise.
    table_noise : float64 array of shape (total number of codes,)
        The same for the tables.
    frequencies : float64 array of shape (n_classes,), optional
        How often each class occurs, from the sums that the base released; None for a regression target, and in files
        of older versions.
    """

    encoding: Encoding
    start: IntArray
    tables: IntArray
    low: int
    high: int
    trees: CompleteTrees | None
    values: IntArray
    noise: Floats
    table_noise: Floats
    frequencies: Floats | None = None

    def __post_init__(self) -> None:
        n_scores, n_codes = self.n_scores, int(self.encoding.n_codes.sum())
        n_leaves = 0 if self.trees is None else self.trees.n_leaves
        for name, array, shape in (
            ("start", self.start, (n_scores,)),
            ("tables", self.tables, (n_codes, n_scores)),
            ("values", self.values, (n_leaves, n_scores)),
        ):
            if array.dtype != np.int64 or array.shape != shape:
                raise ParameterError(f"{name} must be int64 of shape {shape}, got {array.dtype} {array.shape}")
            if ((array > LARGEST_SCORE) | (array < -LARGEST_SCORE)).any():  # the size of -2^63 does not fit
                raise ParameterError(f"{name} must be at most {LARGEST_SCORE} either way")
        for noise, shape in ((self.noise, self.values.shape), (self.table_noise, (n_codes,))):
            if noise.dtype != np.float64 or noise.shape != shape:
                raise ParameterError(f"noise must be float64 of shape {shape}, got {noise.dtype} {noise.shape}")
            if not (np.isfinite(noise) & (noise >= 0)).all():
                raise ParameterError("noise must be finite and not negative")
        if self.frequencies is not None and not (
            self.frequencies.shape == (self.encoding.n_classes,)
            and ((self.frequencies > 0) & (self.frequencies < 1)).all()
        ):
            raise ParameterError("frequencies must be between 0 and 1, one for each class")
        if not -LARGEST_SCORE <= self.low <= self.high <= LARGEST_SCORE:
            raise ParameterError("low and high must be in order, and not beyond the largest score")
        if self.trees is not None and not np.array_equal(
            FeatureCodes.of(self.encoding).n_codes, self.trees.domains.n_codes
        ):
            raise ParameterError("the trees were made for other features than the encoding's")

    @property
    def link(self) -> Link:
        """How scores become predictions."""
        if isinstance(self.encoding.target, RangeTarget):
            return "range"
        return "logistic" if self.encoding.n_classes == 2 else "softmax"

    @property
    def n_scores(self) -> int:
        """One for two classes or a range, else the number of classes."""
        return self.encoding.n_classes if self.link == "softmax" else 1

    @cached_property
    def offsets(self) -> IntArray:
        """Where each feature's codes begin in the tables."""
        return np.concatenate([[0], np.cumsum(self.encoding.n_codes)]).astype(np.int64)

    def scores(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return the scores of each record, exact to the last bit, shape (n_rows, n_scores)."""
        codes = FeatureCodes.of(self.encoding).as_codes(codes)
        total = np.tile(self.start, (codes.shape[1], 1))
        for feature, (begin, end) in enumerate(zip(self.offsets[:-1], self.offsets[1:], strict=True)):
            of_feature = self.tables[begin:end]
            if of_feature.any():
                total += of_feature[np.minimum(codes[feature], end - begin - 1)]
        scores: Floats = np.clip(total, self.low, self.high).astype(np.float64) * _UNIT
        if self.trees is not None:
            scores += sum_values(self.trees, codes, self.values.astype(np.float64) * _UNIT, n_jobs)
        return scores

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return each record's probability of each class."""
        scores = self.scores(codes, n_jobs)
        if self.link == "range":
            raise ParameterError("a regression model has no class votes; call predictions()")
        if self.link == "logistic":
            second = 1 / (1 + np.exp(-scores))
            return np.hstack([1 - second, second])
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
        return probabilities

    def predictions(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return each record's predicted target, within its range and in its units."""
        target = self.encoding.target
        if isinstance(target, ClassTarget):
            raise ParameterError("a classification model predicts no numeric target; call votes() for its predictions")
        share = np.clip(self.scores(codes, n_jobs)[:, 0], 0.0, 1.0)
        predicted: Floats = target.low + share * (target.high - target.low)
        return predicted

    def noise_deviations(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return the standard deviation of each record's scores that is due to noise, shape (n_rows, n_scores).

        It is that of the noise which was added to the sums in the leaves and to the target's sums of the base, given
        all splits. Left out are the noise in splits, pairs and curvatures, and what entries of the base's tables have
        in common; so take it for its size, not for its digits.
        """
        codes = FeatureCodes.of(self.encoding).as_codes(codes)
        variance = np.zeros((codes.shape[1], self.n_scores))
        for feature, (begin, end) in enumerate(zip(self.offsets[:-1], self.offsets[1:], strict=True)):
            of_feature = self.table_noise[begin:end] ** 2
            variance += of_feature[np.minimum(codes[feature], end - begin - 1)][:, np.newaxis]
        if self.trees is not None:
            variance += sum_values(self.trees, codes, self.noise**2, n_jobs)
        deviations: Floats = np.sqrt(variance)
        return deviations

    def contributions(self, codes: NDArray[Any]) -> tuple[Floats, Floats, Floats]:
        """Take scores apart, exactly: what is common, what each feature's table adds, what each tree adds.

        Returns
        -------
        common : float64 array of shape (n_rows, n_scores)
            The start, and what holding the sum of start and tables within its bounds takes away.
        tables : float64 array of shape (n_rows, n_features, n_scores)
        trees : float64 array of shape (n_rows, n_trees, n_scores)
            All three add up to the scores.
        """
        codes = FeatureCodes.of(self.encoding).as_codes(codes)
        places = np.minimum(codes.T.astype(np.int64), self.encoding.n_codes - 1) + self.offsets[:-1]
        tables = self.tables[places]
        held = np.clip(self.start + tables.sum(axis=1), self.low, self.high)
        common = (held - tables.sum(axis=1)).astype(np.float64) * _UNIT
        trees = np.zeros((codes.shape[1], 0, self.n_scores))
        if self.trees is not None:
            trees = self.values[self.trees.route(codes).T].astype(np.float64) * _UNIT
        return common, tables.astype(np.float64) * _UNIT, trees

    def class_frequencies(self) -> Floats | None:
        """Return how often each class occurs, as released; None where that is not known."""
        return self.frequencies

    def class_spread(self) -> tuple[Floats, Floats] | None:
        """Return weights and shares of the second class of made-up records whose mean share is the frequency.

        See `privet.learners.boosting.shapes.made_up_scores`.
        """
        from privet.learners.boosting.shapes import made_up_scores

        if self.frequencies is None or self.link != "logistic":
            return None
        scores, wanted = made_up_scores(self)[:, 0], float(self.frequencies[1])
        low, high = -32.0, 32.0
        for _ in range(60):  # the mean share rises with what is added to all scores
            middle = (low + high) / 2
            too_high = (1 / (1 + np.exp(-(scores + middle)))).mean() > wanted
            low, high = (low, middle) if too_high else (middle, high)
        shares = 1 / (1 + np.exp(-(scores + low)))
        return np.full(shares.shape, 1 / shares.size), shares

    def shape_of(self, feature: str) -> tuple[list[str], Floats]:
        """Return what each step of a feature adds, as the pictures draw it: intervals or categories, and heights.

        Tables and trees are both in it, on average over all other features, around a mean of zero; heights are in the
        units of the picture, log odds or those of the target.
        """
        from privet.learners.boosting.shapes import named, shapes_of

        shape = named(shapes_of(self), feature)
        return list(shape.labels), shape.values

    def _table_steps(self, feature: int) -> Floats:
        """Return what the steps of a feature's own table add; neighbouring cells that add the same are one step."""
        column = self.encoding.columns[feature]
        table = self.tables[self.offsets[feature] : self.offsets[feature + 1]].astype(np.float64) * _UNIT
        if not column.ordered:
            return table
        present = table[: column.n_values]
        ends = [*np.flatnonzero((present[1:] != present[:-1]).any(axis=1)).tolist(), column.n_values - 1]
        steps: Floats = table[[*ends, *range(column.n_values, column.n_codes)]]
        return steps

    def importances(self) -> Floats:
        """Return how much each feature moves scores, adding up to one (or zero): released values only.

        A table counts by the standard deviation of its entries over the feature's distinct steps, a split by half the
        distance between the means of its two sides, divided by the number of nodes beside it on its level.
        """
        tables, trees = self.importance_parts()
        found = tables + trees
        total = found.sum()
        return found / total if total > 0 else found

    def importance_parts(self) -> tuple[Floats, Floats]:
        """Return how much each feature moves scores by its table, and by the trees; see `importances`."""
        tables, trees = np.zeros((2, self.encoding.n_features))
        for place in range(self.encoding.n_features):
            tables[place] = np.sqrt((self._table_steps(place).std(axis=0) ** 2).sum())
        if self.trees is not None:
            means = self.values.reshape(self.trees.n_trees, -1, self.n_scores).astype(np.float64) * _UNIT
            for level in reversed(range(self.trees.depth)):
                first, second = means[:, ::2], means[:, 1::2]
                gains = np.sqrt(((second - first) ** 2).sum(axis=2)) / 2 ** (level + 1)
                nodes = self.trees.splits.feature[:, 2**level - 1 : 2 ** (level + 1) - 1]
                np.add.at(trees, nodes, gains)
                means = (first + second) / 2
        return tables, trees

    def shapes(self) -> "Shapes":
        """Return what each feature adds on average over all others, trees included, and how much that leaves out.

        See `privet.learners.boosting.shapes`.
        """
        from privet.learners.boosting.shapes import shapes_of

        return shapes_of(self)

    def export_text(self, tree: int | None = None) -> str:
        """Return the shapes as text or, for an index, that tree with what its leaves add."""
        from privet.learners.boosting.shape_drawing import export_text, export_tree

        return export_text(self) if tree is None else export_tree(self, tree)

    def plot(
        self, target: "str | Path | None" = None, *, features: Sequence[str] | None = None, most: int = 9
    ) -> "Figure":
        """Draw the shapes of the most important features into a figure or file; see `shape_drawing`."""
        from privet.learners.boosting.shape_drawing import plot

        return plot(self, target, features=features, most=most)

    def plot_shape(self, feature: str, target: "str | Path | Axes | None" = None) -> "Axes":
        """Draw what the values of one feature add into a file, into axes, or into a new figure."""
        from privet.learners.boosting.shape_drawing import plot_shape

        return plot_shape(self, feature, target)

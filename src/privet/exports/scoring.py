"""What any model computes, in one form that every export writes down: tables and trees whose values are added up.

Grids are finer than a model needs: boosting's has 4,096 cells, of which its tables and trees tell a few dozen apart.
The form below keeps only the cuts that make a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.frames.columns import Category
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.gradients import SCORE_BITS
from privet.learners.matrix_forest.vote_tables import BatchAnswers, CellTable, LeafVotes
from privet.models.forest import Forest
from privet.models.regression_forest import RegressionForest
from privet.schema.encoding import ClassTarget, Column, Encoding, RangeTarget
from privet.schema.readings import TRUTH, Buckets, Days, Levels, Part, Truth
from privet.tables.protocol import Floats, IntArray
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.structure import FeatureCodes, Splits

Bools = NDArray[np.bool_]

Link = Literal["shares", "lifted", "logistic", "softmax", "range"]

_UNIT = 2.0**-SCORE_BITS


@dataclass(frozen=True)
class CodedFeature:
    """How the values of a feature become codes.

    Attributes
    ----------
    name : str
        The column.
    cuts : sequence of float or None
        For a number: its code is how many of these lie below it.
    categories : tuple
        For a category: its code is its place among these.
    n_codes : int
        How many codes there are, those of missing and other values included.
    missing, unknown : int
        The codes of a missing value and of a category that is not listed.
    words : tuple of (str, int)
        Texts that stand for a category as well, in lower case and without spaces around them, and its code.
    reading : Days, Part, Buckets or None
        How values are made of what is in the table, where they are not what stands there.
    """

    name: str
    cuts: Sequence[float] | None
    categories: tuple[Category, ...]
    n_codes: int
    missing: int
    unknown: int
    words: tuple[tuple[str, int], ...] = ()
    reading: Days | Part | Buckets | None = None

    @property
    def source(self) -> str:
        """The column that holds the values: the feature's own, unless it is a part of a date in another."""
        return self.reading.of if isinstance(self.reading, Part) else self.name

    @property
    def holds_truth(self) -> bool:
        """Whether values are truth values, which other tools write as words or as 0 and 1."""
        return bool(self.categories) and all(isinstance(category, bool) for category in self.categories)

    @property
    def holds_strings(self) -> bool:
        """Whether values are strings; those of other features are numbers or truth values."""
        strings = [isinstance(category, str) for category in self.categories]
        if any(strings) and not all(strings):
            raise ParameterError(
                f"feature {self.name!r} lists strings and numbers, which no column of other tools can hold; "
                "list all as strings"
            )
        return any(strings)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores for every combination of the codes of some features, the last feature running fastest."""

    features: tuple[int, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class Scoring:
    """A model as sums: start and tables, held within bounds; then trees; then a link from scores to answers.

    Attributes
    ----------
    features : tuple of CodedFeature
        How values become codes.
    target : ClassTarget or RangeTarget
        What is predicted.
    start : float64 array of shape (n_scores,)
        What every record starts with.
    tables : tuple of ScoreTable
        What codes add.
    bounds : (float, float) or None
        What the sum of start and tables is held within.
    trees : ExplicitTrees or None
        The trees.
    values : float64 array of shape (n_leaves, n_scores)
        What each leaf adds.
    link : {"shares", "lifted", "logistic", "softmax", "range"}
        *shares*: scores are divided by their sum, equal shares where that is zero. *lifted*: the same, after a row with
        a negative score is lifted to a smallest one of zero. *logistic*: one score, the log odds of the second class.
        *softmax*: one for each class. *range*: one score, the place within the target's range.
    """

    features: tuple[CodedFeature, ...]
    target: ClassTarget | RangeTarget
    start: Floats
    tables: tuple[ScoreTable, ...]
    bounds: tuple[float, float] | None
    trees: ExplicitTrees | None
    values: Floats
    link: Link

    @property
    def classes(self) -> tuple[Category, ...]:
        """The classes; none for a regression."""
        return self.target.classes if isinstance(self.target, ClassTarget) else ()

    def children(self, node: int) -> IntArray:
        """Return the child that each code of a node's feature leads to."""
        assert self.trees is not None
        splits, feature = self.trees.splits, int(self.trees.splits.feature[node])
        first, codes = int(self.trees.first_child[node]), np.arange(self.features[feature].n_codes)
        if self.trees.n_children[node] > 2:
            return first + codes
        if splits.set_index[node] >= 0:
            second = splits.in_set(int(splits.set_index[node]), codes)
        else:
            second = codes > int(splits.cut[node])
            if splits.missing_first[node]:
                second[self.trees.domains.missing[feature]] = False
        return first + second.astype(np.int64)


def scoring_of(estimator: object) -> Scoring:
    """Return what a fitted estimator computes, with no more cuts than make a difference.

    Raises
    ------
    ParameterError
        If its model cannot be said as a sum of tables and trees, or it predicts for another objective than accuracy.
    """
    refuse_objective(estimator)
    return scoring_of_model(getattr(estimator, "model_", None), type(estimator).__name__)


def refuse_objective(estimator: object) -> None:
    """Refuse an estimator whose predictions are not the largest probability: other formats would predict otherwise."""
    if getattr(estimator, "objective", "accuracy") != "accuracy":
        raise ParameterError(
            "other formats predict the class with the largest probability, which is not this estimator's objective: "
            "export it after set_params(objective='accuracy'), and compare the probabilities with a threshold there"
        )


def scoring_of_model(model: object, owner: str = "this estimator") -> Scoring:
    """Return what a model computes; `owner` is for the message if it cannot be said."""
    if isinstance(model, BatchAnswers):
        raise ParameterError(f"{owner} answers for the points of one batch only, so there is no model to export")
    found = _whole(model)
    if found is None:
        raise ParameterError(f"{owner} holds no model that other formats can say; predict with privet itself")
    return _compact(found)


def _whole(model: object) -> Scoring | None:
    """Return a model's sums with all cuts of its grids; None for a kind of model that is not known."""
    match model:
        case Forest():
            trees, votes = model.structure.explicit(), model.leaf_votes()
            return _sums(model.encoding, trees=trees, values=votes, link="shares")
        case RegressionForest():
            trees = model.structure.explicit()
            values = model.values[:, np.newaxis] / model.structure.n_trees
            return _sums(model.encoding, trees=trees, values=values, link="range")
        case LeafVotes():
            return _sums(model.encoding, trees=model.structure, values=model.values, link="lifted")
        case CellTable():
            tables = [ScoreTable(table.features, table.votes) for table in model.tables]
            none = np.zeros((0, model.encoding.n_classes))
            return replace(_sums(model.encoding, trees=None, values=none, link="lifted"), tables=tuple(tables))
        case Additive():
            return _additive(model)
    return None


def _additive(model: Additive) -> Scoring:
    trees = None if model.trees is None else model.trees.explicit()
    tables = model.tables.astype(np.float64) * _UNIT
    acting = [
        ScoreTable((feature,), tables[begin:end])
        for feature, (begin, end) in enumerate(zip(model.offsets[:-1], model.offsets[1:], strict=True))
        if tables[begin:end].any()
    ]
    sums = _sums(model.encoding, trees=trees, values=model.values.astype(np.float64) * _UNIT, link=model.link)
    bounds = (model.low * _UNIT, model.high * _UNIT)
    return replace(sums, start=model.start.astype(np.float64) * _UNIT, tables=tuple(acting), bounds=bounds)


def _sums(encoding: Encoding, *, trees: ExplicitTrees | None, values: Floats, link: Link) -> Scoring:
    features = tuple(_coded(column) for column in encoding.columns)
    return Scoring(features, encoding.target, np.zeros(values.shape[1]), (), None, trees, values, link)


def _coded(column: Column) -> CodedFeature:
    levels = column.reading.levels if isinstance(column.reading, Levels) else None
    return CodedFeature(
        column.name,
        column.cuts if column.ordered and levels is None else None,
        column.categories if levels is None else levels,
        column.n_codes,
        column.code_of_missing,
        column.code_of_unknown,
        tuple((word, int(value)) for word, value in TRUTH.items()) if isinstance(column.reading, Truth) else (),
        column.reading if isinstance(column.reading, Days | Part | Buckets) else None,
    )


def _compact(whole: Scoring) -> Scoring:
    """Leave out cuts that no table and no tree tells apart."""
    kept = _cuts_that_matter(whole)
    new_codes = [_new_codes(feature, keep) for feature, keep in zip(whole.features, kept, strict=True)]
    features = tuple(_fewer_cuts(*parts) for parts in zip(whole.features, kept, new_codes, strict=True))
    tables = tuple(_fewer_rows(table, whole.features, new_codes) for table in whole.tables)
    trees = None if whole.trees is None else _fewer_codes(whole.trees, features, new_codes)
    return replace(whole, features=features, tables=tables, trees=trees)


def _cuts_that_matter(whole: Scoring) -> list[Bools]:
    """Return for each feature which of its cuts are used; none for categories."""
    kept = [np.zeros(len(feature.cuts or ()), np.bool_) for feature in whole.features]
    for table in whole.tables:
        shaped = table.values.reshape(*(whole.features[feature].n_codes for feature in table.features), -1)
        for axis, feature in enumerate(table.features):
            rows = np.moveaxis(shaped, axis, 0)[: kept[feature].size + 1].reshape(kept[feature].size + 1, -1)
            if whole.features[feature].cuts is not None:
                kept[feature] |= (rows[1:] != rows[:-1]).any(axis=1)
    if whole.trees is None:
        return kept
    splits, inner = whole.trees.splits, whole.trees.splits.feature >= 0
    by_code = inner & ((splits.set_index >= 0) | (whole.trees.n_children > 2))
    for feature, keep in enumerate(kept):
        mine = splits.feature == feature
        if (mine & by_code).any():  # a node of many children has one for each cell
            keep[:] = True
        cuts = splits.cut[mine & ~by_code]
        keep[cuts[cuts < keep.size]] = True
    return kept


def _new_codes(feature: CodedFeature, keep: Bools) -> IntArray:
    """Return the new code of each old one."""
    if feature.cuts is None:
        return np.arange(feature.n_codes)
    of_values = np.concatenate([[0], np.cumsum(keep)])
    of_others = of_values[-1] + 1 + np.arange(feature.n_codes - of_values.size)
    return np.concatenate([of_values, of_others])


def _fewer_cuts(feature: CodedFeature, keep: Bools, new_codes: IntArray) -> CodedFeature:
    cuts = None if feature.cuts is None else tuple(np.asarray(feature.cuts)[keep].tolist())
    missing, unknown = int(new_codes[feature.missing]), int(new_codes[feature.unknown])
    return replace(feature, cuts=cuts, n_codes=int(new_codes[-1]) + 1, missing=missing, unknown=unknown)


def _fewer_rows(table: ScoreTable, features: tuple[CodedFeature, ...], new_codes: list[IntArray]) -> ScoreTable:
    values = table.values.reshape(*(features[feature].n_codes for feature in table.features), -1)
    for axis, feature in enumerate(table.features):
        _, first = np.unique(new_codes[feature], return_index=True)
        values = values.take(first, axis=axis)
    return ScoreTable(table.features, np.ascontiguousarray(values.reshape(-1, table.values.shape[1])))


def _fewer_codes(trees: ExplicitTrees, features: tuple[CodedFeature, ...], new_codes: list[IntArray]) -> ExplicitTrees:
    n_codes = np.array([feature.n_codes for feature in features], dtype=np.int64)
    missing = np.where(trees.domains.missing >= 0, n_codes - 1, -1)
    n_cells = np.where(trees.domains.ordered & (missing >= 0), n_codes - 1, n_codes)
    domains, cut = FeatureCodes(trees.domains.ordered, n_codes, n_cells, missing), trees.splits.cut.copy()
    for feature, codes in enumerate(new_codes):
        mine = trees.splits.feature == feature
        cut[mine] = codes[np.minimum(cut[mine], codes.size - 1)]
    splits = replace(trees.splits, cut=cut)
    assert isinstance(splits, Splits)
    return replace(trees, domains=domains, splits=splits)

"""Models that sum up released votes: looked up by cell, by leaf, or for the points of one batch only.

All of them answer by adding up real numbers for each class, which noise may have made negative. What they return are
shares: a row with a negative number is lifted until its smallest is zero, which keeps the order of the classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ModelFileError, ParameterError, PrivetError
from privet.learners.matrix_forest.domain_cells import DomainCells
from privet.models.files import Content, Reader, array_to_dict, register
from privet.models.forest_files import structure_from_content, structure_to_content
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.vote import sum_values
from privet.trees.structure import FeatureCodes


def shares_of(votes: Floats) -> Floats:
    """Return rows that add up to one, classes in the order of their votes; equal shares where all votes are equal."""
    lifted = votes - np.minimum(votes.min(axis=1, keepdims=True), 0.0)
    total = lifted.sum(axis=1, keepdims=True)
    lifted[total[:, 0] == 0] = 1.0
    shares: Floats = lifted / np.where(total > 0, total, lifted.shape[1])
    return shares


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Votes for every cell that some features span.

    Parameters
    ----------
    features : tuple of int
        The features, rising.
    votes : float64 array of shape (cells, n_classes)
        Cells with the last feature running fastest.
    """

    features: tuple[int, ...]
    votes: Floats


@dataclass(frozen=True, eq=False)
class CellTable:
    """Votes by lookup: the sum of one or more tables, each over some of the features.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    tables : tuple of VoteTable
        What is added up.
    """

    encoding: Encoding
    tables: tuple[VoteTable, ...]

    def __post_init__(self) -> None:
        n_features = self.encoding.n_features
        for table in self.tables:
            rising = all(a < b for a, b in zip(table.features, table.features[1:], strict=False))
            if not table.features or not rising or not 0 <= table.features[0] <= table.features[-1] < n_features:
                raise ParameterError("a table's features must be features of the encoding, rising")
            expected = (self._cells(table).number, self.encoding.n_classes)
            if table.votes.dtype != np.float64 or table.votes.shape != expected:
                raise ParameterError(f"votes must be float64 of shape {expected}, got {table.votes.shape}")
            if not np.isfinite(table.votes).all():
                raise ParameterError("votes must be finite")
        if not self.tables:
            raise ParameterError("a cell table needs at least one table of votes")

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return one row for each record: shares of the vote."""
        total = np.zeros((codes.shape[1], self.encoding.n_classes))
        for table in self.tables:
            total += table.votes[self._cells(table).ids(codes[list(table.features)])]
        return shares_of(total)

    def _cells(self, table: VoteTable) -> DomainCells:
        sizes = self.encoding.n_codes
        return DomainCells(tuple(int(sizes[feature]) for feature in table.features))


@dataclass(frozen=True, eq=False)
class LeafVotes:
    """Votes by tree: every leaf has a vote for each class, and those of the leaves that a record reaches are added.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    structure : ExplicitTrees
        How codes come to leaves.
    values : float64 array of shape (n_leaves, n_classes)
        The votes of the leaves.
    """

    encoding: Encoding
    structure: ExplicitTrees
    values: Floats

    def __post_init__(self) -> None:
        expected = (self.structure.n_leaves, self.encoding.n_classes)
        if self.values.dtype != np.float64 or self.values.shape != expected or not np.isfinite(self.values).all():
            raise ParameterError(f"values must be finite float64 of shape {expected}, got {self.values.shape}")

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return one row for each record: shares of the vote."""
        return shares_of(sum_values(self.structure, codes, self.values, n_jobs))


@dataclass(frozen=True, eq=False)
class BatchAnswers:
    """Votes for the points of one public batch, and for no other point: no more than that was measured.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    points : array of shape (n_features, n_points)
        The codes of the batch, each point once.
    answers : float64 array of shape (n_points, n_classes)
        Its votes.
    """

    encoding: Encoding
    points: NDArray[Any]
    answers: Floats

    def __post_init__(self) -> None:
        expected = (self.points.shape[-1], self.encoding.n_classes)
        if self.points.ndim != 2 or len(self.points) != self.encoding.n_features or self.points.shape[1] == 0:
            raise ParameterError(f"points must have a row for each of the {self.encoding.n_features} features")
        if self.answers.dtype != np.float64 or self.answers.shape != expected or not np.isfinite(self.answers).all():
            raise ParameterError(f"answers must be finite float64 of shape {expected}, got {self.answers.shape}")

    @cached_property
    def _place(self) -> dict[bytes, int]:
        return {point.tobytes(): place for place, point in enumerate(_rows(self.points))}

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return one row for each record: shares of the vote.

        Raises
        ------
        ParameterError
            If a point is not in the batch.
        """
        places = [self._place.get(point.tobytes(), -1) for point in _rows(codes)]
        if -1 in places:
            raise ParameterError(
                f"{places.count(-1)} of {len(places)} points are not in the batch that was measured, and this release "
                "says nothing about them: fit again with all points in `batch` (a new charge), or with a strategy that "
                "supports every point ('cells', 'leaves' or 'p-identity')"
            )
        return shares_of(self.answers[places])


def _rows(codes: NDArray[Any]) -> NDArray[np.uint16]:
    return np.ascontiguousarray(codes.T, dtype=np.uint16)


def _cell_table_to_content(model: CellTable) -> Content:
    tables = [{"features": list(table.features), "votes": array_to_dict(table.votes)} for table in model.tables]
    return {"tables": tables}


def _cell_table_from_content(reader: Reader) -> CellTable:
    parts = reader.get("tables")
    if not isinstance(parts, list) or len(parts) > 10_000:
        raise ModelFileError(f"{reader.place}.tables: expected a list")
    tables = []
    for place, part in enumerate(parts):
        table = Reader(part, f"{reader.place}.tables.{place}", reader.bytes_read)
        features = table.get("features")
        if not isinstance(features, list) or not all(type(feature) is int for feature in features):
            raise ModelFileError(f"{table.place}.features: expected a list of whole numbers")
        tables.append(VoteTable(tuple(features), table.array("votes", np.float64, 2)))
    return CellTable(_encoding(reader), tuple(tables))


def _leaf_votes_to_content(model: LeafVotes) -> Content:
    return {
        "structure": structure_to_content(model.structure),
        "values": array_to_dict(model.values),
    }


def _leaf_votes_from_content(reader: Reader) -> LeafVotes:
    encoding = _encoding(reader)
    structure = structure_from_content(reader.part("structure"), FeatureCodes.of(encoding))
    if not isinstance(structure, ExplicitTrees):
        raise ModelFileError(f"{reader.place}.structure: expected explicit trees")
    return LeafVotes(encoding, structure, reader.array("values", np.float64, 2))


def _batch_to_content(model: BatchAnswers) -> Content:
    return {
        "points": array_to_dict(model.points.astype(np.uint16)),
        "answers": array_to_dict(model.answers),
    }


def _batch_from_content(reader: Reader) -> BatchAnswers:
    return BatchAnswers(_encoding(reader), reader.array("points", np.uint16, 2), reader.array("answers", np.float64, 2))


def _encoding(reader: Reader) -> Encoding:
    encoding = reader.encoding()
    if not encoding.n_classes:
        raise ModelFileError(f"{reader.place}.encoding: no classes")
    return encoding


def _checked(read: Callable[[Reader], Any]) -> Callable[[Reader], Any]:
    """Let whatever does not fit together come out as an error of the file."""

    def from_content(reader: Reader) -> Any:
        try:
            return read(reader)
        except ModelFileError:
            raise
        except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(f"{reader.place}: {error}") from error

    return from_content


register("cell-table", CellTable, _cell_table_to_content, _checked(_cell_table_from_content))
register("leaf-votes", LeafVotes, _leaf_votes_to_content, _checked(_leaf_votes_from_content))
register("batch-answers", BatchAnswers, _batch_to_content, _checked(_batch_from_content))

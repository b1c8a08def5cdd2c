"""Tables as users describe them: where the records are, and which column is the target. Nothing is read yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

from privet.errors import ParameterError, SchemaError
from privet.schema.schema import Schema
from privet.tables.piecewise import Reading
from privet.tables.protocol import Table


@dataclass(frozen=True)
class Job:
    """What a fit asks of a described table.

    Parameters
    ----------
    reading : Reading
        How records become codes.
    n_jobs : int
        Number of threads.
    one_pass : bool
        Whether the learner passes over its table only once, so that codes need not be kept.
    """

    reading: Reading
    n_jobs: int
    one_pass: bool


class Described(ABC):
    """Base of the tables that users describe, and pass to ``fit`` in place of a frame.

    A description is cheap, and holds no record. Each fit makes its own encoded table from it, with the learner's own
    encoding.

    Parameters
    ----------
    target : str, optional
        The column to predict; else it is named in ``fit(table, "column")`` or by the schema.
    schema : Schema, optional
        What is public, for estimators that have no schema of their own.
    id : str, optional
        A column with another value in every record, by which records are assigned to trees. Records that share a value
        are assigned alike, so learners whose pure epsilon relies on a coin for each record refuse it.
    """

    def __init__(self, *, target: str | None = None, schema: Schema | None = None, id: str | None = None) -> None:
        self.target = target
        self.schema = schema
        self.id = id

    @abstractmethod
    def encoded(self, job: Job) -> Table:
        """Check names and types, and return the table for one fit. If it has a method ``close``, that ends the fit."""

    def frames(self, reading: Reading) -> Iterator[Any]:
        """Read all records in order, as frames of a bounded size with the columns of the reading."""
        raise ParameterError(f"records of a {type(self).__name__} are not read in order; predict where they are")

    def columns(self, schema: Schema) -> Any:
        """Return a frame without rows that has the columns of the table, or of its first file."""
        raise ParameterError(f"the columns of a {type(self).__name__} are not known here; name the target")

    def with_target(self, y: Any) -> Self:
        """Return the same table with another target, given by name."""
        if not isinstance(y, str):
            raise SchemaError(
                f"y must be the name of a column of the table, got {type(y).__name__}: fit(table, 'column')"
            )
        twin = copy(self)
        twin.target = y
        return twin

    def __repr__(self) -> str:
        return f"{type(self).__name__}(target={self.target!r})"

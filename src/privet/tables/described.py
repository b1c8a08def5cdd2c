"""Tables as users describe them: where the records are, and which column is the target. Nothing is read yet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Self

from privet.errors import ParameterError, SchemaError
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.piecewise import Reading
from privet.tables.protocol import Table

# Objects of other libraries that are tables as they are: by the module that their class begins with, its name, and the
# adapter that describes them. Nothing is imported before such an object is seen.
ADAPTERS: dict[tuple[str, str], str] = {
    ("polars", "LazyFrame"): "privet.tables.streams:LazyFrameTable",
    ("pyarrow", "Dataset"): "privet.tables.streams:DatasetTable",
    ("pyarrow", "RecordBatchReader"): "privet.tables.streams:ReaderTable",
    ("duckdb", "DuckDBPyRelation"): "privet.tables.duckdb_table:DuckDBTable",
    ("_duckdb", "DuckDBPyRelation"): "privet.tables.duckdb_table:DuckDBTable",
    ("dask", "DataFrame"): "privet.tables.dask_table:DaskTable",
    ("pyspark", "DataFrame"): "privet.tables.spark_table:SparkTable",
}


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


def described(X: Any, y: Any) -> Described | None:
    """Return the description of a table, with its target; None for a frame in memory."""
    table = X if isinstance(X, Described) else adapted(X)
    if table is None:
        return None
    return table if y is None else table.with_target(y)


def declared_accounts(schema: Any, X: Any) -> tuple[str, ...]:
    """Return the accounts to which work on some records is charged: those that their own schemas name.

    *Privacy.* A table is about certain people, so the account that its schema names is charged also where an estimator
    has a schema of its own.
    """
    of_table = X.schema if isinstance(X, Described) else None
    named = [each.budget for each in (schema, of_table) if isinstance(each, Schema) and each.budget is not None]
    return tuple(dict.fromkeys(named))


def adapted(X: Any) -> Described | None:
    """Describe an object of another library that is a table as it is; None if it is not."""
    for kind in type(X).__mro__:
        adapter = ADAPTERS.get((kind.__module__.partition(".")[0], kind.__name__))
        if adapter is not None:
            module, _, name = adapter.partition(":")
            made: Described = getattr(import_module(module), name)(X)
            return made
    return None


def make_table(
    X: Described, schema: Schema, encoding: Encoding, key: Callable[[], bytes], n_jobs: int, one_pass: bool
) -> Table:
    """Return the encoded table that a description stands for."""
    if X.schema is not None and X.schema != schema:
        raise SchemaError(
            "the table's schema is not that of the estimator; give both the same, or only one of them a schema"
        )
    target = schema.target_column if X.target is None else X.target
    if target is None:
        raise SchemaError("fit() needs to know the target: name its column, fit(table, 'column')")
    reading = Reading(encoding, target, schema.unit, X.id, b"" if schema.unit is None else key())
    return X.encoded(Job(reading, n_jobs, one_pass))


def closing_afterwards(table: Table) -> AbstractContextManager[object]:
    """Return a context at whose end the table gives back its memory and files, if it has any to give back."""
    close = getattr(table, "close", None)
    return nullcontext() if close is None else _Closing(close)


class _Closing(AbstractContextManager[None]):
    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close

    def __exit__(self, *_: object) -> None:
        self._close()

"""Tables that are read once, from beginning to end: lazy frames, datasets, readers of batches, queries."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from weakref import WeakSet

from privet.errors import ParameterError
from privet.progress import Bar
from privet.schema.schema import Schema
from privet.tables.described import Described, Job
from privet.tables.engine_errors import unquoted
from privet.tables.kept import encode_pieces
from privet.tables.piecewise import Reading
from privet.tables.protocol import Table
from privet.tables.source import Layout, check_layouts
from privet.tables.store import ArrayStore, bytes_of
from privet.tables.streamed import StreamedTable

_READAHEAD = 2  # batches and files that PyArrow reads ahead of what is asked for


@dataclass(frozen=True)
class _Batch:
    """A batch that was read."""

    name: str
    frame: Any

    @property
    def n_rows(self) -> int:
        return len(self.frame)

    def batches(self, most_rows: int) -> Iterator[Any]:
        for start in range(0, len(self.frame), most_rows):
            yield self.frame if len(self.frame) <= most_rows else self.frame.slice(start, most_rows)


class StreamTable(Described):
    """Base of the tables that are read once. One thread reads at a time, all of them encode.

    Records are known by their place in this one reading, so the order in which an engine delivers them need not be the
    same in another reading: within one fit it is never asked for again.

    Parameters
    ----------
    target, schema, id
        As for `ParquetTable`.
    memory, spill, progress
        As for `ParquetTable`.
    """

    def __init__(
        self,
        *,
        target: str | None = None,
        schema: Schema | None = None,
        memory: int | str | None = None,
        spill: str | os.PathLike[str] | None = None,
        id: str | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(target=target, schema=schema, id=id)
        self.memory = memory
        self.spill = spill
        self.progress = progress

    @abstractmethod
    def layout(self) -> Layout:
        """Return the columns, without reading any record."""

    @abstractmethod
    def read(self, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
        """Read these columns, in batches of about so many rows."""

    def encoded(self, job: Job) -> Table:
        """Check names and types; encode the records now, or for one pass only when they are needed."""
        limit, layout = bytes_of(self.memory), self.layout()
        check_layouts([layout], job.reading)

        def pieces() -> Iterator[_Batch]:
            for frame in self._read_quietly(layout.name, job.reading):
                yield _Batch(layout.name, frame)

        if job.one_pass and job.reading.unit is None:
            return StreamedTable(job.reading, pieces, job.n_jobs, self.progress)
        store = ArrayStore(limit, self.spill)
        try:
            with Bar("reading", None, self.progress) as progress:
                return encode_pieces(pieces(), job.reading, store, job.n_jobs, progress)
        except BaseException:
            store.close()
            raise

    def frames(self, reading: Reading) -> Iterator[Any]:
        """Read all records in order, as frames of a bounded size with the columns of the reading."""
        layout = self.layout()
        check_layouts([layout], reading)
        return self._read_quietly(layout.name, reading)

    def _read_quietly(self, name: str, reading: Reading) -> Iterator[Any]:
        with unquoted(name, "its library"):
            yield from self.read(reading.columns, reading.rows_at_once)

    def columns(self, schema: Schema) -> Any:
        """Return a frame without rows that has the columns of the table."""
        return self.layout().empty


class LazyFrameTable(StreamTable):
    """A polars LazyFrame: only the columns that are needed are asked for, and the result comes in batches."""

    def __init__(self, frame: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.frame = frame

    def layout(self) -> Layout:
        """Return the columns of the query's result; it is not run."""
        polars: Any = import_module("polars")
        return Layout("the lazy frame", polars.DataFrame(schema=self.frame.collect_schema()))

    def read(self, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
        """Run the query."""
        asked = self.frame.select(columns)
        if hasattr(asked, "collect_batches"):
            yield from asked.collect_batches(chunk_size=most_rows, maintain_order=True)
        else:  # older versions of polars cannot deliver a result in batches
            yield from asked.collect(engine="streaming").iter_slices(most_rows)


class DatasetTable(StreamTable):
    """A PyArrow dataset. Files that change while they are read are not noticed, as `ParquetTable` would."""

    def __init__(self, dataset: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.dataset = dataset

    def layout(self) -> Layout:
        """Return the columns of the dataset."""
        return Layout("the dataset", self.dataset.schema.empty_table())

    def read(self, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
        """Scan the dataset, in order."""
        scanner = self.dataset.scanner(
            columns=list(columns), batch_size=most_rows, batch_readahead=_READAHEAD, fragment_readahead=_READAHEAD
        )
        return _tables(scanner.to_batches())


_read_already: WeakSet[Any] = WeakSet()


class ReaderTable(StreamTable):
    """A PyArrow RecordBatchReader, which can be read only once."""

    def __init__(self, reader: Any, **settings: Any) -> None:
        super().__init__(**settings)
        self.reader = reader

    def layout(self) -> Layout:
        """Return the columns of the batches."""
        if self.reader in _read_already:
            raise ParameterError("this RecordBatchReader was read by another fit, and is at its end; open it again")
        return Layout("the reader", self.reader.schema.empty_table())

    def read(self, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
        """Read the batches as they come."""
        _read_already.add(self.reader)
        return (table.select(list(columns)) for table in _tables(self.reader))


def _tables(batches: Any) -> Iterator[Any]:
    pa: Any = import_module("pyarrow")
    return (pa.Table.from_batches([batch]) for batch in batches)

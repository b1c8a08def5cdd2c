"""Tables on a Dask cluster: workers keep the codes, and only integers come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from privet.errors import ParameterError
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import worker_tasks as tasks
from privet.tables.described import Described, Job
from privet.tables.engine_errors import unquoted
from privet.tables.file_table import FileSource
from privet.tables.pieces import bundled
from privet.tables.piecewise import Reading, Records
from privet.tables.protocol import IntArray, Kernel
from privet.tables.source import Layout, check_layouts
from privet.tables.streamed_there import CountPiece, Placed, StreamedThere, apply, can_stream
from privet.tables.units import bound_pieces

_ADDED_AT_ONCE = 8  # parts that one task adds up, on the way to one sum
_ROWS_BOUNDED_AT_ONCE = 1 << 24  # of units, by one worker; takes some 80 bytes a row


class DaskTable(Described):
    """Records on a Dask cluster, in files or in a frame of ``dask.dataframe``.

    Each worker encodes the pieces that it is given once, keeps their codes, and counts; only sums of integers travel.
    All noise is drawn by the process that calls ``fit``. Of files only the paths are sent, so workers must be able to
    read them. privet must be installed where the workers run.

    Parameters
    ----------
    source : path, sequence of paths, or dask.dataframe.DataFrame
        Files, folders and patterns as in `ParquetTable`, or a frame.
    target : str, optional
        The column to predict; else it is named in ``fit(table, "column")``.
    schema : Schema, optional
        What is public, for estimators that have no schema of their own.
    id : str, optional
        A column with another value in every record. Give it for a frame whose partitions may come in another order when
        they are computed again, as after a shuffle; files do not need it.
    client : dask.distributed.Client, optional
        The cluster; by default the current client.

    Notes
    -----
    *Privacy.* The same records give the same model as a frame in memory, and the same guarantee, whatever happens to
    the workers: a task that is lost or runs twice returns the same integers. A partition that is not the same when it
    is computed again ends the fit with a `TableChangedError`; what was charged stays charged. Workers and their disks
    see the records, so they must be trusted as much as the place where the data is.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> client = Client("scheduler:8786")  # doctest: +SKIP
    >>> table = DaskTable("patients/", target="outcome", schema=schema)  # doctest: +SKIP
    >>> clf = privet.BoostingClassifier(epsilon=1.0).fit(table)  # doctest: +SKIP
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str | None = None,
        schema: Schema | None = None,
        id: str | None = None,
        client: Any = None,
    ) -> None:
        super().__init__(target=target, schema=schema, id=id)
        self.source = source
        self.client = client

    def encoded(self, job: Job) -> EncodedOnDask | StreamedThere:
        """Check names and types, then let the workers encode their pieces; for one pass over files, when it comes."""
        client = current_client() if self.client is None else self.client
        reading = job.reading
        if hasattr(self.source, "to_delayed"):
            carried = client.submit(_itself, reading, pure=False)
            check_layouts([Layout("the Dask frame", empty_frame(self.source))], reading)
            chosen = self.source[list(reading.columns)]
            partitions = client.compute(chosen.to_delayed())
            records = _each(client, _encode_partition, partitions, carried)
        else:
            files = FileSource.found(self.source, reading)
            check_layouts(files.layouts(), reading)
            pieces = bundled(files.pieces())
            if can_stream(job, pieces):
                return StreamedThere(reading, pieces, partial(_add_up_pieces, client))
            carried = client.submit(_itself, reading, pure=False)
            records = _each(client, tasks.encode_own_piece, pieces, carried)
        with unquoted("the Dask table", "Dask"):
            summaries = client.gather(_each(client, tasks.summary, records))
        table = EncodedOnDask(client, reading.encoding, _blocks(client, records, summaries, reading))
        table.n_read = tasks.n_read(summaries)
        return table


def current_client() -> Any:
    """Return the client of the cluster in use."""
    try:
        return import_module("distributed").get_client()
    except ImportError:
        raise ParameterError("Dask tables need dask.distributed: pip install 'privet[dask]'") from None
    except ValueError:
        raise ParameterError(
            "no Dask cluster is in use: start one with dask.distributed.Client(), or give client=..."
        ) from None


class EncodedOnDask:
    """Codes in the memory of Dask's workers."""

    def __init__(self, client: Any, encoding: Encoding, blocks: Sequence[Any]) -> None:
        self._client, self._encoding, self._blocks = client, encoding, blocks
        self._states: Sequence[dict[str, Any]] = [{} for _ in blocks]
        self._nothing = tasks.empty_block(encoding)
        self.n_read: int | None = None  # rows without a known label included

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self._encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks in the workers, add up its integers on the way, and fetch one sum."""
        parts = [self._client.submit(tasks.integers, *arguments, pure=False) for arguments in self._arguments(kernel)]
        zeros = tasks.integers(kernel, self._nothing, self._nothing.state)
        return tasks.added(zeros, *_added_up(self._client, parts))

    def derive(self, name: str, kernel: Kernel) -> EncodedOnDask:
        """Return a table in which each record also has the kernel's value under `name`."""
        table = EncodedOnDask(self._client, self._encoding, self._blocks)
        new = [self._client.submit(tasks.run, *arguments, pure=False) for arguments in self._arguments(kernel)]
        table._states = [{**state, name: value} for state, value in zip(self._states, new, strict=True)]
        table._nothing = tasks.with_state(self._nothing, name, kernel)
        return table

    def close(self) -> None:
        """Let the workers forget the records."""
        self._blocks, self._states = [], []

    def _arguments(self, kernel: Kernel) -> Iterator[tuple[Any, ...]]:
        # Sent once as the argument of a task, which can run again if the worker that holds the kernel is lost.
        carried = self._client.submit(_itself, kernel, pure=False)
        return ((carried, block, state) for block, state in zip(self._blocks, self._states, strict=True))

    def __repr__(self) -> str:
        return f"EncodedOnDask({self._encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")


def _added_up(client: Any, parts: Sequence[Any]) -> list[IntArray]:
    """Let the workers add up arrays, some at a time; return their one sum, or nothing of nothing."""
    while len(parts) > 1:
        groups = [parts[start : start + _ADDED_AT_ONCE] for start in range(0, len(parts), _ADDED_AT_ONCE)]
        parts = [client.submit(tasks.added, *group, pure=False) for group in groups]
    with unquoted("a pass over the Dask table", "Dask"):
        return [part.result() for part in parts]


def _add_up_pieces(client: Any, items: Sequence[Placed], work: CountPiece) -> IntArray:
    carried = client.submit(_itself, work, pure=False)
    return _added_up(client, [client.submit(apply, carried, item, pure=False) for item in items])[0]


def _blocks(client: Any, records: Sequence[Any], summaries: Sequence[tasks.Summary], reading: Reading) -> list[Any]:
    """Return the blocks that learners see, each held against what the driver knows of its piece."""
    expected = tasks.expectations(summaries, reading)
    sure = [client.submit(tasks.verified, *both, pure=False) for both in zip(records, expected, strict=True)]
    masks: list[Any] = [None] * len(sure)
    if reading.unit is not None and sure:
        masks = _masks(client, sure, reading.unit.max_rows, tasks.n_unit_groups(summaries, _ROWS_BOUNDED_AT_ONCE))
    return [
        client.submit(tasks.block_of, piece, about, mask, pure=False)
        for piece, about, mask in zip(sure, expected, masks, strict=True)
    ]


def _masks(client: Any, sure: Sequence[Any], max_rows: int, n_groups: int) -> list[list[Any]]:
    """Bound the rows of units over all pieces, one group of units after the other, and return masks for each piece."""
    divided = _each(client, tasks.units_by_group, sure, n_groups)
    masks: list[list[Any]] = [[] for _ in sure]
    for group in range(n_groups):
        rows = _each(client, _item, divided, group)
        bounded = client.submit(bound_pieces, rows, max_rows, pure=False)
        for piece, of_piece in enumerate(masks):
            of_piece.append(client.submit(_item, bounded, piece, pure=False))
    return masks


def _each(client: Any, task: Callable[..., Any], items: Sequence[Any], *common: Any) -> list[Any]:
    """Send one task for each item."""
    return [client.submit(task, item, *common, pure=False) for item in items]


def _encode_partition(frame: Any, reading: Reading) -> Records:
    """Encode one partition of a Dask frame, which is a pandas frame."""
    return tasks.encode_frames([frame], reading)


def empty_frame(frame: Any) -> Any:
    """Return a pandas frame without rows that has the columns and types of a Dask frame."""
    pandas: Any = import_module("pandas")
    return pandas.DataFrame({name: pandas.Series(dtype=dtype) for name, dtype in frame.dtypes.items()})


def _itself(value: Any) -> Any:
    return value


def _item(values: Sequence[Any], place: int) -> Any:
    return values[place]

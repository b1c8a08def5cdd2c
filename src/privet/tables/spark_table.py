"""Tables on a Spark cluster: executors keep the codes, and only integers come back."""

from __future__ import annotations

import gc
import operator
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
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
from privet.tables.streamed_there import CountPiece, Placed, StreamedThere, can_stream
from privet.tables.units import bound_pieces

_ROWS_BOUNDED_AT_ONCE = 1 << 24  # of units, by one task; takes some 80 bytes a row
TASKS_A_CORE = 4  # of a pass over files: enough that no core waits long for the last one, each has a cost of its own
ADDED_BY_THE_DRIVER = 32  # parts at most; a round of tasks that adds up more of them takes longer than that


class SparkTable(Described):
    """Records on a Spark cluster, in files or in a Spark DataFrame.

    Each executor encodes the pieces that it is given once, keeps their codes in Spark's storage, and counts; only sums
    of integers travel. All noise is drawn by the process that calls ``fit``. Of files only the paths are sent, so
    executors must be able to read them. privet must be installed where the executors run.

    Parameters
    ----------
    source : path, sequence of paths, or pyspark.sql.DataFrame
        Files, folders and patterns as in `ParquetTable`, or a frame, whose partitions are read as Arrow batches.
    target : str, optional
        The column to predict; else it is named in ``fit(table, "column")``.
    schema : Schema, optional
        What is public, for estimators that have no schema of their own.
    id : str, optional
        A column with another value in every record. Give it for a frame whose partitions may come in another order when
        they are computed again, as after a join or a sort; files do not need it.
    session : pyspark.sql.SparkSession, optional
        The session; by default the active one.

    Notes
    -----
    *Privacy.* The same records give the same model as a frame in memory, and the same guarantee, whatever happens to
    the executors: a task that is lost or runs twice returns the same integers. A partition that is not the same when it
    is computed again ends the fit with a `TableChangedError`; what was charged stays charged. Executors and their disks
    see the records, so they must be trusted as much as the place where the data is. Spark Connect is not supported,
    since it has no RDDs.

    Examples
    --------
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> session = SparkSession.builder.master("local[2,4]").getOrCreate()  # doctest: +SKIP
    >>> table = SparkTable(session.table("patients"), target="outcome", id="patient_id")  # doctest: +SKIP
    >>> clf = privet.BoostingClassifier(epsilon=1.0, schema=schema).fit(table)  # doctest: +SKIP
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str | None = None,
        schema: Schema | None = None,
        id: str | None = None,
        session: Any = None,
    ) -> None:
        super().__init__(target=target, schema=schema, id=id)
        self.source = source
        self.session = session

    def encoded(self, job: Job) -> EncodedOnSpark | StreamedThere:
        """Check names and types, then let the executors encode their pieces; for one pass over files, when it comes."""
        reading = job.reading
        if hasattr(self.source, "mapInArrow"):
            context = _context(self.source.sparkSession)
            check_layouts([Layout("the Spark frame", self.source.limit(0).toArrow())], reading)
            # Spark does not find columns with dots in their names here, so they travel under other names.
            chosen = self.source.select(*map(_quoted, reading.columns)).toDF(*map(str, range(len(reading.columns))))
            packed = chosen.mapInArrow(_ArrowPartition(reading), "records binary")
            encoded = packed.rdd.mapPartitions(lambda rows: [_unpacked(rows, reading)])
        else:
            context = _context(active_session() if self.session is None else self.session)
            files = FileSource.found(self.source, reading)
            check_layouts(files.layouts(), reading)
            pieces = bundled(files.pieces())
            if can_stream(job, pieces):
                return StreamedThere(reading, pieces, partial(_add_up_pieces, context))
            carried = context.broadcast(reading)
            encoded = context.parallelize(pieces, max(1, len(pieces))).map(
                lambda piece: tasks.encode_own_piece(piece, carried.value)
            )
        kept = _Stored(encoded)
        # In the order of the partitions, each of which has one piece.
        of_files = not hasattr(self.source, "mapInArrow")
        with unquoted("the Spark table", "Spark", of_files=of_files):
            summaries = kept.rdd.map(tasks.summary).collect()
        blocks = _blocks(context, kept, summaries, reading)
        table = EncodedOnSpark(context, reading.encoding, blocks, (kept,), of_files)
        table.n_read = tasks.n_read(summaries)
        return table


def _add_up_pieces(context: Any, items: Sequence[Placed], work: CountPiece) -> IntArray:
    carried = context.broadcast(work)
    n_tasks = min(len(items), TASKS_A_CORE * context.defaultParallelism)
    parts = context.parallelize(items, n_tasks).map(lambda placed: _settled(carried.value(placed)))
    return _added_up(parts, of_files=True)


def _added_up(parts: Any, of_files: bool) -> IntArray:
    """Let the executors add up the arrays of each partition, then partitions; a few of them are added up here."""
    few = parts.getNumPartitions() <= ADDED_BY_THE_DRIVER
    with unquoted("a pass over the Spark table", "Spark", of_files=of_files):
        total: IntArray = parts.reduce(tasks.added) if few else parts.treeReduce(tasks.added)
        return total


_n_modules = [0]  # that were there when this process last told the garbage collector to leave them alone


def _settled(result: IntArray) -> IntArray:
    """Take what has been imported out of the garbage collector's sight, and return the result.

    A Python process of Spark's collects garbage after every task, and goes through the objects of all modules each
    time. With privet and what it needs that takes longer than many a task.
    """
    if len(sys.modules) != _n_modules[0]:
        _n_modules[0] = len(sys.modules)
        gc.freeze()
    return result


def active_session() -> Any:
    """Return the Spark session in use."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError("Spark tables need pyspark: pip install 'privet[spark]'") from None
    session = SparkSession.getActiveSession()
    if session is None:
        raise ParameterError("no Spark session is active: start one with SparkSession.builder, or give session=...")
    return session


def _context(session: Any) -> Any:
    """Return what makes RDDs, which Spark Connect does not have."""
    try:
        return session.sparkContext
    except Exception as error:  # the class of Spark's own error differs between versions
        raise ParameterError(
            "this Spark session has no RDDs (Spark Connect): use a classic session, or write the frame to Parquet and "
            "give the paths to ParquetTable"
        ) from error


class EncodedOnSpark:
    """Codes in the storage of Spark's executors: a block with its state in each partition.

    State is kept together with its block, so that a pass takes one Python process for each task. What a table was
    derived from is needed until the first pass over it has computed everything anew, and is given back then.
    """

    def __init__(
        self, context: Any, encoding: Encoding, items: _Stored, needed_once: tuple[_Stored, ...], of_files: bool
    ) -> None:
        self._context, self._encoding, self._of_files = context, encoding, of_files
        self._items, self._needed_once = items, needed_once
        self._nothing = tasks.empty_block(encoding)
        self.n_read: int | None = None  # rows without a known label included

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self._encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks in the executors, add up its integers on the way, and fetch one sum."""
        carried, count = self._context.broadcast(kernel), tasks.integers
        parts = self._items.rdd.map(lambda block: _settled(count(carried.value, block, block.state)))
        # The zeros are there for a table without partitions, of which there is nothing to reduce.
        zeros = self._zeros(kernel)
        total = tasks.added(zeros, _added_up(parts, self._of_files)) if parts.getNumPartitions() else zeros
        self._needed_once = ()
        return total

    def derive(self, name: str, kernel: Kernel) -> EncodedOnSpark:
        """Return a table in which each record also has the kernel's value under `name`."""
        carried = self._context.broadcast(kernel)
        items = _Stored(self._items.rdd.map(lambda block: tasks.with_state(block, name, carried.value)))
        needed_once = (*self._needed_once, self._items)
        table = EncodedOnSpark(self._context, self._encoding, items, needed_once, self._of_files)
        table._nothing = tasks.with_state(self._nothing, name, kernel)
        return table

    def _zeros(self, kernel: Kernel) -> IntArray:
        return tasks.integers(kernel, self._nothing, self._nothing.state)

    def __repr__(self) -> str:
        return f"EncodedOnSpark({self._encoding.n_features} features)"  # never the number of records

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a table holds private records and is never pickled; save the model instead")


class _Stored:
    """What executors keep as long as this object is referred to."""

    def __init__(self, rdd: Any) -> None:
        from pyspark import StorageLevel

        self.rdd = rdd.persist(StorageLevel.MEMORY_AND_DISK)

    def __del__(self) -> None:
        with suppress(Exception):  # the session may be over, and everything in it gone
            self.rdd.unpersist()


class _ArrowPartition:
    """Encodes one partition of a frame, batch by batch, into a single row."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        names = list(self._reading.columns)
        frames = (pa.Table.from_batches([batch]).rename_columns(names) for batch in batches)
        records = tasks.encode_frames(frames, self._reading)
        yield pa.RecordBatch.from_pydict({"records": pa.array([pickle.dumps(records, protocol=5)], pa.binary())})


def _unpacked(rows: Iterable[Any], reading: Reading) -> Records:
    """Return the records of one partition. Spark may leave out partitions without rows."""
    for row in rows:
        # These bytes were written by the same fit, in another process of the same cluster.
        records: Records = pickle.loads(bytes(row[0]))
        return records
    return tasks.encode_frames([], reading)


def _blocks(context: Any, encoded: _Stored, summaries: Sequence[tasks.Summary], reading: Reading) -> _Stored:
    """Return the blocks that learners see, each held against what the driver knows of its piece."""
    expected = context.broadcast(tasks.expectations(summaries, reading))

    def check(place: int, pieces: Iterable[Records]) -> Iterator[tuple[int, Records]]:
        return ((place, tasks.verified(records, expected.value[place])) for records in pieces)

    sure = encoded.rdd.mapPartitionsWithIndex(check)
    if reading.unit is None:
        return _Stored(sure.map(lambda piece: tasks.block_of(piece[1], expected.value[piece[0]], None)))
    n_groups, max_rows = tasks.n_unit_groups(summaries, _ROWS_BOUNDED_AT_ONCE), reading.unit.max_rows
    bounded = _bounded(sure, len(summaries), n_groups, max_rows)
    return _Stored(bounded.map(lambda piece: tasks.block_of(piece[1], expected.value[piece[0]], piece[2])))


def _bounded(sure: Any, n_pieces: int, n_groups: int, max_rows: int) -> Any:
    """Bound the rows of units over all pieces; return for each its place, its records and a mask for each group."""

    def divide(piece: tuple[int, Records]) -> Iterator[tuple[int, tuple[int, Any]]]:
        return ((group, (piece[0], rows)) for group, rows in enumerate(tasks.units_by_group(piece[1], n_groups)))

    def bound(group: tuple[int, Iterable[tuple[int, Any]]]) -> Iterator[tuple[int, tuple[int, Any]]]:
        places, rows = zip(*sorted(group[1], key=operator.itemgetter(0)), strict=True)
        masks = bound_pieces(rows, max_rows)
        return ((place, (group[0], mask)) for place, mask in zip(places, masks, strict=True))

    def put_together(
        found: tuple[int, tuple[Iterable[Records], Iterable[tuple[int, Any]]]],
    ) -> tuple[int, Records, Any]:
        place, (records, masks) = found
        return place, next(iter(records)), [mask for _, mask in sorted(masks, key=operator.itemgetter(0))]

    masks = sure.flatMap(divide).groupByKey(n_groups).flatMap(bound)
    # By place, so that each partition has one piece again, and the pieces are in their order.
    return sure.cogroup(masks, n_pieces).map(put_together)


def _quoted(name: str) -> str:
    """Name a column that may have dots or spaces in its name."""
    return "`" + name.replace("`", "``") + "`"

"""The table in files, as users describe it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

from privet.frames.text_forms import TextOptions
from privet.parameters import threads
from privet.progress import Bar
from privet.schema.schema import Schema
from privet.tables.described import Described, Job
from privet.tables.file_formats import file_rows, open_file
from privet.tables.files import DataFile, Paths, find_files
from privet.tables.kept import encode_pieces
from privet.tables.pieces import bundled
from privet.tables.piecewise import Reading
from privet.tables.protocol import Table
from privet.tables.source import Layout, Piece, check_layouts
from privet.tables.store import ArrayStore, bytes_of
from privet.tables.streamed import StreamedTable


class ParquetTable(Described):
    """Records in Parquet files that together may be larger than memory.

    Row groups are read one after the other by all cores, only the columns that the schema names, and each record is
    encoded to a few small codes at once. A learner that passes over its records many times works on the codes: they are
    kept in memory as far as they fit into `memory`, and beyond that in a spill folder.

    Parameters
    ----------
    paths : path or sequence of paths
        A file; a folder with all folders in it, whose names may say values of columns as hive writes them
        (``year=2024/``); a pattern such as ``"data/*.parquet"``; or several of these.
    target : str, optional
        The column to predict; else it is named in ``fit(table, "column")`` or by the schema.
    schema : Schema, optional
        What is public, for estimators that have no schema of their own.
    memory : int or str, optional
        How much memory codes may take, such as ``"4GB"``; by default half of what is free.
    spill : path, optional
        Where to make the spill folder, on a disk that you trust as much as the one with the data; by default where
        temporary files go. Only you can read what is in it. It is removed at the end of the fit; after a crash, by the
        next fit that spills to the same place.
    id : str, optional
        A column with another value in every record. Records are then assigned to trees by it, otherwise by their place.
    progress : bool, optional
        Whether to show how far a fit has come; by default if standard error is a terminal.
    text : TextOptions, optional
        Separator, encoding, decimal sign and words for missing values of text files; what it leaves open is found out
        from each file's name and first line.

    Notes
    -----
    *Privacy.* The same records give the same model as a frame in memory, and the same guarantee. Names and types of the
    columns are checked in every file before anything is charged; values never raise an error. A file that is changed or
    removed during the fit ends it with a `TableChangedError`, and what was charged stays charged. Codes in a spill
    folder are records, and deleting a file does not overwrite it.

    Examples
    --------
    >>> import tempfile, pandas, privet
    >>> from privet.tables import ParquetTable
    >>> schema = privet.Schema({"x": privet.Numeric(0, 1)}, classes=["low", "high"])
    >>> frame = pandas.DataFrame({"x": [0.1, 0.2, 0.8, 0.9] * 500, "y": ["low", "low", "high", "high"] * 500})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/part-0.parquet")
    ...     table = ParquetTable(folder, target="y", schema=schema)
    ...     forest = privet.RandomDecisionForestClassifier(epsilon=2.0, random_state=0).fit(table)
    >>> forest.predict(pandas.DataFrame({"x": [0.15, 0.85]}))
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        paths: Paths,
        *,
        target: str | None = None,
        schema: Schema | None = None,
        memory: int | str | None = None,
        spill: str | os.PathLike[str] | None = None,
        id: str | None = None,
        progress: bool | None = None,
        text: TextOptions | None = None,
    ) -> None:
        super().__init__(target=target, schema=schema, id=id)
        self.paths = paths
        self.memory = memory
        self.spill = spill
        self.progress = progress
        self.text = text

    def encoded(self, job: Job) -> Table:
        """Check names and types in every file; encode the records now, or for one pass only when they are needed."""
        limit = bytes_of(self.memory)
        files = self._found(job.reading)
        check_layouts(files.layouts(), job.reading)
        pieces = bundled(files.pieces())
        known = all(piece.n_rows is not None for piece in pieces)
        if job.one_pass and job.reading.unit is None and known:
            return StreamedTable(job.reading, lambda: pieces, job.n_jobs, self.progress)
        store = ArrayStore(limit, self.spill)
        total = sum(piece.n_rows or 0 for piece in pieces) if known else None
        try:
            with Bar("reading", total, self.progress) as progress:
                return encode_pieces(pieces, job.reading, store, job.n_jobs, progress)
        except BaseException:
            store.close()
            raise

    def frames(self, reading: Reading) -> Iterator[Any]:
        """Read all records in order, as frames of a bounded size with the columns of the reading."""
        files = self._found(reading)
        check_layouts(files.layouts(), reading)
        return chain.from_iterable(piece.batches(reading.rows_at_once) for piece in files.pieces())

    def columns(self, schema: Schema) -> Any:
        """Return a frame without rows that has the columns of the first file."""
        reading = Reading(schema.encoding(), None)
        return open_file(find_files(self.paths)[0], reading, self.text or TextOptions()).layout.empty

    def known_rows(self) -> int | None:
        """Return how many records there are, if the files say so without being read. As private as the records."""
        counts = [file_rows(file) for file in find_files(self.paths)]
        return None if None in counts else sum(count or 0 for count in counts)

    def _found(self, reading: Reading) -> FileSource:
        return FileSource.found(self.paths, reading, self.text)


class FileSource:
    """The files of a table: a list of pieces that can be read again and again, in any process."""

    def __init__(self, files: Sequence[DataFile], reading: Reading, text: TextOptions | None = None) -> None:
        options = text or TextOptions()
        with ThreadPoolExecutor(threads(-1)) as pool:
            self._opened = list(pool.map(lambda file: open_file(file, reading, options), files))

    @classmethod
    def found(cls, paths: Paths, reading: Reading, text: TextOptions | None = None) -> FileSource:
        """Find the files and read what they say about themselves."""
        return cls(find_files(paths), reading, text)

    def layouts(self) -> Iterator[Layout]:
        """Yield the columns of each file."""
        return (file.layout for file in self._opened)

    def pieces(self) -> list[Piece]:
        """Return the pieces of all files, in order."""
        return list(chain.from_iterable(file.pieces for file in self._opened))

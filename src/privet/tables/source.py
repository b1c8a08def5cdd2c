"""Where a table's records come from: pieces that are read one by one, each into frames of a bounded size.

A piece is a row group of a file, a file, or a batch of a query. Pieces of files can be pickled and read in any process
and any order, again and again; a query or a stream is read once, from its beginning to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from privet.errors import SchemaError
from privet.frames.columns import read_values
from privet.frames.opening import open_frame
from privet.tables.piecewise import Reading


class Layout(NamedTuple):
    """The columns of a file or query, without any record: what may be checked before anything is charged."""

    name: str  # of the file or query, for messages
    empty: Any  # a frame without rows; its columns have the declared types


class Piece(Protocol):
    """Some records that are read together, in an order of their own that never changes."""

    @property
    def name(self) -> str:
        """What to call the piece in messages."""
        ...

    @property
    def n_rows(self) -> int | None:
        """How many records there are, if that is known without reading them. As private as the records."""
        ...

    def batches(self, most_rows: int) -> Iterator[Any]:
        """Read the records, in order, as frames of at most so many rows.

        Raises
        ------
        TableChangedError
            If the file is not the one that was checked before the fit.
        """
        ...


def check_layouts(layouts: Iterable[Layout], reading: Reading) -> None:
    """Check names and declared types of all columns that will be read, in every file, without reading any record.

    Raises
    ------
    SchemaError
        With the name of the first file whose columns do not fit the schema, or differ in type from those of the first
        file. It depends on names and declared types alone.
    """
    first: tuple[str, dict[str, str]] | None = None
    last: Any = None
    for layout in layouts:
        declared_by_file = getattr(layout.empty, "schema", None)  # of Arrow tables
        if last is not None and declared_by_file is not None and declared_by_file.equals(last):
            continue  # the next of many files of the same kind, in each of which there may be many columns
        last = declared_by_file
        try:
            opened = open_frame(layout.empty)
            opened.places(reading.columns)
            reading.encode_features(layout.empty) if reading.target is None else reading.encode(layout.empty)
            types = {name: _type(opened.named(name)) for name in reading.columns}
        except SchemaError as error:
            raise SchemaError(f"{layout.name}: {error}") from None
        if first is None:
            first = layout.name, types
        for name, declared in types.items():
            if declared != first[1][name]:
                raise SchemaError(
                    f"{layout.name}: column {name!r} has type {declared}, but {first[1][name]} in {first[0]}; "
                    "write all files of a table with the same types"
                )


def _type(column: Any) -> str:
    """Name a column's type, whichever way its texts are stored: in dictionaries or not, with long offsets or not."""
    values = read_values(column, exact=True)
    return "string" if values.kind == "string" and not values.declared else values.dtype

"""Opening a frame of any library: its column names, and its columns one by one."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from privet.errors import IgnoredColumnsWarning, SchemaError
from privet.frames.columns import Values, read_values

_ROWS_TURNED_AT_ONCE = 1 << 16
_said_to_be_ignored: set[tuple[str, ...]] = set()  # in this process


@dataclass(frozen=True)
class Frame:
    """A frame of any library: the names of its columns, and a way to fetch each column by its position."""

    names: tuple[str, ...] | None  # None: a plain array, whose columns are in schema order
    n_columns: int
    n_rows: int
    column: Callable[[int], Any]

    def places(self, names: Sequence[str]) -> list[int]:
        """The position of each named column; that one is missing is an error. Further columns do not matter."""
        if self.names is None:
            if self.n_columns != len(names):
                raise SchemaError(
                    f"the array has {self.n_columns} columns, but the schema has {len(names)} features; "
                    f"pass one column per feature, in schema order: {listed(names)}"
                )
            return list(range(len(names)))
        present = set(self.names)
        for name in names:
            if name not in present:
                raise SchemaError(f"column {name!r} is missing; {self._remedy(name, names)}")
        place_of = {name: place for place, name in enumerate(self.names)}
        return [place_of[name] for name in names]

    def unnamed(self, names: Collection[str]) -> tuple[str, ...]:
        """The columns that are not among `names`, in the frame's order."""
        known = set(names)
        return tuple(str(name) for name in self.names or () if name not in known)

    def named(self, name: str) -> Any:
        """The column of this name, as an object of the frame's own library."""
        if self.names is None:
            raise SchemaError(f"an array has no column called {name!r}; pass a frame with named columns")
        if name not in self.names:
            raise SchemaError(f"column {name!r} is missing; {self._remedy(name, ())}")
        return self.column(self.names.index(name))

    def _remedy(self, name: str, expected: Collection[str]) -> str:
        spare = {str(other).casefold(): other for other in self.names or () if other not in expected}
        near = get_close_matches(name.casefold(), spare, n=1)
        return f"did you mean the frame's {spare[near[0]]!r}? Rename it" if near else "add it to the frame"


def open_frame(frame: Any) -> Frame:
    """Open a frame of any supported library, a two-dimensional array, or a list of rows."""
    if isinstance(frame, list | tuple):
        frame = _array_of_rows(frame)
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise SchemaError(
                f"expected an array of two dimensions, rows and columns, got one of {frame.ndim}; "
                "reshape it to (n_rows, n_features)"
            )
        return Frame(None, frame.shape[1], frame.shape[0], lambda place: frame[:, place])
    import narwhals as nw

    try:
        eager = nw.from_native(frame, eager_only=True)
        library = eager.implementation
        if not (library.is_pandas() or library.is_polars() or library.is_pyarrow()):
            eager = nw.from_native(eager.to_pandas(), eager_only=True)
        names = tuple(eager.columns)
        if len(set(names)) < len(names):
            raise nw.exceptions.DuplicateError  # narwhals itself looks only at some libraries' frames
    except nw.exceptions.DuplicateError:
        raise SchemaError("a column name occurs more than once; rename or drop one of the columns") from None
    except TypeError:
        raise SchemaError(
            f"cannot read a frame of type {type(frame).__qualname__}; pass a pandas or polars DataFrame, a PyArrow "
            "Table, a NumPy array or a list of rows (collect a lazy frame first, make a sparse one dense)"
        ) from None
    return Frame(names, len(names), len(eager), lambda place: eager.get_column(names[place]).to_native())


def say_ignored(names: tuple[str, ...]) -> None:
    """Warn that columns are ignored, once in a process for the same columns. Depends on their names alone."""
    if names and names not in _said_to_be_ignored:
        _said_to_be_ignored.add(names)
        warnings.warn(
            f"the schema does not name these columns, so they are ignored: {listed(names)}; list them in the schema's "
            "`ignored` if that is meant",
            IgnoredColumnsWarning,
            stacklevel=2,
        )


def one_column(labels: Any) -> Any:
    """Return the only column of a frame or of a two-dimensional array; anything else is returned as it is."""
    if isinstance(labels, np.ndarray | list | tuple) or not (
        hasattr(labels, "columns") or hasattr(labels, "column_names")
    ):
        return labels
    opened = open_frame(labels)
    if opened.n_columns != 1:
        names = listed([str(name) for name in opened.names or ()])
        raise SchemaError(
            f"the target must be one column, got a frame of {opened.n_columns}: {names}; pass the column to predict"
        )
    return opened.column(0)


def stored_by_rows(frame: Any) -> bool:
    """Whether a frame is a plain array of numbers that is stored row by row."""
    if type(frame) is not np.ndarray:  # a masked array would lose its mask
        return False
    return frame.dtype.kind in "fiub" and frame.shape[1] > 1 and len(frame) > 0 and frame.flags.c_contiguous


def column_blocks(frame: Any, opened: Frame) -> Iterator[tuple[slice, Frame]]:
    """Yield all rows at once, or blocks of rows if the frame is an array that is stored row by row.

    Such blocks are copied into column order first. Reading one column of an array stored by rows fetches a whole cache
    line for each number, which costs more than the copy.
    """
    if not stored_by_rows(frame):
        yield slice(None), opened
        return
    for start in range(0, len(frame), _ROWS_TURNED_AT_ONCE):
        rows = slice(start, start + _ROWS_TURNED_AT_ONCE)
        yield rows, open_frame(np.asfortranarray(frame[rows]))


def _array_of_rows(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Rows as an array of objects. A list declares no dtype, so each value is mapped on its own."""
    widths = {len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in rows}
    if -1 in widths or len(widths) > 1:
        raise SchemaError("expected a list of rows that are equally long lists; check the rows' lengths")
    array = np.empty((len(rows), widths.pop() if widths else 0), dtype=object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            array[i, j] = value
    return array


def listed(names: Collection[str], most: int = 8) -> str:
    """Names for a message, the first few of many."""
    shown = ", ".join(map(repr, list(names)[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def read_feature(frame: Frame, place: int) -> Values:
    """Read a feature's values. The one dtype of an array says nothing about a single column, unless it is numeric."""
    values = read_values(frame.column(place))
    if frame.names is None and values.kind in ("float", "string"):
        return replace(values, kind="number" if values.kind == "float" else "object")
    return values

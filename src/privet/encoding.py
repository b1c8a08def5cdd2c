"""How a frame becomes small integer codes, one record at a time.

Every value is mapped by a fixed public rule that looks at that value alone: never at another row, and never
with an error that depends on it. Errors come from column names, shapes and declared dtypes only.

A column is read into `Values`, one of three forms whatever library it came from: numbers, indices into a list
of labels (categoricals, dictionaries), or plain Python objects. The rules below work on these forms.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from math import isfinite, nan
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.grids import MAX_CODES, count_cuts_below

Category = str | int | float | bool
Kind = Literal["number", "float", "bool", "string", "object", "null", "unsupported"]


@dataclass(frozen=True)
class Values:
    """One column of a frame, in one of three forms.

    Parameters
    ----------
    kind
        What the declared dtype says. "float" is also pandas' dtype for a column that is all missing.
    dtype
        The dtype as its library calls it, for messages.
    data
        Numbers; or, with `labels`, indices into them (-1 is missing); or an array of Python objects.
    absent
        Where `data` holds no value, if any such place is marked.
    labels
        What the indices stand for.
    declared
        Whether the labels are part of the dtype rather than found among the values.
    """

    kind: Kind
    dtype: str
    data: npt.NDArray[Any]
    absent: npt.NDArray[np.bool_] | None = None
    labels: list[Any] | None = None
    declared: bool = False

    def numbers(self) -> npt.NDArray[Any]:
        """The values as numbers, NaN where one is not a number; `absent` still has to be applied."""
        if self.labels is not None:
            by_label = np.array([*map(_number, self.labels), nan], dtype=np.float64)
            return by_label.take(self.data)
        if self.data.dtype == object:
            return np.array([_number(value) for value in self.data], dtype=np.float64)
        return self.data

    def objects(self) -> npt.NDArray[np.object_]:
        """The values as Python objects, None where one is missing."""
        if self.labels is not None:
            return np.fromiter([*self.labels, None], dtype=object).take(self.data)
        plain = [None if is_missing(value) else value for value in self.data.tolist()]
        objects = np.fromiter(plain, dtype=object, count=len(plain))
        if self.absent is not None:
            objects[self.absent] = None
        return objects

    def match(self, categories: Sequence[Category], *, unknown: int, missing: int) -> npt.NDArray[np.int32]:
        """The index of the category that each value equals, or `unknown`, or `missing`."""
        code_of = {category: code for code, category in enumerate(categories)}

        def code(value: Any) -> int:
            try:
                return code_of[value]
            except Exception:  # an odd value may fail in its own ways (unhashable, ...): unknown, like any other
                return missing if is_missing(value) else unknown

        if self.labels is not None:
            by_label = np.array([*map(code, self.labels), missing], dtype=np.int32)
            codes: npt.NDArray[np.int32] = by_label.take(self.data)
        elif self.data.dtype == object:
            codes = np.fromiter(map(code, self.data), dtype=np.int32, count=len(self.data))
        else:
            codes = _match_numbers(self.data, code_of, unknown, missing)
        if self.absent is not None:
            codes[self.absent] = missing
        return codes


def is_missing(value: Any) -> bool:
    """Whether a Python value stands for no value: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)
    except Exception:
        return False


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # as above: whatever is not a number counts as missing
        return nan


def _match_numbers(
    data: npt.NDArray[Any], code_of: dict[Category, int], unknown: int, missing: int
) -> npt.NDArray[np.int32]:
    """Match an array at once. A category takes part if the dtype can hold it (a float, to its precision)."""
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    numeric = {category: code for category, code in code_of.items() if not isinstance(category, str)}
    if data.dtype.kind == "f":
        fits = {category: code for category, code in numeric.items() if float(category) == category}
    else:
        limits = np.iinfo(data.dtype)
        fits = {
            int(category): code
            for category, code in numeric.items()
            if category == int(category) and limits.min <= category <= limits.max
        }
    with np.errstate(over="ignore"):
        keys, first = np.unique(np.array(list(fits), dtype=data.dtype), return_index=True)
    if len(keys) == 0:
        codes = np.full(len(data), unknown, dtype=np.int32)
    else:
        place = np.minimum(np.searchsorted(keys, data), len(keys) - 1)
        key_codes = np.array(list(fits.values()), dtype=np.int32)[first]
        codes = np.where(keys[place] == data, key_codes[place], np.int32(unknown))
    if data.dtype.kind == "f":
        codes[np.isnan(data)] = missing
    return codes


# --- Reading columns -------------------------------------------------------------------------------------------


def read_values(column: Any) -> Values:
    """Read a column (NumPy, pandas, polars, PyArrow, narwhals or a list) into `Values`."""
    if isinstance(column, np.ndarray):
        return _from_numpy(column)
    if isinstance(column, list | tuple):
        return Values("object", "list", np.fromiter(column, dtype=object, count=len(column)))
    library = type(column).__module__.partition(".")[0]
    if library == "narwhals":
        return read_values(column.to_native())
    readers = {"polars": _from_polars, "pyarrow": _from_arrow, "pandas": _from_pandas}
    if library not in readers:
        raise SchemaError(
            f"cannot read a column of type {type(column).__qualname__}; "
            "pass a pandas, polars or PyArrow column, a NumPy array or a list"
        )
    return readers[library](column)


def _from_numpy(array: npt.NDArray[Any]) -> Values:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise SchemaError(f"a column must have one dimension, got shape {array.shape}; pass one column at a time")
    absent = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    kinds: dict[str, Kind] = {"b": "bool", "i": "number", "u": "number", "f": "float", "O": "object"}
    kinds |= {"U": "string", "S": "string", "T": "string"}
    kind = kinds.get(array.dtype.kind, "unsupported")
    data = np.asarray(array, dtype=object if kind == "string" else None)
    return Values(kind, str(array.dtype), data, absent)


def _from_pandas(series: Any) -> Values:
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = read_values(dtype.categories.to_series())
        codes = series.cat.codes.to_numpy()
        return Values(labels.kind, str(dtype), codes, labels=dtype.categories.tolist(), declared=True)
    if isinstance(dtype, np.dtype | pd.SparseDtype):
        return _from_numpy(np.asarray(series))
    if isinstance(dtype, pd.ArrowDtype) or (isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow"):
        return replace(_from_arrow(series.array.__arrow_array__()), dtype=str(dtype))
    if isinstance(dtype, pd.StringDtype):
        return Values("string", str(dtype), series.to_numpy(dtype=object, na_value=None))
    if dtype.kind in "biuf":  # pandas' own nullable types
        data = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return replace(_from_numpy(data), dtype=str(dtype), absent=series.isna().to_numpy())
    return Values("unsupported", str(dtype), np.zeros(len(series)))


def _from_polars(series: Any) -> Values:
    import polars as pl

    dtype, name = series.dtype, str(series.dtype)
    if isinstance(dtype, pl.Enum):
        codes = series.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return Values("string", name, codes, labels=dtype.categories.to_list(), declared=True)
    if dtype in (pl.String, pl.Categorical):
        return replace(read_values(series.cast(pl.String).to_list()), kind="string", dtype=name)
    if dtype in (pl.Object, pl.Null):
        return replace(read_values(series.to_list()), kind="null" if dtype == pl.Null else "object", dtype=name)
    if dtype == pl.Boolean or dtype.is_numeric():
        absent = series.is_null().to_numpy()
        if dtype.is_decimal() or name.endswith("128"):  # NumPy has no such type
            series = series.cast(pl.Float64)
        filled = series.fill_null(False if dtype == pl.Boolean else 0)
        return replace(_from_numpy(filled.to_numpy()), dtype=name, absent=absent)
    return Values("unsupported", name, np.zeros(len(series)))


def _from_arrow(column: Any) -> Values:
    pa: Any = import_module("pyarrow")  # untyped: imported so that its functions count as Any
    pc: Any = import_module("pyarrow.compute")

    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    dtype, types, name = column.type, pa.types, str(column.type)
    if types.is_string_view(dtype):
        column = column.cast(pa.large_string())
    if types.is_string(column.type) or types.is_large_string(column.type):
        column = pc.dictionary_encode(column)
    if types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        labels = _from_arrow(whole.dictionary.slice(0, 0)) if types.is_dictionary(dtype) else None
        codes = whole.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        return Values(labels.kind if labels else "string", name, codes, labels=whole.dictionary.to_pylist())
    if types.is_null(dtype):
        return Values("null", name, np.full(len(column), None))
    if types.is_boolean(dtype) or types.is_integer(dtype) or types.is_floating(dtype) or types.is_decimal(dtype):
        absent = pc.is_null(column).to_numpy()
        if types.is_decimal(dtype) or types.is_float16(dtype):
            column = column.cast(pa.float64())
        filled = pc.fill_null(column, pa.scalar(0).cast(column.type))
        return replace(_from_numpy(filled.to_numpy()), dtype=name, absent=absent)
    return Values("unsupported", name, np.zeros(len(column)))


@dataclass(frozen=True)
class Frame:
    """A frame of any library: what its columns are called, and a way to fetch each by its place."""

    names: tuple[str, ...] | None  # None: a plain array, whose columns are in schema order
    n_columns: int
    n_rows: int
    column: Callable[[int], Any]

    def places(self, names: Sequence[str], ignore: Collection[str] = ()) -> list[int]:
        """Where each named column is; other columns than these and the ignored ones are an error."""
        if self.names is None:
            if self.n_columns != len(names):
                raise SchemaError(
                    f"the array has {self.n_columns} columns, but the schema has {len(names)} features; "
                    f"pass one column per feature, in schema order: {_listed(names)}"
                )
            return list(range(len(names)))
        for name in names:
            if name not in self.names:
                raise SchemaError(f"column {name!r} is missing; {self._remedy(name, names)}")
        for name in self.names:
            if name not in names and name not in ignore:
                near = get_close_matches(str(name), names, n=1)
                hint = f" (the schema has a feature {near[0]!r}, which the frame has too)" if near else ""
                raise SchemaError(f"column {name!r} is not in the schema{hint}; drop it, or declare it")
        return [self.names.index(name) for name in names]

    def named(self, name: str) -> Any:
        """The column of this name, as the frame's own library has it."""
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
    """Look at a frame of any supported library, a two-dimensional array, or a list of rows."""
    if isinstance(frame, list | tuple):
        frame = _array_of_rows(frame)
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise SchemaError(
                f"expected an array of two dimensions, rows and columns, got shape {frame.shape}; "
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


def _array_of_rows(rows: Sequence[Any]) -> npt.NDArray[Any]:
    """Rows as an array of objects: a list declares no dtype, so each value is mapped for itself."""
    widths = {len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in rows}
    if -1 in widths or len(widths) > 1:
        raise SchemaError("expected a list of rows that are equally long lists; check the rows' lengths")
    array = np.empty((len(rows), widths.pop() if widths else 0), dtype=object)
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            array[i, j] = value
    return array


def _listed(names: Collection[str], most: int = 8) -> str:
    shown = ", ".join(map(repr, list(names)[:most]))
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


# --- From values to codes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """How the codes of one feature are laid out.

    Codes `0 .. n_values - 1` are the values: cells of the grid if `ordered` (`code <= c` is the same as
    `x <= cuts[c]`), else categories. `other_code`, if there is one, is `n_values`; `missing_code` comes last.
    """

    name: str
    ordered: bool
    n_values: int
    cuts: tuple[float, ...]
    categories: tuple[Category, ...]
    other_code: int | None
    missing_code: int | None

    def __post_init__(self) -> None:
        # Codes index arrays in machine code, so a damaged file must not get further than this.
        used = self.n_values + (self.other_code is not None)
        sound = (
            1 <= self.n_values == (len(self.cuts) + 1 if self.ordered else len(self.categories))
            and all(isinstance(cut, float) and isfinite(cut) for cut in self.cuts)
            and all(a < b for a, b in pairwise(self.cuts))
            and not (self.categories if self.ordered else self.cuts)
            and self.other_code in (None, self.n_values)
            and self.missing_code in (None, used)
            and self.n_codes <= MAX_CODES
        )
        if not sound:
            raise SchemaError(f"the codes of column {self.name!r} are not laid out as they must be; make it anew")

    @property
    def n_codes(self) -> int:
        """How many codes there are, "other" and "missing" included."""
        return self.n_values + (self.other_code is not None) + (self.missing_code is not None)

    @property
    def code_of_missing(self) -> int:
        """Missing goes to its own code if declared, else to "other", else to the middle cell or first category."""
        if self.missing_code is not None:
            return self.missing_code
        if self.ordered:
            return self.n_values // 2
        return self.other_code if self.other_code is not None else 0

    @property
    def code_of_unknown(self) -> int:
        """An unknown category goes to "other" if declared, else where a missing one goes."""
        return self.other_code if self.other_code is not None else self.code_of_missing

    def encode(self, values: Values, out: npt.NDArray[Any]) -> None:
        """Write the codes of a column's values into `out`."""
        problem = self.dtype_problem(values)
        if problem:
            raise SchemaError(problem)
        if self.ordered:
            count_cuts_below(values.numbers(), np.array(self.cuts), self.code_of_missing, out)
            if values.absent is not None:
                out[values.absent] = self.code_of_missing
        else:
            out[:] = values.match(self.categories, unknown=self.code_of_unknown, missing=self.code_of_missing)

    def dtype_problem(self, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if self.ordered:
            if values.kind in ("string", "unsupported"):
                return (
                    f"column {self.name!r} is declared Numeric, but its dtype is {values.dtype}; "
                    "convert it to numbers, or declare it Categorical"
                )
            return None
        return category_dtype_problem(f"column {self.name!r}", self.categories, values)


def category_dtype_problem(what: str, categories: Collection[Category], values: Values) -> str | None:
    """Why no value of this dtype could ever equal a category, if that is so, and the remedy."""
    strings = sum(isinstance(category, str) for category in categories)
    if values.kind == "unsupported":
        return f"{what} has dtype {values.dtype}, which no category can equal; convert it to strings or numbers"
    if values.kind in ("number", "bool") and strings == len(categories):
        return (
            f"{what} has dtype {values.dtype}, but its categories are strings; "
            "convert it to strings, or list the categories as numbers"
        )
    if values.kind == "string" and strings == 0:
        return (
            f"{what} has dtype {values.dtype}, but its categories are numbers; "
            "convert it to numbers, or list the categories as strings"
        )
    return None


@dataclass(frozen=True)
class ClassTarget:
    """Labels of a classification: code k is the k-th class."""

    classes: tuple[Category, ...]

    def __post_init__(self) -> None:
        if not self.classes or not all(isinstance(label, str | int | float) for label in self.classes):
            raise SchemaError("the target's classes must be strings, numbers or bools; make the encoding anew")

    def encode(self, values: Values) -> npt.NDArray[np.int32]:
        """Class indices; -1, a record to be dropped, where the label is unknown or missing."""
        problem = category_dtype_problem("the target", self.classes, values)
        if problem:
            raise SchemaError(problem)
        return values.match(self.classes, unknown=-1, missing=-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"classes": list(self.classes)}


@dataclass(frozen=True)
class RangeTarget:
    """A numeric target in fixed point: `levels` equally spaced integers from `low` to `high`."""

    low: float
    high: float
    levels: int = 65_536

    def __post_init__(self) -> None:
        numbers = all(type(bound) is float and isfinite(bound) for bound in (self.low, self.high))
        if not numbers or self.low >= self.high or type(self.levels) is not int or not 2 <= self.levels <= 2**31:
            raise SchemaError("the target's range or levels are not as they must be; make the encoding anew")

    def encode(self, values: Values) -> npt.NDArray[np.int32]:
        """Nearest levels of the clipped values; -1, a record to be dropped, where there is no number."""
        if values.kind in ("string", "unsupported"):
            raise SchemaError(f"the target is declared Numeric, but its dtype is {values.dtype}; convert it to numbers")
        numbers = values.numbers().astype(np.float64)
        if values.absent is not None:
            numbers[values.absent] = nan
        share = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        levels = np.rint(share * (self.levels - 1))
        return np.where(np.isnan(levels), -1, levels).astype(np.int32)

    def decode(self, levels: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The numbers that levels, or averages of levels, stand for."""
        return self.low + np.asarray(levels, dtype=np.float64) / (self.levels - 1) * (self.high - self.low)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"low": self.low, "high": self.high, "levels": self.levels}


@dataclass(frozen=True)
class Encoding:
    """The fixed map from records to codes; made by `Schema.encoding`.

    Privacy
    -------
    Each record's codes depend on the schema and on that record alone, so adding or removing a record adds or removes
    one column of codes and changes nothing else. No error or warning depends on a value.
    """

    columns: tuple[Column, ...]
    target: ClassTarget | RangeTarget

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.columns)

    @property
    def n_classes(self) -> int:
        """How many classes the target has; 0 if it is a number."""
        return len(self.target.classes) if isinstance(self.target, ClassTarget) else 0

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """The number of codes of each feature."""
        return np.array([column.n_codes for column in self.columns], dtype=np.int64)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every code."""
        return np.dtype(np.uint8 if int(self.n_codes.max()) <= 256 else np.uint16)

    def encode(self, frame: Any, *, ignore: Collection[str] = ()) -> npt.NDArray[Any]:
        """Encode a frame: codes of shape (n_features, n_rows), contiguous by feature.

        Parameters
        ----------
        frame
            A pandas or polars DataFrame, PyArrow Table or narwhals frame, whose columns may be in any order; or a
            NumPy array or list of rows, whose columns are in schema order.
        ignore
            Names of further columns that the frame may have, such as the target or the unit.
        """
        opened = open_frame(frame)
        codes = np.empty((self.n_features, opened.n_rows), dtype=self.dtype)
        places = opened.places([column.name for column in self.columns], ignore)
        for column, place, out in zip(self.columns, places, codes, strict=True):
            column.encode(read_feature(opened, place), out)
        return codes

    def encode_target(self, y: Any) -> npt.NDArray[np.int32]:
        """Encode labels or numbers; -1 marks a record that is to be dropped."""
        return self.target.encode(read_values(y))

    def decode_cut(self, feature: int, code: int) -> float:
        """The threshold t for which `code(x) <= code` is the same as `x <= t`."""
        return self.columns[feature].cuts[code]

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` makes an equal encoding."""
        columns = [
            {
                "name": column.name,
                **({"cuts": list(column.cuts)} if column.ordered else {"categories": list(column.categories)}),
                "other": column.other_code is not None,
                "missing": column.missing_code is not None,
            }
            for column in self.columns
        ]
        return {"columns": columns, "target": self.target.to_dict()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Make an encoding from what `to_dict` gave."""
        try:
            columns = tuple(
                lay_out(
                    entry["name"],
                    cuts=entry.get("cuts"),
                    categories=entry.get("categories"),
                    other=entry["other"],
                    missing=entry["missing"],
                )
                for entry in document["columns"]
            )
            target = document["target"]
            made: ClassTarget | RangeTarget
            made = ClassTarget(tuple(target["classes"])) if "classes" in target else RangeTarget(**target)
        except (KeyError, TypeError, AttributeError) as error:
            raise SchemaError(f"this is not an encoding: {error}; make it anew with Schema.encoding") from None
        return cls(columns, made)


def read_column(frame: Any, name: str) -> npt.NDArray[np.object_]:
    """Read one column, such as the target or the unit, as Python objects; None where there is no value."""
    return read_values(open_frame(frame).named(name)).objects()


def read_feature(frame: Frame, place: int) -> Values:
    """Read a feature's values. An array's one dtype says nothing about a single column, unless all are numbers."""
    values = read_values(frame.column(place))
    if frame.names is None and values.kind in ("float", "string"):
        return replace(values, kind="number" if values.kind == "float" else "object")
    return values


def lay_out(
    name: str,
    *,
    cuts: Sequence[float] | None = None,
    categories: Sequence[Category] | None = None,
    other: bool = False,
    missing: bool = False,
) -> Column:
    """Number the codes of a feature that has either cuts or categories."""
    n_values = len(cuts) + 1 if cuts is not None else len(categories or ())
    return Column(
        name=name,
        ordered=cuts is not None,
        n_values=n_values,
        cuts=tuple(cuts or ()),
        categories=tuple(categories or ()),
        other_code=n_values if other else None,
        missing_code=n_values + other if missing else None,
    )

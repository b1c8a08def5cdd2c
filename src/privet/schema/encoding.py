"""How a frame becomes small integer codes, one record at a time.

Every value is mapped by a fixed public rule that looks at that value alone: never at another row, and never with an
error that depends on it. Errors come from column names, shapes and declared dtypes only.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import isfinite, nan
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from privet.errors import SchemaError
from privet.frames.columns import Category, Values, category_dtype_problem, read_values
from privet.frames.opening import (
    Frame,
    column_blocks,
    one_column,
    open_frame,
    read_feature,
    say_ignored,
    stored_by_rows,
)
from privet.schema.grids import MAX_CODES, Cuts, Grid, GridsOfRows, as_cuts, laid_out, prepared
from privet.schema.readings import Buckets, Days, Levels, Part, Reading, Truth, Whole, reading_from_dict


class FieldsOnly:
    """A dataclass that is pickled by its fields.

    A cached property stands in an object's ``__dict__`` only once it was used. Pickled with the object, it would tell
    what was done with it, such as whether there was any record to route. A cache that is needed is computed again.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a mixin


@dataclass(frozen=True)
class Column(FieldsOnly):
    """How the codes of one feature are laid out.

    Codes `0 .. n_values - 1` are the values: cells of the grid if `ordered` (`code <= c` is the same as
    `x <= cuts[c]`), else categories. `other_code`, if there is one, is `n_values`; `missing_code` comes last.
    """

    name: str
    ordered: bool
    n_values: int
    cuts: Sequence[float]
    categories: tuple[Category, ...]
    other_code: int | None
    missing_code: int | None
    reading: Reading | None = None

    def __post_init__(self) -> None:
        # Codes index arrays in machine code, so a damaged file must be stopped here.
        used = self.n_values + (self.other_code is not None)
        numbers = isinstance(self.cuts, Cuts) or set(map(type, self.cuts)) <= {float}
        cuts = as_cuts(self.cuts if numbers else ())
        object.__setattr__(self, "cuts", cuts)
        sound = (
            1 <= self.n_values == (len(cuts) + 1 if self.ordered else len(self.categories))
            and numbers
            and cuts.sound
            and not (self.categories if self.ordered else self.cuts)
            and self.other_code in (None, self.n_values)
            and self.missing_code in (None, used)
            and self.n_codes <= MAX_CODES
            and self._reading_fits()
        )
        if not sound:
            raise SchemaError(f"the codes of column {self.name!r} are not laid out as they must be; make it anew")

    def _reading_fits(self) -> bool:
        match self.reading:
            case Whole() | Days():
                return self.ordered
            case Levels(levels):
                kinds = {str, int, float, bool}
                return self.ordered and len(levels) == self.n_values and set(map(type, levels)) <= kinds
            case Buckets(buckets):
                return not self.ordered and buckets == self.n_values
            case _:
                return self.reading is None or not self.ordered

    @property
    def source(self) -> str:
        """The column of the frame that holds the values: the feature's own, unless it is derived from another."""
        return self.reading.of if isinstance(self.reading, Part) else self.name

    @property
    def categories_in_text(self) -> tuple[Category, ...] | None:
        """What a text in place of a value is compared with; None where it is read as a number."""
        match self.reading:
            case Levels(levels):
                return levels
            case None | Whole():
                return None if self.ordered else self.categories
            case _:  # these read texts themselves
                return ("",)

    @property
    def reads_numbers(self) -> bool:
        """Whether numbers are counted against the cuts as they are."""
        return self.ordered and (self.reading is None or isinstance(self.reading, Whole))

    def read(self, values: Values) -> Values:
        """The values as this column's codes are made of them; an error if the declared dtype does not fit."""
        problem = self.dtype_problem(values)
        if problem:
            raise SchemaError(problem)
        return values if self.reading is None else self.reading.values(values)

    def cut_in_words(self, number: float) -> str | None:
        """A threshold as people write it: a date, a level, a whole number; None for a number like any other."""
        return None if self.reading is None or isinstance(self.reading, Part) else self.reading.in_words(number)

    def value_in_words(self, code: int) -> str:
        """The name of a category or level."""
        if isinstance(self.reading, Levels | Buckets):
            return self.reading.in_words(code)
        return str(self.categories[code])

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

    @cached_property
    def grid(self) -> Grid:
        """The cuts, prepared for counting."""
        return prepared(self.cuts)

    def encode(self, values: Values, out: npt.NDArray[Any]) -> None:
        """Write the codes of a column's values into `out`."""
        values = self.read(values)
        if self.ordered:
            from privet.schema.grid_kernels import count_cuts_below  # numba takes long to import

            count_cuts_below(values.numbers(), self.grid, self.code_of_missing, out)
            if values.absent is not None:
                out[values.absent] = self.code_of_missing
        else:
            out[:] = values.match(self.categories, unknown=self.code_of_unknown, missing=self.code_of_missing)

    def dtype_problem(self, values: Values) -> str | None:
        """What is wrong with a column's declared dtype, if anything, and the remedy."""
        if self.reading is not None:
            return self.reading.problem(f"column {self.source!r}", values)
        if self.ordered:
            if values.kind in ("string", "date", "unsupported"):
                return (
                    f"column {self.name!r} is declared Numeric, but its dtype is {values.dtype}; "
                    f"convert it to numbers, or declare it {'Date' if values.kind == 'date' else 'Categorical'}"
                )
            return None
        return category_dtype_problem(f"column {self.name!r}", self.categories, values)


@dataclass(frozen=True)
class ClassTarget:
    """Labels of a classification: code k is the k-th class."""

    classes: tuple[Category, ...]
    reading: Truth | None = None

    def __post_init__(self) -> None:
        if not self.classes or not all(isinstance(label, str | int | float) for label in self.classes):
            raise SchemaError("the target's classes must be strings, numbers or bools; make the encoding anew")

    def encode(self, values: Values) -> npt.NDArray[np.int32]:
        """Class indices; -1, a record to be dropped, where the label is unknown or missing."""
        if self.reading is not None:
            problem = self.reading.problem("the target", values)
        else:
            problem = category_dtype_problem("the target", self.classes, values)
        if problem:
            raise SchemaError(problem)
        if self.reading is not None:
            values = self.reading.values(values)
        return values.match(self.classes, unknown=-1, missing=-1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"classes": list(self.classes)} | ({} if self.reading is None else {"reading": self.reading.to_dict()})


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

    @np.errstate(all="ignore")  # a warning would reveal something about a value
    def encode(self, values: Values) -> npt.NDArray[np.int32]:
        """Nearest levels of the clipped values; -1, a record to be dropped, where there is no number."""
        if values.kind in ("string", "date", "unsupported"):
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
class Encoding(FieldsOnly):
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
        """How many classes the target has; 0 for a regression target."""
        return len(self.target.classes) if isinstance(self.target, ClassTarget) else 0

    @property
    def n_codes(self) -> npt.NDArray[np.int64]:
        """The number of codes of each feature."""
        return np.array([column.n_codes for column in self.columns], dtype=np.int64)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every code."""
        return np.dtype(np.uint8 if int(self.n_codes.max()) <= 256 else np.uint16)

    @cached_property
    def _grids_of_rows(self) -> GridsOfRows:
        """The grids of all features whose numbers are counted as they are, for arrays that are stored row by row."""
        columns = {place: column for place, column in enumerate(self.columns) if column.reads_numbers}
        missing = [column.code_of_missing for column in columns.values()]
        return laid_out({place: column.grid for place, column in columns.items()}, missing)

    def encode(self, frame: Any, *, ignore: Collection[str] = ()) -> npt.NDArray[Any]:
        """Encode a frame: codes of shape (n_features, n_rows), contiguous by feature.

        Parameters
        ----------
        frame
            A pandas or polars DataFrame, PyArrow Table or narwhals frame, whose columns may be in any order; or a
            NumPy array or list of rows, whose columns are in schema order.
        ignore
            Names of further columns of which nothing is said, such as the target or the unit. All columns that the
            schema does not name are ignored, these in silence and others with a warning.
        """
        opened = open_frame(frame)
        codes = np.empty((self.n_features, opened.n_rows), dtype=self.dtype)
        places = self.places(opened)
        if opened.names is not None:
            say_ignored(opened.unnamed([*self._names, *self._sources, *ignore]))
        left = list(range(self.n_features))
        # Only writable arrays: for read-only ones numba would have to compile the kernel once more.
        by_rows = stored_by_rows(frame) and frame.dtype == np.float64 and frame.flags.writeable
        if by_rows and self._grids_of_rows.columns.size > 0:
            from privet.schema.grid_kernels import count_cells_of_rows

            count_cells_of_rows(frame, *self._grids_of_rows, codes)
            left = [feature for feature in left if not self.columns[feature].reads_numbers]
        for rows, block in column_blocks(frame, opened) if left else ():
            for feature in left:
                self.columns[feature].encode(read_feature(block, places[feature]), codes[feature, rows])
        return codes

    def places(self, frame: Frame) -> list[int]:
        """Where in a frame the values of each feature are; that a column is missing is an error."""
        if frame.names is not None:
            return frame.places(self._sources)
        place_of = dict(zip(self._names, frame.places(self._names), strict=True))  # columns are in schema order
        return [place_of[source] for source in self._sources]

    @cached_property
    def _names(self) -> list[str]:
        return [column.name for column in self.columns]

    @cached_property
    def _sources(self) -> list[str]:
        return [column.source for column in self.columns]

    def encode_target(self, y: Any) -> npt.NDArray[np.int32]:
        """Encode class labels or a regression target; -1 marks a record that is to be dropped."""
        return self.target.encode(read_values(one_column(y)))

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
                **({} if column.reading is None else {"reading": column.reading.to_dict()}),
            }
            for column in self.columns
        ]
        return {"columns": columns, "target": self.target.to_dict()}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Make an encoding from what `to_dict` returned."""
        try:
            columns = tuple(
                lay_out(
                    entry["name"],
                    cuts=entry.get("cuts"),
                    categories=entry.get("categories"),
                    other=entry["other"],
                    missing=entry["missing"],
                    reading=reading_from_dict(entry.get("reading")),
                )
                for entry in document["columns"]
            )
            target = document["target"]
            made: ClassTarget | RangeTarget
            made = _class_target(target) if "classes" in target else RangeTarget(**target)
        except (KeyError, TypeError, AttributeError) as error:
            raise SchemaError(f"this is not an encoding: {error}; make it anew with Schema.encoding") from None
        return cls(columns, made)


def lay_out(
    name: str,
    *,
    cuts: Sequence[float] | None = None,
    categories: Sequence[Category] | None = None,
    other: bool = False,
    missing: bool = False,
    reading: Reading | None = None,
) -> Column:
    """Number the codes of a feature that has either cuts or categories."""
    n_values = len(cuts) + 1 if cuts is not None else len(categories or ())
    return Column(
        name=name,
        ordered=cuts is not None,
        n_values=n_values,
        cuts=cuts or (),
        categories=tuple(categories or ()),
        other_code=n_values if other else None,
        missing_code=n_values + other if missing else None,
        reading=reading,
    )


def _class_target(document: dict[str, Any]) -> ClassTarget:
    reading = reading_from_dict(document.get("reading"))
    if not (reading is None or isinstance(reading, Truth)):
        raise TypeError("the target has a reading of features")
    return ClassTarget(tuple(document["classes"]), reading)

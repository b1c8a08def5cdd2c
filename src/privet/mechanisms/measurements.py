"""Private measurements of facts that learners take as public hints: the number of records, bounds of a column.

Where no such fact is known, these functions measure it and state what that cost: the charge is in the returned ledger,
and in every budget in force.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.frames.columns import read_values
from privet.frames.opening import open_frame
from privet.mechanisms.grounds import Grounds, Said
from privet.mechanisms.release import secret_key
from privet.parameters import exact
from privet.privacy.events import Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance
from privet.schema.domains import Numeric
from privet.schema.schema import Neighbours, Schema
from privet.tables.described import Described
from privet.tables.protocol import Block, IntArray
from privet.tables.reading import closing_afterwards, described, encode_table, of_width

__all__ = ["Measured", "noisy_row_count", "private_bounds"]

T = TypeVar("T")

GRID_CELLS = 1024  # of the public grid on which bounds are searched
FEWEST_BINS = 2  # of a column of a table whose records are only counted


@dataclass(frozen=True)
class Measured(Generic[T]):
    """What was measured, and the ledger of what it cost."""

    value: T
    privacy: Ledger


def noisy_row_count(
    frame: Any,
    *,
    epsilon: float,
    schema: Schema | None = None,
    neighbours: Neighbours | None = None,
    units: Any = None,
    max_rows: int | None = None,
    unit_column: str | None = None,
) -> Measured[int]:
    """Measure how many records there are, for ``n_rows_hint``.

    Parameters
    ----------
    frame : pandas, polars, PyArrow or NumPy; or a table that `fit` takes
        The private records. Of a described table (`privet.tables.ParquetTable` and the like), which needs a schema, the
        records that a fit would use are counted: those that have a label.
    epsilon : float
        What to spend.
    schema : Schema, optional
        Says relation and unit, in place of the arguments below, and names the account to be charged, if it has a
        ``budget``. By default that of a described table.
    neighbours : {"add_remove", "replace", "label"}, optional
        Without a schema. Under ``replace`` and ``label`` of single records their number is public, and this is an
        error; a unit may be replaced by one with more rows or fewer.
    units : a column, optional
        The unit of each record, where the guarantee is for people with several rows, such as ``frame["person_id"]``.
        By default the column of the frame that the schema names; without either the guarantee is for one record.
    max_rows : int, optional
        Without a schema: the most rows of one unit that are counted, one by default; a fit leaves out the others, too.
    unit_column : str, optional
        The name of the column of `units`, as in the schema; by default the column's own name, where it has one (pandas,
        polars). It is written to the ledger, and a budget only adds up what is spent on the same units.

    Raises
    ------
    ParameterError
        If the schema and the arguments contradict each other.

    Notes
    -----
    *Privacy.* Adding or removing a record changes the count by one. A unit changes it by at most `max_rows`, since no
    more of its rows are counted. So the count gets discrete Laplace noise of scale ``max_rows / epsilon``, or of twice
    that where a unit is replaced, as in all that `privet.privacy.terms.Terms` plans. The result is clamped to at least
    one, which is post-processing.

    Examples
    --------
    >>> import numpy as np
    >>> measured = noisy_row_count(np.zeros((5000, 2)), epsilon=0.1)
    >>> measured.privacy.epsilon
    0.1
    """
    frame = described(frame, None) or frame
    grounds = Grounds.of(Said(schema, neighbours, units, max_rows, unit_column), frame)
    if grounds.terms.neighbours != "add_remove" and grounds.terms.unit_column is None:
        raise ParameterError(f"under {grounds.terms.neighbours!r} the number of records is public: use it as it is")
    count = np.array([_records(frame, grounds)], dtype=np.int64)
    allowance = Allowance.of(epsilon)
    event = grounds.terms.noise("number of records", allowance.whole)
    release = grounds.open(allowance, event, "noisy_row_count")
    return Measured(max(1, int(release.noisy(count, event)[0])), release.ledger)


def _records(frame: Any, grounds: Grounds) -> int:
    """Count the records that take part."""
    if not isinstance(frame, Described):
        return int(grounds.rows_kept(np.zeros(open_frame(of_width(frame, 1)).n_rows, np.uint16)).sum())
    if grounds.schema is None or grounds.units is not None:
        raise ParameterError("a table is counted by its schema, which names its units: pass schema, and no units")
    encoding = grounds.schema.encoding(FEWEST_BINS)
    table = encode_table(grounds.schema, encoding, frame, None, secret_key, one_pass=True)
    with closing_afterwards(table):
        return int(table.aggregate(_Counting())[0])


@dataclass(frozen=True)
class _Counting:
    """A kernel: how many records a block has."""

    def __call__(self, block: Block) -> IntArray:
        return np.array([len(block.target)], dtype=np.int64)


def private_bounds(
    values: Any,
    *,
    low: float,
    high: float,
    epsilon: float,
    outside: float = 0.01,
    grid: str = "linear",
    schema: Schema | None = None,
    neighbours: Neighbours | None = None,
    units: Any = None,
    max_rows: int | None = None,
    unit_column: str | None = None,
) -> Measured[Numeric]:
    """Measure bounds that hold all but a small share of a numeric column, within wide public limits.

    Parameters
    ----------
    values : a column
        The private values; what is missing is left out.
    low, high : float
        Public limits, as wide as they need to be: the cost only grows with the logarithm of the number of cells.
    epsilon : float
        What to spend: half on each bound.
    outside : float
        The share of records that should lie beyond each bound.
    grid : {"linear", "log"}
        The public grid of candidates, 1024 cells.
    schema : Schema, optional
        Says relation and unit, and names the account to be charged, if it has a ``budget``. It need not have this
        column yet. If it declares a unit, pass `units`, too: a column alone does not say whose values it holds.
    neighbours : {"add_remove", "replace", "label"}, optional
        Without a schema; "add_remove" by default.
    units, max_rows, unit_column
        As for `noisy_row_count`.

    Returns
    -------
    Measured of Numeric
        Bounds for a schema, with the ledger of what they cost.

    Notes
    -----
    *Privacy.* With a share p/q of records to the left of the wanted bound, the score of a cut is
    ``-|(q - p) left - p right|``. A record to the left moves it by at most q - p either way, one to the right by at
    most p, so the range over candidates is at most ``2 max(p, q - p)``. Each bound is one permute-and-flip at half of
    epsilon. A unit has `max_rows` values at the most; which of them stay depends on its own values and a secret key.

    Examples
    --------
    >>> import numpy as np
    >>> incomes = np.geomspace(1e3, 1e6, 20_000)
    >>> bounds = private_bounds(incomes, low=0, high=1e8, grid="log", epsilon=1.0)
    >>> 0 <= bounds.value.low < bounds.value.high < 1e7
    True
    """
    grounds = Grounds.of(Said(schema, neighbours, units, max_rows, unit_column))
    share, limits = exact(outside, "outside").limit_denominator(1000), Numeric(low, high, grid=_grid(grid))
    if not 0 < share < Fraction(1, 2):
        raise ParameterError(f"outside must be between 0.001 and 0.5, got {outside}")
    terms, allowance = grounds.terms, Allowance.of(epsilon)
    half = allowance.whole * Fraction(1, 2)
    spread = 2 * (share.denominator - share.numerator)
    of_lower = terms.choice("lower bound", half, score_range=spread)
    of_upper = terms.choice("upper bound", half, score_range=spread)
    cuts = np.array(limits.cuts(GRID_CELLS))
    left, right = _sides(values, cuts, grounds)
    release = grounds.open(allowance, Sequential((of_lower, of_upper)), "private_bounds")
    p, q = share.numerator, share.denominator
    lower = int(release.choose(-np.abs((q - p) * left - p * right)[None, :], of_lower)[0])
    upper = int(release.choose(-np.abs(p * left - (q - p) * right)[None, :], of_upper)[0])
    if lower >= upper:  # too few records to tell the two apart; the public limits are all that is left
        return Measured(limits, release.ledger)
    return Measured(Numeric(float(cuts[lower]), float(cuts[upper]), grid=limits.grid), release.ledger)


def _sides(values: Any, cuts: NDArray[np.float64], grounds: Grounds) -> tuple[IntArray, IntArray]:
    """Count the values at or below each cut, and those above it."""
    read = read_values(values)
    if read.kind in ("unsupported", "date"):
        raise ParameterError(f"values of dtype {read.dtype} have no bounds that are numbers; convert them to numbers")
    with np.errstate(all="ignore"):  # a warning would reveal something about a value
        numbers = read.numbers().astype(np.float64, copy=False)
    present = ~np.isnan(numbers) if read.absent is None else ~(np.isnan(numbers) | read.absent)
    places = np.searchsorted(cuts, numbers, side="left").astype(np.uint16)
    kept = grounds.rows_kept(places) & present
    cells = np.bincount(places[kept], minlength=len(cuts) + 1)
    left = np.cumsum(cells)[:-1].astype(np.int64)
    return left, int(kept.sum()) - left


def _grid(grid: str) -> Any:
    if grid not in ("linear", "log"):
        raise ParameterError(f"grid must be 'linear' or 'log', got {grid!r}")
    return grid

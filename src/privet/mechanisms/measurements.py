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
from privet.mechanisms.release import Randomness, Release, noise_source, open_release, secret_key
from privet.parameters import check_choice, check_whole, exact
from privet.privacy import budgets
from privet.privacy.events import Composition, Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Numeric
from privet.schema.schema import Neighbours
from privet.tables.reading import of_width
from privet.tables.units import bound_rows, read_units

__all__ = ["Measured", "noisy_row_count", "private_bounds"]

T = TypeVar("T")

GRID_CELLS = 1024  # of the public grid on which bounds are searched
MOST_ROWS = 1_000_000  # of one unit
UNNAMED_COLUMN = "units"  # the name that stands in ledgers for a column without one


@dataclass(frozen=True)
class Measured(Generic[T]):
    """What was measured, and the ledger of what it cost."""

    value: T
    privacy: Ledger


def noisy_row_count(
    frame: Any,
    *,
    epsilon: float,
    neighbours: Neighbours = "add_remove",
    units: Any = None,
    max_rows: int = 1,
    unit_column: str | None = None,
) -> Measured[int]:
    """Measure how many records there are, for ``n_rows_hint``.

    Parameters
    ----------
    frame : pandas, polars, PyArrow or NumPy
        The private records.
    epsilon : float
        What to spend.
    neighbours : {"add_remove"}
        As in the schema. Under ``replace`` and ``label`` the number of records is public, and this is an error.
    units : a column, optional
        The unit of each record, where the guarantee is for people with several rows, such as ``frame["person_id"]``.
        Without it the guarantee is for one record.
    max_rows : int, default=1
        The most rows of one unit that are counted; a fit leaves out the others, too.
    unit_column : str, optional
        The name of the column of `units`, as in the schema; by default the column's own name, where it has one (pandas,
        polars). It is written to the ledger, and a budget only adds up what is spent on the same units.

    Notes
    -----
    *Privacy.* Adding or removing a record changes the count by one. A unit changes it by at most `max_rows`, since no
    more of its rows are counted. So the count gets discrete Laplace noise of scale ``max_rows / epsilon``. The result
    is clamped to at least one, which is post-processing.

    Examples
    --------
    >>> import numpy as np
    >>> measured = noisy_row_count(np.zeros((5000, 2)), epsilon=0.1)
    >>> measured.privacy.epsilon
    0.1
    """
    begun = _Begun.now()
    terms, n_rows = _terms(neighbours, units, max_rows, unit_column), open_frame(of_width(frame, 1)).n_rows
    if neighbours != "add_remove":
        raise ParameterError(f"under {neighbours!r} the number of records is public: use it as it is")
    kept = _rows_kept(units, np.zeros(n_rows, np.uint16), max_rows)
    count = np.array([kept.sum()], dtype=np.int64)
    allowance = Allowance.of(epsilon)
    event = terms.noise("number of records", allowance.whole)
    release = begun.open(terms, allowance, event, "noisy_row_count")
    return Measured(max(1, int(release.noisy(count, event)[0])), release.ledger)


def private_bounds(
    values: Any,
    *,
    low: float,
    high: float,
    epsilon: float,
    outside: float = 0.01,
    grid: str = "linear",
    neighbours: Neighbours = "add_remove",
    units: Any = None,
    max_rows: int = 1,
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
    neighbours : {"add_remove", "replace", "label"}
        As in the schema.
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
    begun = _Begun.now()
    share, limits = exact(outside, "outside").limit_denominator(1000), Numeric(low, high, grid=_grid(grid))
    if not 0 < share < Fraction(1, 2):
        raise ParameterError(f"outside must be between 0.001 and 0.5, got {outside}")
    terms, allowance = _terms(neighbours, units, max_rows, unit_column), Allowance.of(epsilon)
    half = allowance.whole * Fraction(1, 2)
    spread = 2 * (share.denominator - share.numerator)
    of_lower = terms.choice("lower bound", half, score_range=spread)
    of_upper = terms.choice("upper bound", half, score_range=spread)
    cuts = np.array(limits.cuts(GRID_CELLS))
    left, right = _sides(values, cuts, units, max_rows)
    release = begun.open(terms, allowance, Sequential((of_lower, of_upper)), "private_bounds")
    p, q = share.numerator, share.denominator
    lower = int(release.choose(-np.abs((q - p) * left - p * right)[None, :], of_lower)[0])
    upper = int(release.choose(-np.abs(p * left - (q - p) * right)[None, :], of_upper)[0])
    if lower >= upper:  # too few records to tell the two apart; the public limits are all that is left
        return Measured(limits, release.ledger)
    return Measured(Numeric(float(cuts[lower]), float(cuts[upper]), grid=limits.grid), release.ledger)


def _sides(
    values: Any, cuts: NDArray[np.float64], units: Any, max_rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the values at or below each cut, and those above it."""
    read = read_values(values)
    if read.kind in ("unsupported", "date"):
        raise ParameterError(f"values of dtype {read.dtype} have no bounds that are numbers; convert them to numbers")
    with np.errstate(all="ignore"):  # a warning would reveal something about a value
        numbers = read.numbers().astype(np.float64, copy=False)
    present = ~np.isnan(numbers) if read.absent is None else ~(np.isnan(numbers) | read.absent)
    places = np.searchsorted(cuts, numbers, side="left").astype(np.uint16)
    kept = _rows_kept(units, places, max_rows) & present
    cells = np.bincount(places[kept], minlength=len(cuts) + 1)
    left = np.cumsum(cells)[:-1].astype(np.int64)
    return left, int(kept.sum()) - left


def _terms(neighbours: Neighbours, units: Any, max_rows: int, unit_column: str | None) -> Terms:
    check_choice("neighbours", neighbours, ("add_remove", "replace", "label"))
    check_whole("max_rows", max_rows, 1, MOST_ROWS)
    if units is None and max_rows > 1:
        raise ParameterError("max_rows is for units with several rows: pass units, the column that names them, too")
    if units is None:
        return Terms(neighbours)
    name = getattr(units, "name", None) if unit_column is None else unit_column
    return Terms(neighbours, max_rows, UNNAMED_COLUMN if name is None else str(name))


def _rows_kept(units: Any, content: NDArray[np.uint16], max_rows: int) -> NDArray[np.bool_]:
    """Mark at most `max_rows` records of each unit; all records if there are no units."""
    if units is None:
        return np.ones(len(content), np.bool_)
    read = read_units(units)
    if len(read.present) != len(content):
        raise ParameterError("units and records differ in number: pass the unit of each record")
    return bound_rows(read, content[np.newaxis], np.zeros(len(content), np.int32), max_rows, secret_key())


def _grid(grid: str) -> Any:
    if grid not in ("linear", "log"):
        raise ParameterError(f"grid must be 'linear' or 'log', got {grid!r}")
    return grid


@dataclass(frozen=True)
class _Begun:
    """What a measurement asks for when it begins: the budgets to charge, and the noise to draw from."""

    charged: tuple[budgets.Handle, ...]
    noise: Randomness

    @staticmethod
    def now() -> _Begun:
        return _Begun(budgets.in_force(), noise_source())

    def open(self, terms: Terms, allowance: Allowance, planned: Composition, what: str) -> Release:
        """Charge the budgets and open the release."""
        budgets.charge(self.charged, Ledger.stating(terms, allowance, planned, self.noise.doubts), what)
        return open_release(Ledger(terms, allowance), self.noise)

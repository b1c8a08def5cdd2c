"""What one table or figure of a paper is made of: cells to compute, and a way to lay them out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privet.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privet_papers.framework.data import DataFolder

Settings = Mapping[str, Any]
Result = dict[str, Any]
Row = dict[str, str | int | float | bool | None]
CellFunction = Callable[[Settings, "DataFolder"], Result]


@dataclass(frozen=True)
class Cell:
    """One unit of work: a function, what it is asked, and the data sets that it reads.

    Parameters
    ----------
    function : callable
        ``function(settings, data) -> result``, at the top level of a module so that another process can find
        it by name. The result must survive JSON.
    settings : mapping
        Everything that the result depends on besides code and data. Must survive JSON.
    data : tuple of str
        Names of the data sets read; the cell is left out where one of them is absent.
    """

    function: CellFunction
    settings: Settings
    data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if "<" in self.function.__qualname__:
            raise ParameterError(f"cell function {self.path} is not at the top level of its module; move it there")
        if not _survives_json(dict(self.settings)):
            raise ParameterError(f"settings of {self.path} change when written as JSON; use lists, strings and numbers")

    @property
    def path(self) -> str:
        """Where another process finds the function."""
        return f"{self.function.__module__}:{self.function.__qualname__}"


@dataclass(frozen=True)
class Outcome:
    """What a cell was asked, and what it answered."""

    settings: Settings
    result: Result


@dataclass(frozen=True)
class WholeProtocol:
    """What a paper itself ran, where an entry runs fewer folds, runs or settings of it.

    Parameters
    ----------
    cells : callable
        ``cells() -> list of Cell``; those that the entry shares with it are computed once.
    here, paper : str
        What the entry runs, and what the paper ran.
    hours : float
        Of two cores, for all of it: reckoned from the processor time of cells that were timed.
    """

    cells: Callable[[], Sequence[Cell]]
    here: str
    paper: str
    hours: float

    def note(self, name: str) -> str:
        """Say on the page of an entry by how much it is smaller, and how all of it is run."""
        reads_data = any(cell.data for cell in self.cells())
        command = f"privet reproduce {name} --whole{' --data DIR' if reads_data else ''}"
        return (
            f"**Smaller than the paper's protocol:** {self.here}, where the paper has {self.paper}. All of it takes "
            f"about {self.duration} on two cores, reckoned from cells that were timed: `{command}`."
        )

    @property
    def duration(self) -> str:
        """In words: minutes up to two hours."""
        return f"{round(60 * self.hours)} minutes" if self.hours < 2 else f"{self.hours:g} hours"


@dataclass(frozen=True)
class Entry:
    """One table or figure of a paper.

    Parameters
    ----------
    name : str
        What the command line calls it, such as ``"bojarski-table-1"``; also the stem of its result files.
    paper : str
        Authors, year and the number of the table or figure.
    title : str
        What it shows, in one line.
    cells : callable
        ``cells(quick) -> list of Cell``; `quick` asks for a reduced set that ends within about a minute.
    assemble : callable
        ``assemble(outcomes) -> rows`` of the table, with the paper's printed figures beside ours
        (see `beside_paper`). Outcomes come in the order of the cells.
    plot : callable, optional
        ``plot(rows) -> Figure``; called within the common style.
    notes : tuple of str
        What a reader must know: where the paper leaves a choice open, and what was chosen.
    sources : tuple of str, optional
        Modules or packages whose code decides the results; a change there runs the cells again. The module of
        the cell function always counts. By default all learners and everything below them count.
    whole : WholeProtocol, optional
        The paper's own protocol, where `cells` is smaller; the page says so.
    """

    name: str
    paper: str
    title: str
    cells: Callable[[bool], Sequence[Cell]]
    assemble: Callable[[Sequence[Outcome]], list[Row]]
    plot: Callable[[list[Row]], Figure] | None = None
    notes: tuple[str, ...] = ()
    sources: tuple[str, ...] | None = None
    whole: WholeProtocol | None = None


def beside_paper(
    rows: Sequence[Row], printed: Mapping[tuple[Any, ...], float | str], *, on: Sequence[str], column: str
) -> list[Row]:
    """Put the paper's printed figure in a column ``"<column> (paper)"`` right after ours.

    Parameters
    ----------
    rows : sequence of dict
        Our table.
    printed : mapping
        The paper's figures, by the values of the columns `on`; empty where the paper has none.
    on : sequence of str
        Columns that tell the rows apart.
    column : str
        Our figure.

    Examples
    --------
    >>> beside_paper([{"data": "car", "accuracy": 0.71}], {("car",): 0.7}, on=["data"], column="accuracy")
    [{'data': 'car', 'accuracy': 0.71, 'accuracy (paper)': 0.7}]
    """
    wide: list[Row] = []
    for row in rows:
        extended: Row = {}
        for name, value in row.items():
            extended[name] = value
            if name == column:
                extended[f"{column} (paper)"] = printed.get(tuple(row[key] for key in on))
        wide.append(extended)
    return wide


def _survives_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False

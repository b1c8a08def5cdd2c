"""Result files of an entry: NAME.csv, NAME.md and, where it is plotted, NAME.svg."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import privet
from privet.errors import ParameterError
from privet.writing import replace_text, replacing
from privet_papers.framework.entry import Cell, Entry, Row
from privet_papers.framework.plots import common_style, save_svg

MOST_ROWS_OF_A_PAGE = 200  # longer tables are read by nobody
EXTENT = {"seed": "Public seeds of its cells", "folds": "folds of a cell"}


@dataclass(frozen=True)
class Origin:
    """Where a table comes from: the command that made it, the version of privet, and the data that was absent."""

    command: str
    version: str = privet.__version__
    absent: tuple[str, ...] = ()

    @classmethod
    def read(cls, page: str) -> Origin:
        """Return what a page says of its table."""
        made = re.search(r"Made by `(?P<command>.*)` with privet (?P<version>\S+)\.$", page, re.MULTILINE)
        if made is None:
            raise ParameterError("the page does not say which command made it; run the entry again")
        absent = re.search(r"^Left out, since the data is absent: (.*)\.$", page, re.MULTILINE)
        return cls(made["command"], made["version"], tuple(absent[1].split(", ")) if absent else ())


def write_results(
    entry: Entry,
    rows: list[Row],
    folder: Path,
    *,
    command: str,
    absent: Sequence[str],
    reads_data: bool,
    whole: bool = False,
) -> tuple[Path, ...]:
    """Write the files of an entry and return their paths.

    Parameters
    ----------
    entry : Entry
        The table or figure.
    rows : list of dict
        What `entry.assemble` gave.
    folder : Path
        Where to write; made if need be.
    command : str
        The command that makes these files again.
    absent : sequence of str
        Data sets that were not there.
    reads_data : bool
        Whether any cell reads a benchmark; then the note on public domains is added.
    whole : bool
        Whether the paper's whole protocol was run; then the note on what is left out of it is not added.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{entry.name}.csv", folder / f"{entry.name}.md"]
    write_csv(rows, written[0])
    if entry.plot is not None:
        written.append(folder / f"{entry.name}.svg")
        with common_style():
            save_svg(entry.plot(rows), written[-1])
    notes = notes_of(entry, reads_data=reads_data, whole=whole)
    replace_text(written[1], markdown(entry, rows, Origin(command, absent=tuple(absent)), notes))
    return tuple(written)


def write_page_again(entry: Entry, folder: Path) -> Path:
    """Write the page of an entry from its CSV file, which stays as it is, with the notes that the entry has now."""
    page = folder / f"{entry.name}.md"
    if not page.is_file():
        raise ParameterError(f"{page} is absent; run the entry: privet reproduce {entry.name} --data DIR")
    replace_text(page, page_again(entry, page.read_text("utf-8"), folder / f"{entry.name}.csv"))
    return page


def page_again(entry: Entry, page: str, table: Path) -> str:
    """Return the page that belongs to a CSV file; command, version and absent data are those that the page names."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows: list[Row] = [dict(row) for row in csv.DictReader(stream)]
    reads_data = any(cell.data for cell in entry.cells(False))
    return markdown(entry, rows, Origin.read(page), notes_of(entry, reads_data=reads_data))


def notes_of(entry: Entry, *, reads_data: bool, whole: bool = False) -> tuple[str, ...]:
    """Return the notes of an entry's page: its own, by how much it is smaller than the paper, and what is public."""
    from privet_papers.framework.data import DOMAINS_ARE_PUBLIC  # here, since it loads what the help does without

    of_all = whole and entry.whole is not None
    smaller = () if of_all or entry.whole is None else (entry.whole.note(entry.name),)
    extent = _extent(entry.whole.cells() if of_all and entry.whole else entry.cells(False))
    return (*entry.notes, *extent, *smaller, *((DOMAINS_ARE_PUBLIC,) if reads_data else ()))


def _extent(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Say which public seeds the cells have, and how many folds."""
    found = {name: sorted({cell.settings[name] for cell in cells if name in cell.settings}) for name in EXTENT}
    said = [f"{words}: {_in_words(found[name])}" for name, words in EXTENT.items() if found[name]]
    return (f"{'; '.join(said)}. Noise is not seeded.",) if said else ()


def _in_words(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows with the union of their columns, in the order in which they first appear."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(columns(rows))
        table.writerows([[as_text(row.get(name)) for name in columns(rows)] for row in rows])


def markdown(entry: Entry, rows: Sequence[Row], origin: Origin, notes: Sequence[str]) -> str:
    """Return the page of an entry: what it is, the table, the figure, the notes and the command."""
    made = f"Made by `{origin.command}` with privet {origin.version}."
    lines = [f"# {entry.title}", "", f"{entry.paper}. {made}", ""]
    if entry.plot is not None:
        lines += [f"![{entry.title}]({entry.name}.svg)", ""]
    if len(rows) > MOST_ROWS_OF_A_PAGE:
        lines.append(f"All {len(rows):,} rows are in [{entry.name}.csv]({entry.name}.csv).")
    else:
        lines += table_lines(rows)
    if origin.absent:
        lines += ["", f"Left out, since the data is absent: {', '.join(origin.absent)}."]
    if notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Return rows as the lines of a Markdown table."""
    names = columns(rows)
    body = [_line([as_text(row.get(name)) for name in names]) for row in rows]
    return [_line(names), _line(["---"] * len(names)), *body]


def columns(rows: Sequence[Row]) -> list[str]:
    """Return the names of all columns, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row))


def as_text(value: str | int | float | bool | None) -> str:
    """Return a value as it is printed: six significant digits, nothing for None."""
    if value is None:
        return ""
    return format(value, ".6g") if isinstance(value, float) else str(value)


def _line(fields: Sequence[str]) -> str:
    return "| " + " | ".join(field.replace("|", "\\|") for field in fields) + " |"

"""Result files of an entry: NAME.csv, NAME.md and, where it is plotted, NAME.svg."""

import csv
from collections.abc import Sequence
from pathlib import Path

from privet.writing import replace_text, replacing
from privet_papers.framework.entry import Entry, Row
from privet_papers.framework.plots import common_style, save_svg

MOST_ROWS_OF_A_PAGE = 200  # longer tables are read by nobody


def write_results(
    entry: Entry, rows: list[Row], folder: Path, *, command: str, absent: Sequence[str], reads_data: bool
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
    """
    from privet_papers.framework.data import DOMAINS_ARE_PUBLIC  # here, since it loads what the help does without

    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{entry.name}.csv", folder / f"{entry.name}.md"]
    write_csv(rows, written[0])
    if entry.plot is not None:
        written.append(folder / f"{entry.name}.svg")
        with common_style():
            save_svg(entry.plot(rows), written[-1])
    notes = (*entry.notes, DOMAINS_ARE_PUBLIC) if reads_data else entry.notes
    replace_text(written[1], markdown(entry, rows, command=command, notes=notes, absent=absent))
    return tuple(written)


def write_csv(rows: Sequence[Row], path: Path) -> None:
    """Write rows with the union of their columns, in the order in which they first appear."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(columns(rows))
        table.writerows([[as_text(row.get(name)) for name in columns(rows)] for row in rows])


def markdown(entry: Entry, rows: Sequence[Row], *, command: str, notes: Sequence[str], absent: Sequence[str]) -> str:
    """Return the page of an entry: what it is, the table, the figure, the notes and the command."""
    lines = [f"# {entry.title}", "", f"{entry.paper}. Made by `{command}`.", ""]
    if entry.plot is not None:
        lines += [f"![{entry.title}]({entry.name}.svg)", ""]
    if len(rows) > MOST_ROWS_OF_A_PAGE:
        lines.append(f"All {len(rows):,} rows are in [{entry.name}.csv]({entry.name}.csv).")
    else:
        lines += table_lines(rows)
    if absent:
        lines += ["", f"Left out, since the data is absent: {', '.join(absent)}."]
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

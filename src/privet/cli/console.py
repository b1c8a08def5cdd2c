"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from privet.cli.safe_text import printable, printable_json
from privet.errors import ParameterError
from privet.writing import check_room, replace_text

_shown: list[Any] = []  # the bars on the terminal
_OF_PREDICTIONS = "records"  # what predictions count, also those within other work


def say(text: str = "") -> None:
    """Print a line of the result."""
    typer.echo(printable(text))


def note(text: str) -> None:
    """Print a remark that is not part of the result; above the bar, if one is shown."""
    if _shown:
        _shown[-1].console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
    else:
        typer.echo(printable(text), err=True)


def print_json(content: Any) -> None:
    """Print the result for programs; infinities become null, since JSON has none."""
    text = json.dumps(_without_infinities(content), indent=2, ensure_ascii=False, allow_nan=False)
    typer.echo(printable_json(text))


def write_json(content: Any, path: Path) -> None:
    """Write a result for programs to a file."""
    text = json.dumps(_without_infinities(content), indent=2, ensure_ascii=False, allow_nan=False)
    replace_text(path, text + "\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header: with rules on a terminal, as plain columns elsewhere."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(*header)
        for row in rows:
            table.add_row(*map(printable, row))
        Console(markup=False).print(table)
        return
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    for row in [header, *rows]:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show on standard error what is being done while the block runs, if that is a terminal: with the time left.

    What the library counts (`privet.progress`) gets a bar; anything else, the time that it has taken so far. Where a
    command counts by itself, it gives the total and calls what the block gets, and nothing else is shown.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from privet.progress import Step, listening

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(what, total=total)
        shown, unfinished = what, False

        def show(step: Step) -> None:
            nonlocal shown, unfinished
            if total is not None or (unfinished and step.what == _OF_PREDICTIONS):
                return
            unfinished = step.what != _OF_PREDICTIONS and step.total is not None and step.done < step.total
            described = f"{what}: {step.what}"
            if described != shown:
                shown = described
                bars.reset(task, description=described, total=step.total)
            bars.update(task, completed=step.done, total=step.total)

        _shown.append(bars)
        try:
            with listening(show):
                yield lambda amount: bars.advance(task, amount)
        finally:
            _shown.remove(bars)


def refuse_overwriting(path: Path, force: bool, inputs: Sequence[Path] = ()) -> None:
    """Make sure that a file can be written before anything is spent on its content.

    Parameters
    ----------
    path : Path
        The file to be written.
    force : bool
        Whether it may be there already.
    inputs : sequence of Path
        What the command reads, which is never overwritten.
    """
    if not path.name or path.is_dir():
        raise ParameterError(f"{path} is a folder; give the name of a file")
    if any(_same_file(path, given) for given in inputs):
        raise ParameterError(f"{path} is what the command reads, and would be overwritten; give another name with -o")
    if path.exists() and not force:
        raise ParameterError(f"{path} exists; give another name with -o, or overwrite it with --force")
    if not path.resolve().parent.is_dir():
        raise ParameterError(f"the folder of {path} does not exist; make it, or give another path")
    check_room(path)


def _same_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return False


def _without_infinities(value: Any) -> Any:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    if isinstance(value, dict):
        return {name: _without_infinities(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinities(entry) for entry in value]
    return value

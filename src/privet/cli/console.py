"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from privet.cli.safe_text import printable
from privet.errors import ParameterError
from privet.writing import check_room, replace_text


def say(text: str = "") -> None:
    """Print a line of the result."""
    typer.echo(printable(text))


def note(text: str) -> None:
    """Print a remark that is not part of the result."""
    typer.echo(printable(text), err=True)


def print_json(content: Any) -> None:
    """Print the result for programs; infinities become null, since JSON has none."""
    typer.echo(json.dumps(_without_infinities(content), indent=2, ensure_ascii=False, allow_nan=False))


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
def working(what: str) -> Iterator[None]:
    """Show on standard error what is being done while the block runs, if that is a terminal: with the time left.

    What the library counts (`privet.progress`) gets a bar; anything else, the time that it has taken so far.
    """
    if not sys.stderr.isatty():
        yield
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
        task = bars.add_task(what, total=None)
        shown = what

        def show(step: Step) -> None:
            nonlocal shown
            described = f"{what}: {step.what}"
            if described != shown:
                shown = described
                bars.reset(task, description=described, total=step.total)
            bars.update(task, completed=step.done, total=step.total)

        with listening(show):
            yield


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

"""``privet reproduce``: run the tables and figures of the papers again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.exits import Exit

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Entry
    from privet_papers.framework.runner import NoteProgress

EXTRA = ("pandas", "pyarrow", "matplotlib", "rich")


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(help="Entries to run; none lists them.", metavar="[NAME]...")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of benchmark files NAME.parquet; or set PRIVET_DATA.", metavar="DIR"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Reduced settings, for a first look.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for results.", metavar="DIR")] = Path("results"),
    jobs: Annotated[int, typer.Option(help="Number of processes.", min=1)] = 2,
) -> None:
    """Run tables and figures of the papers again, or list them with their status."""
    from privet.errors import ParameterError
    from privet_papers.framework import entries, find
    from privet_papers.framework.data import DataFolder

    absent = [package for package in EXTRA if find_spec(package) is None]
    if absent:
        raise ParameterError(f"reproduce needs {', '.join(absent)}; pip install privet-papers")
    folder = DataFolder.at(data)
    if not names:
        _list(list(entries().values()), folder, out)
        return
    failed = False
    for entry in [find(name) for name in names]:  # a misspelt name is reported before hours of work
        failed |= not _run(entry, folder, out, quick=quick, jobs=jobs)
    if failed:
        raise typer.Exit(Exit.FAILED)


def _list(known: list[Entry], data: DataFolder, out: Path) -> None:
    from privet_papers.framework.runner import statuses

    if not known:
        typer.echo("no entries yet")
        return
    width = max(len(entry.name) for entry in known)
    for entry, status in statuses(known, data, out):
        typer.echo(f"{entry.name:<{width}}  {entry.paper}: {entry.title}  [{status}]")


def _run(entry: Entry, data: DataFolder, out: Path, *, quick: bool, jobs: int) -> bool:
    """Run one entry and say what came of it; return whether all cells have a result."""
    from privet_papers.framework.runner import run

    try:
        with _progress_bar(entry.name) as progress:
            report = run(entry, data, out, quick=quick, jobs=jobs, progress=progress)
    except KeyboardInterrupt:
        typer.echo(f"{entry.name}: stopped; finished cells are kept, the same command goes on from there", err=True)
        raise typer.Exit(Exit.STOPPED) from None
    typer.echo(f"{entry.name}: {report.computed} cells computed, {report.reused} reused")
    if report.absent:
        typer.echo(f"{entry.name}: left out, data absent: {', '.join(report.absent)}")
    for failure in report.failures:
        typer.echo(f"{entry.name}: failed: {dict(failure.cell.settings)}: {failure.error}", err=True)
    for file in report.files:
        typer.echo(f"{entry.name}: wrote {file}")
    return not report.failures


@contextmanager
def _progress_bar(name: str) -> Iterator[NoteProgress]:
    """Show a bar with the time left on standard error, on a terminal only."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Bar(*columns, console=console, disable=not console.is_terminal, speed_estimate_period=600) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)

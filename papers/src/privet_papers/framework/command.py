"""``privet reproduce``: run the tables and figures of the papers again."""

from __future__ import annotations

import time
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
    whole: Annotated[
        bool, typer.Option("--whole", help="The paper's whole protocol, where the usual run is smaller.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run every entry.")] = False,
    listed: Annotated[
        bool,
        typer.Option("--list", help="List entries with their status, and what has none and why; as without names."),
    ] = False,
    hours: Annotated[
        float | None, typer.Option(help="Begin nothing after so many hours; run again to go on.", min=0.0)
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="Folder of earlier results: say what has changed beyond noise.", metavar="DIR"),
    ] = None,
    claims: Annotated[
        bool, typer.Option("--claims", help="Write what the papers claim and what holds, from the results.")
    ] = False,
    pages: Annotated[
        bool, typer.Option("--pages", help="Write pages again from the CSV files; nothing is computed.")
    ] = False,
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
    if claims:
        _write_claims(out)
        return
    if everything and names:
        raise ParameterError("--all runs every entry: leave out the names, or --all")
    if listed and (everything or names):
        raise ParameterError("--list runs nothing: leave out the names and --all, or --list")
    folder = DataFolder.at(data)
    if not names and not everything:
        _list(list(entries().values()), folder, out)
        return
    deadline = None if hours is None else time.monotonic() + 3600 * hours
    failed = False
    # A misspelt name is reported before hours of work.
    chosen = list(entries().values()) if everything else [find(name) for name in names or ()]
    if pages:
        _write_pages(chosen, out)
        return
    for entry in chosen:
        failed |= not _run(entry, folder, out, quick=quick, whole=whole, jobs=jobs, deadline=deadline)
        if against is not None and not quick and not whole:
            _compare(entry.name, against, out)
    if failed:
        raise typer.Exit(Exit.FAILED)


def _list(known: list[Entry], data: DataFolder, out: Path) -> None:
    from privet_papers.framework import LEFT_OUT
    from privet_papers.framework.runner import statuses

    width = max(len(entry.name) for entry in known)
    for entry, status in statuses(known, data, out):
        typer.echo(f"{entry.name:<{width}}  {entry.paper}: {entry.title}  [{status}]")
    for what, why in LEFT_OUT:
        typer.echo(f"{'(none)':<{width}}  {what}: {why}")


def _write_claims(results: Path) -> None:
    from privet_papers.framework import claims
    from privet_papers.framework.claims import write_claims

    for file in write_claims(claims(), results):
        typer.echo(f"wrote {file}")


def _write_pages(chosen: list[Entry], results: Path) -> None:
    from privet_papers.framework.output import write_page_again

    for entry in chosen:
        typer.echo(f"wrote {write_page_again(entry, results)}")


def _compare(name: str, before: Path, now: Path) -> None:
    """Say what a run has changed against earlier results."""
    from privet_papers.framework.changes import changes

    files = before / f"{name}.csv", now / f"{name}.csv"
    if not all(file.is_file() for file in files):
        return
    found = changes(*files)
    if found is None:
        typer.echo(f"{name}: has other rows than the results in {before}")
    else:
        typer.echo(f"{name}: {len(found)} figures changed beyond noise against {before}")
        for change in found:
            typer.echo(f"{name}:   {change}")


def _run(
    entry: Entry, data: DataFolder, out: Path, *, quick: bool, whole: bool, jobs: int, deadline: float | None
) -> bool:
    """Run one entry and say what came of it; return whether no cell failed."""
    from privet_papers.framework.runner import run

    try:
        with _progress_bar(entry.name) as progress:
            report = run(entry, data, out, quick=quick, whole=whole, jobs=jobs, progress=progress, deadline=deadline)
    except KeyboardInterrupt:
        typer.echo(f"{entry.name}: stopped; finished cells are kept, the same command goes on from there", err=True)
        raise typer.Exit(Exit.STOPPED) from None
    typer.echo(f"{entry.name}: {report.computed} cells computed, {report.reused} reused")
    if report.absent:
        typer.echo(f"{entry.name}: left out, data absent: {', '.join(report.absent)}")
    if report.left:
        typer.echo(f"{entry.name}: {report.left} cells are left: the time is up; the same command goes on from there")
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

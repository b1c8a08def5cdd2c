"""The command line: one file per command, each registered on `app`.

Commands import what they need when they run, so that ``privet --help`` is quick.
"""

import errno
import signal
import sys
import warnings
from importlib.metadata import entry_points, version
from textwrap import shorten
from typing import Annotated

import typer

from privet.cli import (
    audit,
    budget,
    evaluate,
    export,
    forecast,
    plan,
    predict,
    report,
    robustness,
    schema,
    train,
    tune,
    warmup,
)
from privet.cli.console import note
from privet.cli.exits import Exit, exit_of
from privet.cli.safe_text import printable
from privet.errors import LargeDeltaWarning, PrivetError

__all__ = ["app", "main"]

MOST_CHARACTERS_OF_ERROR = 1_000  # an error may quote what it found in a file
STOPPED = "stopped; files that were not finished are as they were"

app = typer.Typer(
    name="privet",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(schema.app, name="schema")
app.add_typer(budget.app, name="budget")
app.command()(plan.plan)
app.command()(forecast.forecast)
app.command()(train.train)
app.command()(tune.tune)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(report.report)
app.command()(audit.audit)
app.command()(export.export)
app.command()(robustness.robustness)
app.command()(warmup.warmup)
for entry in entry_points(group="privet.commands"):  # of other distributions, such as privet-papers
    app.command(entry.name)(entry.load())


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"privet {version('privet')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Differentially private decision trees and forests, proven and audited.

    A first model, from a table with a column `income` that is to be predicted:

      privet schema init people.csv --target income -o schema.yaml

      privet plan --schema schema.yaml --epsilon 1

      privet train people.csv --schema schema.yaml --epsilon 1 -o model.json
    """


def main() -> None:
    """Run the command line. A user's mistake ends in one line with the remedy, never in a traceback."""
    # Each warning is printed only once, since planning and fitting see the same parameters.
    warnings.showwarning = lambda message, *_, **__: note(f"privet: warning: {message}")
    warnings.simplefilter("once", LargeDeltaWarning)
    # An orderly end removes unfinished files, which the signal's own does not.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(Exit.TERMINATED))
    try:
        app()
    except PrivetError as error:
        _leave(str(error), exit_of(error))
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "make room; existing files are unchanged" if full else "check the path and its permissions"
        _leave(f"{place}{error.strerror or error}; {remedy}", Exit.FAILED if full else Exit.USAGE)
    except KeyboardInterrupt:
        _leave(STOPPED, Exit.STOPPED)
    except SystemExit as left:  # typer turns an interrupt into its exit code, and says nothing
        if left.code != Exit.STOPPED:
            raise
        _leave(STOPPED, Exit.STOPPED)
    except MemoryError:
        _leave("not enough memory; use a smaller table or fewer trees. Existing files are unchanged", Exit.FAILED)


def _leave(message: str, code: Exit) -> None:
    typer.echo(printable(f"privet: {shorten(message, MOST_CHARACTERS_OF_ERROR, placeholder=' ...')}"), err=True)
    sys.exit(code)

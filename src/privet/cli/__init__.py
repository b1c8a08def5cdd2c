"""The command line: one file per command, each registered on `app`.

Commands import what they need when they run, so that ``privet --help`` is quick.
"""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from privet.cli import reproduce
from privet.errors import PrivetError

__all__ = ["app", "main"]

USER_ERROR = 2

app = typer.Typer(
    name="privet",
    help="Differentially private decision trees and forests, proven and audited.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(reproduce.reproduce)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"privet {version('privet')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    """Differentially private decision trees and forests, proven and audited."""


def main() -> None:
    """Run the command line; a mistake of the user ends in one line with the remedy, never in a traceback."""
    try:
        app()
    except PrivetError as error:
        typer.echo(f"privet: {' '.join(str(error).split())}", err=True)
        sys.exit(USER_ERROR)

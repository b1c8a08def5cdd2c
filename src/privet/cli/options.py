"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer


def read_rows_hint(text: str) -> int | str:
    """Read a number of records, or the word that does without."""
    if text == "unknown":
        return text
    if text.isascii() and text.isdigit() and int(text[:16]) >= 1 and len(text) <= 16:
        return int(text)
    raise typer.BadParameter("give a whole number, at least 1, or the word unknown")


Data = Annotated[
    list[Path],
    typer.Argument(help="CSV, Parquet, Excel and other files, or folders of them.", metavar="DATA", show_default=False),
]
Separator = Annotated[
    str | None,
    typer.Option(help="Between the cells of a text file: one character, or tab.", metavar="CHARACTER"),
]
Encoding = Annotated[
    str | None, typer.Option(help="Of a text file, such as latin-1 or utf-16; found out by default.", metavar="NAME")
]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign of a text file: . or ,", metavar="SIGN")]
NaWords = Annotated[
    list[str] | None,
    typer.Option("--na", help="A word for missing values in place of the usual; repeat for more.", metavar="WORD"),
]
Records = Annotated[
    list[str],
    typer.Argument(
        help="CSV or Parquet files; folders or patterns of them (also of Feather or ORC files), which need not fit "
        'into memory; or a query to DuckDB: "duckdb:SELECT ..."',
        metavar="DATA",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model file.", metavar="MODEL", show_default=False)]
ModelOut = Annotated[Path, typer.Option("--out", "-o", help="The model file to write.", metavar="FILE")]
ReportPage = Annotated[bool, typer.Option("--report/--no-report", help="Also write the report page beside it.")]
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", "-s", help="What is public: a YAML or JSON file.", metavar="FILE", show_default=False),
]
Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="The privacy budget; smaller is more private.")]
Delta = Annotated[float, typer.Option("--delta", help="0 for pure epsilon; else far below 1 / number of people.")]
Learner = Annotated[
    str | None,
    typer.Option("--learner", "-l", help="The learner to use; `privet plan` lists them.", metavar="NAME"),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the learner; repeat for more.", metavar="NAME=VALUE"),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column to predict; by default the one that is not a feature.", metavar="NAME"
    ),
]
RowsHint = Annotated[
    Any,
    typer.Option(
        "--rows-hint",
        help="A public guess at the number of records, never checked, or: unknown. Without it, a small part of the "
        "budget buys a noisy number, where the learner needs one.",
        parser=read_rows_hint,
        metavar="N",
    ),
]
PublicSeed = Annotated[
    int | None,
    typer.Option("--public-seed", help="Seeds the public random choices, never the noise.", min=0, metavar="N"),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of threads or processes.", min=1)]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Full = Annotated[bool, typer.Option("--full", help="Show every release of the ledger, not one line a stage.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]

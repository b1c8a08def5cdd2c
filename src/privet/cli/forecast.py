"""``privet forecast``: what privacy would cost in accuracy, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Delta, Force, Json, Learner, SchemaFile, Settings
from privet.errors import ParameterError


def forecast(
    schema: SchemaFile = None,
    rows: Annotated[
        int | None, typer.Option("--rows", help="A public guess at the number of records.", min=1, metavar="N")
    ] = None,
    delta: Delta = 0.0,
    learner: Learner = None,
    settings: Settings = None,
    shares: Annotated[
        str | None,
        typer.Option("--shares", help="The classes' shares, if they are public: 0.76,0.24", metavar="NUMBERS"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a page with sliders for epsilon and rows.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Forecast the loss of accuracy over epsilon. Looks at the schema only; no data is read, nothing is spent.

    The learner is run on made-up records that are drawn from the schema, and what it loses there is translated into
    what it is likely to lose on real ones, with a band.

    Examples:

      privet forecast --schema schema.yaml --rows 20000

      privet forecast --schema schema.yaml --rows 20000 --delta 1e-6 -o forecast.html
    """
    from privet.cli.drafts import load_schema
    from privet.cli.learners import make_estimator

    if rows is None:
        raise ParameterError("a forecast needs a public guess at the number of records: give --rows, e.g. --rows 20000")
    if out is not None:
        refuse_overwriting(out, force, [] if schema is None else [schema])
    public = load_schema(schema)
    estimator = make_estimator(learner, settings or [], delta=delta, schema=public, n_rows_hint=rows)
    with working("forecasting"):
        found = estimator.forecast(shares=_numbers(shares))
    if out is not None:
        from privet.report.forecast_page import write_forecast

        write_forecast(found, out)
    if as_json:
        print_json(found.to_dict())
        return
    say(found.table())
    if out is not None:
        say(f"\nwrote {out}")


def _numbers(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--shares takes numbers between commas, such as 0.76,0.24; got {text!r:.60}") from None

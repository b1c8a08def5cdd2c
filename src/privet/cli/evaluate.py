"""``privet evaluate``: how often a model is right, or how far off its predictions are, and what that discloses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.console import note, print_json, print_table, refuse_overwriting, say, working, write_json
from privet.cli.options import Data, Force, Jobs, Json, ModelFile, Target

DISCLOSURE = (
    "A figure on private records is itself a disclosure: it was computed exactly, without noise, and no ledger "
    "covers it. Keep it where the data is, or measure on public records and say so with --public."
)


def evaluate(
    model: ModelFile,
    data: Data,
    target: Target = None,
    public: Annotated[
        bool, typer.Option("--public", help="State that these records are public, so that the figures may be, too.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the figures, for `privet report`.", metavar="FILE")
    ] = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Measure a model on records with known labels.

    Prints a classifier's accuracy or a regressor's errors, each beside what a constant guess would reach. Figures on
    private records are not private. They are rounded and printed with a warning and without the number of records, and
    they become part of a report page only if the records are public.

    Examples:

      privet evaluate model.json held_out.csv --public -o evaluation.json
    """
    import privet
    from privet.cli.data import read_labelled
    from privet.report.evaluation import measure

    if out is not None:
        refuse_overwriting(out, force)
    estimator = privet.load(model)
    estimator.set_params(n_jobs=jobs)
    with working("reading"):
        frame, name = read_labelled(data, estimator.schema_, target)
    with working("predicting"):
        evaluation = measure(
            estimator, frame.drop(columns=name), frame[name], data=", ".join(path.name for path in data), public=public
        )
    if out is not None:
        write_json(evaluation.to_dict(), out)
    if as_json:
        print_json(evaluation.to_dict())
    else:
        print_table(("measure", "value"), evaluation.figures())
        if out is not None:
            say(f"\nwrote {out}")
    if not public:
        note(DISCLOSURE)

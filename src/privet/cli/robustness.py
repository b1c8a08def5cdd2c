"""``privet robustness``: what accuracy is guaranteed whatever poisoners do to the training data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import (
    Data,
    Delta,
    Force,
    Jobs,
    Json,
    Learner,
    PublicSeed,
    RowsHint,
    SchemaFile,
    Settings,
    Target,
)
from privet.errors import ParameterError


def robustness(
    data: Data,
    test: Annotated[
        Path,
        typer.Option("--test", help="Records to measure the accuracy on; no poisoner reaches them.", metavar="FILE"),
    ],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The privacy budget; smaller is more robust.", show_default=False)
    ],
    schema: SchemaFile = None,
    delta: Delta = 0.0,
    learner: Learner = None,
    settings: Settings = None,
    target: Target = None,
    poisoned: Annotated[
        list[str] | None,
        typer.Option(help="How many poisoners: a number, or a share such as 0.5%; repeat for more.", metavar="N"),
    ] = None,
    change: Annotated[
        str, typer.Option(help="What each does to a record (or unit): added_or_removed, modified, relabelled.")
    ] = "added_or_removed",
    group: Annotated[int, typer.Option(help="Records (or units) that each poisoner controls.", min=1)] = 1,
    retrainings: Annotated[int, typer.Option(help="More of them certify against more poisoners.", min=20)] = 1000,
    confidence: Annotated[float, typer.Option(help="The confidence with which all lines hold together.")] = 0.95,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Also draw the certificates, e.g. to curve.svg.", metavar="FILE")
    ] = None,
    rows_hint: RowsHint = None,
    public_seed: PublicSeed = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Certify the accuracy that remains whatever poisoners do to the training data.

    The learner is trained many times on the data. The certificate is not itself a private release: keep it with the
    data.

    Examples:

      privet robustness people.csv --test held_out.csv --schema schema.yaml --epsilon 0.1 --poisoned 10 --poisoned 0.1%
    """
    from privet.cli.data import read_labelled
    from privet.cli.drafts import load_schema
    from privet.cli.learners import make_estimator
    from privet.robustness import certify
    from privet.schema.domains import Numeric

    public = load_schema(schema)
    if isinstance(public.target, Numeric):
        raise ParameterError(
            "a regression target has no accuracy that could be certified; certify a score of your own in Python, with "
            "privet.robustness.certify(..., score=...)"
        )
    if plot is not None:
        refuse_overwriting(plot, force)
    numbers = [_poisoners(text) for text in poisoned or ["0.1%", "0.5%", "1%"]]
    own = {"epsilon": epsilon, "delta": delta, "schema": public, "n_rows_hint": rows_hint, "n_jobs": jobs}
    estimator = make_estimator(learner, settings or [], random_state=public_seed, **own)
    estimator.plan()  # reports invalid parameters before the data is read
    with working("reading"):
        frame, name = read_labelled(data, public, target)
        held_out, held_out_name = read_labelled([test], public, target)
    with working("retraining"):
        table = certify(
            estimator,
            frame.drop(columns=name),
            frame[name],
            held_out.drop(columns=held_out_name),
            held_out[held_out_name],
            poisoned=numbers,
            change=change,  # type: ignore[arg-type]  # checked there
            group=group,
            n_retrainings=retrainings,
            confidence=confidence,
        )
    if plot is not None:
        table.plot(plot)
    if as_json:
        print_json(table.to_dict())
    else:
        say(str(table))
        if plot is not None:
            say(f"\nwrote {plot}")


def _poisoners(text: str) -> int | float:
    """Read a number of poisoners, or a share with a percent sign or a decimal point."""
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return float(text) if "." in text else int(text)
    except ValueError as error:
        raise ParameterError(f"--poisoned takes a number or a share such as 0.5%, got {text!r}") from error

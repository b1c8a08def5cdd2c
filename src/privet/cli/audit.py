"""``privet audit``: try to refute a privacy claim."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working, write_json
from privet.cli.exits import Exit
from privet.cli.options import Delta, Force, Jobs, Json, SchemaFile, Settings


def audit(
    subject: Annotated[
        str,
        typer.Argument(
            help="A model file; a learner's name (with --schema); or file.py:function for any trainer.",
            metavar="SUBJECT",
            show_default=False,
        ),
    ],
    level: Annotated[str, typer.Option(help="quick: seconds to minutes; thorough: much longer.")] = "quick",
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="The claimed epsilon, unless a model file states it.")
    ] = None,
    delta: Delta = 0.0,
    neighbours: Annotated[
        str | None, typer.Option(help="The claimed neighbours, for your own trainer.", metavar="RELATION")
    ] = None,
    schema: SchemaFile = None,
    settings: Settings = None,
    python: Annotated[
        Path | None, typer.Option(help="Another environment's interpreter, for your own trainer.", metavar="FILE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the findings, for `privet report`.", metavar="FILE")
    ] = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Try to refute a claim: exactly on a tiny schema, by the ledger, and by training on neighbouring data sets.

    All data is made up: none of yours is read, and nothing is spent. "Not refuted" is not a proof. The exit code is 6
    if the claim is refuted.

    Examples:

      privet audit model.json

      privet audit RandomDecisionForest --schema schema.yaml --epsilon 1 --level thorough -o audit.json

      privet audit trainer.py:train --epsilon 1 --neighbours add_remove
    """
    from privet.audit.whole import audit as run_audit

    if out is not None:
        refuse_overwriting(out, force)
    os.environ.pop("PRIVET_BUDGET", None)  # all data is made up, so nobody's account pays for it
    audited = _subject(subject, epsilon, delta, schema, settings or [])
    # A trainer from elsewhere states no claim itself.
    foreign = {"epsilon": epsilon, "delta": delta, "relation": neighbours, "python": python}
    claim: dict[str, Any] = foreign if isinstance(audited, str) else {}
    with working("auditing"):
        found = run_audit(audited, level, n_jobs=jobs, **claim)  # type: ignore[arg-type]  # checked there
    if out is not None:
        write_json(found.to_dict(), out)
    if as_json:
        print_json(found.to_dict())
    else:
        say(str(found))
        if out is not None:
            say(f"\nwrote {out}")
    if found.refuted:
        raise typer.Exit(Exit.REFUTED)


def _subject(subject: str, epsilon: float | None, delta: float, schema: Path | None, settings: list[str]) -> Any:
    """Return what to audit: an estimator, or the location of a trainer."""
    if ".py:" in subject:
        return subject
    if subject.endswith(".json"):
        import privet

        return privet.load(subject)
    from privet.cli.drafts import load_schema
    from privet.cli.learners import find_learner, make_estimator

    find_learner(subject)  # a misspelt name is reported before a missing schema
    own = {"epsilon": 1.0 if epsilon is None else epsilon, "delta": delta, "schema": load_schema(schema)}
    return make_estimator(subject, settings, **own)

"""``privet report``: one page about a model, for those who must sign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Force, Json, ModelFile


def report(
    model: ModelFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The page; by default beside the model.", metavar="FILE")
    ] = None,
    evaluation: Annotated[
        Path | None, typer.Option(help="Figures by `privet evaluate --public -o`.", metavar="FILE")
    ] = None,
    audit: Annotated[Path | None, typer.Option(help="Findings by `privet audit -o`.", metavar="FILE")] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write a page about a model: what it learned, what is guaranteed, where the budget went.

    The page is one HTML file that needs no network and may be published with the model.

    Examples:

      privet report model.json -o model.html

      privet report model.json --evaluation evaluation.json --audit audit.json
    """
    import privet
    from privet.report import write_report
    from privet.report.evidence import read_audit, read_evaluation

    path = model.with_suffix(".html") if out is None else out
    refuse_overwriting(path, force, [model, *(given for given in (evaluation, audit) if given is not None)])
    estimator = privet.load(model)
    with working("writing"):
        write_report(
            estimator,
            path,
            evaluation=None if evaluation is None else read_evaluation(evaluation),
            audit=None if audit is None else read_audit(audit),
        )
    if as_json:
        print_json({"model": str(model), "report": str(path)})
    else:
        say(f"wrote {path}")

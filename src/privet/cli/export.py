"""``privet export``: a model in other tools' formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Force, Json, ModelFile


def export(
    model: ModelFile,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The .onnx file to write.", metavar="FILE")] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write a model as ONNX, with one input for each feature. Its metadata states the guarantee.

    Examples:

      privet export model.json -o model.onnx
    """
    import privet
    from privet.exports import to_onnx
    from privet.writing import replace_bytes

    path = model.with_suffix(".onnx") if out is None else out
    refuse_overwriting(path, force)
    estimator = privet.load(model)
    with working("exporting"):
        replace_bytes(path, to_onnx(estimator))
    if as_json:
        print_json({"model": str(model), "onnx": str(path)})
    else:
        say(f"wrote {path}")

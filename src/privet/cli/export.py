"""``privet export``: a model in other tools' formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Force, Json, ModelFile


class Format(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    sql = "sql"
    python = "python"
    javascript = "javascript"
    mlflow = "mlflow"


_SUFFIXES = {Format.onnx: ".onnx", Format.sql: ".sql", Format.python: ".py", Format.javascript: ".js"}
_FORMATS = {
    **{suffix: kind for kind, suffix in _SUFFIXES.items()},
    ".mjs": Format.javascript,
    ".cjs": Format.javascript,
}


def export(
    model: ModelFile,
    to: Annotated[
        Format | None, typer.Option("--to", help="The format; by default what the name of the file says, else ONNX.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file to write; for MLflow, the folder.", metavar="FILE")
    ] = None,
    table: Annotated[str, typer.Option(help="For SQL: the table to score.", metavar="NAME")] = "records",
    keep: Annotated[
        list[str] | None,
        typer.Option(help="For SQL: a column to hand on, such as a key; repeat for more. Else all.", metavar="NAME"),
    ] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Write a model for other tools: ONNX, SQL, plain Python, plain JavaScript, MLflow. Each states the guarantee.

    Examples:

      privet export model.json -o model.onnx

      privet export model.json --to sql --table people --keep id -o score.sql

      privet export model.json --to javascript
    """
    import privet
    from privet.errors import ParameterError
    from privet.writing import replace_bytes

    kind = to or _FORMATS.get("" if out is None else out.suffix.lower(), Format.onnx)
    if kind is not Format.sql and (keep or table != "records"):
        raise ParameterError(f"--table and --keep are for SQL, and {kind} has neither; leave them out")
    path = _default(model, kind) if out is None else out
    refuse_overwriting(path, force and kind is not Format.mlflow, [model])
    estimator = privet.load(model)
    with working("exporting"):
        if kind is Format.mlflow:
            from privet.exports.mlflow_flavour import save_model

            save_model(estimator, path)
        else:
            replace_bytes(path, _content(estimator, kind, table, keep))
    if as_json:
        print_json({"model": str(model), str(kind): str(path)})
    else:
        say(f"wrote {path}")


def _default(model: Path, kind: Format) -> Path:
    return model.with_suffix(_SUFFIXES[kind]) if kind in _SUFFIXES else model.with_name(f"{model.stem}_mlflow")


def _content(estimator: Any, kind: Format, table: str, keep: list[str] | None) -> bytes:
    from privet.exports import to_javascript, to_onnx, to_python, to_sql

    match kind:
        case Format.sql:
            return to_sql(estimator, table, keep).encode()
        case Format.python:
            return to_python(estimator).encode()
        case Format.javascript:
            return to_javascript(estimator).encode()
        case _:
            return to_onnx(estimator)

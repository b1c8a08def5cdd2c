"""``privet schema``: draft what is public, and check a table against it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from privet.cli.console import note, print_json, print_table, refuse_overwriting, say
from privet.cli.exits import Exit
from privet.cli.options import Decimal, Encoding, Force, Json, NaWords, Records, Separator, Target

app = typer.Typer(help="Say what is public: draft a schema, check a table against it.", no_args_is_help=True)

MOST_ROWS_FOR_TYPES = 1_000  # read from a CSV file to guess its types


@app.command()
def init(
    data: Records,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.", metavar="NAME")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The schema to write.", metavar="FILE")] = Path(
        "schema.yaml"
    ),
    task: Annotated[
        str | None,
        typer.Option(help="What the target is: classification or regression; by default as its type suggests."),
    ] = None,
    unsafe_infer: Annotated[
        bool,
        typer.Option("--unsafe-infer", help="Read bounds and categories off the data. Nothing is guaranteed then."),
    ] = False,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    ask: Annotated[bool, typer.Option("--ask/--no-ask", help="Ask for bounds and categories on a terminal.")] = True,
    force: Force = False,
) -> None:
    """Draft a schema from the names and types of columns.

    Says what each column was taken for: numbers, dates, truth values, categories, identifiers and free text, of which
    the last two are not used. Every bound and category is left for you to fill in, from public knowledge and not from
    the data. An unfinished draft cannot be used. On a terminal you are asked for each of them, and can give a column
    another type or leave it out; an empty answer leaves one for later.

    Examples:

      privet schema init people.csv --target income -o schema.yaml

      privet schema init houses.csv --target price --task regression -o schema.yaml

      privet schema init visits/ --target returned -o schema.yaml

      privet schema init people.parquet --target income --unsafe-infer -o guess.yaml
    """
    from privet.cli.drafts import draft
    from privet.cli.questions import MARK
    from privet.cli.undeclared import undeclared_columns, undeclared_records
    from privet.errors import SchemaError
    from privet.frames.text_forms import TextOptions
    from privet.parameters import check_choice
    from privet.schema.schema import Schema, Task
    from privet.writing import replace_text

    kind = None if task is None else cast(Task, check_choice("--task", task, get_args(Task)))
    if out.suffix.lower() not in (".yaml", ".yml"):
        raise SchemaError(f"{out}: a draft is YAML; end the name in .yaml")
    refuse_overwriting(out, force, [*map(Path, data)])
    form = TextOptions.of(separator, encoding, decimal, na)
    if unsafe_infer:
        Schema.infer(undeclared_records(data, form), target, task=kind).save(out)
        note("These bounds and categories were read off the data. The file says so, and so will every ledger:")
        note("models trained with it have no privacy guarantee, until a person replaces them by public knowledge.")
        say(f"wrote {out}")
        return
    interactive = ask and sys.stdin.isatty() and sys.stdout.isatty()
    question = _asked if interactive else None
    frame, guessed = undeclared_columns(data, MOST_ROWS_FOR_TYPES, form)
    text = draft(frame, target, task=kind, guessed=guessed, ask=question, tell=note)
    replace_text(out, text)
    say(f"wrote {out}")
    left = text.count(f": {MARK}")
    note(f"{left} entries are to be filled in: replace every {MARK}" if left else "nothing is left to be filled in")


def _asked(question: str) -> str:
    try:
        return str(typer.prompt(question, default="", show_default=False))
    except typer.Abort:  # an interrupt or the end of the input, told as everywhere
        raise KeyboardInterrupt from None


@app.command()
def check(
    schema_file: Annotated[Path, typer.Argument(help="The schema.", metavar="SCHEMA")],
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Files, folders, patterns or a query, as for `privet train`.", metavar="[DATA]..."),
    ] = None,
    target: Target = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    as_json: Json = False,
) -> None:
    """Check that a schema is finished and valid; if data is given, list all ways in which the data breaks it.

    Values that break the schema do not stop a training: they are clipped or mapped, one record at a time. The findings
    state facts about the records, so they are only for those who may see the data. The exit code is 6 if there are any.

    Examples:

      privet schema check schema.yaml

      privet schema check schema.yaml people.csv
    """
    from privet.cli.data import read_any
    from privet.cli.drafts import load_schema
    from privet.cli.tables import check_streamed, described_table, with_target
    from privet.frames.text_forms import TextOptions

    schema = load_schema(schema_file)
    content = {"schema": str(schema_file), "digest": schema.digest(), "inferred": schema.inferred}
    if not data:
        if as_json:
            print_json({**content, "findings": []})
        else:
            say(f"{schema_file}: valid, {len(schema.features)} features, digest {schema.digest()[:16]}")
            if schema.inferred:
                say(f"nothing can be guaranteed with it: {schema.inferred}")
        return
    form = TextOptions.of(separator, encoding, decimal, na)
    table = described_table(data, form)
    if table is None:
        findings = schema.check(*read_any([Path(place) for place in data], schema, target, form)).findings
    else:
        findings = tuple(check_streamed(with_target(table, schema, target), schema))
    # Counts of records are private, and nobody needs them to repair a table.
    rows = [(found.column, found.kind, found.message) for found in findings]
    if as_json:
        print_json({**content, "findings": [dict(zip(("column", "kind", "remedy"), row, strict=True)) for row in rows]})
    elif not findings:
        say(f"the data fits {schema_file}")
    else:
        print_table(("column", "finding", "what happens, what to do"), rows)
        note("This list states facts about the records: keep it where the data is.")
    if findings:
        raise typer.Exit(Exit.REFUTED)

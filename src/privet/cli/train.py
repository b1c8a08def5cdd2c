"""``privet train``: fit a learner on private data, write the model and its report page."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from privet.cli.console import note, print_json, refuse_overwriting, say, working
from privet.cli.options import (
    Decimal,
    Delta,
    Encoding,
    Force,
    Full,
    Jobs,
    Json,
    Learner,
    NaWords,
    PublicSeed,
    Records,
    RowsHint,
    SchemaFile,
    Separator,
    Settings,
    Target,
)
from privet.cli.spending import BudgetAddress, Dataset, Purpose, charged_to, what_is_left

HINT = (
    "privet: hint: labels and values that the schema does not know are left out or mapped, and a training cannot say "
    "so; run `privet schema check {schema} {data}` first"
)


def train(
    data: Records,
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The privacy budget; smaller is more private.", show_default=False)
    ],
    schema: SchemaFile = None,
    delta: Delta = 0.0,
    learner: Learner = None,
    settings: Settings = None,
    target: Target = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write.", metavar="FILE")] = Path(
        "model.json"
    ),
    page: Annotated[bool, typer.Option("--report/--no-report", help="Also write the report page beside it.")] = True,
    rows_hint: RowsHint = None,
    public_seed: PublicSeed = None,
    budget: BudgetAddress = None,
    dataset: Dataset = None,
    purpose: Purpose = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    jobs: Jobs = 1,
    full: Full = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Train a private model and print what was spent on what.

    The data is one table: files, or a folder of Parquet files or a query, which need not fit into memory and are read
    by all cores. Its columns are the schema's features, the unit if the schema names one, and the column to predict. A
    mistake in names is found before anything is spent.

    Examples:

      privet train people.csv --schema schema.yaml --epsilon 1 -o model.json

      privet train people.csv --schema schema.yaml --epsilon 1 --budget hospital.db --dataset patients

      privet train "duckdb:SELECT * FROM 'visits/*.parquet' WHERE year = 2024" --schema schema.yaml --epsilon 1

      privet train parts/ --schema schema.yaml --epsilon 1 --learner RandomDecisionForest --set max_depth=6
    """
    from privet.cli.data import read_labelled
    from privet.cli.drafts import load_schema
    from privet.cli.learners import make_estimator
    from privet.cli.tables import described_table, with_target
    from privet.errors import ParameterError
    from privet.frames.text_forms import TextOptions
    from privet.privacy.text import guarantee_as_data
    from privet.writing import replacing

    public, form = load_schema(schema), TextOptions.of(separator, encoding, decimal, na)
    inputs = [*map(Path, data), *([] if schema is None else [schema])]
    refuse_overwriting(out, force, inputs)
    page_path = out.with_suffix(".html")
    if page:
        if page_path == out:
            raise ParameterError(f"{out} is where the report page goes; end the model's name in .json, or --no-report")
        refuse_overwriting(page_path, force, inputs)
    own = {"epsilon": epsilon, "delta": delta, "schema": public, "n_rows_hint": rows_hint, "n_jobs": jobs}
    estimator = make_estimator(learner, settings or [], random_state=public_seed, **own)
    estimator.plan()  # reports invalid parameters before the data is read
    table = described_table(data, form)
    if table is None:
        with working("reading"):
            frame, name = read_labelled([Path(path) for path in data], public, target, form)
    note(HINT.format(schema=schema, data=" ".join(map(quote, data))))
    # Both files are opened before anything is spent, and take the place of old ones when both are complete.
    with ExitStack() as files:
        page_beside = files.enter_context(replacing(page_path)) if page else None
        beside = files.enter_context(replacing(out))
        if table is None:
            with charged_to(budget, dataset, purpose), working("training"):
                estimator.fit(frame.drop(columns=name), frame[name])
        else:  # it shows its own progress
            with charged_to(budget, dataset, purpose):
                estimator.set_params(n_jobs=None if jobs == 1 else jobs).fit(with_target(table, public, target))
        with working("writing"), _rescuing(estimator, out):
            estimator.save(beside)
            if page_beside is not None:
                from privet.report import write_report

                write_report(estimator, page_beside)
    ledger = estimator.privacy_
    if as_json:
        print_json(
            {
                "learner": type(estimator).__name__,
                "why": getattr(estimator, "why_", None),
                "model": str(out),
                "report": str(page_path) if page else None,
                **guarantee_as_data(ledger),
                "privacy": ledger.to_dict(),
            }
        )
        return
    if hasattr(estimator, "why_"):
        say(f"{estimator.why_}\n")
    say(ledger.table(full=full))
    say()
    say(f"model:  {out}")
    if page:
        say(f"report: {page_path}")
    for line in what_is_left(estimator):
        say(f"budget: {line}")


@contextmanager
def _rescuing(estimator: Any, wanted: Path) -> Iterator[None]:
    """Write a model that was paid for elsewhere if the block cannot write it; the error is raised nevertheless."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="privet-"))
            elsewhere = folder / f"{wanted.stem or 'model'}.json"
            try:
                estimator.save(elsewhere)
            except OSError:
                folder.rmdir()
                raise
            note(f"privet: the budget was spent, so the model was written to {elsewhere} instead; move it from there")
        raise

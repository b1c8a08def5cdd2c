"""``privet train``: fit a learner on private data, write the model and its report page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privet.cli.options import (
    Decimal,
    Delta,
    Encoding,
    Force,
    Full,
    Jobs,
    Json,
    Learner,
    ModelOut,
    NaWords,
    PublicSeed,
    Records,
    ReportPage,
    RowsHint,
    SchemaFile,
    Separator,
    Settings,
    Target,
)
from privet.cli.spending import BudgetAddress, Dataset, Purpose, charged_to


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
    out: ModelOut = Path("model.json"),
    page: ReportPage = True,
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
    from privet.cli.drafts import load_schema
    from privet.cli.learners import make_estimator
    from privet.cli.trained import Labelled, ModelFiles, say_trained
    from privet.frames.text_forms import TextOptions

    public, form = load_schema(schema), TextOptions.of(separator, encoding, decimal, na)
    inputs = [*map(Path, data), *([] if schema is None else [schema])]
    files = ModelFiles.checked(out, page, force, inputs)
    own = {"epsilon": epsilon, "delta": delta, "schema": public, "n_rows_hint": rows_hint, "n_jobs": jobs}
    estimator = make_estimator(learner, settings or [], random_state=public_seed, **own)
    estimator.plan()  # reports invalid parameters before the data is read
    records = Labelled.read(data, public, target, form, schema)
    with files.opened() as write:  # before anything is spent
        with charged_to(budget, dataset, purpose):
            records.train(estimator, jobs)
        write(estimator)
    why = getattr(estimator, "why_", None)
    facts = {"learner": type(estimator).__name__, "why": why}
    say_trained(estimator, files, why, facts, as_json=as_json, full=full)

"""``privet tune``: choose among learners and settings by private records, for one charge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privet.cli.console import note, print_json, say
from privet.cli.options import (
    Decimal,
    Delta,
    Encoding,
    Force,
    Full,
    Jobs,
    Json,
    ModelOut,
    NaWords,
    PublicSeed,
    Records,
    ReportPage,
    RowsHint,
    SchemaFile,
    Separator,
    Target,
)
from privet.cli.spending import BudgetAddress, Dataset, Purpose, charged_to
from privet.errors import ParameterError

if TYPE_CHECKING:
    from privet.schema.schema import Schema
    from privet.tuning import PrivateSearch

ADVICE = (
    "privet: remark: tuning mostly does not pay: in most measurements one training with the defaults and the whole "
    "budget was more accurate (docs/tuning.md); try `privet train` first"
)


def tune(
    data: Records,
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="The privacy budget of the whole search.", show_default=False),
    ],
    schema: SchemaFile = None,
    delta: Delta = 0.0,
    learners: Annotated[
        list[str] | None,
        typer.Option("--learner", "-l", help="A learner to try; repeat for more.", metavar="NAME"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            help="A parameter of all these learners, and the values to try; repeat for more, and all combinations "
            "are tried.",
            metavar="NAME=VALUE,VALUE",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="held_out, or random_stopping, whose price does not grow with the number of candidates but whose "
            "running time shows how many trials there were.",
            metavar="NAME",
        ),
    ] = "held_out",
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What decides: accuracy, balanced_accuracy, or absolute_error; by default accuracy, or the error of "
            "regressors.",
            metavar="NAME",
        ),
    ] = None,
    refit: Annotated[
        float, typer.Option(help="The part of the budget for the winner's last training, on all records.")
    ] = 0.75,
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what the search will cost, and end: nothing is read or spent.")
    ] = False,
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
    """Choose among learners and settings by private records, and write the winner.

    Mostly this does not pay: the candidates share the budget, and in most measurements one training with the defaults
    and all of it was more accurate. Try `privet train` first, which chooses from public facts for nothing.

    The budget is that of all trainings, the choice, and the winner's last training, and is charged once. Nothing about
    the candidates that lose comes out, and no score of the winner: measure it with `privet evaluate`, on other records.

    Examples:

      privet tune people.csv --schema schema.yaml --epsilon 1 --learner boosting --learner privatree --plan

      privet tune people.csv --schema schema.yaml --epsilon 1 --learner boosting --learner privatree -o model.json

      privet tune people.csv --schema schema.yaml --epsilon 1 --learner privatree --setting max_depth=4,6,8
    """
    from privet.cli.drafts import load_schema
    from privet.cli.trained import Labelled, ModelFiles, say_trained
    from privet.frames.text_forms import TextOptions
    from privet.privacy.text import guarantee_as_data, guarantee_in_words

    public, form = load_schema(schema), TextOptions.of(separator, encoding, decimal, na)
    search = _search(
        learners or [],
        settings or [],
        public,
        epsilon=epsilon,
        delta=delta,
        method=method,
        scoring=scoring,
        refit=refit,
        n_rows_hint=rows_hint,
        random_state=public_seed,
        n_jobs=jobs,
    )
    planned = search.plan()  # reports invalid parameters before the data is read
    note(ADVICE)
    if plan:
        if as_json:
            print_json({**guarantee_as_data(planned), "plan": planned.to_dict()})
        else:
            say(planned.table(full=full))
        return
    files = ModelFiles.checked(out, page, force, [*map(Path, data), *([] if schema is None else [schema])])
    note(f"privet: all trainings and the choice together will cost {guarantee_in_words(planned)}")
    records = Labelled.read(data, public, target, form, schema)
    with files.opened() as write:  # before anything is spent
        with charged_to(budget, dataset, purpose):
            records.train(search, jobs)
        write(search.best_estimator_)
    winner = type(search.best_estimator_).__name__
    chosen = {name: value for name, value in search.best_params_.items() if name != "estimator"}
    first = f"winner: {' '.join([winner, *(f'{name}={json.dumps(value)}' for name, value in chosen.items())])}"
    say_trained(search, files, first, {"learner": winner, "settings": chosen}, as_json=as_json, full=full)


def _search(learners: Sequence[str], settings: Sequence[str], schema: Schema, **own: Any) -> PrivateSearch:
    """Return a search among these learners with these settings; one without a choice is refused."""
    from sklearn.model_selection import ParameterGrid

    from privet.cli.learners import check_setting, find_learner
    from privet.tuning import PrivateSearch

    names: Sequence[str | None] = learners or [None]
    kinds = dict.fromkeys(find_learner(name, schema.target) for name in names)  # each of them once
    candidates = [kind() for kind in kinds]
    grid = dict(_values(text) for text in settings)
    for name in grid:
        for candidate in candidates:
            check_setting(name, type(candidate).__name__, candidate.get_params(deep=False))
    if len(candidates) * len(ParameterGrid(grid)) < 2:
        raise ParameterError(
            "there is one candidate only: name another with --learner, or give a setting several values, as in "
            "--setting max_depth=4,6; or use `privet train`"
        )
    return PrivateSearch(candidates, grid or None, schema=schema, **own)


def _values(text: str) -> tuple[str, list[Any]]:
    """Read NAME=VALUE,VALUE; values are JSON where they can be, and words otherwise."""
    from privet.cli.learners import read_value

    name, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise ParameterError(f"--setting takes NAME=VALUE,VALUE, got {text!r}; e.g. --setting max_depth=4,6")
    try:
        read = json.loads(f"[{values}]")
    except ValueError:
        read = [read_value(value) for value in values.split(",")]
    return name.strip().replace("-", "_"), read

"""``privet predict``: apply a model to a table. Spends nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Decimal, Encoding, Force, Jobs, Json, ModelFile, NaWords, Records, Separator


def predict(
    model: ModelFile,
    data: Records,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="A .csv or .parquet file; a folder for a folder; else standard output.", metavar="PATH"
        ),
    ] = None,
    shares: Annotated[
        bool, typer.Option("--proba", help="For classifiers: also a column for each class, with its share of the vote.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="For boosting: also the interval that noise alone stays within with this probability."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A further column to hand on, such as a key; repeat for more.", metavar="NAME"),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Predict the target for every record of a table: the class with its share of the vote, or a value in its range.

    Columns that the schema lists as ignored, that name the unit, or that are named with --keep come first, such as
    identifiers; others are left out. Texts that a spreadsheet would run as a formula have an apostrophe before them
    in a .csv file.

    A folder is predicted into another folder: one file of predictions for each file of the data, with the same name.
    Parquet files are read batch by batch.

    Examples:

      privet predict model.json new_people.csv -o predictions.csv

      privet predict model.json new_people.csv --proba --json

      privet predict model.json parts/ -o predictions/

      privet predict model.json new_people.csv --keep person_id -o predictions.csv

      privet predict prices.json new_houses.csv --interval 0.9
    """
    import privet
    from privet.cli.data import import_pandas, read_features, say_unused
    from privet.cli.folders import files_to_predict, predict_file, streamed_answers, write_answers
    from privet.cli.safe_text import printable, without_formulas
    from privet.cli.tables import described_table, known_rows
    from privet.errors import ParameterError, SchemaError
    from privet.frames.text_forms import TextOptions
    from privet.schema.domains import Numeric

    into_folder = out is not None and (out.is_dir() or not out.suffix)
    if out is not None and not into_folder:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ParameterError(f"{out}: predictions are written as .csv or .parquet; end the name in one of them")
        refuse_overwriting(out, force, [model, *map(Path, data)])
    files = list(files_to_predict(data, out, force)) if out is not None and into_folder else []
    estimator = privet.load(model)
    estimator.set_params(n_jobs=jobs)
    if shares and isinstance(estimator.schema_.target, Numeric):
        raise ParameterError(f"{model}: a regression model has no shares of a vote; leave out --proba")
    if interval is not None:
        _refuse_interval(estimator, shares)
    form = TextOptions.of(separator, encoding, decimal, na)
    if keep:
        estimator.schema_ = estimator.schema_.also_ignoring(keep)

    def answer(frame: Any, ids: Any) -> Any:
        for name in keep or ():
            if ids is None or (name not in ids.columns):
                raise SchemaError(f"--keep: the data has no column {name!r}; name one that it has, or leave it out")
        return _with_ids(ids, _answers(estimator, frame, shares, interval))

    if files:
        with working("predicting", len(files)) as advance:
            for file, beside in files:
                predict_file(estimator, file, beside, answer, form)
                advance(1)
        say(f"wrote {out}")
        return
    table = described_table(data, form)
    if table is None:
        with working("reading"):
            given = read_features([Path(place) for place in data], estimator.schema_, form)
        with working("predicting"):
            parts = iter([answer(*given)])
    else:
        say_unused(table.columns(estimator.schema_), estimator.schema_, None)
        parts = streamed_answers(estimator, table, answer)
    with working("predicting", known_rows(table)) as advance:
        parts = _counted(parts, advance)
        if as_json:
            answers = import_pandas().concat(parts, ignore_index=True)
            parts = iter([answers])
        if out is not None:
            write_answers(parts, out)
    if as_json:
        print_json(answers.to_dict(orient="list"))
    elif out is not None:
        say(f"wrote {out}")
    else:
        for number, part in enumerate(parts):
            text = without_formulas(part).to_csv(index=False, header=number == 0)
            typer.echo(printable(text) if sys.stdout.isatty() else text, nl=False)  # elsewhere it is data, and kept


def _counted(parts: Iterator[Any], advance: Callable[[int], None]) -> Iterator[Any]:
    for part in parts:
        yield part
        advance(len(part))


def _with_ids(ids: Any, answers: Any) -> Any:
    """Put the columns that name a record before its prediction."""
    from privet.cli.data import import_pandas

    if ids is None:
        return answers
    ids = ids.rename(columns=lambda name: f"{name} (given)" if name in answers.columns else name)
    return import_pandas().concat([ids.reset_index(drop=True), answers], axis=1)


def _answers(estimator: Any, frame: Any, shares: bool, interval: float | None) -> Any:
    """Return predictions: a value in the target's range, or a class with its share of the vote, or all shares."""
    from privet.cli.data import import_pandas

    pandas = import_pandas()
    if not hasattr(estimator, "classes_"):
        return _with_interval(estimator, frame, pandas.DataFrame({"prediction": estimator.predict(frame)}), interval)
    votes = estimator.predict_proba(frame)
    best = estimator.decided(votes)
    answers = {"prediction": estimator.classes_[best], "probability": votes[range(len(best)), best]}
    of_classes = {str(label): votes[:, place] for place, label in enumerate(estimator.classes_)} if shares else {}
    return _with_interval(estimator, frame, pandas.DataFrame({**answers, **of_classes}), interval)


def _with_interval(estimator: Any, frame: Any, answers: Any, interval: float | None) -> Any:
    if interval is not None:
        low, high = getattr(estimator, "learner_", estimator).noise_interval(frame, interval)
        for side, bounds in (("low", low), ("high", high)):
            several = bounds.ndim > 1
            names = [f"{label} {side}" for label in estimator.classes_] if several else [side]
            answers[names] = bounds.reshape(len(answers), -1)
    return answers


def _refuse_interval(estimator: Any, shares: bool) -> None:
    """Say why an interval cannot be given, before anything is read."""
    from privet.errors import ParameterError

    chosen = getattr(estimator, "learner_", estimator)  # of an estimator that chooses by itself
    if not hasattr(chosen, "noise_interval"):
        name = type(chosen).__name__
        raise ParameterError(f"{name} does not have noise intervals, boosting does; leave out --interval")
    if hasattr(estimator, "classes_") and not shares:
        raise ParameterError("intervals are for shares of the vote, not for classes; add --proba")

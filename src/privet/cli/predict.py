"""``privet predict``: apply a model to a table. Spends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Data, Decimal, Encoding, Force, Jobs, Json, ModelFile, NaWords, Separator


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .csv or .parquet file; else standard output.", metavar="FILE")
    ] = None,
    shares: Annotated[
        bool, typer.Option("--proba", help="For classifiers: also a column for each class, with its share of the vote.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="For boosting: also the interval that noise alone stays within with this probability."),
    ] = None,
    separator: Separator = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    na: NaWords = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Predict the target for every record of a table: the class with its share of the vote, or the number.

    Columns that the schema ignores or that name the unit, such as identifiers, come first; others are left out. Texts
    that a spreadsheet would run as a formula have an apostrophe before them in a .csv file.

    Examples:

      privet predict model.json new_people.csv -o predictions.csv

      privet predict model.json new_people.csv --proba --json

      privet predict prices.json new_houses.csv --interval 0.9
    """
    import privet
    from privet.cli.data import import_pandas, read_features
    from privet.cli.safe_text import without_formulas
    from privet.cli.text_forms import TextOptions
    from privet.errors import ParameterError
    from privet.schema.domains import Numeric
    from privet.writing import replacing

    if out is not None:
        if out.suffix.lower() not in (".csv", ".parquet"):
            raise ParameterError(f"{out}: predictions are written as .csv or .parquet; end the name in one of them")
        refuse_overwriting(out, force)
    estimator = privet.load(model)
    estimator.set_params(n_jobs=jobs)
    if shares and isinstance(estimator.schema_.target, Numeric):
        raise ParameterError(f"{model}: a regression model has no shares of a vote; leave out --proba")
    if interval is not None:
        _refuse_interval(estimator, shares)
    with working("reading"):
        form = TextOptions.of(separator, encoding, decimal, na)
        frame, ids = read_features(data, estimator.schema_, form)
    pandas = import_pandas()
    with working("predicting"):
        answers = _answers(estimator, frame, shares)
        if interval is not None:
            low, high = estimator.noise_interval(frame, interval)
            for side, bounds in (("low", low), ("high", high)):
                names = [f"{label} {side}" for label in estimator.classes_] if shares else [side]
                answers[names] = bounds.reshape(len(answers), -1)
        ids = ids.rename(columns=lambda name: f"{name} (given)" if name in answers.columns else name)
        answers = pandas.concat([ids.reset_index(drop=True), answers], axis=1)
    if as_json:
        print_json(answers.to_dict(orient="list"))
    if out is None:
        if not as_json:
            typer.echo(without_formulas(answers).to_csv(index=False), nl=False)
        return
    with replacing(out) as beside:
        if out.suffix.lower() == ".csv":
            without_formulas(answers).to_csv(beside, index=False)
        else:
            answers.to_parquet(beside, index=False)
    if not as_json:
        say(f"wrote {out}")


def _answers(estimator: Any, frame: Any, shares: bool) -> Any:
    """Return predictions: a number, or a class with its share of the vote and, if wanted, those of all classes."""
    from privet.cli.data import import_pandas

    pandas = import_pandas()
    if not hasattr(estimator, "classes_"):
        return pandas.DataFrame({"prediction": estimator.predict(frame)})
    votes = estimator.predict_proba(frame)
    best = votes.argmax(axis=1)
    answers = {"prediction": estimator.classes_[best], "probability": votes[range(len(best)), best]}
    of_classes = {str(label): votes[:, place] for place, label in enumerate(estimator.classes_)} if shares else {}
    return pandas.DataFrame({**answers, **of_classes})


def _refuse_interval(estimator: Any, shares: bool) -> None:
    """Say why an interval cannot be given, before anything is read."""
    from privet.errors import ParameterError

    if not hasattr(estimator, "noise_interval"):
        name = type(estimator).__name__
        raise ParameterError(f"{name} does not have noise intervals, boosting does; leave out --interval")
    if hasattr(estimator, "classes_") and not shares:
        raise ParameterError("intervals are for shares of the vote, not for classes; add --proba")

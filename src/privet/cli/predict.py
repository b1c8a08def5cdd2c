"""``privet predict``: apply a model to a table. Spends nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privet.cli.console import print_json, refuse_overwriting, say, working
from privet.cli.options import Data, Force, Jobs, Json, ModelFile


def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .csv or .parquet file; else standard output.", metavar="FILE")
    ] = None,
    shares: Annotated[
        bool, typer.Option("--proba", help="For classifiers: a column for each class, with its share of the vote.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(help="For boosting: also the interval that noise alone stays within with this probability."),
    ] = None,
    jobs: Jobs = 1,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Predict the target for every record of a table. Columns that the model does not use are left out.

    Examples:

      privet predict model.json new_people.csv -o predictions.csv

      privet predict model.json new_people.csv --proba --json

      privet predict prices.json new_houses.csv --interval 0.9
    """
    import privet
    from privet.cli.data import import_pandas, read_features
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
        frame = read_features(data, estimator.schema_)
    pandas = import_pandas()
    with working("predicting"):
        if shares:
            answers = pandas.DataFrame(estimator.predict_proba(frame), columns=[str(c) for c in estimator.classes_])
        else:
            answers = pandas.DataFrame({"prediction": estimator.predict(frame)})
        if interval is not None:
            low, high = estimator.noise_interval(frame, interval)
            for side, bounds in (("low", low), ("high", high)):
                names = [f"{label} {side}" for label in estimator.classes_] if shares else [side]
                answers[names] = bounds.reshape(len(answers), -1)
    if as_json:
        print_json(answers.to_dict(orient="list"))
    if out is None:
        if not as_json:
            typer.echo(answers.to_csv(index=False), nl=False)
        return
    with replacing(out) as beside:
        if out.suffix.lower() == ".csv":
            answers.to_csv(beside, index=False)
        else:
            answers.to_parquet(beside, index=False)
    if not as_json:
        say(f"wrote {out}")


def _refuse_interval(estimator: Any, shares: bool) -> None:
    """Say why an interval cannot be given, before anything is read."""
    from privet.errors import ParameterError

    if not hasattr(estimator, "noise_interval"):
        name = type(estimator).__name__
        raise ParameterError(f"{name} does not have noise intervals, boosting does; leave out --interval")
    if hasattr(estimator, "classes_") and not shares:
        raise ParameterError("intervals are for shares of the vote, not for classes; add --proba")

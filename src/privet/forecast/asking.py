"""The question: how accurate would a model be, before anything is spent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from privet.errors import LargeDeltaWarning, ParameterError, SchemaError
from privet.forecast.calibration import calibration_of, target_of
from privet.forecast.noise import Noise, noise_of
from privet.forecast.rehearsal import rehearse
from privet.forecast.result import Curve, Forecast, Row
from privet.parameters import check_rows_hint
from privet.schema.domains import Categorical
from privet.schema.schema import Schema

POINTS = 31  # of the curve over the signal
EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def forecast(
    estimator: Any,
    *,
    schema: Schema | None = None,
    n_rows_hint: int | None = None,
    shares: Sequence[float] | None = None,
    epsilons: Sequence[float] = EPSILONS,
) -> Forecast:
    """Forecast what privacy would cost in accuracy, from public facts alone.

    Parameters
    ----------
    estimator : estimator
        One of privet, with the parameters and the delta that a fit would have; its epsilon does not matter.
    schema : Schema, optional
        What is public; by default the estimator's.
    n_rows_hint : int, optional
        A public guess at the number of records; by default the estimator's. Its order of magnitude is enough.
    shares : sequence of float, optional
        The classes' shares in the order of the schema, if they are public, such as from a census.
    epsilons : sequence of float
        What to forecast for.

    Returns
    -------
    Forecast
        The expected loss below the twin without privacy at each epsilon, with a band; the smallest useful epsilon; the
        noise in people.

    Notes
    -----
    *Privacy.* No record is read, nothing is charged, and no budget is asked for: the learner is run on made-up records
    that are drawn from the schema. Whoever knows the schema and these parameters can repeat it.

    Examples
    --------
    >>> from privet import Numeric, PrivaTreeClassifier, Schema
    >>> schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["low", "high"])
    >>> found = forecast(PrivaTreeClassifier(schema=schema), n_rows_hint=20_000)
    >>> found.rows[0].expected > found.rows[-1].expected
    True
    """
    public = estimator.schema if schema is None else schema
    if not isinstance(public, Schema):
        raise ParameterError("forecast() needs to know what is public: pass schema=Schema(...)")
    estimator._check_target(public)
    n_rows = check_rows_hint(estimator.n_rows_hint if n_rows_hint is None else n_rows_hint)
    if n_rows is None:
        raise ParameterError("forecast() needs a public guess at the number of records: pass n_rows_hint=...")
    _check_shares(shares, public)
    plans = [_noise(estimator, public, n_rows, epsilon) for epsilon in epsilons]  # refuses what is not sound
    rehearsals = rehearse(estimator, public, n_rows, shares)
    n_classes = len(public.target.categories) if isinstance(public.target, Categorical) else 0
    calibration = calibration_of(estimator._calibrated_as(n_rows), target_of(n_classes))
    signals = np.geomspace(rehearsals.signals[0], rehearsals.signals[-1], POINTS)
    low, expected, high = (tuple(map(float, line)) for line in calibration.band(rehearsals.at(signals)))
    curve = Curve(tuple(map(float, signals)), low, expected, high)
    rows = tuple(
        Row(float(epsilon), *curve.at(n_rows * epsilon), noise) for epsilon, noise in zip(epsilons, plans, strict=True)
    )
    measure = "accuracy" if n_classes else "R2"
    return Forecast(
        type(estimator).__name__,
        n_rows,
        float(estimator.delta),
        measure,
        rows,
        curve,
        calibration,
        shares is not None,
        public.inferred,
    )


def _noise(estimator: Any, schema: Schema, n_rows: int, epsilon: float) -> Noise:
    asked = clone(estimator).set_params(epsilon=epsilon, schema=schema, n_rows_hint=n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeDeltaWarning)  # said when a fit is planned; here it would be said often
        return noise_of(asked.plan())


def _check_shares(shares: Sequence[float] | None, schema: Schema) -> None:
    if shares is None:
        return
    if not isinstance(schema.target, Categorical):
        raise SchemaError("shares= are of classes, and the schema's target is a numeric range: leave them out")
    classes = len(schema.target.categories)
    given = np.asarray(shares, np.float64)
    if given.shape != (classes,) or not np.isfinite(given).all() or (given <= 0).any():
        raise ParameterError(f"shares must be {classes} numbers above 0, one for each class of the schema")

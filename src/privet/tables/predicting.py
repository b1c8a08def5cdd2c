"""Predicting for tables that need not fit into memory. Spends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding
from privet.tables.described import Described
from privet.tables.piecewise import Reading
from privet.tables.reading import adapted


def predict(estimator: Any, X: Any, *, method: str = "predict") -> Iterator[NDArray[Any]]:
    """Predict for a table, batch by batch, in the order of its records.

    ``estimator.predict(table)`` gives the same predictions in one array. Here no more than a batch is in memory, of
    records and of predictions. (Where a forest draws classes at random, ``voting="probabilistic"``, its coins begin
    anew with each batch.)

    Parameters
    ----------
    estimator : fitted estimator
        One of privet's.
    X : table
        One of `privet.tables`, or anything else that ``fit`` takes as a table. Columns that the model does not use are
        not read.
    method : {"predict", "predict_proba"}
        Which method of the estimator to use.

    Yields
    ------
    array
        Predictions for some consecutive records.

    Examples
    --------
    >>> import numpy, polars, privet
    >>> from privet.tables import predict
    >>> schema = privet.Schema({"x": privet.Numeric(0, 1)}, classes=["low", "high"])
    >>> lazy = polars.LazyFrame({"x": numpy.arange(2000) / 2000})
    >>> labels = polars.when(polars.col("x") < 0.5).then(polars.lit("low")).otherwise(polars.lit("high"))
    >>> forest = privet.RandomDecisionForestClassifier(epsilon=2.0, schema=schema, random_state=0)
    >>> forest = forest.fit(lazy.with_columns(labels.alias("y")), "y")
    >>> sum(len(part) for part in predict(forest, lazy))
    2000
    """
    if method not in ("predict", "predict_proba"):
        raise ParameterError(f"method must be 'predict' or 'predict_proba', got {method!r}")
    table = X if isinstance(X, Described) else adapted(X)
    if table is None:
        raise ParameterError(f"cannot stream a {type(X).__name__}; call estimator.{method}(X)")
    reading = Reading(estimator.model_.encoding, None)
    return (getattr(estimator, method)(only_named(frame, reading)) for frame in table.frames(reading))


def encode_features(table: Described, encoding: Encoding) -> NDArray[np.unsignedinteger]:
    """Encode the features of all records: a byte or two for each value."""
    reading = Reading(encoding, None)
    nothing = np.zeros((encoding.n_features, 0), encoding.dtype)
    parts = [nothing, *(reading.encode_features(frame) for frame in table.frames(reading))]
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def only_named(frame: Any, reading: Reading) -> Any:
    """Leave out columns that were read for nothing, of which an estimator would have something to say."""
    import narwhals as nw

    return nw.from_native(frame, eager_only=True).select(*reading.columns).to_native()

"""Predicting where the records are: a column more for a frame of Dask or Spark. Spends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from privet.errors import ParameterError


def with_predictions(estimator: Any, frame: Any, column: str = "prediction") -> Any:
    """Return a frame of Dask or Spark with the model's predictions as one more column.

    Nothing is computed yet. The model travels to the workers, each partition is predicted where it is, and no record
    moves. privet must be installed where the workers run.

    Parameters
    ----------
    estimator : fitted estimator
        One of privet's.
    frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
        Records; columns that the model does not use stay as they are.
    column : str
        The name of the new column.

    Examples
    --------
    >>> privet.tables.with_predictions(model, session.table("patients"))  # doctest: +SKIP
    DataFrame[age: bigint, ward: string, prediction: string]
    """
    if column in list(frame.columns):
        raise ParameterError(f"the frame has a column {column!r} already; give the predictions another name")
    if hasattr(frame, "map_partitions"):
        from privet.tables.dask_table import empty_frame

        return frame.map_partitions(
            _predicted, estimator, column, meta=_predicted(empty_frame(frame), estimator, column)
        )
    if hasattr(frame, "mapInArrow"):
        return _on_spark(estimator, frame, column)
    raise ParameterError(f"expected a frame of Dask or Spark, got {type(frame).__name__}; call estimator.predict(X)")


def _predicted(frame: Any, estimator: Any, column: str) -> Any:
    """Predict one partition, which is a pandas frame."""
    answers = estimator.predict(frame[list(estimator.schema_.features)])
    return frame.assign(**{column: answers})


def _on_spark(estimator: Any, frame: Any, column: str) -> Any:
    import pyarrow as pa
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

    names, features = list(frame.columns), list(estimator.schema_.features)
    # Spark does not find columns with dots in their names here, so all travel under other names.
    numbers = [str(place) for place in range(len(names))]
    kinds = {"U": StringType(), "O": StringType(), "b": BooleanType(), "i": LongType(), "f": DoubleType()}
    kind = kinds[estimator.classes_.dtype.kind] if hasattr(estimator, "classes_") else DoubleType()
    numbered = frame.toDF(*numbers)

    def predict(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            answers = pa.array(estimator.predict(pa.Table.from_batches([batch]).rename_columns(names).select(features)))
            yield pa.RecordBatch.from_arrays([*batch.columns, answers], names=[*numbers, column])

    answered = StructType([*numbered.schema.fields, StructField(column, kind)])
    return numbered.mapInArrow(predict, answered).toDF(*names, column)

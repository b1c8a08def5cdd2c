"""A record's values determine its own codes, and do not affect those of any other record."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from privet.audit.report import Finding
from privet.audit.way_in.made_frames import columns_of, frame_of, labels_of
from privet.audit.way_in.watching import Arrived, arrive, finding, gathered
from privet.estimators.base import PrivateEstimator
from privet.mechanisms.release import secret_key
from privet.parameters import public_rng
from privet.schema.schema import Schema
from privet.tables.reading import encode_table

FLAW = "the codes of a record depend on other records"
RECORDS = 18  # enough for every value of a domain to occur once
Encoded = Callable[[Any, Any], Arrived]


def encoding_audit(estimator: PrivateEstimator, changes: int) -> list[Finding]:
    """Encode records alone and among others, and with one of them changed.

    Parameters
    ----------
    estimator : PrivateEstimator
        With a schema without a unit.
    changes : int
        How many times one record of a small frame is changed.
    """
    schema = estimator.schema
    assert schema is not None
    encoding = schema.encoding(estimator._learner().bins)

    def encoded(X: Any, y: Any) -> Arrived:  # the first step of fit; going through all of it each time would be slow
        return gathered(encode_table(schema, encoding, X, y, secret_key))

    return [
        finding("encoding: alone and together", FLAW, _alone_and_together(estimator, schema, encoded)),
        finding("encoding: one record changed", FLAW, _one_changed(schema, encoded, changes)),
        finding("encoding: values of any type", "values raise errors or warnings", _odd_values(schema, encoded)),
        finding("labels: alone and together", "the label of a record depends on others", _labels(schema, encoded)),
    ]


def _alone_and_together(estimator: PrivateEstimator, schema: Schema, encoded: Encoded) -> str:
    columns, labels = columns_of(schema, RECORDS, public_rng(0)), labels_of(schema, RECORDS)
    together = arrive(estimator, frame_of(schema, columns), labels)
    for row in range(RECORDS):
        alone = encoded(frame_of(schema, columns, [row]), labels[row : row + 1])
        if not np.array_equal(alone.records, together.records[row : row + 1]):
            return f"among others, record {row} of a made-up frame has other codes than alone"
    return ""


def _one_changed(schema: Schema, encoded: Encoded, changes: int) -> str:
    rng = public_rng(1)
    for _ in range(changes):
        n = int(rng.integers(2, 2 * RECORDS))
        columns, other = columns_of(schema, n, rng), columns_of(schema, n, rng)
        shuffle = rng.permutation(n).tolist()
        columns = {name: [values[place] for place in shuffle] for name, values in columns.items()}
        changed = int(rng.integers(n))
        mixed = {name: list(values) for name, values in columns.items()}
        for name in mixed:
            mixed[name][changed] = other[name][changed]
        before, after = (encoded(frame_of(schema, c), labels_of(schema, n)) for c in (columns, mixed))
        others = np.arange(n) != changed
        if len(before.records) != n or not np.array_equal(before.records[others], after.records[others]):
            return f"one of {n} records was changed, and the codes of another changed with it"
    return ""


def _odd_values(schema: Schema, encoded: Encoded) -> str:
    """Columns of objects may hold anything; no error or warning may depend on what they hold."""
    n = RECORDS + 10
    columns = columns_of(schema, n, public_rng(2), odd=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            together, *alone = (
                encoded(frame_of(schema, columns, rows, odd=True), labels_of(schema, len(rows)))
                for rows in (list(range(n)), *([row] for row in range(n)))
            )
        except Exception as problem:
            return f"values of a column of objects lead to a {type(problem).__name__}"
    if any(not np.array_equal(one.records[0, :-1], together.records[row, :-1]) for row, one in enumerate(alone)):
        return "in columns of objects, a record has other codes among others than alone"
    return ""


def _labels(schema: Schema, encoded: Encoded) -> str:
    """A record without a known label is left out, and does not affect the label of any other record."""
    columns, labels = columns_of(schema, RECORDS, public_rng(3)), labels_of(schema, RECORDS, unknown=True)
    together = encoded(frame_of(schema, columns), labels)
    alone = [encoded(frame_of(schema, columns, [row]), labels[row : row + 1]).records for row in range(RECORDS)]
    if not np.array_equal(np.concatenate(alone), together.records):
        return "records with unknown labels are not left out one by one"
    return ""

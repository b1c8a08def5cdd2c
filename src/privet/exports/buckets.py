"""Buckets of a public hash as columns, for databases, which do not know the hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from privet.errors import ParameterError
from privet.exports.scoring import scoring_of
from privet.frames.opening import open_frame, read_feature
from privet.schema.readings import Buckets


def bucket_column(feature: str) -> str:
    """Return the name of the column that holds a feature's buckets."""
    return f"{feature}_bucket"


def with_buckets(estimator: Any, frame: Any) -> Any:
    """Return a frame with one column more for each hashed feature: the bucket of each value, NULL where it is missing.

    A statement of `to_sql` reads these columns. A bucket follows from the value alone, so a database can keep a table
    of values and buckets, and join it. It is the first 8 bytes of BLAKE2b (with a digest of 8 bytes) of the value's
    text in UTF-8, as a number with the first byte leading, modulo the number of buckets; programs of `to_python` and
    `to_javascript` compute it themselves.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    frame : DataFrame
        A pandas or polars DataFrame or PyArrow Table that has the hashed columns; others need not be there.

    Examples
    --------
    >>> import numpy, pandas, privet
    >>> schema = privet.Schema({"postcode": privet.Hashed(8)}, classes=["no", "yes"])
    >>> people = pandas.DataFrame({"postcode": ["10115", "SW1A 1AA"] * 50})
    >>> tree = privet.PrivaTreeClassifier(epsilon=1.0, schema=schema).fit(people, ["no", "yes"] * 50)
    >>> with_buckets(tree, people[:2])["postcode_bucket"].tolist()
    [6, 1]
    """
    import narwhals as nw

    opened, native = open_frame(frame), nw.from_native(frame, eager_only=True)
    if opened.names is None:
        raise ParameterError("an array has no columns to add to; pass a frame with named columns")
    added = {}
    for feature in scoring_of(estimator).features:
        if isinstance(feature.reading, Buckets):
            opened.named(feature.name)
            values = feature.reading.values(read_feature(opened, opened.names.index(feature.name)))
            numbers = values.numbers().astype(np.float64)
            known = np.isfinite(numbers) if values.absent is None else np.isfinite(numbers) & ~values.absent
            cells = [int(number) if there else None for number, there in zip(numbers, known, strict=True)]
            added[bucket_column(feature.name)] = cells
    if native.implementation.is_pandas():
        import pandas

        return frame.assign(**{name: pandas.array(cells, dtype="Int64") for name, cells in added.items()})
    library = nw.get_native_namespace(native)
    made = [nw.new_series(name, cells, nw.Int64(), backend=library) for name, cells in added.items()]
    return native.with_columns(*made).to_native()

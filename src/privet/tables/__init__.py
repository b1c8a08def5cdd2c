"""Private data behind one small protocol: learners cannot tell one kind of table from another."""

import importlib
from typing import TYPE_CHECKING, Any

from privet.tables.features import FeatureView
from privet.tables.part import PartOf
from privet.tables.predicting import predict
from privet.tables.protocol import Block, Kernel, Table
from privet.tables.reading import MemoryTable

if TYPE_CHECKING:
    from privet.frames.text_forms import TextOptions
    from privet.tables.dask_table import DaskTable
    from privet.tables.duckdb_table import DuckDBTable
    from privet.tables.file_table import ParquetTable
    from privet.tables.predicting_there import with_predictions
    from privet.tables.spark_table import SparkTable

__all__ = [
    "Block",
    "DaskTable",
    "DuckDBTable",
    "FeatureView",
    "Kernel",
    "MemoryTable",
    "ParquetTable",
    "PartOf",
    "SparkTable",
    "Table",
    "TextOptions",
    "predict",
    "with_predictions",
]

# Tables of files and engines are loaded when they are asked for: most fits are on frames.
_HOMES = {
    "DaskTable": "privet.tables.dask_table",
    "DuckDBTable": "privet.tables.duckdb_table",
    "ParquetTable": "privet.tables.file_table",
    "SparkTable": "privet.tables.spark_table",
    "TextOptions": "privet.frames.text_forms",
    "with_predictions": "privet.tables.predicting_there",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'privet.tables' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value

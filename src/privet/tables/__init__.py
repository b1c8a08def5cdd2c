"""Private data behind one small protocol: learners cannot tell one kind of table from another."""

from privet.frames.text_forms import TextOptions
from privet.tables.dask_table import DaskTable
from privet.tables.duckdb_table import DuckDBTable
from privet.tables.features import FeatureView
from privet.tables.file_table import ParquetTable
from privet.tables.part import PartOf
from privet.tables.predicting import predict
from privet.tables.predicting_there import with_predictions
from privet.tables.protocol import Block, Kernel, Table
from privet.tables.reading import MemoryTable
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

"""Private data behind one small protocol: learners cannot tell one kind of table from another."""

from privet.tables.duckdb_table import DuckDBTable
from privet.tables.file_table import ParquetTable
from privet.tables.memory import MemoryTable
from privet.tables.part import PartOf
from privet.tables.protocol import Block, Kernel, Table

__all__ = ["Block", "DuckDBTable", "Kernel", "MemoryTable", "ParquetTable", "PartOf", "Table"]

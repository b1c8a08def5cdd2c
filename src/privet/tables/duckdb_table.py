"""What DuckDB can query: its own tables, files, and the databases that it attaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from privet.errors import ParameterError
from privet.tables.source import Layout
from privet.tables.streams import StreamTable, _tables

FAILED = (
    "the query failed while it was run; what DuckDB says may quote records, so it is not shown: run the query by itself"
)


class DuckDBTable(StreamTable):
    """The result of a DuckDB query, streamed: it need not fit into memory.

    Parameters
    ----------
    query : str or duckdb.DuckDBPyRelation
        A query in SQL, or a relation.
    connection : duckdb.DuckDBPyConnection, optional
        Where to run a query given in SQL, with whatever is attached there (PostgreSQL, SQLite, MySQL, ...); by default
        the connection of the module `duckdb` itself.
    target, schema, memory, spill, id, progress
        As for `ParquetTable`.

    Notes
    -----
    *Privacy.* The guarantee is for the records that the query returns. Where it joins or aggregates, one person may
    stand behind many of them: declare a unit. The query is run once for a fit, so its order does not matter. What
    DuckDB says of values that it cannot convert quotes them, so it is not passed on.

    Examples
    --------
    >>> import duckdb, privet
    >>> from privet.tables import DuckDBTable
    >>> schema = privet.Schema({"x": privet.Numeric(0, 1)}, classes=["low", "high"])
    >>> query = "SELECT i / 2000 AS x, CASE WHEN i < 1000 THEN 'low' ELSE 'high' END AS y FROM range(2000) AS t(i)"
    >>> table = DuckDBTable(query, target="y", schema=schema)
    >>> privet.RandomDecisionForestClassifier(epsilon=2.0, random_state=0).fit(table).predict([[0.1], [0.9]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, query: Any, connection: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.query = query
        self.connection = connection

    def layout(self) -> Layout:
        """Return the columns of the query's result."""
        return Layout("the query", self._relation().limit(0).to_arrow_table())

    def read(self, columns: Sequence[str], most_rows: int) -> Iterator[Any]:
        """Run the query."""
        import duckdb
        from pyarrow import ArrowException

        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        relation = self._relation().project(quoted)
        # The older name of the same method.
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        try:
            yield from _tables(read(most_rows))
        except (duckdb.Error, ArrowException, OSError):  # the reader passes errors of later batches on as the last one
            raise ParameterError(FAILED) from None

    def _relation(self) -> Any:
        if not isinstance(self.query, str):
            return self.query
        if find_spec("duckdb") is None:
            raise ParameterError("a query needs DuckDB; pip install 'privet[duckdb]'")
        import duckdb

        try:
            relation = (self.connection or duckdb).sql(self.query)
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.IOException) as error:
            # Of syntax, names, types and files: no record has been looked at.
            said = str(error).splitlines()[0]
            raise ParameterError(f"the query cannot be run: {said}; correct it") from None
        except duckdb.Error:  # some statements are run at once
            raise ParameterError(FAILED) from None
        if relation is None:
            raise ParameterError("the query returns no table; give a SELECT")
        return relation

"""What DuckDB can query: its own tables, files, and the databases that it attaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from privet.errors import ParameterError
from privet.tables.source import Layout
from privet.tables.streams import StreamTable, _tables


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
    stand behind many of them: declare a unit. The query is run once for a fit, so its order does not matter.

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
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        relation = self._relation().project(quoted)
        # The older name of the same method.
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
        return _tables(read(most_rows))

    def _relation(self) -> Any:
        if not isinstance(self.query, str):
            return self.query
        if find_spec("duckdb") is None:
            raise ParameterError("a query needs DuckDB; pip install 'privet[duckdb]'")
        import duckdb

        try:
            relation = (self.connection or duckdb).sql(self.query)
        except duckdb.Error as error:  # of names and types: nothing is run yet
            said = str(error).splitlines()[0]
            raise ParameterError(f"the query cannot be run: {said}; correct it") from None
        if relation is None:
            raise ParameterError("the query returns no table; give a SELECT")
        return relation

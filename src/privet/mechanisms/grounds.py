"""What a measurement stands on: whom it protects, by arguments or by a schema, and which accounts it is charged to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError, SchemaError
from privet.frames.opening import open_frame
from privet.mechanisms.release import Randomness, Release, noise_source, open_release, secret_key
from privet.parameters import check_choice, check_whole
from privet.privacy import budgets
from privet.privacy.events import Composition
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.schema import Neighbours, Schema
from privet.tables.described import Described
from privet.tables.reading import declared_accounts
from privet.tables.units import bound_rows, read_units

MOST_ROWS = 1_000_000  # of one unit
UNNAMED_COLUMN = "units"  # the name that stands in ledgers for a column without one


@dataclass(frozen=True)
class Said:
    """What the caller of a measurement said about whom it protects; None where nothing was said."""

    schema: Schema | None
    neighbours: Neighbours | None
    units: Any
    max_rows: int | None
    unit_column: str | None


@dataclass(frozen=True)
class Grounds:
    """Terms, units, budgets and noise of one measurement, all looked up when it begins.

    Attributes
    ----------
    terms : Terms
        Relation and unit.
    units : a column, optional
        The unit of each record; None if single records are protected, or if the records are a described table, which
        bounds its own units.
    schema : Schema, optional
        The one that was given, or that of a described table.
    charged : tuple of handles
        The budgets in force, and the accounts that the schemas name.
    noise : Randomness
        Where noise comes from.
    """

    terms: Terms
    units: Any
    schema: Schema | None
    charged: tuple[budgets.Handle, ...]
    noise: Randomness

    @staticmethod
    def of(said: Said, records: Any = None) -> Grounds:
        """Read what was said; `records` are the frame or the table, where the measurement has more than a column.

        *Privacy.* A table is about certain people, so the account that its own schema names is charged in any case.
        """
        charged, noise = budgets.in_force((), declared_accounts(said.schema, records)), noise_source()
        schema = _schema(said.schema, records)
        if schema is None:
            return Grounds(_terms(said), said.units, None, charged, noise)
        _refuse_contradictions(said, schema)
        units = said.units
        if schema.unit is not None and units is None and not isinstance(records, Described):
            if records is None:
                name = schema.unit.column
                raise ParameterError(f"the schema names units by the column {name!r}: pass it, units=frame[{name!r}]")
            units = open_frame(records).named(schema.unit.column)
        return Grounds(Terms.of(schema), units, schema, charged, noise)

    def rows_kept(self, content: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """Mark the records that take part: all of them, or no more of each unit than its maximum."""
        if self.units is None:
            return np.ones(len(content), np.bool_)
        read = read_units(self.units)
        if len(read.present) != len(content):
            raise ParameterError("units and records differ in number: pass the unit of each record")
        nothing = np.zeros(len(content), np.int32)
        return bound_rows(read, content[np.newaxis], nothing, self.terms.max_rows, secret_key())

    def open(self, allowance: Allowance, planned: Composition, what: str) -> Release:
        """Charge the budgets and open the release."""
        doubts = [*([self.schema.inferred] if self.schema is not None and self.schema.inferred else [])]
        stated = Ledger.stating(self.terms, allowance, planned, [*doubts, *self.noise.doubts])
        budgets.charge(self.charged, stated, what, {} if self.schema is None else {"schema": self.schema.digest()})
        return open_release(Ledger(self.terms, allowance, doubts, stated.cost), self.noise)


def _schema(given: Schema | None, records: Any) -> Schema | None:
    if given is not None and not isinstance(given, Schema):
        raise SchemaError(f"schema must be a privet.Schema, got {type(given).__name__}")
    of_table = records.schema if isinstance(records, Described) else None
    if given is not None and of_table is not None and given != of_table:
        raise SchemaError("the table has another schema than the one that was passed; pass the same, or leave it out")
    return of_table if given is None else given


def _terms(said: Said) -> Terms:
    neighbours, max_rows = said.neighbours or "add_remove", 1 if said.max_rows is None else said.max_rows
    check_choice("neighbours", neighbours, ("add_remove", "replace", "label"))
    check_whole("max_rows", max_rows, 1, MOST_ROWS)
    if said.units is None and max_rows > 1:
        raise ParameterError("max_rows is for units with several rows: pass units, the column that names them, too")
    if said.units is None:
        return Terms(neighbours)
    name = _name(said)
    return Terms(neighbours, max_rows, UNNAMED_COLUMN if name is None else name)


def _name(said: Said) -> str | None:
    """Return the name of the units' column: the one that was passed, or the column's own."""
    name = getattr(said.units, "name", None) if said.unit_column is None else said.unit_column
    return None if name is None else str(name)


def _refuse_contradictions(said: Said, schema: Schema) -> None:
    column, max_rows = (None, 1) if schema.unit is None else (schema.unit.column, schema.unit.max_rows)
    if schema.unit is None and said.units is not None:
        raise ParameterError("units were passed, but the schema protects single records; declare unit=Unit(...) there")
    for what, own, declared in (
        ("neighbours", said.neighbours, schema.neighbours),
        ("max_rows", said.max_rows, max_rows),
        ("unit_column", _name(said), column),
    ):
        if own is not None and own != declared:
            raise ParameterError(
                f"{what} is {own!r}, but the schema says {declared!r}; leave it out, or mend the schema"
            )

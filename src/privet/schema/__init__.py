"""What is public: domains, the schema, its files, and how values become codes."""

from privet.schema.category_domains import Boolean, DatePart, Hashed, Ordinal
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema, Unit
from privet.schema.whole_domains import Date, Integer

__all__ = [
    "Boolean",
    "Categorical",
    "Date",
    "DatePart",
    "Hashed",
    "Integer",
    "Numeric",
    "Ordinal",
    "Schema",
    "Unit",
]

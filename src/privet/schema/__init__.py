"""What is public: domains, the schema, its files, and how values become codes."""

from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema, Unit

__all__ = ["Categorical", "Numeric", "Schema", "Unit"]

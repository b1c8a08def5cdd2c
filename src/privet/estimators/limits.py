"""How large a schema may be, so that the file of a model that was fitted with it can be read back.

A reader of untrusted files needs limits, and a fit must not spend a budget on a model that no reader would accept. So
both ask the same question, the fit before it spends anything.
"""

from privet.errors import SchemaError
from privet.schema.category_domains import Hashed
from privet.schema.domains import Domain, Numeric
from privet.schema.schema import Schema

MOST_CELLS = 50_000_000  # of all grids together: 12,000 features at the finest grid that a learner has by itself
MOST_VALUES = 4_000_000  # names, bounds, categories and edges, each of which is a value in a file
_VALUES_OF_A_FEATURE = 8


def check_size(schema: Schema, bins: int) -> None:
    """Refuse a schema that would make a model's file too large to be read back.

    Raises
    ------
    SchemaError
        It depends on the schema alone, never on data.
    """
    domains = [*schema.features.values(), schema.target]
    cells = sum(_cells(domain, bins) for domain in schema.features.values())
    if cells > MOST_CELLS:
        raise SchemaError(
            f"the grids of all features have {cells:,} cells together, the most is {MOST_CELLS:,}: "
            "leave out features, or give them fewer bins"
        )
    values = sum(_values(domain) for domain in domains)
    if values > MOST_VALUES:
        raise SchemaError(
            f"the schema has {values:,} values, the most that a model file may have is {MOST_VALUES:,}: "
            "leave out features, or list fewer categories and declare other=True"
        )


def _cells(domain: Domain, bins: int) -> int:
    if isinstance(domain, Hashed):
        return domain.buckets
    if not isinstance(domain, Numeric):
        return 0
    return len(domain.edges) + 1 if domain.edges is not None else domain.bins or bins


def _values(domain: Domain) -> int:
    if isinstance(domain, Numeric):
        return _VALUES_OF_A_FEATURE + len(domain.edges or ())
    return _VALUES_OF_A_FEATURE + (0 if isinstance(domain, Hashed) else len(domain.categories))

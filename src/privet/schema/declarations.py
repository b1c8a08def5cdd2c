"""What a schema may declare: its features, its target and the columns that it names otherwise.

Each check says what is wrong and the remedy. Nothing here looks at data.
"""

from collections.abc import Collection, Iterable, Mapping

from privet.errors import SchemaError
from privet.schema.category_domains import DatePart, Hashed
from privet.schema.domains import Categorical, Domain, Numeric, has_surrogates, refuse
from privet.schema.whole_domains import Date

MAX_CLASSES = 1_000


def checked_features(features: Mapping[str, Domain]) -> Mapping[str, Domain]:
    """Return the features if all are declared well; parts of dates know how their dates are written."""
    if not isinstance(features, Mapping) or not features:
        raise SchemaError("features is empty; declare at least one, e.g. features={'age': Numeric(17, 90)}")
    for name, domain in features.items():
        if not isinstance(name, str) or not name or has_surrogates(name):
            raise SchemaError(f"feature names must be non-empty strings, got {name!r}; rename the column")
        if not isinstance(domain, Numeric | Categorical):
            raise SchemaError(
                f"feature {name!r} must be Numeric, Categorical or one of their kinds, got "
                f"{type(domain).__name__}; e.g. Numeric(0, 100)"
            )
        refuse(f"feature {name!r}", domain.problem())
    return _with_parts(features)


def _with_parts(features: Mapping[str, Domain]) -> Mapping[str, Domain]:
    """Tell the parts of dates how their dates are written."""
    made: dict[str, Domain] = {}
    for name, domain in features.items():
        if isinstance(domain, DatePart):
            source = features.get(domain.of)
            if not isinstance(source, Date):
                raise SchemaError(f"feature {name!r}: {domain.of!r} must be a Date feature of this schema; declare it")
            domain = domain.resolved(source)
        made[name] = domain
    return made


def problem_of_target_column(name: str | None, used: Collection[str]) -> str | None:
    """Return what is wrong with the name of the column to predict, beside those in use already; None if nothing is."""
    if name is None:
        return None
    if not isinstance(name, str) or not name or has_surrogates(name):
        return f"must be a column's name, got {name!r}; or leave it out"
    if name in used:
        return f"{name!r} is also a feature or the unit; drop it from there"
    return None


def checked_ignored(names: Iterable[str], used: Collection[str]) -> tuple[str, ...]:
    """Return the names of ignored columns as a tuple; none may be in use."""
    listed = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else tuple(names)
    for name in listed:
        if not isinstance(name, str) or not name or has_surrogates(name):
            raise SchemaError(f"ignored must list names of columns, got {name!r}; e.g. ignored=['id', 'notes']")
        if name in used:
            raise SchemaError(f"column {name!r} is ignored and used; drop it from one of the two")
    if len(set(listed)) < len(listed):
        raise SchemaError("ignored lists a column twice; list it once")
    return listed


def checked_target(target: Domain | None) -> Domain:
    """Return the target if it is one that can be predicted."""
    if target is None:
        raise SchemaError(
            "target is missing; pass target=Categorical([...]), classes=[...] or target=Numeric(low, high)"
        )
    if not isinstance(target, Numeric | Categorical):
        raise SchemaError(
            f"target must be Categorical or Numeric, got {type(target).__name__}; e.g. Categorical(['no', 'yes'])"
        )
    refuse("target", target.problem())
    if isinstance(target, Date | Hashed | DatePart):
        raise SchemaError(f"target cannot be {type(target).__name__}; declare it Categorical or Numeric")
    if target.missing or (isinstance(target, Categorical) and target.other):
        raise SchemaError("target cannot have other or missing; records with such a label are dropped: leave both out")
    if isinstance(target, Categorical):
        n_classes = len(target.categories)
        if n_classes < 2:
            raise SchemaError("target has one class; list every class that a record can have, at least two")
        if n_classes > MAX_CLASSES:
            raise SchemaError(
                f"target has {n_classes:,} classes, more than {MAX_CLASSES:,}; "
                "merge rare classes, or declare the target Numeric(low, high)"
            )
    return target

"""Fitting a pipeline on made-up records with stand-ins for its private estimators, and recording what reaches them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zlib import crc32

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from privet.audit.neighbour_pair import Record
from privet.errors import AuditError, ParameterError
from privet.estimators.base import PrivateEstimator
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.schema import Schema

RECORDS_PER_CLASS = 12  # more than the usual number of folds of a search
FIRST_ID = 1001
MOST_NESTING = 12  # of objects within objects, when looking for what was learned

Row = tuple[str, ...]  # a record as text, its label last
Data = tuple[Any, Any]
RecordChange = Literal["values replaced", "record replaced", "label replaced", "record added"]


@dataclass(frozen=True)
class Given:
    """What one fit of a private estimator was given.

    Attributes
    ----------
    columns : tuple of str
        The columns' names, or their numbers.
    rows : Counter
        How often each row occurred; if the schema has a unit, each unit's rows as a whole, bounded as a fit does.
    strange_labels : bool
        Whether there were labels that are not among the schema's classes, which a fit leaves out.
    """

    columns: tuple[str, ...]
    rows: Counter[Any]
    strange_labels: bool


@dataclass(frozen=True)
class Run:
    """One fit of the whole.

    Attributes
    ----------
    given : list of Given
        What its private estimators were given, fit by fit.
    learned : dict
        What else was learned, as text, by the step that holds it and the place there.
    transformers : set of str
        Which steps transform records.
    """

    given: list[Given]
    learned: dict[tuple[str, str], str]
    transformers: set[str]


def private_estimators(estimator: Any) -> list[PrivateEstimator]:
    """Return the private estimators inside, wherever a parameter holds one."""
    if not isinstance(estimator, BaseEstimator):
        raise AuditError(f"expected a scikit-learn estimator, got {type(estimator).__name__}; pass the whole pipeline")
    found = list(_inside_of(estimator))
    if not found:
        raise AuditError(f"there is no privet estimator in {type(estimator).__name__}, so there is no claim to look at")
    return found


def _inside_of(thing: Any) -> Iterator[PrivateEstimator]:
    if isinstance(thing, PrivateEstimator):
        yield thing
    elif isinstance(thing, BaseEstimator):
        yield from _inside_of(thing.get_params(deep=False))
    elif isinstance(thing, dict | list | tuple):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from _inside_of(part)


def run(estimator: Any, data: Data) -> Run | Exception:
    """Fit a copy of the whole with a stand-in for each private estimator; return the error if that fails."""
    given: list[Given] = []
    whole = _prepared(estimator, given)
    # In one process, since what workers are given would not be visible here.
    with warnings.catch_warnings(), joblib.parallel_config(backend="sequential"):
        warnings.simplefilter("ignore")
        try:
            whole.fit(*data)
        except Exception as error:  # an error that depends on a record is one of the things that are looked for
            return error
    finder = _Finder()
    return Run(given, dict(finder.learned(whole, type(whole).__name__, "")), finder.transformers)


def _prepared(thing: Any, given: list[Given]) -> Any:
    """Return a copy with stand-ins for private estimators, and with public randomness held fixed.

    Then all differences between two runs come from the records.
    """
    if isinstance(thing, PrivateEstimator):
        return _stand_in(thing, given)
    if isinstance(thing, BaseEstimator):
        twin = clone(thing)
        parameters = {name: _prepared(value, given) for name, value in twin.get_params(deep=False).items()}
        if "random_state" in parameters and parameters["random_state"] is None:
            parameters["random_state"] = 0
        return twin.set_params(**parameters)
    if isinstance(thing, dict):
        return {name: _prepared(part, given) for name, part in thing.items()}
    if type(thing) in (list, tuple):
        return type(thing)(_prepared(part, given) for part in thing)
    return thing


def _stand_in(private: PrivateEstimator, given: list[Given]) -> Any:
    """Return an estimator with the same parameters that learns nothing and records its input.

    Its predictions are a fixed function of the record to predict, whatever it was fitted on.
    """
    kind: Any = type(private)

    def fit(self: Any, X: Any, y: Any = None, **unsupported: Any) -> Any:
        if unsupported:
            raise ParameterError(f"fit() of a private estimator does not take {', '.join(sorted(unsupported))}")
        given.append(_note(self.schema, X, y))
        self.n_features_in_ = np.shape(X)[1]
        if isinstance(self.schema.target, Categorical):
            self.classes_ = np.array(self.schema.target.categories)
        return self

    def predict_proba(self: Any, X: Any) -> NDArray[np.float64]:
        shares = _answers(X)[:, np.newaxis] ** np.arange(len(self.classes_))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self: Any, X: Any) -> NDArray[Any]:
        target, shares = self.schema.target, _answers(X)
        if isinstance(target, Categorical):
            return np.asarray(self.classes_[(shares * len(self.classes_)).astype(int)])
        return np.asarray(target.low + shares * (target.high - target.low))

    methods: dict[str, Any] = {"fit": fit, "predict": predict, "__sklearn_is_fitted__": lambda self: True}
    if hasattr(kind, "predict_proba"):
        methods["predict_proba"] = predict_proba
        methods["_class_weights"] = lambda self: None  # there is no model to take them from
    return type(kind.__name__, (kind,), methods)(**private.get_params(deep=False))


def _answers(X: Any) -> NDArray[np.float64]:
    """Return a number of at least 0 and below 1 for each record, by its values alone."""
    rows = np.asarray(X, dtype=object)
    return np.array([crc32(repr(_as_text(row)).encode()) for row in rows]) / 2**32


def _note(schema: Any, X: Any, y: Any) -> Given:
    """Record what a fit was given; raise what a fit would raise."""
    if not isinstance(schema, Schema):
        raise AuditError("a private estimator has no schema, so its ledger claims nothing; give it one")
    unit, encoding = schema.unit, schema.encoding()
    encoding.encode(X, ignore=schema.named_columns)
    encoding.encode_target(y)
    labels = np.asarray(y, dtype=object).tolist()
    names = tuple(str(name) for name in getattr(X, "columns", range(np.shape(X)[1])))
    cells = np.asarray(X, dtype=object)
    strange = isinstance(schema.target, Categorical) and not set(labels) <= set(schema.target.categories)
    if unit is None:
        return Given(names, Counter(_as_text([*row, label]) for row, label in zip(cells, labels, strict=True)), strange)
    if unit.column not in names:
        raise AuditError(f"an array has no column called {unit.column!r}; pass a frame with named columns")
    place = names.index(unit.column)
    owned: dict[str, Counter[Row]] = {}
    for row, label in zip(cells, labels, strict=True):
        content = _as_text([*np.delete(row, place), label])
        owned.setdefault(str(row[place]), Counter())[content] += 1
    # A fit keeps at most `max_rows` rows of a unit; which of several equal rows it keeps makes no difference.
    bounded = {name: frozenset((row, min(n, unit.max_rows)) for row, n in rows.items()) for name, rows in owned.items()}
    return Given(names, Counter(bounded.items()), strange)


def _as_text(values: Sequence[Any]) -> Row:
    return tuple(f"{value:.9g}" if isinstance(value, float | np.floating) else str(value) for value in values)


class _Finder:
    """Finds everything that a fitted object holds, except in private estimators, which have ledgers."""

    def __init__(self) -> None:
        self.transformers: set[str] = set()
        self._seen: dict[int, Any] = {}

    def learned(self, thing: Any, step: str, place: str, depth: int = 0) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield what a thing holds, as text, by the step that holds it and the place there."""
        if isinstance(thing, PrivateEstimator) or depth > MOST_NESTING or id(thing) in self._seen:
            return
        if isinstance(thing, np.ndarray) and thing.dtype != object:
            numbers = np.char.mod("%.9g", thing) if thing.dtype.kind == "f" else thing
            yield (step, place), f"{thing.shape} {numbers.tolist()}"
            return
        if thing is None or isinstance(thing, str | bytes | int | float | complex | np.generic | type):
            yield (step, place), _as_text([thing])[0]
            return
        self._seen[id(thing)] = thing  # kept, so that no other object gets its id
        if isinstance(thing, BaseEstimator) and hasattr(thing, "transform"):
            self.transformers.add(step)
        for name, part in _parts(thing):
            inner, at = step, f"{place}.{name}".strip(".")
            if isinstance(part, BaseEstimator):
                inner, at = f"{at.rpartition('.')[2]} ({type(part).__name__})", ""
            yield from self.learned(part, inner, at, depth + 1)


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object by name: entries by key or number, named steps of a pipeline by their name."""
    if isinstance(thing, dict):
        yield from ((str(name), part) for name, part in thing.items())
    elif isinstance(thing, tuple) and len(thing) > 1 and isinstance(thing[0], str) and hasattr(thing[1], "get_params"):
        yield thing[0], thing[1]  # a step of a pipeline or of its like
        yield from (("", part) for part in thing[2:])
    elif isinstance(thing, list | tuple | set | frozenset | np.ndarray):
        yield from ((str(place) if len(thing) > 1 else "", part) for place, part in enumerate(thing))
    elif hasattr(thing, "__dict__"):
        yield from vars(thing).items()


def neighbours(schema: Schema) -> Iterator[tuple[RecordChange, Data, Data]]:
    """Yield pairs of neighbouring frames, made up from the schema: what changes, and the two data sets.

    Records lie well inside the bounds. The last one changes, to a record at the ends of the bounds.
    """
    features, target = list(schema.features.values()), schema.target
    labels = target.categories if isinstance(target, Categorical) else (target.low, target.high)
    usual = labels[:-1] if len(labels) > 2 else labels  # the last class is new to the data
    # A power of two: random indices are drawn by masking bits, so with one more record nearly all draws change.
    n = 1 << (RECORDS_PER_CLASS * len(usual) - 1).bit_length()
    *base, plain = (_record(features, target, usual, i, n) for i in range(n + 1))
    extreme = tuple(_end(domain) for domain in features)
    other = next(label for label in labels if label != plain[1])
    changes: list[tuple[RecordChange, Record]] = []
    if schema.neighbours == "label":
        changes.append(("label replaced", (plain[0], other)))
    else:
        changes += [("values replaced", (extreme, plain[1])), ("record replaced", (extreme, other))]
        if any(domain.missing for domain in features):
            missing = tuple(_missing(domain, value) for domain, value in zip(features, plain[0], strict=True))
            changes.append(("values replaced", (missing, plain[1])))
        if len(labels) > 2:
            changes.append(("record replaced", (extreme, labels[-1])))
    for change, record in changes:
        yield change, _frames(schema, [*base, plain]), _frames(schema, [*base, record])
    if schema.neighbours == "add_remove":
        for _, record in changes[:2]:
            yield "record added", _frames(schema, base), _frames(schema, [*base, record])


def _record(features: Sequence[Domain], target: Domain, usual: Sequence[Any], row: int, n: int) -> Record:
    values = tuple(_inside(domain, row, place) for place, domain in enumerate(features))
    if isinstance(target, Categorical):
        return values, usual[row % len(usual)]
    return values, target.low + (0.25 + 0.5 * row / n) * (target.high - target.low)


def _inside(domain: Domain, row: int, feature: int) -> Any:
    """A value well inside a domain, different for each row if the domain is wide enough."""
    if isinstance(domain, Categorical):
        common = max(1, len(domain.categories) - 1) if len(domain.categories) > 2 else len(domain.categories)
        return domain.categories[(row // (feature + 1)) % common]
    share = 0.25 + 0.5 * ((row + 1) * (0.6180339887 + 0.1 * feature) % 1)
    return domain.low + share * (domain.high - domain.low)


def _end(domain: Domain) -> Any:
    return domain.categories[-1] if isinstance(domain, Categorical) else domain.high


def _missing(domain: Domain, value: Any) -> Any:
    if not domain.missing:
        return value
    return np.nan if isinstance(domain, Numeric) else None


def _frames(schema: Schema, records: Sequence[Record]) -> Data:
    """Records as a frame and labels; the types come from the schema alone."""
    try:
        import pandas as pd
    except ImportError as error:
        raise AuditError("made-up frames are pandas frames; pip install pandas") from error

    columns = {
        name: pd.Series([row[place] for row, _ in records], dtype=_dtype(domain))
        for place, (name, domain) in enumerate(schema.features.items())
    }
    if schema.unit is not None:
        columns[schema.unit.column] = pd.Series(range(FIRST_ID, FIRST_ID + len(records)), dtype=np.int64)
    return pd.DataFrame(columns), np.array([label for _, label in records], dtype=_dtype(schema.target))


def _dtype(domain: Domain) -> Any:
    if isinstance(domain, Numeric):
        return np.float64
    whole = all(type(category) is int for category in domain.categories) and not domain.missing
    return np.int64 if whole else object

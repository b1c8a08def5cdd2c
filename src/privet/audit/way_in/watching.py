"""Go through `fit` from a frame, and look at what arrives at the learner."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from privet.audit.report import Finding
from privet.errors import UnsoundWarning
from privet.estimators.base import PrivateEstimator
from privet.estimators.learning import Learner
from privet.schema.schema import Schema
from privet.tables import Block, Table
from privet.tables.protocol import IntArray

PLACE_STATE = "place in the table"  # derived to check that state stays with its record


@dataclass(frozen=True)
class Arrived:
    """The records that arrived at a learner, in the order of their places in the table.

    Attributes
    ----------
    places : int64 array
        The place of every record that some block showed; each place occurs once if blocks are correct.
    records : int64 array of shape (n, n_features + 1)
        Its codes, then its encoded target.
    derived : int64 array
        The place as `Table.derive` kept it.
    n_blocks : int
        How many blocks there were.
    """

    places: IntArray
    records: IntArray
    derived: IntArray
    n_blocks: int

    def counted(self) -> Counter[tuple[int, ...]]:
        """Return how often each record arrived."""
        return Counter(map(tuple, self.records.tolist()))


@dataclass(frozen=True)
class Gather:
    """Kernel: keep what every block shows; nothing is added up."""

    shown: list[tuple[IntArray, IntArray, IntArray]] = field(default_factory=list)

    def __call__(self, block: Block) -> IntArray:
        """Keep the records of a block."""
        records = np.vstack([block.codes.astype(np.int64), block.target.astype(np.int64)[np.newaxis]]).T
        places = block.rows.astype(np.int64)
        self.shown.append((places, records, np.asarray(block.state.get(PLACE_STATE, places), dtype=np.int64)))
        return np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class OwnPlace:
    """Kernel: each record's place."""

    def __call__(self, block: Block) -> IntArray:
        """Return the place of each record of a block."""
        return block.rows.astype(np.int64)


def gathered(table: Table) -> Arrived:
    """Look at all records of a table, in all of its blocks."""
    gather = Gather()
    table.aggregate(gather)
    places, records, derived = (np.concatenate(parts) for parts in zip(*gather.shown, strict=True))
    order = np.argsort(places, kind="stable")
    return Arrived(places[order], records[order], derived[order], len(gather.shown))


class _Reached(BaseException):
    """The learner was reached; there is no need to grow anything."""

    def __init__(self, arrived: Any) -> None:
        super().__init__()
        self.arrived = arrived


class _Watching:
    """A learner that behaves like the original, but looks at its table instead of growing, and buys no count."""

    def __init__(self, original: Learner[Any], look: Callable[[Table], Any]) -> None:
        self._original, self._look = original, look

    def __getattr__(self, name: str) -> Any:
        if name == "uses_rows":
            raise AttributeError(name)
        return getattr(self._original, name)

    def grow(self, table: Table, *_: Any) -> Any:
        raise _Reached(self._look(table))


def reach(estimator: PrivateEstimator, X: Any, y: Any, look: Callable[[Table], Any]) -> Any:
    """Fit as far as the learner and return what `look` makes of the table that it is given."""
    twin = clone(estimator)
    learner = twin._learner()
    vars(twin)["_learner"] = vars(twin)["_learner_for"] = lambda *_: _Watching(learner, look)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        try:
            twin.fit(X, y)
        except _Reached as reached:
            return reached.arrived
    raise AssertionError("fit ended without asking the learner to grow")


def arrive(estimator: PrivateEstimator, X: Any, y: Any) -> Arrived:
    """Return the records that arrive at the learner from a frame and labels."""
    found: Arrived = reach(estimator, X, y, lambda table: gathered(table.derive(PLACE_STATE, OwnPlace())))
    return found


def with_schema(estimator: PrivateEstimator, schema: Schema, **changes: Any) -> Any:
    """Return a copy of an estimator on another schema."""
    return clone(estimator).set_params(schema=schema, **changes)


def without_unit(estimator: PrivateEstimator) -> Any:
    """Return a copy of an estimator that protects single records."""
    schema = estimator.schema
    assert schema is not None
    return with_schema(estimator, Schema(schema.features, schema.target, neighbours=schema.neighbours))


def finding(name: str, flaw: str, problem: str, fine: str = "no difference") -> Finding:
    """Return the finding of a check without uncertainty: a problem refutes any claim."""
    return Finding(
        name=name,
        flaw=flaw,
        kind="way in",
        epsilon=math.inf if problem else 0.0,
        refuted=bool(problem),
        event=problem or fine,
    )

"""Pairs of neighbouring data sets, each made to reveal one flaw, with the event that reveals it.

All records are made up and public. Data sets are ``(X, y)`` NumPy arrays in the order of the pair's schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from privet.audit.neighbour_pair import NeighbourPair, Record, binary_schema, data_set
from privet.audit.projections import (
    Agreement,
    Attribute,
    Below,
    Difference,
    FeaturesUsed,
    LowestBit,
    PickleDigest,
    Predictions,
    RootFeature,
    RootIsLeaf,
    RootSplit,
    TreeLabels,
)
from privet.audit.report import Relation
from privet.schema.domains import Numeric
from privet.schema.schema import Schema


def _pair(
    name: str,
    flaw: str,
    before: Sequence[Record],
    after: Sequence[Record],
    event: str,
    projections: tuple[Callable[[Any], Any], ...],
    schema: Schema,
    relation: Relation = "add_remove",
) -> NeighbourPair:
    D, D_prime = data_set(before, schema), data_set(after, schema)
    return NeighbourPair(name, flaw, D, D_prime, relation, event, projections, schema)


_ZERO: tuple[int, ...] = (0,)


def smooth_sensitivity(gap: int = 1) -> NeighbourPair:
    """Leaf counts (gap, 0) against (gap + 1, 0): a noise scale that depends on the gap shows in the minority label."""
    return _pair(
        f"smooth-sensitivity-{gap}",
        "the scale of a selection depends on the data",
        [(_ZERO, 0)] * gap,
        [(_ZERO, 0)] * (gap + 1),
        "the minority label",
        (Predictions((_ZERO,)),),
        binary_schema(1),
    )


def noise_scale() -> NeighbourPair:
    """No record against one: a count with too little noise distinguishes them."""
    return _pair(
        "noise-scale",
        "the noise is smaller than the sensitivity demands",
        [],
        [(_ZERO, 0)],
        "the released count is below 1/2",
        (Below(0.5),),
        binary_schema(1),
    )


def replaced_label() -> NeighbourPair:
    """Counts (3, 0) against (2, 1): a rate chosen for adding a record costs twice as much when one is replaced."""
    return _pair(
        "replaced-label",
        "an add/remove guarantee is claimed for replacement",
        [(_ZERO, 0)] * 3,
        [(_ZERO, 0)] * 2 + [(_ZERO, 1)],
        "the minority label",
        (Predictions((_ZERO,)),),
        binary_schema(1, relation="replace"),
        "label",
    )


def moving_partition(n_trees: int = 3, rows_per_tree: int = 3) -> NeighbourPair:
    """Alternating labels, with the first record removed: if trees get rows by position, all of them see other rows."""
    records: list[Record] = [(_ZERO, place % 2) for place in range(n_trees * rows_per_tree)]
    chunks = [records[t * rows_per_tree : (t + 1) * rows_per_tree] for t in range(n_trees)]
    majority = tuple(int(2 * sum(label for _, label in chunk) > len(chunk)) for chunk in chunks)
    labels = TreeLabels(_ZERO)
    return _pair(
        f"moving-partition-{n_trees}x{rows_per_tree}",
        "rows go to trees by position or in equal shares",
        records,
        records[1:],
        "the vector of the trees' labels",
        (labels, Agreement(labels, majority)),
        binary_schema(1),
    )


def equal_shares() -> NeighbourPair:
    """Two records against one: shuffling before an equal split does not repair it."""
    return _pair(
        "equal-shares",
        "rows go to trees in equal shares",
        [(_ZERO, 1), (_ZERO, 0)],
        [(_ZERO, 0)],
        "the vector of the trees' labels",
        (TreeLabels(_ZERO), Predictions((_ZERO,))),
        binary_schema(1),
    )


def features_as_disjoint(copies: int = 10, rows: int = 12) -> NeighbourPair:
    """Many identical columns and one more, and a record that only fits the last: each column's histogram leaks it."""
    alike: list[Record] = [((place % 2,) * (copies + 1), place % 2) for place in range(rows)]
    misfit: Record = ((0,) * copies + (1,), 1)
    return _pair(
        f"features-as-disjoint-{copies}",
        "features are composed in parallel although they hold the same records",
        alike,
        [*alike, misfit],
        "the root splits on the last column",
        (RootFeature(), Predictions(((0,) * copies + (1,),))),
        binary_schema(copies + 1),
    )


def purity_stop(rows: int = 4) -> NeighbourPair:
    """A pure node against one with another label: growth that stops at pure nodes reveals the label."""
    pure: list[Record] = [(_ZERO, 0)] * rows
    return _pair(
        f"purity-stop-{rows}",
        "growth stops where a node is pure",
        pure,
        [*pure, ((1,), 1)],
        "the root is a leaf",
        (RootIsLeaf(), Predictions(((0,), (1,)))),
        binary_schema(1),
    )


def size_stop(rows: int = 2) -> NeighbourPair:
    """Mixed nodes of n and n + 1 records: growth that stops below a size reveals n; n = 0 is the empty data set."""
    mixed: list[Record] = [((place % 2,), place % 2) for place in range(rows + 1)]
    return _pair(
        f"size-stop-{rows}",
        "growth stops where a node is small or empty",
        mixed[:-1],
        mixed,
        "the root is a leaf",
        (RootIsLeaf(), Predictions(((0,), (1,)))),
        binary_schema(1),
    )


def fresh_value() -> NeighbourPair:
    """A record with a value not seen before: if thresholds lie between data values, a new one appears."""
    seen: list[Record] = [((place % 2,), place % 2) for place in range(8)]
    schema = Schema({"x0": Numeric(0, 1)}, classes=[0, 1])
    return _pair(
        "fresh-value",
        "candidate thresholds are taken from the data",
        seen,
        [*seen, ((0.7,), 0)],
        "a threshold strictly between the old values",
        (RootSplit(), Predictions(((0.4,), (0.6,), (0.8,)))),
        schema,
    )


def constant_feature() -> NeighbourPair:
    """A feature that is constant except for one record: dropping constant features reveals the record."""
    constant: list[Record] = [((place % 2, 0), place % 2) for place in range(6)]
    return _pair(
        "constant-feature",
        "features that are constant in a node are dropped",
        constant,
        [*constant, ((0, 1), 1)],
        "the second feature is used",
        (FeaturesUsed(), RootFeature()),
        binary_schema(2),
    )


def noisy_size() -> NeighbourPair:
    """One record against two of different classes: a sensitivity computed from a noisy size is too small too often."""
    return _pair(
        "noisy-size",
        "a sensitivity is computed from a noisy count",
        [((0, 0), 0)],
        [((0, 0), 0), ((0, 1), 1)],
        "the root keeps the two records together",
        (RootFeature(),),
        binary_schema(2),
    )


def new_class() -> NeighbourPair:
    """A record of a class that no other record has: a list of classes read from the data becomes longer."""
    known: list[Record] = [(_ZERO, place % 2) for place in range(4)]
    return _pair(
        "new-class",
        "the class list is read from the data",
        known,
        [*known, (_ZERO, 2)],
        "any output that mentions the new class",
        (Attribute("classes_"), Predictions((_ZERO,))),
        binary_schema(1, classes=(0, 1, 2)),
    )


def extreme_value() -> NeighbourPair:
    """A record at the end of the domain: bounds read from the data stretch to it."""
    inner: list[Record] = [((0.1 * (place % 2),), place % 2) for place in range(6)]
    return _pair(
        "extreme-value",
        "bounds are read from the data",
        inner,
        [*inner, ((1,), 0)],
        "a threshold beyond the other records",
        (RootSplit(), Predictions(((0.5,), (0.9,)))),
        Schema({"x0": Numeric(0, 1)}, classes=[0, 1]),
    )


def unsupported_strategy() -> NeighbourPair:
    """Cells with counts (1, 1) against (2, 1): a strategy that cannot express the answers leaves them without noise."""
    cells: list[Record] = [((0,), 0), ((1,), 0)]
    return _pair(
        "unsupported-strategy",
        "noise is added only where the matrix strategy looks",
        cells,
        [*cells, ((0,), 0)],
        "the exact difference of the two answers",
        (Difference(),),
        binary_schema(1),
    )


def float_noise() -> NeighbourPair:
    """A count of 0 against 1: with noise drawn in floats, the lowest bits show how the count was rounded."""
    return _pair(
        "float-noise",
        "noise is drawn and added in floating point",
        [],
        [(_ZERO, 0)],
        "the place of the lowest set bit",
        (LowestBit(),),
        binary_schema(1),
    )


def noise_from_a_seed() -> NeighbourPair:
    """Any pair: noise from a fixed seed gives one output per data set."""
    records: list[Record] = [((place % 2,), place % 2) for place in range(4)]
    return _pair(
        "seeded-noise",
        "the noise comes from a fixed seed",
        records,
        [*records, ((1,), 0)],
        "the same model again",
        (PickleDigest(),),
        binary_schema(1),
    )


def leaking_attributes(declared: tuple[str, ...] = ()) -> NeighbourPair:
    """Any pair: what is left of the model without its declared outputs must not depend on the data."""
    records: list[Record] = [((place % 2,), place % 2) for place in range(4)]
    return _pair(
        "leaking-attributes",
        "the object holds more than its declared outputs",
        records,
        [*records, ((1,), 0)],
        "the pickle without the declared outputs",
        (PickleDigest(declared),),
        binary_schema(1),
    )


# The pairs by name; their parameters are those that reveal the flaw soonest.
NEIGHBOUR_PAIRS: dict[str, Callable[[], NeighbourPair]] = {
    builder.__name__: builder
    for builder in (
        smooth_sensitivity,
        noise_scale,
        replaced_label,
        moving_partition,
        equal_shares,
        features_as_disjoint,
        purity_stop,
        size_stop,
        fresh_value,
        constant_feature,
        noisy_size,
        new_class,
        extreme_value,
        unsupported_strategy,
        float_noise,
        noise_from_a_seed,
        leaking_attributes,
    )
}

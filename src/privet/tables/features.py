"""A view of a table that shows features and nothing else: kernels that run on it cannot see labels.

Under ``neighbours="label"`` features are public, and what is computed from them alone may leave the private side as it
is (`privet.mechanisms.release.Release.features`). Here it is made sure that nothing else can leave that way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding
from privet.tables.part import PartOf
from privet.tables.protocol import Block, IntArray, Kernel, Table

HIDDEN = -1  # the target of every record that a kernel is shown


@dataclass(frozen=True)
class _WithoutLabels:
    """A kernel that is shown codes, and of the state only what such kernels made."""

    kernel: Kernel
    shown: frozenset[str]

    def __call__(self, block: Block) -> NDArray[np.generic]:
        n = block.target.size
        state = {name: block.state[name] for name in self.shown}
        return self.kernel(Block(block.codes, np.full(n, HIDDEN, np.int32), np.zeros(n, np.uint64), state))


@dataclass(frozen=True)
class FeatureView:
    """A table as it is seen without labels.

    Attributes
    ----------
    table : Table
        The same records, with their labels and with all state. Its values are private.
    shown : frozenset of str
        The names of the state that kernels of the view are shown: each was derived by such a kernel.

    Notes
    -----
    *Privacy.* A kernel is given a block's codes; the target of every record is `HIDDEN`, the identity of every record
    is zero. Of the state it is given what `derive` made, and that was computed by a kernel which was given no more. By
    induction nothing that it sees depends on a label, and kernels are pure functions. State that sees labels can be
    derived beside it (`beside`), and is never shown, also if there was a shown one of that name.

    All neighbours have the same records here only if records without a known label are not left out; see
    `privet.tables.reading.encode_table`. A part of a table that is marked by missing labels (`PartOf`) has no view; one
    that secret coins cut out (`OnlyPart`) has, and exact sums over it say something about the coins, so that what looks
    at other parts must not rely on their secrecy: charge them in parallel.

    Examples
    --------
    >>> from privet import Numeric, Schema
    >>> from privet.tables import MemoryTable
    >>> encoding = Schema({"x": Numeric(0, 1, bins=2)}, classes=[0, 1]).encoding()
    >>> table = MemoryTable(encoding, np.array([[0, 1, 1]], np.uint8), np.array([0, 1, 1], np.int32))
    >>> FeatureView.of(table).aggregate(lambda block: np.bincount(block.codes[0])).tolist()
    [1, 2]
    >>> FeatureView.of(table).aggregate(lambda block: block.target).tolist()
    [-1, -1, -1]
    """

    table: Table
    shown: frozenset[str] = frozenset()

    @classmethod
    def of(cls, table: Table) -> FeatureView:
        """Return the view of a table, none of whose state is shown."""
        if isinstance(table, PartOf):
            raise ParameterError(
                "a part of a table that is known by its labels has no view of features; pass all of it"
            )
        return cls(table)

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self.table.encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks, without labels, and add up its integers."""
        return self.table.aggregate(_WithoutLabels(kernel, self.shown))

    def derive(self, name: str, kernel: Kernel) -> FeatureView:
        """Return a view in which each record also has the kernel's value, made without labels, under `name`."""
        return FeatureView(self.table.derive(name, _WithoutLabels(kernel, self.shown)), self.shown | {name})

    def beside(self, name: str, kernel: Kernel) -> FeatureView:
        """Return the view of a table in which each record also has a value that sees labels, and that is not shown."""
        return FeatureView(self.table.derive(name, kernel), self.shown - {name})

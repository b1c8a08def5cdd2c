"""One part of a table's records, as a table of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray, Kernel, Table


@dataclass(frozen=True)
class _WithinPart:
    """A kernel restricted to one part: it sees all other records without a label, and so never counts them."""

    kernel: Kernel
    state: str
    part: int

    def __call__(self, block: Block) -> NDArray[np.generic]:
        target = np.where(block.state[self.state] == self.part, block.target, np.int32(-1))
        return self.kernel(replace(block, target=target))


@dataclass(frozen=True)
class PartOf:
    """The records of a table whose state `state` is `part`.

    Records of other parts keep their place but lose their label, and kernels that count classes leave out records
    without a known label. Kernels that do not look at labels (those of gradients, of pairs of groups, of codes alone)
    must not be run on a part. State is derived for all records of the table, each from that record alone.
    """

    table: Table
    state: str
    part: int

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self.table.encoding

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over the part's records and add up its integers."""
        return self.table.aggregate(_WithinPart(kernel, self.state, self.part))

    def derive(self, name: str, kernel: Kernel) -> PartOf:
        """Return the same part of a table in which each record also has the kernel's value under `name`."""
        return PartOf(self.table.derive(name, kernel), self.state, self.part)

"""One part of a table's records, as a table of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray, Kernel, Table


@dataclass(frozen=True)
class _WithinPart:
    """A kernel that sees only one part: to it, all other records have no label, so they are never counted."""

    kernel: Kernel
    state: str
    part: int

    def __call__(self, block: Block) -> NDArray[np.generic]:
        target = np.where(block.state[self.state] == self.part, block.target, np.int32(-1))
        return self.kernel(replace(block, target=target))


@dataclass(frozen=True)
class PartOf:
    """The records of a table whose state `state` is `part`.

    Records of other parts keep their place and lose their label, and kernels that count classes leave records without a
    known label out of their sums. Kernels that look at something else (gradients, pairs of groups, codes alone) do not
    know of labels: they must not be run on a part. State that is derived is derived for all records, and is per record
    in any case.
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

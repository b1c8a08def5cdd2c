"""Taking records out of a table as they are. Only `Release.records` may: the import contract protects this module.

Everything else that leaves a table is a sum of integers, to which noise can be added. What leaves here is the private
data itself, for forests that have no private form.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privet.tables.protocol import Block, IntArray, Table


@dataclass(frozen=True)
class _KeepBlocks:
    """A kernel that keeps the blocks that it sees."""

    blocks: list[Block] = field(default_factory=list)

    def __call__(self, block: Block) -> IntArray:
        self.blocks.append(block)
        return np.zeros(1, np.int64)


def take_out(table: Table) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Return codes of shape (n_features, n_rows) and classes, in the order of the table's rows.

    Compiled loops use codes as indices, so a code beyond the last of its feature is clipped to the last. A record
    without a known class is left out.

    *Privacy.* None: these are the records.
    """
    kept = _KeepBlocks()
    table.aggregate(kept)
    blocks = sorted(kept.blocks, key=lambda block: int(block.rows[0]) if block.rows.size else 0)
    last = (table.encoding.n_codes - 1).astype(np.uint16)[:, np.newaxis]
    codes = np.minimum(np.concatenate([block.codes for block in blocks], axis=1).astype(np.uint16), last)
    target = np.concatenate([block.target for block in blocks]).astype(np.int32)
    known = (target >= 0) & (target < table.encoding.n_classes)
    return (codes, target) if known.all() else (codes[:, known], target[known])

"""One part of a table's records, as a table of its own: the others hidden by their labels, or cut out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Encoding
from privet.tables.protocol import Block, IntArray, Kernel, Table


@dataclass(frozen=True)
class _Part:
    """The records of a table whose state `state` is `part`."""

    table: Table
    state: str
    part: int

    @property
    def encoding(self) -> Encoding:
        """How the records became codes."""
        return self.table.encoding


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
class PartOf(_Part):
    """The records of a table whose state `state` is `part`.

    Records of other parts keep their place but lose their label, and kernels that count classes leave out records
    without a known label. Kernels that do not look at labels (those of gradients, of pairs of groups, of codes alone)
    must not be run on a part. State is derived for all records of the table, each from that record alone.
    """

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over the part's records and add up its integers."""
        return self.table.aggregate(_WithinPart(kernel, self.state, self.part))

    def derive(self, name: str, kernel: Kernel) -> PartOf:
        """Return the same part of a table in which each record also has the kernel's value under `name`."""
        return replace(self, table=self.table.derive(name, kernel))


class _OfSome(Mapping[str, NDArray[np.generic]]):
    """The state of some records, taken out when it is asked for."""

    def __init__(self, state: Mapping[str, NDArray[np.generic]], places: IntArray) -> None:
        self._state, self._places = state, places

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self._state[name][self._places]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(self._state)


@dataclass(frozen=True)
class _Inside:
    """A kernel that is given the records of one part, and no others."""

    kernel: Kernel
    state: str
    part: int

    def __call__(self, block: Block) -> NDArray[np.generic]:
        return self.kernel(self.cut(block, np.flatnonzero(block.state[self.state] == self.part)))

    @staticmethod
    def cut(block: Block, places: IntArray) -> Block:
        codes = np.ascontiguousarray(block.codes[:, places])
        return Block(codes, block.target[places], block.rows[places], _OfSome(block.state, places))


@dataclass(frozen=True)
class _InsideForEach(_Inside):
    """The same for a kernel that gives each record a value; records of other parts get zeros, which nobody reads."""

    def __call__(self, block: Block) -> NDArray[np.generic]:
        places = np.flatnonzero(block.state[self.state] == self.part)
        values = np.asarray(self.kernel(self.cut(block, places)))
        whole = np.zeros((len(block.target), *values.shape[1:]), dtype=values.dtype)
        whole[places] = values
        return whole


@dataclass(frozen=True)
class OnlyPart(_Part):
    """The records of a table whose state `state` is `part`, cut out for any kernel, whatever it looks at.

    Unlike with `PartOf`, which hides labels, kernels never see the other records, so that any learner can be grown on
    it. Each pass copies the part's codes, which is slower.
    """

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over the part's records and add up its integers."""
        return self.table.aggregate(_Inside(kernel, self.state, self.part))

    def derive(self, name: str, kernel: Kernel) -> OnlyPart:
        """Return the same part of a table in which each record also has the kernel's value under `name`."""
        return replace(self, table=self.table.derive(name, _InsideForEach(kernel, self.state, self.part)))

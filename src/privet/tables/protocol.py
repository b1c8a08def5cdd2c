"""What a table does for a learner: add up integers over its blocks, and keep state for each record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Encoding

IntArray = NDArray[np.int64]  # counts and scores, exact
Floats = NDArray[np.float64]  # what they become after the noise


@dataclass(frozen=True, repr=False)  # clusters log the arguments of tasks that fail
class Block:
    """Some of a table's records, side by side.

    Attributes
    ----------
    codes : array of shape (n_features, n)
        The features' codes.
    target : int32 array of shape (n,)
        The class, or the level of a regression target.
    rows : uint64 array of shape (n,)
        The identity of each record within the table: the same in every pass and every retry.
    state : mapping of str to array of length n
        What `Table.derive` gave to each record.
    """

    codes: NDArray[np.unsignedinteger]
    target: NDArray[np.int32]
    rows: NDArray[np.uint64]
    state: Mapping[str, NDArray[np.generic]]


class Kernel(Protocol):
    """A pure function of a block. Kernels are frozen dataclasses, so that they can travel to other processes."""

    def __call__(self, block: Block, /) -> NDArray[np.generic]:
        """Return integers to be added up over blocks, or one value for each record."""
        ...


class Table(Protocol):
    """The private data, as a learner sees it. Nothing that a table returns is private by itself."""

    @property
    def encoding(self) -> Encoding:
        """How records became codes."""
        ...

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks and add up its integers."""
        ...

    def derive(self, name: str, kernel: Kernel) -> Table:
        """Return a table in which each record also has the kernel's value, under `name`, in its block's state."""
        ...

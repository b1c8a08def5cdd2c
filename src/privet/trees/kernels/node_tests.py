"""The arrays that routing kernels take, in named tuples: compiled code reads their fields by name."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import inlined
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import Columns

_ONE = np.uint64(1)
_WORD_SHIFT = np.uint64(6)
_WORD_MASK = np.uint64(63)


class NodeTests(NamedTuple):
    """What each node asks: the second child is taken if the code is at least `low`, or in the node's set.

    One of the two never holds: a threshold has the empty set, a set has a `low` above every code, a leaf has both.

    Attributes
    ----------
    columns : Columns
        What nodes read.
    offset : uint32 array, one entry for each node
        Where the node's column begins in a block.
    low : uint32 array, or codes
        From this code on, the second child.
    set_start : uint32 array
        Where the node's set begins in `sets`. The empty set comes last, and is long enough for every code.
    sets : uint64 array
        Sets of codes, one bit each.
    """

    columns: Columns
    offset: NDArray[np.uint32]
    low: NDArray[Any]
    set_start: NDArray[np.uint32]
    sets: NDArray[np.uint64]


class Nodes(NamedTuple):
    """How the nodes of explicit trees hang together.

    Attributes
    ----------
    first_child : uint32 array
        A leaf is its own first child.
    by_code : uint32 array
        All bits set in a multi-way node, where the code is the child; none in others.
    leaf : int32 array
        Leaf ids, -1 for inner nodes.
    roots, depths : int64 arrays
        One entry for each tree.
    records : uint32 array of shape (number of nodes, 8)
        What routing asks of a node, side by side, so that a row which meets a tree for the first time waits for one
        cache line a node: offset, low, set_start (of `NodeTests`), first_child and by_code; the rest is padding.
    """

    first_child: NDArray[np.uint32]
    by_code: NDArray[np.uint32]
    leaf: NDArray[np.int32]
    roots: IntArray
    depths: IntArray
    records: NDArray[np.uint32]


@inlined
def takes_second(code: Any, low: Any, set_start: Any, sets: Any) -> Any:
    """Return 1 if a code takes the second child, else 0; no branch, since none could be foreseen."""
    word = sets[np.uint64(set_start) + (code >> _WORD_SHIFT)]
    return np.uint64(code >= np.uint64(low)) | ((word >> (code & _WORD_MASK)) & _ONE)

"""Counting classes in leaves: route and count in one pass, block by block."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.bits import GROUP_ROWS, BitTests, count_in_bits
from privet.trees.kernels.blocks import BLOCK_ROWS, TREES_AT_ONCE, Codes

_ASSIGNED_AT_ONCE = 1 << 16


class Router(Protocol):
    """What kernels need of a structure."""

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        ...

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees together."""
        ...

    @property
    def leaf_offsets(self) -> IntArray:
        """Where each tree's leaf ids begin; one entry more than there are trees."""
        ...

    def as_codes(self, codes: Codes) -> Codes:
        """Return the codes in the shape and dtype that routing takes."""
        ...

    def route_block(self, codes: Codes, start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop in trees from `first_tree` on, one for each row of `out`."""
        ...

    def route_assigned(self, codes: Codes, trees: IntArray) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree; -1 where there is no such tree."""
        ...

    @property
    def in_bits(self) -> BitTests | None:
        """The trees as questions that are answered by bits, if records are counted faster so."""
        ...


@compiled
def _list_known(
    target: NDArray[np.int32], n_classes: int, rows: NDArray[np.uint32], classes: NDArray[np.uint32]
) -> int:
    """List the rows whose class is known, and their classes; return how many. No other record is ever counted."""
    found = 0
    for row in range(target.size):
        # Written in any case, kept only if it counts: there is no branch to mispredict.
        rows[found], classes[found] = row, target[row]
        found += 0 <= target[row] < n_classes
    return found


@compiled
def _count(
    leaves: NDArray[np.int32], rows: NDArray[np.uint32], classes: NDArray[np.uint32], found: int, counts: IntArray
) -> None:
    flat, n_classes = counts.reshape(-1), np.uint64(counts.shape[1])
    for tree in range(leaves.shape[0]):
        of_tree = leaves[tree]
        for index in range(found):
            flat[np.uint64(of_tree[rows[index]]) * n_classes + np.uint64(classes[index])] += 1


@compiled
def _count_assigned(leaves: NDArray[np.int32], target: NDArray[np.int32], counts: IntArray) -> None:
    n_classes = counts.shape[1]
    for row in range(target.size):
        if 0 <= target[row] < n_classes and leaves[row] >= 0:  # some may have been assigned to no tree
            counts[leaves[row], target[row]] += 1


@dataclass(frozen=True)
class LeafClassCounts:
    """Count records by leaf and class, in every tree or only in the tree that each record was assigned to.

    Parameters
    ----------
    structure : Router
        The trees.
    n_classes : int
        Number of classes.
    part : str, optional
        The state that holds each record's tree. Without it every record is counted in every tree.
    trees : tuple of two ints, optional
        Count in the trees from the first number to before the second only.

    Notes
    -----
    *Privacy.* Adding or removing a record changes one count by one in each tree it is counted in: L1 sensitivity
    ``n_trees`` without `part`, one with it. The result is exact and private: it goes through a release.
    """

    structure: Router
    n_classes: int
    part: str | None = None
    trees: tuple[int, int] | None = None

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (number of leaves of these trees, n_classes)."""
        first, last = self.trees or (0, self.structure.n_trees)
        offset = int(self.structure.leaf_offsets[first])
        counts = np.zeros((int(self.structure.leaf_offsets[last]) - offset, self.n_classes), np.int64)
        codes = self.structure.as_codes(block.codes)
        n_rows = codes.shape[1]
        if self.part is not None:
            # piece by piece, so that leaf ids of all rows are never held at once
            for start in range(0, n_rows, _ASSIGNED_AT_ONCE):
                piece = slice(start, start + _ASSIGNED_AT_ONCE)
                trees = np.array(block.state[self.part][piece], dtype=np.int64)
                trees[(trees < first) | (trees >= last)] = -1
                leaves = self.structure.route_assigned(np.ascontiguousarray(codes[:, piece]), trees)
                _count_assigned(np.where(leaves < 0, -1, leaves - offset), block.target[piece], counts)
            return counts
        if (
            counts.shape[0] == self.structure.n_leaves
            and self.structure.in_bits is not None
            and n_rows >= GROUP_ROWS * self.n_classes
        ):
            count_in_bits(codes, block.target, self.n_classes, self.structure.in_bits, counts)
            return counts
        scratch = np.zeros((min(last - first, TREES_AT_ONCE), BLOCK_ROWS), np.int32)
        rows, classes = np.zeros(BLOCK_ROWS, np.uint32), np.zeros(BLOCK_ROWS, np.uint32)
        for start in range(0, n_rows, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, n_rows)
            found = _list_known(block.target[start:stop], self.n_classes, rows, classes)
            for tree in range(first, last, TREES_AT_ONCE):
                leaves = scratch[: min(TREES_AT_ONCE, last - tree)]
                self.structure.route_block(codes, start, stop, tree, leaves)
                if offset:
                    leaves -= offset
                _count(leaves, rows, classes, found, counts)
        return counts

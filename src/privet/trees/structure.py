"""What all trees share: codes of features, splits of them, the step one level down, and a way from codes to leaves."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.schema.encoding import Encoding, FieldsOnly
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.bits import BitTests
from privet.trees.kernels.blocks import BLOCK_ROWS, BLOCK_SHIFT, Codes, Columns, Whole
from privet.trees.kernels.node_tests import NodeTests

if TYPE_CHECKING:
    from privet.trees.explicit_trees import ExplicitTrees


@dataclass(frozen=True, eq=False)
class FeatureCodes:
    """The codes of each feature.

    Attributes
    ----------
    ordered : bool array of shape (n_features,)
        Whether codes are cells of a range, split by thresholds.
    n_codes : int64 array
        Number of codes, with those for "other" and for missing values.
    n_cells : int64 array
        Ordered: number of cells, without the missing code. Unordered: all codes.
    missing : int64 array
        The missing code of an ordered feature, -1 where there is none. An unordered feature treats missing values as
        one more category.
    """

    ordered: NDArray[np.bool_]
    n_codes: IntArray
    n_cells: IntArray
    missing: IntArray

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Read the codes off an encoding."""
        columns = encoding.columns
        missing = [column.missing_code if column.ordered else None for column in columns]
        return cls(
            np.array([column.ordered for column in columns], dtype=np.bool_),
            np.array([column.n_codes for column in columns], dtype=np.int64),
            np.array([column.n_values if column.ordered else column.n_codes for column in columns], dtype=np.int64),
            np.array([-1 if code is None else code for code in missing], dtype=np.int64),
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.n_codes.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of codes."""
        return np.dtype(np.uint8 if self.n_codes.max() <= 256 else np.uint16)

    @property
    def splittable(self) -> NDArray[np.int32]:
        """Features with more than one cell."""
        return np.flatnonzero(self.n_cells > 1).astype(np.int32)

    def as_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return codes in the dtype and layout that compiled routing takes; no copy if they have it."""
        if codes.ndim != 2 or codes.shape[0] != self.n_features:
            raise ParameterError(
                f"codes must have shape ({self.n_features}, n_rows), got {codes.shape}: "
                "pass what Encoding.encode returns"
            )
        return np.ascontiguousarray(codes, dtype=self.dtype)


@dataclass(frozen=True)
class Threshold:
    """Codes up to `cut` go to the first child; missing ones as well if `missing_first`, else to the second."""

    feature: int
    cut: int
    missing_first: bool = False


@dataclass(frozen=True)
class Subset:
    """Codes in the set go to the second child, all others to the first."""

    feature: int
    codes: Collection[int]


@dataclass(frozen=True)
class Multiway:
    """Every code has its own child."""

    feature: int


Split = Threshold | Subset | Multiway

NEVER = np.uint32(1 << 17)  # above every code


def n_words(n_codes: int) -> int:
    """Return how many words of 64 bits a set of codes takes, one bit each."""
    return max(1, -(-n_codes // 64))


def pack_sets(sets: Sequence[Collection[int]], n_codes: int) -> NDArray[np.uint64]:
    """Return sets of codes as `Splits.sets` holds them, one a row."""
    packed = np.zeros((len(sets), n_words(n_codes) if sets else 1), np.uint64)
    for row, codes in zip(packed, sets, strict=True):
        code = np.fromiter(codes, np.int64, len(codes))
        np.bitwise_or.at(row, code >> 6, np.uint64(1) << (code & 63).astype(np.uint64))
    return packed


@dataclass(frozen=True, eq=False)
class Splits:
    """Two-way splits, one for each node, in arrays of one shape.

    Attributes
    ----------
    feature : int32 array
        The feature, -1 where there is no two-way split.
    cut : int32 array
        Codes up to the cut go to the first child, those above to the second. Not used where there is a set.
    missing_first : bool array
        Whether the missing code, which is the last one, goes to the first child all the same.
    set_index : int32 array
        Row of `sets`, -1 for none. Codes in the set go to the second child.
    sets : uint64 array of shape (n_sets, n_words)
        Sets of codes, one bit each, the lowest bit of the first word for code 0.
    """

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    missing_first: NDArray[np.bool_]
    set_index: NDArray[np.int32]
    sets: NDArray[np.uint64]

    def in_set(self, number: int | IntArray, code: int | IntArray) -> NDArray[np.bool_]:
        """Return which codes are in which sets; numbers of sets and codes are matched as NumPy matches shapes."""
        word, bit = np.asarray(code) >> 6, (np.asarray(code) & 63).astype(np.uint64)
        inside: NDArray[np.bool_] = (self.sets[number, word] >> bit & np.uint64(1)).astype(np.bool_)
        return inside

    def check(self, domains: FeatureCodes) -> None:
        """Raise ParameterError unless every split makes sense for its feature."""
        shape = self.feature.shape
        for name, dtype in (
            ("feature", np.int32),
            ("cut", np.int32),
            ("missing_first", np.bool_),
            ("set_index", np.int32),
        ):
            array = getattr(self, name)
            if array.dtype != dtype or array.shape != shape:
                raise ParameterError(
                    f"{name} must be {np.dtype(dtype)} of shape {shape}, got {array.dtype} {array.shape}"
                )
        if self.sets.dtype != np.uint64 or self.sets.ndim != 2 or self.sets.shape[1] < 1:
            raise ParameterError(f"sets must be uint64 with two axes, got {self.sets.dtype} {self.sets.shape}")
        feature = self.feature[self.feature >= 0]
        cut, missing_first, set_index = (
            array[self.feature >= 0] for array in (self.cut, self.missing_first, self.set_index)
        )
        if (self.feature < -1).any() or (feature >= domains.n_features).any():
            raise ParameterError(f"a node's feature is not one of the {domains.n_features} features")
        if (set_index < -1).any() or (set_index >= len(self.sets)).any():
            raise ParameterError(f"a node's set is not one of the {len(self.sets)} sets")
        has_set = set_index >= 0
        if ((cut < 0) | (cut >= domains.n_codes[feature]))[~has_set].any():
            raise ParameterError("a node's cut is not one of its feature's codes")
        if (missing_first & ((domains.missing[feature] < 0) | has_set)).any():
            raise ParameterError("a node moves the missing code of a feature that has none, or that it splits by a set")
        if (domains.n_codes[feature[has_set]] > 64 * self.sets.shape[1]).any():
            raise ParameterError("a node splits by a set that is too short for its feature's codes")

    def prepare(self, domains: FeatureCodes) -> NodeTests:
        """Lay out columns and tests for routing; the splits must have passed `check`."""
        moves = self.missing_first & (self.feature >= 0)
        moved = np.unique(self.feature[moves])
        source = np.concatenate([np.arange(domains.n_features), moved]).astype(np.int32)
        missing = np.full(source.size, -1, np.int32)
        missing[domains.n_features :] = domains.missing[moved]
        column = np.maximum(self.feature, 0).astype(np.int64)
        column[moves] = domains.n_features + np.searchsorted(moved, self.feature[moves])
        # a moved column's codes are one higher than the feature's, so its cuts are too
        low = (self.cut + 1 + moves).astype(np.uint32)
        has_set = (self.feature >= 0) & (self.set_index >= 0)
        low[(self.feature < 0) | has_set] = NEVER
        set_start = np.where(has_set, self.set_index.astype(np.int64) * self.sets.shape[1], self.sets.size)
        empty = np.zeros(n_words(int(domains.n_codes.max())), np.uint64)
        return NodeTests(
            Columns(source, (domains.n_codes[source] - 1).astype(np.int32), missing),
            (column << BLOCK_SHIFT).astype(np.uint32),
            low,
            set_start.astype(np.uint32),
            np.concatenate([self.sets.reshape(-1), empty]),
        )


def split_table(domains: FeatureCodes, splits: Sequence[Split | None]) -> Splits:
    """Return a list of splits as flat arrays, one entry each; a leaf's for None."""
    feature, cut, set_index = (np.full(len(splits), empty, np.int32) for empty in (-1, 0, -1))
    missing_first = np.zeros(len(splits), np.bool_)
    sets: list[Collection[int]] = []
    for index, split in enumerate(splits):
        if split is None:
            continue
        feature[index] = split.feature
        match split:
            case Threshold():
                cut[index], missing_first[index] = split.cut, split.missing_first
            case Subset():
                set_index[index] = len(sets)
                sets.append(split.codes)
    return Splits(feature, cut, missing_first, set_index, pack_sets(sets, int(domains.n_codes.max())))


def children_by_code(domains: FeatureCodes, splits: Sequence[Split | None]) -> tuple[IntArray, NDArray[np.int32]]:
    """Return the feature of each split, and for every code which of the children it leads to; zeros for None.

    A feature with fewer codes than the longest has entries to spare, which no record reaches.
    """
    feature = np.array([0 if split is None else split.feature for split in splits], dtype=np.int64)
    child = np.zeros((len(splits), int(domains.n_codes.max())), np.int32)
    for row, split in zip(child, splits, strict=True):
        match split:
            case Threshold():
                row[split.cut + 1 :] = 1
                if split.missing_first:
                    row[domains.missing[split.feature]] = 0
            case Subset():
                row[list(split.codes)] = 1
            case Multiway():
                row[:] = np.minimum(np.arange(row.size), domains.n_codes[split.feature] - 1)
    return feature, child


_whole = np.uint64  # unsigned numbers as indices: no branch for negative ones


@compiled
def _step_down(
    codes: Codes, node: NDArray[Any], feature: IntArray, child: NDArray[Any], none: Whole, below: NDArray[Any]
) -> None:
    n_nodes, last = _whole(feature.size), _whole(child.shape[1] - 1)
    for row in range(_whole(node.size)):
        here = _whole(np.int64(node[row]))
        if here < n_nodes:
            # a code beyond the last is no code of this feature; it is held within bounds
            below[row] = child[here, min(_whole(codes[_whole(feature[here]), row]), last)]
        else:
            below[row] = none


@dataclass(frozen=True, eq=False)
class StepDown:
    """Move every record from its open node to one of its children.

    What a split does to each code is looked up in a small table, so one loop without branches serves thresholds, sets
    and multi-way splits, whether a record's codes are the table's own or cells that a learner has made of them.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node.
    feature : int64 array of shape (n_nodes,)
        The feature that each node splits; any, where a node is not split.
    child : integer array of shape (n_nodes, largest number of codes)
        The number among the next open nodes of the child to which each code leads. Its dtype is that of the result.
    none : int
        What stands in `child` and in the result where there is no next node.
    code_state : str, optional
        The state that holds each record's codes side by side, shape (n, n_features); by default the block's own codes.
    """

    node_state: str
    feature: IntArray
    child: NDArray[Any]
    none: int = -1
    code_state: str | None = None

    @classmethod
    def narrow(cls, node_state: str, feature: IntArray, second: NDArray[np.bool_], is_split: NDArray[np.bool_]) -> Self:
        """Step down by two-way splits with numbers as narrow as they can be: all of them are written and read again.

        Parameters
        ----------
        node_state, feature
            As above.
        second : bool array of shape (n_nodes, largest number of codes)
            Whether a code goes to the second child.
        is_split : bool array of shape (n_nodes,)
            Which nodes are split. Children are numbered through those that are.
        """
        dtype = np.min_scalar_type(2 * int(is_split.sum()))
        none = int(np.iinfo(dtype).max)
        child = np.where(is_split[:, np.newaxis], 2 * (np.cumsum(is_split) - 1)[:, np.newaxis] + second, none)
        return cls(node_state, feature, child.astype(dtype), none)

    def __call__(self, block: Block) -> NDArray[Any]:
        """Return each record's node among the next open nodes, `none` where there is none."""
        codes = block.codes if self.code_state is None else block.state[self.code_state].T
        node = block.state[self.node_state]
        below = np.empty(node.size, self.child.dtype)
        _step_down(codes, node, self.feature, self.child, self.none, below)
        return below


MOST_LEAVES = 2**31 - 1  # leaf ids are int32


class Trees(FieldsOnly, ABC):
    """A forest's shape: it sends codes to leaves. Leaf ids count through the whole forest, tree by tree."""

    domains: FeatureCodes

    @property
    @abstractmethod
    def leaf_offsets(self) -> IntArray:
        """Where each tree's leaf ids begin; one entry more than there are trees."""

    @abstractmethod
    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""

    @abstractmethod
    def route_assigned(self, codes: NDArray[Any], trees: IntArray) -> NDArray[np.int32]:
        """Return the leaf id of each row in its own tree only; -1 where there is no such tree."""

    @property
    def in_bits(self) -> BitTests | None:
        """The trees as questions that are answered by bits, if records are counted faster so."""
        return None

    @abstractmethod
    def explicit(self) -> "ExplicitTrees":
        """Return the trees written down node by node; leaf ids stay the same."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees together."""
        return int(self.leaf_offsets[-1])

    def as_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return codes in the dtype and layout that compiled routing takes; no copy if they have it."""
        return self.domains.as_codes(codes)

    def route(self, codes: NDArray[Any], trees: Sequence[int] | None = None) -> NDArray[np.int32]:
        """Return the leaf ids of all rows in all trees, or in those named.

        For counting and voting use the kernels: they do not keep the leaf ids of more than a block of rows.

        Parameters
        ----------
        codes : array of shape (n_features, n_rows)
            The rows.
        trees : sequence of int, optional
            Tree numbers.

        Returns
        -------
        int32 array of shape (number of trees, n_rows)
        """
        codes = self.as_codes(codes)
        n_trees = len(self.leaf_offsets) - 1
        wanted = list(range(n_trees)) if trees is None else list(trees)
        if not all(0 <= tree < n_trees for tree in wanted):
            raise ParameterError(f"trees must be numbers from 0 to {n_trees - 1}, got {wanted}")
        leaves = np.zeros((len(wanted), codes.shape[1]), np.int32)
        scratch = np.zeros((1, BLOCK_ROWS), np.int32)
        for index, tree in enumerate(wanted):
            for start in range(0, codes.shape[1], BLOCK_ROWS):
                stop = min(start + BLOCK_ROWS, codes.shape[1])
                self.route_block(codes, start, stop, tree, scratch)
                leaves[index, start:stop] = scratch[0, : stop - start]
        return leaves


def check_number_of_leaves(n_leaves: int) -> None:
    """Refuse forests whose leaves cannot be numbered."""
    if n_leaves > MOST_LEAVES:
        raise ParameterError(
            f"the forest would have {n_leaves} leaves, the most is {MOST_LEAVES}: use fewer or shallower"
        )

"""Two-way splits: as they are stored, checked, and laid out for compiled routing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.trees.features import Domains
from privet.trees.kernels.blocks import BLOCK_SHIFT, Columns
from privet.trees.kernels.node_tests import NodeTests

NEVER = np.uint32(1 << 17)  # above every code


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

    def check(self, domains: Domains) -> None:
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

    def prepare(self, domains: Domains) -> NodeTests:
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
        empty = np.zeros(-(-int(domains.n_codes.max()) // 64), np.uint64)
        return NodeTests(
            Columns(source, (domains.n_codes[source] - 1).astype(np.int32), missing),
            (column << BLOCK_SHIFT).astype(np.uint32),
            low,
            set_start.astype(np.uint32),
            np.concatenate([self.sets.reshape(-1), empty]),
        )

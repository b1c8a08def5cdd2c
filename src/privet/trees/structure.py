"""What all shapes of trees share: the codes of the features, and a way from codes to leaves."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding, FieldsOnly
from privet.trees.kernels.bits import BitTests
from privet.trees.kernels.blocks import BLOCK_ROWS

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
    n_codes: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Read the codes off an encoding."""
        columns = encoding.columns
        return cls(
            np.array([column.ordered for column in columns], dtype=np.bool_),
            np.array([column.n_codes for column in columns], dtype=np.int64),
            np.array([column.n_values if column.ordered else column.n_codes for column in columns], dtype=np.int64),
            np.array(
                [
                    column.missing_code if column.ordered and column.missing_code is not None else -1
                    for column in columns
                ],
                dtype=np.int64,
            ),
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


MOST_LEAVES = 2**31 - 1  # leaf ids are int32


class Trees(FieldsOnly, ABC):
    """A forest's shape: it sends codes to leaves. Leaf ids count through the whole forest, tree by tree."""

    domains: FeatureCodes

    @property
    @abstractmethod
    def leaf_offsets(self) -> NDArray[np.int64]:
        """Where each tree's leaf ids begin; one entry more than there are trees."""

    @abstractmethod
    def route_block(self, codes: NDArray[Any], start: int, stop: int, first_tree: int, out: NDArray[np.int32]) -> None:
        """Write leaf ids of rows start..stop (a block at most) in trees from `first_tree` on, one a row of `out`."""

    @abstractmethod
    def route_assigned(self, codes: NDArray[Any], trees: NDArray[np.int64]) -> NDArray[np.int32]:
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

"""One level down: the kernel that moves every record from its open node to the child that its code leads to.

What a split does to each code is looked up in a small table, so one loop without branches serves thresholds, sets and
multi-way splits, whether a record's codes are the table's own or cells that a learner has made of them.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.blocks import Codes, Whole

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

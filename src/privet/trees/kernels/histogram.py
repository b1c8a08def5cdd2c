"""Counts at every node of a level, for trees with any kind of split."""

from dataclasses import dataclass

import numpy as np

from privet.compiling import compiled
from privet.tables.protocol import Block, IntArray
from privet.trees.kernels.blocks import Codes


@compiled
def _add_feature(codes: Codes, place: IntArray, n_classes: int, last_code: int, flat: IntArray) -> None:
    for row in range(place.size):
        # a code beyond the last is no code of this feature; it is held within bounds
        code = codes[row] if codes[row] < last_code else last_code
        flat[place[row] + np.int64(code) * n_classes] += 1


@dataclass(frozen=True)
class NodeHistogram:
    """Count records by node, feature, code and class.

    Parameters
    ----------
    node_state : str
        The state that holds each record's open node, 0..n_nodes-1; any other number means none.
    n_nodes, n_classes : int
        Numbers of open nodes and of classes.
    n_codes : tuple of int
        Number of codes of each feature, as in ``tuple(encoding.n_codes)``.

    Notes
    -----
    *Privacy.* Adding or removing a record changes one count by one for each feature, all in one node.
    """

    node_state: str
    n_nodes: int
    n_classes: int
    n_codes: tuple[int, ...]

    @property
    def feature_offsets(self) -> IntArray:
        """Where each feature's codes begin on the second axis of the result; the last entry is the total."""
        return np.concatenate([[0], np.cumsum(self.n_codes)]).astype(np.int64)

    def __call__(self, block: Block) -> IntArray:
        """Return int64 counts of shape (n_nodes, total number of codes, n_classes)."""
        offsets = self.feature_offsets
        shape = (self.n_nodes + 1, int(offsets[-1]), self.n_classes)
        counts = np.zeros(shape, np.int64)
        node = np.asarray(block.state[self.node_state], dtype=np.int64)
        target = block.target.astype(np.int64)
        counted = (node >= 0) & (node < self.n_nodes) & (target >= 0) & (target < self.n_classes)
        # Records that are not counted go to one node more, cut off below: no branch in the loop over rows.
        node, target = np.where(counted, node, self.n_nodes), np.where(counted, target, 0)
        place = node * (shape[1] * shape[2]) + target
        for feature, n_codes in enumerate(self.n_codes):
            begin = place + offsets[feature] * self.n_classes
            _add_feature(block.codes[feature], begin, self.n_classes, n_codes - 1, counts.reshape(-1))
        return counts[:-1]

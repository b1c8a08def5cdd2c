"""A forest: encoding, structure, what its leaves say, and a rule to vote by. All of it is made of released values."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.models.leaf_sums import node_sums
from privet.parameters import check_choice
from privet.randomness.hashing import mix
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding, FieldsOnly
from privet.tables.protocol import IntArray
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.vote import MOST_PACKED_TREES, count_labels, count_packed, pack_labels, sum_values
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Structure = CompleteTrees | ExplicitTrees | RandomTrees
Empty = Literal["back_off", "random"]
EMPTY_RULES: tuple[Empty, ...] = get_args(Empty)

MOST_CLASSES = 65_534  # labels are uint16, and one number more is needed to abstain
_FLOAT_UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class LeafLabels:
    """A released label for each leaf.

    Parameters
    ----------
    labels : uint16 array of shape (n_leaves,)
        Class numbers.
    abstain : int, optional
        The number, not that of a class, of leaves that do not vote.
    """

    labels: NDArray[np.uint16]
    abstain: int | None = None

    def check(self, n_leaves: int, n_classes: int) -> None:
        """Raise ParameterError unless there is one label for each leaf."""
        if self.labels.dtype != np.uint16 or self.labels.shape != (n_leaves,):
            raise ParameterError(
                f"labels must be uint16 of shape ({n_leaves},), got {self.labels.dtype} {self.labels.shape}"
            )
        if self.abstain is not None and not n_classes <= self.abstain <= np.iinfo(np.uint16).max:
            raise ParameterError(f"abstain must be from {n_classes} to 65535, got {self.abstain}")
        if ((self.labels >= n_classes) & (self.labels != self.abstain)).any():
            raise ParameterError(f"a label is neither one of the {n_classes} classes nor 'abstain'")


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Released noisy class counts for each leaf.

    Parameters
    ----------
    counts : int64 array of shape (n_leaves, n_classes)
        Noisy counts, as they were released: negative ones too.
    empty : {"back_off", "random"}, default="back_off"
        How counts become shares: see `RandomDecisionForestClassifier`.
    seed : int, default=0
        A public seed: of a random leaf's shares, by a hash of seed and leaf, and of classes that are drawn.

    Notes
    -----
    *Privacy.* "Empty" always means empty after noise: nothing here sees more than the released counts.
    """

    counts: IntArray
    empty: Empty = "back_off"
    seed: int = 0

    def check(self, n_leaves: int, n_classes: int) -> None:
        """Raise ParameterError unless there is a row of counts for each leaf."""
        if self.counts.dtype != np.int64 or self.counts.shape != (n_leaves, n_classes):
            raise ParameterError(
                f"counts must be int64 of shape ({n_leaves}, {n_classes}), got {self.counts.dtype} {self.counts.shape}"
            )
        check_choice("empty", self.empty, EMPTY_RULES)
        if not 0 <= self.seed < 2**64:
            raise ParameterError(f"seed must be from 0 to 2**64 - 1, got {self.seed}")

    def shares(self, structure: Structure) -> NDArray[np.float64]:
        """Return the class shares of each leaf, adding up to one."""
        counts = self.counts.astype(np.float64)
        if self.empty == "random":
            return _shares_or_random(counts, np.uint64(self.seed))
        if isinstance(structure, ExplicitTrees):
            return _back_off_explicit(structure, counts)
        if isinstance(structure, RandomTrees) and structure.in_buckets:
            return _back_off_to_tree(structure, counts)
        return _back_off_complete(counts.reshape(structure.n_trees, -1, counts.shape[1])).reshape(counts.shape)


def _shares(counts: NDArray[np.float64], otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of counts, those below zero taken as zero; `otherwise` where none is left."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum(axis=-1, keepdims=True)
    shares: NDArray[np.float64] = np.where(total > 0, positive / np.where(total > 0, total, 1.0), otherwise)
    return shares


def _equal_shares(n_classes: int) -> NDArray[np.float64]:
    return np.full(n_classes, 1.0 / n_classes)


def _back_off_complete(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares in complete trees; counts have shape (n_trees, leaves of a tree, n_classes)."""
    levels = [counts]
    while levels[-1].shape[1] > 1:
        levels.append(levels[-1][:, 0::2] + levels[-1][:, 1::2])
    shares = _shares(levels.pop(), _equal_shares(counts.shape[2]))
    while levels:
        shares = _shares(levels.pop(), np.repeat(shares, 2, axis=1))
    return shares


def _back_off_to_tree(structure: Structure, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shares where leaves share buckets: the only subtree around them is the whole tree."""
    offsets = structure.leaf_offsets
    whole = _shares(np.add.reduceat(counts, offsets[:-1], axis=0), _equal_shares(counts.shape[1]))
    return _shares(counts, np.repeat(whole, np.diff(offsets), axis=0))


@compiled
def _hand_down(first_child: NDArray[Any], n_children: NDArray[Any], sums: NDArray[Any], shares: NDArray[Any]) -> None:
    for node in range(sums.shape[0]):
        for child in range(first_child[node], first_child[node] + n_children[node]):
            total = 0.0
            for k in range(sums.shape[1]):
                total += max(sums[child, k], 0.0)
            for k in range(sums.shape[1]):
                shares[child, k] = max(sums[child, k], 0.0) / total if total > 0 else shares[node, k]


def _back_off_explicit(trees: ExplicitTrees, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = node_sums(trees, counts)
    if sums is None:
        return _back_off_to_tree(trees, counts)
    is_leaf = trees.leaf >= 0
    ids = trees.leaf[is_leaf]
    # Children come after their parents, so one pass from the front knows each parent's shares in time.
    by_node = np.zeros(sums.shape)
    roots = trees.tree_offsets[:-1]
    by_node[roots] = _shares(sums[roots], _equal_shares(counts.shape[1]))
    _hand_down(trees.first_child, trees.n_children, sums, by_node)
    shares = np.tile(_equal_shares(counts.shape[1]), (len(counts), 1))
    shares[ids] = by_node[is_leaf]
    return shares


@compiled
def _shares_or_random(counts: NDArray[np.float64], seed: Any) -> NDArray[np.float64]:
    """Shares, or where the paper's rule says so the gaps between sorted uniform draws: uniform on the simplex."""
    n_leaves, n_classes = counts.shape
    shares = np.zeros((n_leaves, n_classes))
    cuts = np.zeros(n_classes + 1)
    for leaf in range(n_leaves):
        total = counts[leaf].sum()
        if counts[leaf].min() >= 0 and total > 0:
            shares[leaf] = counts[leaf] / total
            continue
        for k in range(n_classes - 1):
            cuts[k + 1] = np.float64(mix(seed, leaf, k) >> np.uint64(11)) * _FLOAT_UNIT
        cuts[n_classes] = 1.0
        cuts[1:n_classes].sort()
        for k in range(n_classes):
            shares[leaf, k] = cuts[k + 1] - cuts[k]
    return shares


__all__ = ["Forest", "LeafCounts", "LeafLabels", "Structure", "Voting", "estimate_bytes"]

Voting = Literal["threshold", "majority", "probabilistic"]
VOTINGS: tuple[Voting, ...] = get_args(Voting)


@compiled
def _divide_by_totals(sums: NDArray[np.float64]) -> None:
    """Let each row add up to one; a row of zeros gets equal shares."""
    n_rows, n_classes = sums.shape
    for row in range(n_rows):
        total = 0.0
        for k in range(n_classes):
            total += sums[row, k]
        for k in range(n_classes):
            sums[row, k] = sums[row, k] / total if total > 0 else 1.0 / n_classes


@dataclass(frozen=True, eq=False)
class Forest(FieldsOnly):
    """What was learned; public by the time that it exists, and nothing of the data but what was released.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    structure : CompleteTrees, ExplicitTrees or RandomTrees
        How codes come to leaves.
    leaves : LeafLabels or LeafCounts
        What the leaves say.
    voting : {"threshold", "majority", "probabilistic"}, default="majority"
        How the trees' leaves are combined: see `RandomDecisionForestClassifier`. All but *majority* need `LeafCounts`.
    weights : float64 array of shape (n_classes,), optional
        What each class's sum of votes is multiplied by, so that the largest wins elsewhere than at equal shares.
    """

    encoding: Encoding
    structure: Structure
    leaves: LeafLabels | LeafCounts
    voting: Voting = "majority"
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        n_classes = self.encoding.n_classes
        if not 1 <= n_classes <= MOST_CLASSES:
            raise ParameterError(f"a forest votes for 1 to {MOST_CLASSES} classes, the target has {n_classes}")
        check_choice("voting", self.voting, VOTINGS)
        if isinstance(self.leaves, LeafLabels) and self.voting != "majority":
            raise ParameterError(f"voting={self.voting!r} needs counts in the leaves, got labels: use 'majority'")
        mine, theirs = FeatureCodes.of(self.encoding), self.structure.domains
        if not (
            np.array_equal(mine.n_codes, theirs.n_codes)
            and np.array_equal(mine.ordered, theirs.ordered)
            and np.array_equal(mine.missing, theirs.missing)
        ):
            raise ParameterError("the structure was made for other features than the encoding's")
        self.leaves.check(self.structure.n_leaves, n_classes)
        weights = self.weights
        if weights is not None and (
            weights.dtype != np.float64
            or weights.shape != (n_classes,)
            or not (np.isfinite(weights) & (weights > 0)).all()
        ):
            raise ParameterError(f"weights must be {n_classes} positive numbers")

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        if isinstance(self.leaves, LeafLabels):
            raise ParameterError("leaves with labels have no shares")
        return self.leaves.shares(self.structure)

    @cached_property
    def _labels(self) -> NDArray[np.uint16]:
        if isinstance(self.leaves, LeafLabels):
            return self.leaves.labels
        return np.asarray(self._shares.argmax(axis=1), dtype=np.uint16)

    @cached_property
    def _packed_labels(self) -> NDArray[np.uint8] | None:
        if self.structure.n_trees > MOST_PACKED_TREES:
            return None
        return pack_labels(self._labels, self.encoding.n_classes)

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return each record's share of the vote for each class.

        Parameters
        ----------
        codes : array of shape (n_features, n_rows)
            What the encoding made of the records.
        n_jobs : int, default=1
            Number of threads. Results are the same to the bit.

        Returns
        -------
        float64 array of shape (n_rows, n_classes)
            Rows add up to one; equal shares where every tree abstains.
        """
        if self.voting == "majority":
            n_classes, packed = self.encoding.n_classes, self._packed_labels
            if packed is None:
                counted = count_labels(self.structure, codes, self._labels, n_classes, n_jobs)
            else:
                counted = count_packed(self.structure, codes, packed, n_classes, n_jobs)
            sums = counted.astype(np.float64)
        else:
            sums = sum_values(self.structure, codes, self._shares, n_jobs)
        if self.weights is not None:
            sums *= self.weights
        _divide_by_totals(sums)
        return sums

    def leaf_votes(self, *, weighted: bool = True) -> NDArray[np.float64]:
        """Return what each leaf adds to the vote for each class; a row of zeros where a leaf abstains.

        Probabilities are these sums over trees, divided by their total; without the weights, it is what a leaf itself
        says.
        """
        if self.voting != "majority":
            votes = self._shares.copy()
        else:
            votes = np.zeros((self._labels.size, self.encoding.n_classes))
            voting = self._labels < self.encoding.n_classes
            votes[np.flatnonzero(voting), self._labels[voting]] = 1.0
        return votes if self.weights is None or not weighted else votes * self.weights

    def predict(self, codes: NDArray[Any], n_jobs: int = 1, rng: PublicRng | None = None) -> IntArray:
        """Return the number of the class that wins, the first of equals; probabilistic voting draws it with `rng`."""
        votes = self.votes(codes, n_jobs)
        if self.voting != "probabilistic":
            return np.asarray(votes.argmax(axis=1), dtype=np.int64)
        if rng is None:
            raise ParameterError("probabilistic voting draws the class: pass rng, a public generator")
        # The last boundary is left out: rounding must not let a draw fall beyond the last class.
        boundaries = votes.cumsum(axis=1)[:, :-1]
        drawn: IntArray = (rng.random((len(votes), 1)) >= boundaries).sum(axis=1)
        return drawn

    def class_frequencies(self) -> NDArray[np.float64] | None:
        """Return how often classes occur, by the released counts of all leaves; None where only labels were released.

        A class of which the noise has left less than a record counts as one record.
        """
        if isinstance(self.leaves, LeafLabels):
            return None
        totals = np.maximum(self.leaves.counts.sum(axis=0) / self.structure.n_trees, 1.0)
        frequencies: NDArray[np.float64] = totals / totals.sum()
        return frequencies

    def class_spread(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the leaves' parts of all records and their shares of the last class, as released.

        None where labels vote, several trees, or weighted ones: there leaves have other shares than predictions.
        """
        if isinstance(self.leaves, LeafLabels) or self.structure.n_trees > 1 or self.voting == "majority":
            return None
        if self.weights is not None:
            return None
        totals = np.maximum(self.leaves.counts.sum(axis=1), 0).astype(np.float64)
        weights = totals / totals.sum() if totals.any() else np.full(totals.shape, 1 / totals.size)
        return weights, self._shares[:, -1]

    def importances(self) -> NDArray[np.float64] | None:
        """Return how much each feature's splits lower the impurity, by released counts; None where there are none."""
        from privet.models.importances import impurity_decreases

        return None if isinstance(self.leaves, LeafLabels) else impurity_decreases(self, self.leaves.counts)

    def export_text(self, tree: int = 0) -> str:
        """Return a tree as indented lines, in the data's own names and units."""
        from privet.models.drawing import export_text

        return export_text(self, tree)

    def rules(self, tree: int = 0) -> list[str]:
        """Return a tree as sentences, one for each leaf."""
        from privet.models.drawing import rules

        return rules(self, tree)

    def plot(
        self, target: "str | Path | Axes | None" = None, *, tree: int = 0, leaf_epsilon: float | None = None
    ) -> "Axes":
        """Draw a tree into a file, into axes, or into a new figure; see `privet.models.drawing.plot`."""
        from privet.models.drawing import plot

        return plot(self, target, tree=tree, leaf_epsilon=leaf_epsilon)


def estimate_bytes(structure: Structure, n_classes: int) -> int:
    """Return the memory that a forest's leaves take with counts and shares, known before any data is seen."""
    return 2 * 8 * n_classes * structure.n_leaves

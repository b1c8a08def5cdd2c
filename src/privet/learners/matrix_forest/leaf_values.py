"""How counts become votes. All but `hard_labels` is post-processing of what was released."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from privet.learners.matrix_forest.settings import Ensemble, leaf_sums
from privet.learners.matrix_forest.votes import ForestVotes
from privet.tables.protocol import Floats, IntArray
from privet.trees.kernels.vote import sum_values

LeafVoting = Literal["weight", "hard", "balanced", "probability"]
EmptyLeaves = Literal["no vote", "first class"]
LEAF_VOTINGS: tuple[LeafVoting, ...] = get_args(LeafVoting)


def hard_labels(counts: IntArray, empty: EmptyLeaves = "no vote") -> IntArray:
    """Return the label of each leaf as a one-hot row (L in Definition 8); for two classes the second column alone.

    Parameters
    ----------
    counts : int64 array of shape (leaves, classes)
        Class counts of trees on disjoint records.
    empty : {"no vote", "first class"}
        What a leaf without records does. *no vote*: nothing. *first class*: it votes for the first class, as line 7 of
        Algorithm 2 has it to the letter: the largest of equal counts is the first one.

    Notes
    -----
    *Privacy.* Adding or removing a record changes one leaf's label: two entries of a row move by one, or one entry of
    the column. Ties go to the first class. That a leaf without records has no vote changes one entry less; of two
    classes it votes for the first in any case.
    """
    if counts.shape[1] == 2:
        return (counts[:, 1:] > counts[:, :1]).astype(np.int64)
    labels = np.zeros_like(counts)
    labels[np.arange(len(counts)), counts.argmax(axis=1)] = 1
    if empty == "no vote":
        labels[counts.sum(axis=1) == 0] = 0
    return labels


def leaf_votes(counts: Floats, voting: LeafVoting, totals: Floats) -> Floats:
    """Return the vote of each leaf for each class.

    Parameters
    ----------
    counts : array of shape (leaves, classes)
        Estimated class counts.
    voting : {"weight", "hard", "balanced", "probability"}
        How leaves are combined: see `MatrixForestClassifier`.
    totals : array of shape (classes,)
        Estimated class totals, on any common scale.
    """
    if voting == "weight":
        return counts
    if voting == "balanced":
        return counts / floored(totals)
    if voting == "hard":
        votes = np.zeros_like(counts)
        votes[np.arange(len(counts)), counts.argmax(axis=1)] = 1.0
        return votes
    positive = np.maximum(counts, 0.0)
    mass = positive.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(positive, mass, out=np.zeros_like(positive), where=mass > 0)
    return shares


def cell_votes(ensemble: Ensemble, counts: Floats, voting: LeafVoting, totals: Floats) -> Floats:
    """Return the votes of every cell for estimated counts of the cells, averaged over the ensemble's trees."""
    if ensemble.trees is None:
        votes = ForestVotes(ensemble.cells, ensemble.depth).answer(counts)
        return votes / floored(totals) if voting == "balanced" else votes
    codes = ensemble.codes_of_cells(ensemble.trees.domains.n_features)
    values = leaf_votes(leaf_sums(ensemble.trees, codes, counts), voting, totals)
    return sum_values(ensemble.trees, codes, values) / ensemble.trees.n_trees


def floored(totals: Floats) -> Floats:
    """Keep noisy class totals away from zero: no class counts for less than a hundredth of an even share."""
    return np.maximum(totals, max(float(totals.sum()), 1.0) / (100 * len(totals)))

"""Deep partition aggregation (Levine and Feizi 2021) with plain trees: robust, but neither private nor readable.

The records are divided into parts by a hash of their features; each part grows a tree; the trees vote. With each
record a poisoner gets at one part, so one vote; the margin of the vote is a certificate for each test record by itself,
without any probability. It is here to be compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from privet.errors import ParameterError
from privet.frames.columns import read_values
from privet.parameters import check_choice, check_whole
from privet.randomness.hashing import siphash_rows
from privet.robustness.guarantees import CHANGES, Change
from privet.schema.encoding import ClassTarget
from privet.schema.schema import Schema
from privet_papers.vos_2023.poisoning.attacks import numbers

_KEY = bytes(16)  # public: the certificate holds against poisoners who know where their records go


class DPAClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An ensemble of plain trees on hash-disjoint parts, with a certificate against poisoning for each prediction.

    Parameters
    ----------
    n_parts : int, default=1000
        How many trees. More parts bear more poisoned records, with fewer records for each tree.
    max_depth : int, default=4
        Depth of each tree.
    schema : Schema, optional
        Gives features as codes, and the classes; without it features must be finite numbers.
    classes : sequence, optional
        The classes, in the order in which ties are broken; needed where there is no schema. Classes read off the
        records would be in a poisoner's hands: one record of a class that sorts first would break all ties anew.
        Records with another label are left out, one by one.

    Attributes
    ----------
    classes_ : array
        Ties are broken in favour of the earlier class.
    trees_ : list
        One tree for each part; None where a part got no record, which then abstains.

    Notes
    -----
    *Certificate.* Classes, their order, the number of parts and the hash are fixed before the records are seen, and a
    tree is a function of the records in its part alone, as a set. So a record that is added, removed or relabelled
    changes one part, and of that part's answer at a test record x no more than this: a vote for one class becomes a
    vote for another, or appears, or disappears, where a part becomes, or no longer is, empty. Let ``v`` be the votes at
    x and ``w`` the winner. With any other class ``c``, one change takes at most 2 off ``v[w] - v[c]``: a vote that goes
    from w to c; one that appears or disappears takes at most 1 off. After k changes ``v[w] - v[c]`` has lost at most
    2 k. The winner stands against c while the difference is at least 0, or at least 1 where c comes earlier and wins a
    tie. Hence it stands for ``k = floor((v[w] - max over c of (v[c] + [c comes before w])) / 2)`` changes: Theorem 1 of
    Levine and Feizi (2021), whether or not parts abstain. No larger number would do for all trees: k + 1 votes may go
    from w to the class that attains the maximum, or to it from a part that abstains where w has none.

    *Privacy.* None.
    """

    def __init__(
        self,
        n_parts: int = 1000,
        max_depth: int = 4,
        schema: Schema | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.n_parts = n_parts
        self.max_depth = max_depth
        self.schema = schema
        self.classes = classes

    def fit(self, X: Any, y: Any) -> Self:
        """Divide the records into parts and grow a tree on each."""
        n_parts = check_whole("n_parts", self.n_parts, 1, 10**6)
        labels = self._labels()
        # Label by label: one of another type must not turn all others into text.
        features, target = numbers(X, self.schema), labels.encode(read_values(y))
        if len(features) != len(target):
            raise ParameterError(f"X has {len(features)} records, y has {len(target)}; pass one label for each record")
        self.classes_ = np.asarray(labels.classes)
        features, target = features[target >= 0], target[target >= 0]
        hashes = _hash_of_features(features)
        parts = (hashes % np.uint64(n_parts)).astype(np.intp)
        # Sorted by content, so that a tree is a function of its part as a set and not of the order of rows.
        order = np.lexsort((target, hashes, parts))
        edges = np.searchsorted(parts[order], np.arange(n_parts + 1))
        self.trees_ = [
            self._tree(features[rows], target[rows]) for rows in (order[start:stop] for start, stop in pairwise(edges))
        ]
        return self

    def votes(self, X: Any) -> NDArray[np.int64]:
        """Return how many trees vote for each class, one row for each record; empty parts abstain."""
        check_is_fitted(self, "trees_")
        features = numbers(X, self.schema)
        rows = np.arange(len(features))
        votes = np.zeros((len(features), len(self.classes_)), dtype=np.int64)
        for tree in self.trees_:
            if tree is not None:
                votes[rows, tree.predict(features)] += 1
        return votes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes, the earliest of equals."""
        labels: NDArray[Any] = self.classes_[self.votes(X).argmax(axis=1)]
        return labels

    def certified_changes(self, X: Any) -> NDArray[np.int64]:
        """Return for each record how many parts may be poisoned without changing its prediction; see the class."""
        return certified_changes(self.votes(X))

    def certified_accuracy(self, X: Any, y: Any, n_poisoned: int, change: Change = "added_or_removed") -> float:
        """Return a lower bound on the accuracy after any poisoning of `n_poisoned` training records.

        A record that is added, removed or relabelled changes one part (features alone decide which); one that is
        modified may move from one part to another and changes two.
        """
        check_choice("change", change, CHANGES)
        votes = self.votes(X)
        right = votes.argmax(axis=1) == self._labels().encode(read_values(y))
        reach = n_poisoned * (2 if change == "modified" else 1)
        return float(np.mean(right & (certified_changes(votes) >= reach)))

    def _labels(self) -> ClassTarget:
        if (self.schema is None) == (self.classes is None):
            raise ParameterError(
                "a certificate needs classes that no record can change: pass schema=..., or without one classes=[...]"
            )
        if self.schema is None:
            assert self.classes is not None
            classes = tuple(label.item() if isinstance(label, np.generic) else label for label in self.classes)
            found = ClassTarget(classes)
            if isinstance(self.classes, str) or len(set(classes)) < len(classes):
                raise ParameterError(f"classes must be a list of labels that all differ, got {self.classes!r}")
            return found
        target = self.schema.encoding().target
        if not isinstance(target, ClassTarget):
            raise ParameterError("trees that vote need classes, but the schema's target is Numeric; give it classes")
        return target

    def _tree(self, features: NDArray[np.float64], target: NDArray[np.int32]) -> DecisionTreeClassifier | None:
        if not len(target):
            return None
        return DecisionTreeClassifier(max_depth=self.max_depth, random_state=0).fit(features, target)


def certified_changes(votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many parts may change before the winner does: half the gap to the next, ties to the earlier class.

    Parts that abstain have no vote in `votes`; `DPAClassifier` has the proof.

    Examples
    --------
    >>> certified_changes(np.array([[7, 3], [3, 7], [5, 5]])).tolist()
    [2, 1, 0]
    """
    rows = np.arange(len(votes))
    winner = votes.argmax(axis=1)
    rivals = votes + (np.arange(votes.shape[1]) < winner[:, None])  # an earlier class wins a tie
    rivals[rows, winner] = -1
    gap = votes[rows, winner] - rivals.max(axis=1, initial=0)
    return np.asarray(gap // 2, dtype=np.int64)


def _hash_of_features(features: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Hash each record by the bits of its features; zero and minus zero are the same number."""
    bits = np.ascontiguousarray((features + 0.0).view(np.uint16).T)
    return siphash_rows(_KEY, np.zeros(len(features), dtype=np.uint64), bits)

"""Poisoning attacks on accuracy: label flips and insertions, chosen greedily where they hurt the most.

The attacker knows the training data, the test data and the kind of learner. They look at a plain tree in the place of
the private one for the leaf where the fewest records turn the label and the most test records are then wrong; they take
it, grow the tree again, and go on until their records are used up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from privet.parameters import check_whole
from privet.robustness.guarantees import Change
from privet.schema.schema import Schema

FINE_GRID = 255


@dataclass(frozen=True)
class Poisoned:
    """Training data after an attack.

    Attributes
    ----------
    X, y
        The data.
    n_poisoned : int
        How many records were added or relabelled.
    change : str
        Which of the two, as `Guarantee.under` wants it.
    """

    X: Any
    y: NDArray[Any]
    n_poisoned: int
    change: Change


def flip_labels(
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    n_poisoned: int,
    *,
    schema: Schema | None = None,
    max_depth: int = 4,
) -> Poisoned:
    """Give at most `n_poisoned` records another label, so that a tree's accuracy on the test data suffers most.

    Parameters
    ----------
    X, y, X_test, y_test : pandas frames or arrays
        What the attacker knows.
    n_poisoned : int
        How many records they may relabel.
    schema : Schema, optional
        Needed where features are not numbers.
    max_depth : int, default=4
        Depth of the tree that they plan with.
    """
    check_whole("n_poisoned", n_poisoned, 0, len(y))
    features, labels = numbers(X, schema), np.array(y)
    test = numbers(X_test, schema), np.asarray(y_test)
    clean = labels.copy()
    while True:
        left = n_poisoned - np.count_nonzero(labels != clean)
        view = _View.of(features, labels, *test, max_depth)
        target = view.best_leaf(int(left), per_record=2)
        if target is None:
            break
        # Only records with their own label are turned, so that no flip is undone by a later one.
        rows = np.flatnonzero((view.leaves == target.leaf) & (labels == target.winner) & (labels == clean))
        if not len(rows):
            break
        labels[rows[: target.cost]] = target.other
    return Poisoned(X, labels, int(np.count_nonzero(labels != clean)), "relabelled")


def insert_records(
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    n_poisoned: int,
    *,
    schema: Schema | None = None,
    max_depth: int = 4,
) -> Poisoned:
    """Add `n_poisoned` copies of records with another label, so that a tree's accuracy on the test data suffers most.

    Parameters
    ----------
    X, y, X_test, y_test, schema, max_depth
        As for `flip_labels`.
    n_poisoned : int
        How many records may be added.
    """
    check_whole("n_poisoned", n_poisoned, 0, 2**31)
    features, labels = numbers(X, schema), np.array(y)
    test = numbers(X_test, schema), np.asarray(y_test)
    rows = np.arange(len(labels))
    while True:
        left = n_poisoned - (len(rows) - len(features))
        view = _View.of(features[rows], labels, *test, max_depth)
        target = view.best_leaf(left, per_record=1)
        if target is None:
            break
        members = rows[view.leaves == target.leaf]
        rows = np.concatenate([rows, members[np.arange(target.cost) % len(members)]])
        labels = np.concatenate([labels, np.full(target.cost, target.other, dtype=labels.dtype)])
    return Poisoned(_take_rows(X, rows), labels, len(rows) - len(features), "added_or_removed")


def numbers(X: Any, schema: Schema | None) -> NDArray[np.float64]:
    """Return features as numbers for a plain tree: the schema's codes, or the values themselves without one."""
    if schema is None:
        return np.ascontiguousarray(np.asarray(X, dtype=np.float64))
    return np.ascontiguousarray(schema.encoding(FINE_GRID).encode(X).T, dtype=np.float64)


def _take_rows(X: Any, rows: NDArray[np.intp]) -> Any:
    """Return rows of a pandas frame or an array, in this order; a row may come more than once."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


@dataclass(frozen=True)
class _Target:
    leaf: int
    winner: Any
    other: Any
    cost: int


@dataclass(frozen=True)
class _View:
    """What the attacker sees of a tree: who is in which leaf."""

    leaves: NDArray[np.intp]
    labels: NDArray[Any]
    test_leaves: NDArray[np.intp]
    test_labels: NDArray[Any]

    @classmethod
    def of(
        cls,
        features: NDArray[np.float64],
        labels: NDArray[Any],
        test_features: NDArray[np.float64],
        test_labels: NDArray[Any],
        max_depth: int,
    ) -> _View:
        tree = DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(features, labels)
        return cls(tree.apply(features), labels, tree.apply(test_features), test_labels)

    def best_leaf(self, left: int, per_record: int) -> _Target | None:
        """Return where a record does the most harm, or None where none does.

        A flip moves the gap between two classes in a leaf by two, an insertion by one (`per_record`). A leaf that costs
        more than what is left is taken only if no other can be: a noisy learner may still get it wrong.
        """
        if left == 0:
            return None
        classes = np.unique(self.labels)
        harm: dict[_Target, float] = {}
        for leaf in np.unique(self.leaves):
            counts = np.array([np.count_nonzero(self.labels[self.leaves == leaf] == label) for label in classes])
            there = self.test_labels[self.test_leaves == leaf]
            winner = int(counts.argmax())
            for other in range(len(classes)):
                lost = np.count_nonzero(there == classes[winner]) - np.count_nonzero(there == classes[other])
                if other != winner and lost > 0:
                    cost = int(counts[winner] - counts[other]) // per_record + 1
                    harm[_Target(int(leaf), classes[winner], classes[other], cost)] = lost / cost
        within = {target: value for target, value in harm.items() if target.cost <= left} or harm
        if not within:
            return None
        best = max(within, key=lambda target: within[target])
        return _Target(best.leaf, best.winner, best.other, min(best.cost, left))

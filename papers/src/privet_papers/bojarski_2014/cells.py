"""What the entries of Bojarski et al. compute: forests over a grid of heights, numbers of trees and budgets, and CART.

One forest of the largest number of trees is drawn for each height and counted once; a smaller number takes its first
trees. The noise is drawn anew for each number of trees, since its scale grows with it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from privet.learners.random_decision_forest.forest import RandomDecisionForest
from privet.learners.random_decision_forest.shape import forest_shape
from privet.mechanisms.release import Release, drawn
from privet.models.forest import Empty, Forest, LeafCounts, Voting
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from privet.tables.protocol import IntArray
from privet.trees.complete_trees import CompleteTrees
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.kernels.vote import count_labels, sum_values
from privet.trees.random_trees import RandomTrees
from privet_papers.bojarski_2014.data import Split, frame, split
from privet_papers.framework.data import TARGET

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

Errors = dict[str, tuple[float, float]]  # by voting rule: on validation and on test records

METHODS: dict[str, Empty] = {
    "n-dp": "random",  # Algorithm 1: no noise, a random share in a leaf without records
    "dp": "random",  # Algorithm 2 with the noise that its proof needs
    "dp, back-off": "back_off",  # ours: negative counts taken as zero, empty leaves take the subtree's shares
}
VOTES = ("MV", "TA", "PA")
FIXED_SHAPE = (10, 8)
CART_PRUNING = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)

# All code that decides the results of these cells.
SOURCES = (
    *(
        "privet.schema.encoding",
        "privet.mechanisms.samplers",
        "privet.mechanisms.exact_integer",
        "privet.privacy.terms",
    ),
    *("privet.trees.kernels.complete", "privet.trees.kernels.count", "privet.trees.kernels.vote"),
    *("privet.trees.random_trees", "privet.models.forest"),
    *("privet.learners.random_decision_forest.shape", "privet.learners.random_decision_forest.forest"),
    *("privet_papers.bojarski_2014.data", "privet_papers.framework.data"),
)


def grid(settings: Settings, data: DataFolder) -> Result:
    """Return validation and test error for every method, voting rule, height and number of trees, in one run.

    The settings may give `eta`; the paper's 1000 / n_tr without it.
    """
    parts = split_of_run(settings["data"], settings["seed"], data)
    eta = float(settings.get("eta", parts.eta))
    rows = []
    for h in settings["h"]:
        counts, trees = counted(parts, settings["seed"], max(settings["k"]), h)
        for k in settings["k"]:
            exact, first = counts[: k << h], first_trees(trees, k)
            released = noisy(exact, k, h, eta)
            for method, empty in METHODS.items():
                errors = errors_by_vote(parts, first, exact if method == "n-dp" else released, empty, settings["seed"])
                rows += [[method, vote, h, k, *pair] for vote, pair in errors.items()]
    return {"eta": eta, "columns": ["method", "vote", "h", "k", "validation", "test"], "rows": rows}


def public_rule(settings: Settings, data: DataFolder) -> Result:
    """Return the test error of our forest in the shape that `forest_shape` gives: nothing is chosen on the data.

    The rule is given the number of training records, taken as public as the paper's own eta takes it.
    """
    parts = split_of_run(settings["data"], settings["seed"], data)
    shape = forest_shape(Allowance.of(parts.eta).whole, len(parts.train))
    counts, trees = counted(parts, settings["seed"] + 1000, shape.n_trees, shape.max_depth)
    released = noisy(counts, shape.n_trees, shape.max_depth, parts.eta)
    errors = errors_by_vote(parts, trees, released, "back_off", settings["seed"])
    return {
        "eta": parts.eta,
        "k": shape.n_trees,
        "h": shape.max_depth,
        **{vote: test for vote, (_, test) in errors.items()},
    }


def rule_and_grid(settings: Settings, data: DataFolder) -> Result:
    """Return the error of threshold averaging by the public rule, in a fixed shape, and in the best of a grid.

    The best is the best on the very records that it is measured on, which nobody can have: a bound from below.
    """
    parts = split_of_run(settings["data"], settings["seed"], data)
    eta = float(settings["eta"])

    def error(k: int, h: int) -> float:
        counts, trees = counted(parts, settings["seed"], k, h)
        both = errors_by_vote(parts, trees, noisy(counts, k, h, eta), "back_off", settings["seed"])["TA"]
        return float(np.average(both, weights=[len(parts.validation), len(parts.test)]))

    shape = forest_shape(Allowance.of(eta).whole, len(parts.train))
    of_grid = {(k, h): error(k, h) for k in settings["k"] for h in settings["h"]}
    (k, h), best = min(of_grid.items(), key=lambda item: item[1])
    return {
        "n": len(parts.train),
        "k": shape.n_trees,
        "h": shape.max_depth,
        "rule": error(shape.n_trees, shape.max_depth),
        "fixed": error(*FIXED_SHAPE),
        "best": best,
        "best k": k,
        "best h": h,
    }


def cart(settings: Settings, data: DataFolder) -> Result:
    """Return the test error of scikit-learn's CART, pruned as is best on the validation part."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    parts = split_of_run(settings["data"], settings["seed"], data)
    table = frame(settings["data"], data)
    X = pd.get_dummies(table.drop(columns=TARGET)).to_numpy(dtype=np.float32)
    y = parts.labels
    best = (np.inf, np.inf, 0.0)
    for alpha in CART_PRUNING:
        tree = DecisionTreeClassifier(ccp_alpha=alpha, random_state=settings["seed"]).fit(
            X[parts.train], y[parts.train]
        )
        errors = [float((tree.predict(X[part]) != y[part]).mean()) for part in (parts.validation, parts.test)]
        best = min(best, (errors[0], errors[1], alpha))
    return {"test": best[1], "ccp_alpha": best[2]}


def tree_quality(settings: Settings, data: DataFolder) -> Result:
    """Return the training error of forests without privacy, and of their average tree, for the theorems' bounds."""
    parts = split_of_run(settings["data"], settings["seed"], data)
    h, largest = settings["h"], max(settings["k"])
    counts, trees = counted(parts, settings["seed"], largest, h)
    y = parts.labels[parts.train]
    majority = counts.reshape(largest, -1, parts.encoding.n_classes)
    # A leaf's majority is right in it: what is left over is the tree's error.
    tree_error = float(1 - majority.max(axis=2).sum(axis=1).mean() / len(y))
    rows = []
    for k in settings["k"]:
        first = first_trees(trees, k)
        leaves = LeafCounts(counts[: k << h])
        forests = [Forest(parts.encoding, first, leaves, voting) for voting in ("majority", "threshold")]
        rows.append([k, *(float((forest.predict(parts.codes[:, parts.train]) != y).mean()) for forest in forests)])
    return {"n": len(y), "tree_error": tree_error, "columns": ["k", "MV", "TA"], "rows": rows}


def goodness_and_weight(settings: Settings, data: DataFolder) -> Result:
    """Return how goodness and weight of training points are spread, and the error of a forest on these points.

    Goodness is the share of trees in whose leaf most points have a point's label, weight the average share of points
    with its label in its leaf. `mu` is the share of points of at least 1/2 + delta, where delta makes k trees enough.
    """
    parts = split_of_run(settings["data"], settings["seed"], data)
    h, n_trees, k = settings["h"], settings["trees"], settings["k"]
    counts, trees = counted(parts, settings["seed"], n_trees, h)
    codes, y = np.ascontiguousarray(parts.codes[:, parts.train]), parts.labels[parts.train]
    n, points = len(y), np.arange(len(y))
    delta = float(np.sqrt(np.log(n) / k))  # k = (1 + C) log(n) / (2 delta^2), for C = 1
    leaves, of_tree = LeafCounts(counts), counts.reshape(n_trees, -1, parts.encoding.n_classes)
    most = leaves.shares(trees).argmax(axis=1).astype(np.uint16)
    goodness = count_labels(trees, codes, most, parts.encoding.n_classes)[points, y] / n_trees
    weight = sum_values(trees, codes, leaves.shares(trees))[points, y] / n_trees
    first, first_leaves = first_trees(trees, k), LeafCounts(counts[: k << h])
    found: Result = {"n": n, "delta": delta, "tree_error": float(1 - of_tree.max(axis=2).sum(axis=1).mean() / n)}
    for vote, voting, of_point in (("MV", "majority", goodness), ("TA", "threshold", weight)):
        forest = Forest(parts.encoding, first, first_leaves, cast(Voting, voting))
        found[vote] = {
            "mean": float(of_point.mean()),
            "deviation": float(of_point.std()),
            "near": float((abs(of_point - of_point.mean()) <= 0.1).mean()),
            "right": float((of_point > 0.5).mean()),
            "mu": float((of_point >= 0.5 + delta).mean()),
            "private mu": float((of_point >= 0.5 + settings["private delta"]).mean()),
            "error": float((forest.predict(codes) != y).mean()),
        }
    return found


@lru_cache(maxsize=1)
def split_of_run(name: str, seed: int, data: DataFolder) -> Split:
    """Return the records of a run; the last one is kept."""
    return split(name, seed, data)


def counted(parts: Split, seed: int, k: int, h: int) -> tuple[IntArray, CompleteTrees]:
    """Draw k trees of height h and count the training records in their leaves."""
    trees = RandomTrees.draw(parts.encoding, 10_000 * seed + h, k, h).materialise()
    assert isinstance(trees, CompleteTrees)
    train = MemoryTable(parts.encoding, np.ascontiguousarray(parts.codes[:, parts.train]), parts.labels[parts.train])
    return train.aggregate(LeafClassCounts(trees, parts.encoding.n_classes)), trees


def first_trees(trees: CompleteTrees, k: int) -> CompleteTrees:
    """Return the first k trees."""
    all_splits = trees.splits
    splits = replace(
        all_splits,
        feature=all_splits.feature[:k],
        cut=all_splits.cut[:k],
        missing_first=all_splits.missing_first[:k],
        set_index=all_splits.set_index[:k],
    )
    return CompleteTrees(trees.domains, splits)


def noisy(counts: IntArray, k: int, h: int, eta: float) -> IntArray:
    """Release the counts of k trees, by the code of the learner."""
    terms, allowance = Terms(), Allowance.of(eta)
    event = RandomDecisionForest(k, h).event(k, terms, allowance.whole)
    return Release(Ledger(terms, allowance), drawn()).noisy(counts, event)


def errors_by_vote(parts: Split, trees: CompleteTrees, counts: IntArray, empty: Empty, seed: int) -> Errors:
    """Vote by all three rules on the same leaves."""
    held_out = np.concatenate([parts.validation, parts.test])
    codes, y = np.ascontiguousarray(parts.codes[:, held_out]), parts.labels[held_out]
    shares = LeafCounts(counts, empty, seed).shares(trees)
    n_classes = shares.shape[1]
    majority = count_labels(trees, codes, shares.argmax(axis=1).astype(np.uint16), n_classes).argmax(axis=1)
    average = sum_values(trees, codes, shares) / trees.n_trees
    coins = public_rng(seed).random((len(y), 1))
    by_coin = (coins >= average.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return {
        vote: _validation_and_test(labels != y, len(parts.validation))
        for vote, labels in zip(VOTES, (majority, average.argmax(axis=1), by_coin), strict=True)
    }


def _validation_and_test(wrong: NDArray[np.bool_], n_validation: int) -> tuple[float, float]:
    return round(float(wrong[:n_validation].mean()), 6), round(float(wrong[n_validation:].mean()), 6)

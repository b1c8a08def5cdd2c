"""The emulation of rpart: growth by its defaults, pruning by misclassified records."""

import numpy as np
import pytest

from privet_papers.bojarski_2014.rpart import CP, MINBUCKET, MINSPLIT, fit_rpart


def _data(n=400):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(n, 3)).astype(np.float32)
    y = ((X[:, 0] > 0.5) ^ (rng.uniform(size=n) < 0.1)).astype(int)
    return X, y


def test_pruning_takes_most_of_the_noise_away_and_leaves_the_split_that_matters():
    X, y = _data()
    pruned = fit_rpart(X, y)
    assert pruned.n_leaves < pruned.tree.tree_.n_leaves / 2
    assert (pruned.predict(X) == (X[:, 0] > 0.5)).mean() > 0.95


def test_without_a_price_for_leaves_the_whole_tree_remains_but_for_splits_that_help_nobody():
    X, y = _data()
    whole, free = fit_rpart(X, y, cp=0.0), fit_rpart(X, y, cp=1e-9)
    assert whole.n_leaves > 2
    assert free.n_leaves <= whole.tree.tree_.n_leaves
    assert (free.predict(X) != y).sum() == (whole.tree.predict(X) != y).sum()


@pytest.mark.parametrize("cp", [CP, 0.001, 0.1])
def test_no_subtree_costs_less_than_the_one_that_is_kept(cp):
    X, y = _data(150)
    pruned = fit_rpart(X, y, cp)
    arrays = pruned.tree.tree_
    counts = arrays.value[:, 0] * arrays.weighted_n_node_samples[:, None]
    errors = counts.sum(axis=1) - counts.max(axis=1)

    def cheapest(node):
        own = errors[node] + cp * errors[0]
        left, right = arrays.children_left[node], arrays.children_right[node]
        return own if left < 0 else min(own, cheapest(left) + cheapest(right))

    kept = (pruned.predict(X) != y).sum() + cp * errors[0] * pruned.n_leaves
    assert kept == pytest.approx(cheapest(0))


def test_leaves_are_as_large_as_rpart_wants_them():
    X, y = _data()
    arrays = fit_rpart(X, y).tree.tree_
    leaves = arrays.children_left < 0
    assert arrays.n_node_samples[leaves].min() >= MINBUCKET
    assert arrays.n_node_samples[~leaves].min() >= MINSPLIT

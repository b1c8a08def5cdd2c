"""The arena's peers that are written there: their accounts are exact, they learn, and tables take them in."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from privet.privacy.conversions import epsilon_to_zcdp
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
try:
    import accuracy
    from arena import adassp, aim, descent, rank_map
    from arena.data import Problem, Task, coded
    from arena.gaussian_privacy import delta_of, deviation, mu_of, part_of
    from arena.gradient_peers import GradientPeer, gradient_peers
    from arena.ranks import ranks
finally:
    sys.path.remove(str(ROOT / "benchmarks"))

DELTA = 1e-6


def hockey_stick(epsilon, mu):
    """Delta of two normal laws that are mu apart, by integration in place of the formula."""
    x = np.linspace(-12, 12 + mu, 400_001)
    most = np.maximum(stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), 0)
    return np.trapezoid(most, x)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_noise_is_that_of_the_analytic_gaussian_mechanism(epsilon):
    mu = mu_of(epsilon, DELTA)
    assert hockey_stick(epsilon, mu) == pytest.approx(DELTA, rel=1e-4)
    assert hockey_stick(epsilon, 1.02 * mu) > 1.05 * DELTA


def test_parts_of_a_budget_compose_to_the_whole():
    mu = mu_of(1.0, DELTA)
    quantiles, steps = part_of(mu, 0.1), part_of(mu, 0.9)
    noise = deviation(0.25, steps, times=100)
    assert math.hypot(quantiles, 10 * 0.25 / noise) == pytest.approx(mu)
    assert delta_of(1.0, math.hypot(quantiles, 10 * 0.25 / noise)) == pytest.approx(DELTA, rel=1e-6)


class Recorded:
    """A generator that writes down what it was asked to draw and draws nothing."""

    def __init__(self):
        self.drawn = 0

    def normal(self, size=None):
        self.drawn += int(np.prod(size)) if size is not None else 1
        return np.zeros(size) if size is not None else 0.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_record_moves_a_sum_of_gradients_by_at_most_the_clip(n_classes):
    rng = np.random.default_rng(0)
    X, labels = sparse.csr_matrix(3 * rng.normal(size=(40, 5))), rng.integers(0, n_classes, 40)
    pace = descent.Pace(steps=1, clip=0.25, step=1.0, most=1.0)
    columns = np.ones(5, int)

    def after_one_step(kept):  # the weights are minus the step size times the sum over rows * clip
        return descent.linear(X[kept], columns, labels[kept], n_classes, 1.0, 1000.0, pace, Recorded())

    everyone = np.arange(40)
    size = pace.size(0, 1.0, 1000.0, 5 * descent.scores_for(n_classes)) / (1000.0 * pace.clip)
    moves = [np.linalg.norm(after_one_step(everyone) - after_one_step(np.delete(everyone, k))) / size for k in everyone]
    assert max(moves) == pytest.approx(pace.clip, rel=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_networks_gradient_is_that_of_its_loss_and_cut_off_record_by_record(n_classes):
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(20, 4)), rng.integers(0, n_classes, 20)
    weights = [rng.normal(size=(4, 8)), rng.normal(size=(9, descent.scores_for(n_classes)))]

    def loss(first):
        chances = descent.shares(descent.hidden_units(X, [first, weights[1]]) @ weights[1])
        return -np.log(chances[np.arange(20), labels]).sum()

    step = np.zeros((4, 8))
    step[2, 3] = 1e-6
    slope = (loss(weights[0] + step) - loss(weights[0] - step)) / 2e-6
    assert descent.network_sums(X, labels, weights, math.inf)[0][2, 3] == pytest.approx(slope, rel=1e-5)
    lengths = []
    for row in range(20):
        parts = descent.network_sums(X[[row]], labels[[row]], weights, 0.5)
        lengths.append(math.sqrt(sum((part**2).sum() for part in parts)))
    assert max(lengths) == pytest.approx(0.5)
    assert min(lengths) < 0.49


def test_a_network_starts_without_a_look_at_the_records():
    pace = descent.Pace(steps=0, clip=0.5, step=1.0, most=1.0)
    few, many = (
        descent.network(X, 2.0, np.zeros(len(X), int), 2, 8, 1.0, 50.0, pace, np.random.default_rng(0))
        for X in (np.zeros((3, 4)), np.ones((9, 4)))
    )
    assert all(np.array_equal(one, other) for one, other in zip(few, many, strict=True))


def test_private_quantiles_are_quantiles_where_noise_is_small_and_even_cells_where_it_is_large():
    values = np.random.default_rng(0).beta(2, 8, (20_000, 1))
    columns = rank_map.Columns(values, np.zeros(1), np.ones(1), np.zeros(1, int))
    fine = columns.fine()
    below = rank_map.distributions(fine, 50.0, 20_000, np.random.default_rng(1))
    found = rank_map.ranks(fine, below)[:, 0]
    assert np.abs(found - stats.rankdata(values[:, 0]) / 20_000).max() < 0.01
    unknown = rank_map.distributions(fine, 1e-6, 20_000, np.random.default_rng(1))
    assert np.abs(unknown[0] - np.linspace(0, 1, unknown.shape[1])).max() < 0.01


@pytest.fixture(scope="module")
def table():
    """Two thousand records of three classes that a number and a category tell apart."""
    rng = np.random.default_rng(3)
    number, word = rng.gamma(2.0, size=2000).clip(0, 10), rng.integers(0, 3, 2000)
    features = {"number": Numeric(0, 10), "word": Categorical(["a", "b", "c"])}
    frame = pd.DataFrame({"number": number, "word": np.array(["a", "b", "c"])[word]})
    labels = np.where(number > 2, 2, (word == 0).astype(int))
    schema = Schema(features, classes=[0, 1, 2])
    return Problem(Task("made", Path("made")), frame, coded(frame, features), labels, schema)


@pytest.mark.parametrize("peer", gradient_peers(DELTA), ids=lambda peer: peer.name)
def test_every_peer_learns_a_simple_table(peer, table):
    answer = peer.run(table, 0, 4.0)
    truth = table.labels[table.split(0)[1]]
    assert np.allclose(answer.prediction.sum(axis=1), 1, atol=1e-5)
    assert np.mean(answer.prediction.argmax(axis=1) == truth) > np.bincount(truth).max() / len(truth) + 0.1
    assert np.array_equal(answer.prediction, peer.run(table, 0, 4.0).prediction)


def test_adassp_is_least_squares_where_nothing_is_noised():
    rng = np.random.default_rng(5)
    X = sparse.csr_matrix(rng.normal(size=(5000, 3)) / 5)
    target = (X @ np.array([1.0, -2.0, 0.5]))[:, None]
    assert adassp.weights(X, target, 1e6, DELTA, rng)[:, 0] == pytest.approx([1.0, -2.0, 0.5], abs=1e-4)


def test_adassp_predicts_a_number(table):
    schema = Schema(table.schema.features, target=Numeric(0, 2))
    problem = Problem(table.task, table.frame, table.codes, table.labels.astype(float), schema)
    answer = GradientPeer("AdaSSP", "statistics", DELTA).run(problem, 0, 4.0)
    truth = problem.labels[problem.split(0)[1]]
    assert np.mean((answer.prediction - truth) ** 2) < 0.7 * truth.var()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_aims_rho_is_privets(epsilon):
    ours = epsilon_to_zcdp(Fraction(str(epsilon)), Fraction(1, 10**6))
    assert aim.rho_of(epsilon, DELTA) == pytest.approx(float(ours), rel=1e-3)


def test_aim_asks_for_pairs_and_their_columns():
    weights = aim.weights_of({"a": 2, "b": 3, "huge": 9_000})
    assert weights == {("a",): 1.0, ("b",): 1.0, ("huge",): 0.0, ("a", "b"): 2.0}


def rows(method, tasks, splits=2, score=0.8, epsilons=(0.1, 1.0)):
    return pd.DataFrame(
        {"task": task, "rivals": "approximate", "method": method, "epsilon": e, "splits": splits, "accuracy": score}
        for task in tasks
        for e in epsilons
    )


class Can:
    """A method of two classes only, and tasks of two classes and of three."""

    name, rivals = "new", "approximate"

    @staticmethod
    def can(task):
        return task.n_classes == 2


class Pair:
    def __init__(self, name, n_classes):
        self.name, self.n_classes = name, n_classes


def test_renew_adds_a_method_once_it_is_finished_on_all_that_it_can():
    published = rows("old", ["x", "y", "z"], splits=5)
    finished = accuracy.expected([Can()], [Pair("x", 2), Pair("y", 2), Pair("z", 3)], (0.1, 1.0))
    added = accuracy.renewed(published, rows("new", ["x", "y"], score=0.9), finished)
    assert set(added[added.method == "new"].task) == {"x", "y"}
    assert len(added) == len(published) + 4
    for late in (rows("new", ["x"]), pd.concat([rows("new", ["x"]), rows("new", ["y"], splits=1)])):
        assert "new" not in set(accuracy.renewed(published, late, finished).method)


def test_renew_replaces_what_is_published_and_keeps_the_rest():
    published = pd.concat([rows("old", ["x", "y"], score=0.7), rows("other", ["x", "y"])])
    again = accuracy.renewed(published, rows("old", ["x", "y", "elsewhere"], score=0.9))
    assert set(again[again.method == "old"].accuracy) == {0.9}
    assert "elsewhere" not in set(again.task)
    assert len(again) == len(published)


def test_ranks_leave_out_a_method_that_has_not_answered_everywhere():
    means = pd.concat([rows("Boosting", ["x", "y"], score=0.8), rows("slow", ["x"], score=0.9)])
    means = pd.concat([means, rows("peer", ["x", "y"], score=0.85)])
    found = ranks(means, "approximate", "accuracy", {"x", "y"}, {"Boosting", "peer"})
    assert set(found.method) == {"Boosting", "peer"}
    assert found[found.method == "peer"].average_rank.eq(1).all()

"""The black-box audit refutes planted bugs, does not refute their sound twins, and keeps its confidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import exp, log
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from privet.audit import NeighbourPair, neighbours, statistical_audit
from privet.audit.bounds import choose_event, epsilon_lower_bound, trials_needed
from privet.audit.projections import Value
from privet.errors import AuditError

Train = Callable[[Any, Any], Any]


class ConstantLabel:
    """A leaf on its own."""

    def __init__(self, label: int) -> None:
        self.label = label

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.label)


def stump(feature: int | None, threshold: float = 0.5) -> SimpleNamespace:
    """A tree as scikit-learn shows it: a root that is split, or a leaf."""
    split = feature is not None
    tree = SimpleNamespace(
        children_left=np.array([1, -1, -1] if split else [-1]),
        feature=np.array([feature, -2, -2] if split else [-2]),
        threshold=np.array([threshold, -2.0, -2.0] if split else [-2.0]),
    )
    return SimpleNamespace(tree_=tree, predict=lambda X: np.zeros(len(X), dtype=int))


def gap_and_majority(y: Any) -> tuple[int, int]:
    ones = int(np.sum(y))
    return abs(len(y) - 2 * ones), int(2 * ones > len(y))


def permute_and_flip_label(rng: np.random.Generator, y: Any, epsilon: float) -> int:
    gap, majority = gap_and_majority(y)
    return majority ^ int(rng.random() < exp(-epsilon * gap) / 2)


def smooth_label(rng: np.random.Generator, epsilon: float) -> Train:
    """Exponential mechanism on {0, 1} scores with a scale of exp(-gap * epsilon) from the data."""

    def train(X: Any, y: Any) -> ConstantLabel:
        gap, majority = gap_and_majority(y)
        minority = 1 / (1 + exp(epsilon / 2 * exp(gap * epsilon))) if gap else 0.5
        return ConstantLabel(majority ^ int(rng.random() < minority))

    return train


def label(rng: np.random.Generator, epsilon: float) -> Train:
    return lambda X, y: ConstantLabel(permute_and_flip_label(rng, y, epsilon))


def forest(rng: np.random.Generator, epsilon: float, assign: Callable[[int], Any], n_trees: int) -> Train:
    def train(X: Any, y: Any) -> SimpleNamespace:
        tree_of = assign(len(y))
        labels = [permute_and_flip_label(rng, y[tree_of == t], epsilon) for t in range(n_trees)]
        return SimpleNamespace(estimators_=[ConstantLabel(label) for label in labels])

    return train


def audit(train: Train, pair: NeighbourPair, epsilon: float, trainings: int = 20_000, **more: Any) -> Any:
    settings = {"relation": "add_remove", "max_trainings": trainings, **more}
    return statistical_audit(train, [pair], epsilon=epsilon, **settings)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.mark.parametrize(("gap", "at_least", "exact"), [(1, 1.6, 2.131), (2, 2.5, 6.324)])
def test_smooth_sensitivity_label_is_refuted(rng: np.random.Generator, gap: int, at_least: float, exact: float) -> None:
    report = audit(smooth_label(rng, 1.0), neighbours.smooth_sensitivity(gap), 1.0)
    assert report.refuted
    assert at_least < report.lower < exact


@pytest.mark.parametrize(("gap", "at_least"), [(1, 0.65), (2, 0.5)])
def test_permute_and_flip_label_is_not_refuted_and_comes_near_its_claim(
    rng: np.random.Generator, gap: int, at_least: float
) -> None:
    report = audit(label(rng, 1.0), neighbours.smooth_sensitivity(gap), 1.0)
    assert not report.refuted
    assert at_least < report.lower <= 1.0


def test_laplace_scale_of_budget_over_trees_is_refuted_and_its_inverse_is_not(rng: np.random.Generator) -> None:
    n_trees, epsilon = 4, 0.5

    def noisy_count(scale: float) -> Train:
        return lambda X, y: len(y) + rng.laplace(scale=scale)

    pair = neighbours.noise_scale()
    assert audit(noisy_count(epsilon / n_trees), pair, epsilon, 4_000).refuted
    assert not audit(noisy_count(n_trees / epsilon), pair, epsilon, 4_000).refuted


def test_float_laplace_is_refuted_by_its_low_order_bits_and_integer_noise_is_not(rng: np.random.Generator) -> None:
    def in_floats(X: Any, y: Any) -> float:
        return len(y) + rng.laplace(scale=1.0)

    def in_integers(X: Any, y: Any) -> int:
        two_sided = rng.geometric(1 - exp(-1.0), size=2)
        return len(y) + int(two_sided[0] - two_sided[1])

    pair = neighbours.float_noise()
    assert audit(in_floats, pair, 1.0, 8_000).lower > 2
    assert not audit(in_integers, pair, 1.0, 8_000).refuted


@pytest.mark.slow
def test_contiguous_partition_is_refuted_and_coins_are_not(rng: np.random.Generator) -> None:
    n_trees = 5
    pair = neighbours.moving_partition(n_trees)
    contiguous = forest(rng, 0.5, lambda n: (np.arange(n) // (n / n_trees)).astype(int), n_trees)
    coins = forest(rng, 0.5, lambda n: rng.integers(n_trees, size=n), n_trees)
    assert audit(contiguous, pair, 0.5).lower > 1.5
    assert not audit(coins, pair, 0.5).refuted


def test_shuffled_equal_shares_are_refuted_and_coins_are_not(rng: np.random.Generator) -> None:
    pair = neighbours.equal_shares()
    views = pair.projections[:1]
    equal = forest(rng, 2.0, lambda n: (rng.permutation(n) // (n / 2)).astype(int), 2)
    coins = forest(rng, 2.0, lambda n: rng.integers(2, size=n), 2)
    assert audit(equal, pair, 2.0, projections=views).refuted
    assert not audit(coins, pair, 2.0, projections=views).refuted


def test_add_remove_label_claimed_for_replacement_is_refuted_and_half_its_rate_is_not(
    rng: np.random.Generator,
) -> None:
    pair = neighbours.replaced_label()
    assert audit(label(rng, 1.0), pair, 1.0, relation="replace").lower > 1.5
    assert not audit(label(rng, 0.5), pair, 1.0, relation="replace").refuted


def test_features_composed_in_parallel_are_refuted(rng: np.random.Generator) -> None:
    def train(X: Any, y: Any) -> SimpleNamespace:
        """Noisy histograms, each of them private with epsilon 1, and the same record in all of them."""
        missed = np.not_equal(X, y[:, None])
        wrong = np.array([np.sum(missed & half, axis=0) for half in (X < 0.5, X > 0.5)])
        noisy = np.maximum(0, wrong + rng.laplace(scale=1.0, size=wrong.shape))
        return stump(int(np.argmin(noisy.sum(axis=0))))

    pair = neighbours.features_as_disjoint(copies=10)
    assert audit(train, pair, 1.0, 12_000, projections=pair.projections[:1]).refuted


@pytest.mark.parametrize(
    ("pair", "stops"),
    [
        (neighbours.purity_stop(), lambda y: len(set(y.tolist())) < 2),
        (neighbours.size_stop(2), lambda y: len(y) < 3),
        (neighbours.size_stop(0), lambda y: len(y) == 0),
    ],
    ids=["purity", "size", "empty"],
)
def test_stops_without_noise_are_refuted(pair: NeighbourPair, stops: Callable[[Any], bool]) -> None:
    assert audit(lambda X, y: stump(None if stops(y) else 0), pair, 3.0, 2_000).refuted


def test_thresholds_taken_from_the_data_are_refuted_though_none_comes_twice(rng: np.random.Generator) -> None:
    def train(X: Any, y: Any) -> SimpleNamespace:
        values = np.unique(X)
        gap = int(rng.integers(len(values) - 1))
        return stump(0, rng.uniform(values[gap], values[gap + 1]) if len(values) > 2 else 0.5)

    assert audit(train, neighbours.fresh_value(), 3.0, 2_000).refuted


def test_dropping_constant_features_is_refuted(rng: np.random.Generator) -> None:
    def train(X: Any, y: Any) -> SimpleNamespace:
        varied = [j for j in range(X.shape[1]) if len(np.unique(X[:, j])) > 1]
        return stump(int(rng.choice(varied)))

    assert audit(train, neighbours.constant_feature(), 2.0, 2_000).refuted


def test_sensitivity_from_a_noisy_size_is_refuted_at_small_epsilon(rng: np.random.Generator) -> None:
    """The loss tends to ln(18/17) = 0.0572 however small epsilon is."""
    epsilon = 0.001
    ratio = exp(-epsilon / 2)

    def train(X: Any, y: Any) -> SimpleNamespace:
        n = len(y)
        noise = rng.geometric(1 - ratio, size=2)
        size = max(1, n + int(noise[0] - noise[1]))
        together = 0.0 if n == 1 else 0.5  # average Gini that a split on the first feature leaves
        sensitivity = 1 - (size / (size + 1)) ** 2 - (1 / (size + 1)) ** 2
        wrong = exp(-epsilon / 4 / sensitivity * together) / 2
        return stump(0 if rng.random() < wrong else 1)

    report = audit(train, neighbours.noisy_size(), epsilon, 200_000)
    assert report.refuted
    assert report.lower < log(18 / 17)


def test_classes_read_from_the_data_are_refuted() -> None:
    def train(X: Any, y: Any) -> SimpleNamespace:
        return SimpleNamespace(classes_=np.unique(y), predict=lambda X: np.zeros(len(X), dtype=int))

    assert audit(train, neighbours.new_class(), 3.0, 2_000).refuted


def test_bounds_read_from_the_data_are_refuted(rng: np.random.Generator) -> None:
    pair = neighbours.extreme_value()
    assert audit(lambda X, y: stump(0, rng.uniform(X.min(), X.max())), pair, 0.1, 2_000, projections=[_deep]).refuted


def _deep(model: Any) -> bool:
    return bool(model.tree_.threshold[0] > 0.1)


def test_an_unsupported_matrix_strategy_is_refuted(rng: np.random.Generator) -> None:
    def train(X: Any, y: Any) -> list[float]:
        counts = np.array([np.sum(X == 0), np.sum(X == 1)])
        common = int(rng.integers(-3, 4))  # the same noise on both answers: their difference is bare
        return [float(count + common) for count in counts]

    assert audit(train, neighbours.unsupported_strategy(), 3.0, 2_000).refuted


class Released:
    def __init__(self, released: float, **rest: Any) -> None:
        self.released_ = released
        self.__dict__.update(rest)


def test_noise_from_a_fixed_seed_is_refuted_and_fresh_noise_is_not(rng: np.random.Generator) -> None:
    pair = neighbours.noise_from_a_seed()
    seeded = audit(lambda X, y: Released(len(y) + np.random.default_rng(0).laplace()), pair, 3.0, 2_000)
    fresh = audit(lambda X, y: Released(len(y) + rng.laplace()), pair, 3.0, 2_000)
    assert seeded.refuted
    assert not fresh.refuted


def test_an_undeclared_count_in_the_object_is_refuted_and_a_clean_object_is_not(rng: np.random.Generator) -> None:
    pair = neighbours.leaking_attributes(declared=("released_",))
    leaking = audit(lambda X, y: Released(rng.random(), n_samples_=len(y)), pair, 3.0, 2_000)
    clean = audit(lambda X, y: Released(rng.random(), max_depth=3), pair, 3.0, 2_000)
    assert leaking.refuted
    assert clean.lower == 0


def randomised_response(rng: np.random.Generator, epsilon: float) -> Train:
    """Four answers; the true one is e^epsilon times as likely as each other: exactly epsilon, never more."""
    weights = np.array([exp(epsilon), 1.0, 1.0, 1.0])
    weights /= weights.sum()
    return lambda X, y: int((len(y) + rng.choice(4, p=weights)) % 4)


def test_the_bound_keeps_its_confidence_on_randomised_response() -> None:
    rng = np.random.default_rng(7)
    epsilon, nominal, repetitions, trials = 0.5, 0.2, 600, 400
    shares = np.array([exp(epsilon), 1.0, 1.0, 1.0])
    shares /= shares.sum()
    too_high = 0
    for _ in range(repetitions):
        cells = {
            (side, half): as_counts(rng.multinomial(trials, np.roll(shares, side)))
            for side in (0, 1)
            for half in (0, 1)
        }
        event = choose_event(cells[0, 0], cells[1, 0], delta=0.0, level=nominal)
        hits = event.hits(cells[0, 1]), event.hits(cells[1, 1])
        too_high += epsilon_lower_bound(hits[0], trials, hits[1], trials, level=nominal) > epsilon
    assert 0 < too_high <= nominal * repetitions  # valid, and not so careful that it never errs


def test_choosing_and_testing_on_the_same_trainings_would_break_the_confidence() -> None:
    rng = np.random.default_rng(8)
    repetitions, trials, level = 100, 400, 0.05
    naive = honest = 0
    for _ in range(repetitions):
        cells = [as_counts(rng.multinomial(trials, np.full(100, 0.01))) for _ in range(4)]
        event = choose_event(cells[0], cells[1], delta=0.0, level=level)
        bounds = [
            epsilon_lower_bound(event.hits(p), trials, event.hits(q), trials, level=level)
            for p, q in (cells[:2], cells[2:])
        ]
        naive += bounds[0] > 0
        honest += bounds[1] > 0
    assert naive > 0.5 * repetitions
    assert honest <= level * repetitions


def as_counts(row: Any) -> Counter[str]:
    return Counter({str(outcome): int(count) for outcome, count in enumerate(row)})


def test_a_mechanism_exactly_at_its_claim_is_not_refuted_and_just_above_it_is(rng: np.random.Generator) -> None:
    pair = neighbours.noise_scale()
    report = audit(randomised_response(rng, 1.0), pair, 1.0, 40_000, projections=[Value()])
    assert 0.85 < report.lower <= 1.0
    assert report.verdict == "not refuted"
    assert audit(randomised_response(rng, 1.0), pair, 0.85, 40_000, projections=[Value()]).refuted


def test_delta_excuses_a_rare_leak_up_to_its_size(rng: np.random.Generator) -> None:
    """Reveals the size with probability 0.1 and nothing otherwise: (0, 0.1)-DP."""

    def train(X: Any, y: Any) -> int:
        return len(y) if rng.random() < 0.1 else -1

    def verdict(delta: float) -> str:
        report = audit(train, neighbours.noise_scale(), 1.0, 8_000, delta=delta, projections=[Value()])
        return str(report.verdict)

    assert verdict(0.1) == "not refuted"
    assert verdict(0.01) == "refuted"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_number_of_trainings_needed_is_the_least_with_which_a_perfect_distinguisher_refutes(
    epsilon: float, delta: float
) -> None:
    needed = trials_needed(epsilon, delta, level=0.01)
    assert epsilon_lower_bound(needed, needed, 0, needed, delta=delta, level=0.01) > epsilon
    assert epsilon_lower_bound(needed - 1, needed - 1, 0, needed - 1, delta=delta, level=0.01) <= epsilon


def test_too_few_trainings_are_refused_with_the_number_that_would_do(rng: np.random.Generator) -> None:
    pair = neighbours.noise_scale()
    with pytest.raises(AuditError, match=r"max_trainings=\d+") as refusal:
        audit(randomised_response(rng, 1.0), pair, 5.0, 400, projections=[Value()])
    enough = int(str(refusal.value).split("at least max_trainings=")[1].split(",")[0])
    assert audit(lambda X, y: len(y), pair, 5.0, enough, projections=[Value()]).refuted

"""Certificates against the truth: linear programs, known laws, and attacks whose outcome is computed exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from privet.errors import ParameterError
from privet.privacy import laws
from privet.robustness import (
    Closeness,
    Guarantee,
    certify,
    infimum,
    infimum_from_sample,
    paper_accuracy,
    tail_certificate,
    tail_certificates,
    two_sided,
)
from tests.laws.registry import REGISTERED

RATIOS = [0.0, 0.05, 0.7, 2.0, 5.0]


def worst_by_linear_program(values, probabilities, c):
    """The smallest E_Q f over all Q with e^-c p <= q <= e^c p, by a solver that knows nothing of our formula."""
    result = linprog(
        values,
        A_eq=[np.ones(len(values))],
        b_eq=[1.0],
        bounds=[(np.exp(-c) * p, np.exp(c) * p) for p in probabilities],
    )
    assert result.success
    return result.fun


def worst_with_delta_by_linear_program(values, probabilities, close):
    """The smallest E_Q f over all Q that are (c, delta)-close to P both ways; slacks carry the positive parts."""
    n, p, ratio = len(values), np.asarray(probabilities), close.ratio
    eye, zero = np.eye(n), np.zeros((n, n))
    rows = [
        np.hstack([eye, -eye, zero]),  # q - ratio p <= over
        np.hstack([-ratio * eye, zero, -eye]),  # p - ratio q <= under
        np.concatenate([np.zeros(n), np.ones(n), np.zeros(n)])[None, :],
        np.concatenate([np.zeros(2 * n), np.ones(n)])[None, :],
    ]
    result = linprog(
        np.concatenate([values, np.zeros(2 * n)]),
        A_ub=np.vstack(rows),
        b_ub=np.concatenate([ratio * p, -p, [close.delta, close.delta]]),
        A_eq=[np.concatenate([np.ones(n), np.zeros(2 * n)])],
        b_eq=[1.0],
    )
    assert result.success
    return result.fun


def random_law(rng):
    n = int(rng.integers(1, 30))
    values = rng.random(n)
    if n > 3:
        values[:3] = values[0]  # equal values must not matter
    return values, rng.dirichlet(np.full(n, 0.5))


@pytest.mark.parametrize("c", RATIOS)
def test_the_infimum_is_that_of_a_linear_program(c):
    rng = np.random.default_rng(int(100 * c))
    for _ in range(40):
        values, probabilities = random_law(rng)
        ours = infimum(values, Closeness(c), probabilities)
        assert ours == pytest.approx(worst_by_linear_program(values, probabilities, c), abs=1e-7)


@pytest.mark.parametrize("c", RATIOS)
def test_bounds_from_the_mean_never_exceed_the_infimum(c):
    rng = np.random.default_rng(1)
    for _ in range(200):
        values, probabilities = random_law(rng)
        mean = float(values @ probabilities)
        worst = infimum(values, Closeness(c), probabilities)
        assert paper_accuracy(mean, Closeness(c)) <= two_sided(mean, Closeness(c)) <= worst + 1e-12


@pytest.mark.parametrize(("c", "delta"), [(0.1, 0.01), (1.0, 0.05), (3.0, 0.001)])
def test_bounds_with_delta_never_exceed_the_worst_of_a_linear_program(c, delta):
    rng = np.random.default_rng(2)
    close = Closeness(c, delta)
    for _ in range(40):
        values, probabilities = random_law(rng)
        worst = worst_with_delta_by_linear_program(values, probabilities, close)
        assert two_sided(float(values @ probabilities), close) <= worst + 1e-7
        for threshold in values:
            risk = probabilities[values < threshold].sum()
            assert threshold * (1 - close.ratio * risk - delta) <= worst + 1e-7


def test_the_two_sided_bound_is_the_infimum_of_a_law_of_zeros_and_ones():
    # With two values the mean is the whole law, so nothing is lost.
    for mean in (0.1, 0.5, 0.9):
        for c in RATIOS:
            assert two_sided(mean, Closeness(c)) == pytest.approx(infimum([0, 1], Closeness(c), [1 - mean, mean]))


@pytest.mark.slow
def test_certificates_from_samples_are_wrong_no_more_often_than_they_say():
    """5% each, over 2000 tables of three tails: a certificate is wrong if it exceeds the true infimum."""
    rng = np.random.default_rng(3)
    values = np.linspace(0.3, 0.9, 13)
    probabilities = np.array([0.01, 0.01, 0.02, 0.02, 0.04, 0.05, 0.05, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1])
    closes = [Closeness(0.2), Closeness(1.0), Closeness(2.5)]
    worst = [infimum(values, close, probabilities) for close in closes]
    risk = {value: probabilities[values < value].sum() for value in values}
    tail_risk_missed = tail_above = sample_above = 0
    trials = 2000
    for _ in range(trials):
        scores = rng.choice(values, 200, p=probabilities)
        tails = tail_certificates(scores, closes, 0.05)
        tail_risk_missed += any(tail.clean_risk < risk[tail.threshold] for tail in tails)
        tail_above += any(tail.expected > truth for tail, truth in zip(tails, worst, strict=True))
        sample_above += any(
            infimum_from_sample(scores, close, 0.05) > truth for close, truth in zip(closes, worst, strict=True)
        )
    # 5% of 2000, and four standard deviations for the luck of this test.
    most = 0.05 * trials + 4 * np.sqrt(0.05 * 0.95 * trials)
    assert tail_risk_missed <= most
    assert tail_above <= tail_risk_missed
    assert sample_above <= most
    # The test has teeth: were the confidence bounds much too timid, nothing would ever be wrong.
    assert tail_risk_missed > 0


def test_choosing_and_testing_on_the_same_scores_would_be_wrong_too_often():
    """Why `tail_certificate` splits: with one sample for both, errors exceed the level."""
    rng = np.random.default_rng(4)
    values, close, level, trials = np.linspace(0, 1, 101), Closeness(1.0), 0.05, 600
    honest = shared = 0
    for _ in range(trials):
        scores = rng.choice(values, 100)
        tail = tail_certificate(scores, close, level)
        honest += tail.clean_risk < np.mean(values < tail.threshold)
        half = scores[:50]
        doubled = tail_certificate(np.concatenate([half, half]), close, level)
        shared += doubled.clean_risk < np.mean(values < doubled.threshold)
    assert honest <= level * trials + 4 * np.sqrt(level * (1 - level) * trials)
    assert shared > honest


# A learner whose law is known exactly: a fixed partition into cells, each labelled by permute-and-flip on its counts.
EPSILON = Fraction(1, 10)
CELLS = np.array([[30, 18], [12, 26], [9, 9], [40, 25]])  # clean class counts
TEST = np.array([[30, 20], [10, 30], [12, 8], [35, 5]])  # test records of each class


def accuracy_law(counts):
    """All accuracies that the learner can have on these counts, and how likely each is."""
    labels = [laws.permute_and_flip(row, EPSILON) for row in counts.tolist()]
    values, probabilities = [], []
    for outcome in product(range(2), repeat=len(counts)):
        cells = range(len(counts))
        values.append(sum(TEST[cell, label] for cell, label in zip(cells, outcome, strict=True)) / TEST.sum())
        probabilities.append(np.prod([labels[cell][label] for cell, label in zip(cells, outcome, strict=True)]))
    return np.array(values), np.array(probabilities)


def expected(counts):
    values, probabilities = accuracy_law(counts)
    return float(values @ probabilities)


def moves(change):
    """What one poisoned record can do to the counts."""
    for cell, label in product(range(len(CELLS)), range(2)):
        step = np.zeros_like(CELLS)
        step[cell, label] += 1
        if change == "added_or_removed":
            yield step
            yield -step
        else:
            step[cell, 1 - label] -= 1
            yield step


def greedy_attack(counts, n_poisoned, change):
    """Poison record by record, each time as the exact expected accuracy suffers most."""
    for _ in range(n_poisoned):
        poisoned = [counts + move for move in moves(change) if (counts + move >= 0).all()]
        counts = min(poisoned, key=expected)
    return counts


@pytest.mark.parametrize("change", ["added_or_removed", "relabelled"])
@pytest.mark.parametrize("n_poisoned", [1, 3, 10])
def test_the_exact_outcome_of_a_greedy_attack_never_violates_a_certificate(change, n_poisoned):
    rng = np.random.default_rng(5)
    close = Guarantee(EPSILON).under(n_poisoned, change)
    values, probabilities = accuracy_law(CELLS)
    outcome = expected(greedy_attack(CELLS, n_poisoned, change))
    clean = expected(CELLS)
    assert outcome < clean
    assert outcome >= infimum(values, close, probabilities) - 1e-12
    assert outcome >= two_sided(clean, close)
    assert outcome >= paper_accuracy(clean, close)
    scores = rng.choice(values, 2000, p=probabilities)
    assert outcome >= tail_certificate(scores, close).expected
    assert outcome >= infimum_from_sample(scores, close)


def test_one_step_for_a_relabelled_record_would_be_violated():
    """Two steps under add/remove are needed: at this data set one flip does more than one step of epsilon allows."""
    counts, flipped = np.array([[30, 10]]), np.array([[29, 11]])
    p, q = (laws.permute_and_flip(c[0].tolist(), Fraction(1)) for c in (counts, flipped))
    loss = abs(np.log(q[1] / p[1]))
    assert 1.0 < loss <= 2.0 + 1e-9
    assert Guarantee.stated(1.0).under(1, "relabelled").log_ratio == 2.0


# Its settings make no difference to how a learner is certified: one of them is enough.
ONE_OF_EACH = {learner.estimator: learner for learner in reversed(REGISTERED)}


def test_an_accuracy_of_numbers_is_refused_with_the_remedy():
    with pytest.raises(ParameterError, match="no accuracy; pass score="):
        certify(ONE_OF_EACH["BoostingRegressor"].make(), [], [], [], [])


@pytest.mark.parametrize("learner", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
def test_every_learner_of_the_house_can_be_certified(learner):
    """Through fit and predict alone, under the guarantee of its own ledger."""
    (columns, labels), (test_columns, test_labels) = learner.people(120), learner.people(60, seed=1)
    X, X_test = pd.DataFrame(columns), pd.DataFrame(test_columns)

    def share_within_a_tolerance(model):
        return float(np.mean(abs(model.predict(X_test) - test_labels) < 10))

    score = share_within_a_tolerance if learner.is_regressor else None
    table = certify(learner.make(), X, labels, X_test, test_labels, poisoned=[0, 1], score=score, n_retrainings=20)
    assert table.guarantee.epsilon == 1
    assert table.at(1).log_ratio == 1.0
    assert 0 <= table.at(1).guaranteed <= table.at(0).guaranteed <= table.clean

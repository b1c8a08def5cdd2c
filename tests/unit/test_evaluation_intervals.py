"""Intervals of private evaluation: how often they hold, by the laws of noise and sampling where that can be."""

import numpy as np
import pytest
from scipy.stats import binom, laplace, poisson

from privet import Categorical, Numeric, Schema
from privet.estimators.learning import Hints
from privet.evaluation.class_figures import CellEstimate
from privet.evaluation.counting import centre
from privet.evaluation.intervals import Ratio
from privet.evaluation.regressors import RegressorEvaluator, RegressorFigures, RegressorTallies
from privet.privacy.terms import Allowance, Terms

SCHEMA = Schema({"group": Categorical(["one", "two"])}, target=Numeric(0, 100))
ENCODING = SCHEMA.encoding(2)
TOP = ENCODING.target.levels - 1
POPULATION = 100_000


def planned(epsilon, delta=0.0):
    return RegressorEvaluator(None, 0).plan(ENCODING, Terms.of(SCHEMA), Allowance.of(epsilon, delta).whole, Hints())


def sums(targets, errors):
    centred = targets - centre(ENCODING.target)
    return np.array([len(errors), centred.sum(), (centred**2).sum(), (errors**2).sum(), np.abs(errors).sum()])


def of_groups(errors, groups):
    parts = [errors[groups == place] for place in (0, 1)]
    return np.array([[len(part), part.sum(), np.abs(part).sum()] for part in parts])


def figures(tallies, plan):
    found = RegressorFigures(RegressorTallies(*tallies, plan), ENCODING.target)
    first = found.groups(("one", "two"))[0]
    return {
        "rmse": found.rmse(),
        "mae": found.mae(),
        "r2": found.r_squared(),
        "mean": found.mean(),
        "deviation": found.deviation(),
        "share of a group": first.share,
        "mean error of a group": first.rates["mean error"],
        "gap": first.gaps["mean error"],
        "absolute error of a group": first.rates["mean absolute error"],
    }


def population(kind, n, rng):
    """Draw targets, errors and groups: errors of a usual size, with a heavy tail, or as large as can be and rare."""
    targets, groups = np.clip(rng.normal(0.46, 0.2, POPULATION), 0, 1), (rng.random(POPULATION) < 0.3).astype(int)
    errors = rng.normal(0, 0.08, POPULATION)
    if kind == "heavy":
        errors = 0.01 * rng.pareto(1.2, POPULATION)
    if kind == "rare":
        errors = (rng.random(POPULATION) < 2 / n).astype(float)
    return np.rint(targets * TOP), np.rint(np.clip(errors, -1, 1) * TOP), groups


def truth(targets, errors, groups):
    unit = 100 / TOP
    one, other = errors[groups == 0], errors[groups == 1]
    return {
        "rmse": unit * (errors**2).mean() ** 0.5,
        "mae": unit * np.abs(errors).mean(),
        "r2": 1 - (errors**2).mean() / targets.var(),
        "mean": unit * targets.mean(),
        "deviation": unit * targets.std(),
        "share of a group": (groups == 0).mean(),
        "mean error of a group": unit * one.mean(),
        "gap": unit * (one.mean() - other.mean()),
        "absolute error of a group": unit * np.abs(one).mean(),
    }


@pytest.mark.parametrize(
    ("n", "epsilon", "delta"), [(10_000, 0.1, 0), (400, 1.0, 0), (10_000, 0.1, 1e-6), (400, 100.0, 0)]
)
@pytest.mark.parametrize("kind", ["usual", "heavy", "rare"])
def test_every_figure_of_a_regressor_holds_at_95_percent(kind, n, epsilon, delta):
    """500 data sets and their noise are of a fixed stream, the same in every run: no verdict depends on chance."""
    rng, plan, data_sets = np.random.default_rng(24), planned(epsilon, delta), 500
    whole = population(kind, n, rng)
    true, held = truth(*whole), {}
    of_sums, of_parts = ([event.deviation for event in events] for events in (plan.sums, plan.groups))
    unit = rng.standard_normal if delta else lambda size: rng.laplace(0, 0.5**0.5, size)
    for _ in range(data_sets):
        rows = rng.integers(0, POPULATION, n)
        targets, errors, groups = (column[rows] for column in whole)
        noisy = sums(targets, errors) + of_sums * unit(5), of_groups(errors, groups) + of_parts * unit((2, 3))
        for name, interval in figures(noisy, plan).items():
            held[name] = held.get(name, 0) + (interval.low <= true[name] <= interval.high)
    assert min(held.values()) >= 0.95 * data_sets, held


@pytest.mark.parametrize("share", [0.0, 0.0065, 0.1])
def test_a_single_noisy_sum_holds_at_97_percent_by_the_law_of_its_noise(share):
    """Squared errors of a given mean, every quantile of the noise, and records enough that sampling does not matter."""
    n, plan = 100_000, planned(0.02)
    errors, targets = np.full(n, round(share**0.5 * TOP)), np.full(n, round(0.4 * TOP))
    exact, quantiles = sums(targets, errors), (np.arange(2_000) + 0.5) / 2_000
    true, held = 100 * errors[0] / TOP, 0
    for noise in laplace.ppf(quantiles) * plan.sums[3].deviation / 2**0.5:
        noisy = exact + noise * (np.arange(5) == 3)
        found = RegressorFigures(RegressorTallies(noisy, np.zeros((0, 3)), plan), ENCODING.target).rmse()
        held += found.low <= true <= found.high
    assert held >= 0.97 * len(quantiles) - 1
    assert held <= 0.995 * len(quantiles), "nor is it much too wide: beyond zero there is nothing to miss on one side"


@pytest.mark.parametrize("n", [60, 600])
def test_shares_hold_without_noise_however_rare_a_class_or_a_mistake_is(n):
    """Exact: the binomial probability of all counts whose interval has the true share."""
    intervals = []
    for count in range(n + 1):
        estimate = CellEstimate.of_counts(np.array([count, n - count]), 0.0, 1.0)
        ratio = Ratio.of(estimate.counts, estimate.errors, np.array([1.0, 0.0]), np.ones(2))
        intervals.append(ratio.interval())
    lows, highs = (np.array([getattr(interval, end) for interval in intervals]) for end in ("low", "high"))
    for share in np.linspace(0.05, 15, 150) / n:
        held = binom.pmf(np.arange(n + 1), n, share)[(lows <= share) & (share <= highs)].sum()
        assert held >= 0.955, share


def test_means_of_errors_hold_without_noise_however_rare_they_are():
    """Exact: of errors that are nothing or as large as can be, their number has Poisson's law."""
    n, counts, intervals = 5_000, np.arange(60), []
    plan = RegressorEvaluator(None).plan(ENCODING, Terms.of(SCHEMA), None, Hints())
    for count in counts:
        errors = np.where(np.arange(n) < count, TOP, 0)
        found = RegressorFigures(RegressorTallies(sums(errors, errors), np.zeros((0, 3)), plan), ENCODING.target)
        intervals.append([found.rmse(), found.mae()])
    for mean in np.linspace(0.05, 15, 150):
        for place, true in enumerate((100 * (mean / n) ** 0.5, 100 * mean / n)):
            inside = [each[place].low <= true <= each[place].high for each in intervals]
            assert poisson.pmf(counts, mean)[inside].sum() >= 0.95, (place, mean)

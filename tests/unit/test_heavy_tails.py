"""How much of noisy effects is believed: the horseshoe on grids against numerical integrals, and what it is for."""

import numpy as np
import pytest
from scipy import integrate

from privet.learners.boosting.heavy_tails import LARGEST_SCALE, LOCAL_SCALES, belief_in


def exact_part(seen, variance, scale):
    """Return the posterior mean over what was seen, for one effect and one global scale, by quadrature."""

    def weighted(log_local, power):
        local = np.exp(log_local)
        of_effect = (scale * local) ** 2
        likely = np.exp(-0.5 * seen**2 / (of_effect + variance)) / np.sqrt(of_effect + variance)
        return local / (1 + local**2) * likely * (of_effect / (of_effect + variance)) ** power

    ends = np.log([LOCAL_SCALES[0], min(LARGEST_SCALE / scale, LOCAL_SCALES[-1])])
    top, bottom = (integrate.quad(weighted, *ends, args=(power,), limit=500)[0] for power in (1, 0))
    return top / bottom


@pytest.mark.parametrize("seen", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("variance", [0.01, 0.1, 1.0])
def test_the_grid_of_local_scales_is_fine_enough(seen, variance, monkeypatch):
    for scale in (0.1, 1.0):
        monkeypatch.setattr("privet.learners.boosting.heavy_tails.GLOBAL_SCALES", np.array([scale]))
        (found,) = belief_in(np.array([seen]), np.array([variance])).part
        assert found == pytest.approx(exact_part(seen, variance, scale), abs=0.02)


def test_an_effect_that_stands_out_is_believed_and_the_others_are_not():
    seen = np.concatenate([np.full(9, 0.1), [1.5]])
    parts = belief_in(seen, np.full(10, 0.04)).part
    assert parts[-1] > 0.9
    assert parts[:-1].max() < 0.3


def test_more_noise_is_believed_less_and_a_sign_makes_no_difference():
    seen, variances = np.full(5, 0.4), np.array([0.001, 0.01, 0.1, 1.0, 10.0])
    parts = belief_in(seen, variances).part
    assert (np.diff(parts) < 0).all()
    np.testing.assert_allclose(belief_in(-seen, variances).part, parts)


def test_parts_are_between_nothing_and_all_whatever_is_seen():
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1.0, 1e12):
        parts = belief_in(scale * rng.normal(size=20), rng.exponential(scale**2, 20) + 1e-12).part
        assert np.isfinite(parts).all()
        assert (parts >= 0).all()
        assert (parts <= 1).all()
    assert belief_in(np.zeros(0), np.zeros(0)).part.size == 0


def test_errors_are_smaller_than_those_of_shrinking_all_alike_where_few_effects_are_large():
    rng, variance = np.random.default_rng(1), np.full(12, 0.09)
    horseshoe, alike = [], []
    for _ in range(300):
        effects = np.where(np.arange(12) < 2, 1.0, 0.0)
        seen = effects + 0.3 * rng.normal(size=12)
        of_all = max(0.0, 1 - variance.sum() / (seen**2).sum())
        horseshoe.append(((belief_in(seen, variance).part * seen - effects) ** 2).sum())
        alike.append(((of_all * seen - effects) ** 2).sum())
    assert np.mean(horseshoe) < 0.9 * np.mean(alike)


@pytest.mark.parametrize("variance", [30.0, 1_000.0])
def test_noise_that_is_larger_than_any_effect_is_not_taken_for_one(variance):
    """Without a largest scale the tail would believe the largest noise of many."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        seen = np.sqrt(variance) * rng.normal(size=10)
        assert np.abs(belief_in(seen, np.full(10, variance)).part * seen).max() < 0.5

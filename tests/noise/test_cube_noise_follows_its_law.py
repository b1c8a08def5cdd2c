"""Cube noise has its joint law, by each way to draw the radius; and samplers with a fault are rejected."""

import math
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet.errors import ParameterError
from privet.mechanisms import cube_sampling, samplers
from privet.privacy.cube_law import DiscreteCube, points_by_support
from privet.randomness.public import SeededSource

from .law_tests import SURE, SURE_OF_THE_SYSTEM, p_value_of_counts, p_value_of_pairs, sure_p_value_of_counts

HALF = Fraction(1, 2)
CASES = [
    (HALF, (1, 1, 1)),
    (HALF, (1, 2, 1)),
    (Fraction(3), (1, 2)),
    (Fraction(3), (3,)),
    (Fraction(3), (1, 1, 1)),
    (Fraction(20), (1, 1)),
    (Fraction(20), (2,)),
]
ENGINES = ["rejection", "table", "few"]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """Make one way to draw the radius, or one engine below it, serve every request; returns a source and a size."""
    if request.param == "few":
        monkeypatch.setattr(samplers, "FEW", 10**9)
        return samplers.SystemSource(), 1_500
    monkeypatch.setattr(cube_sampling, "_MOST_NUMBERS_PER_SCALE", 0 if request.param == "table" else 10**9)
    return SeededSource(71), 3_000


def norms(vectors, groups):
    starts = np.cumsum([0, *groups[:-1]])
    return np.add.reduceat(np.abs(vectors), starts, axis=-1).max(axis=-1)


def cells(vectors, groups, edges):
    """Number the cells of vectors: how large they are, the sign of each number, and which are above half the norm."""
    size = norms(vectors, groups)
    cell = np.searchsorted(edges, size)
    for column in vectors.T:
        cell = 6 * cell + 2 * (np.sign(column) + 1) + (2 * np.abs(column) > size)
    return cell


def joint(law, factor=1):
    """Return edges of the norm, and the mass of each cell; vectors outside of a large box are one cell more."""
    scale, groups = law
    own = DiscreteCube(scale * factor, groups)
    reach, n = math.ceil(24 * scale) if scale > 1 else 9, sum(groups)
    axes = np.meshgrid(*[np.arange(-reach, reach + 1)] * n, indexing="ij")
    box = np.stack([axis.ravel() for axis in axes], axis=1)
    edges = np.unique(np.round(np.arange(1, 9) / 4 * n * float(scale)))
    edges = np.append(edges, reach)  # beyond it, vectors are not all in the box
    mass = np.bincount(cells(box, groups, edges), np.exp(own.log_pmf(box)), (edges.size + 1) * 6**n)
    mass[edges.size * 6**n :] = 0.0
    inside = mass[: edges.size * 6**n]
    return edges, np.append(inside, max(0.0, 1 - inside.sum()))


def p_value(draws, law, factor=1, *, surely=False):
    edges, mass = joint(law, factor)
    found = np.minimum(cells(draws, law[1], edges), mass.size - 1)
    counts = np.bincount(found, minlength=mass.size)
    return sure_p_value_of_counts(counts, mass) if surely else p_value_of_counts(counts, mass)


def drawn(law, size, source):
    return np.array([samplers.discrete_cube(*law, source) for _ in range(size)])


@pytest.mark.parametrize("law", CASES, ids=str)
def test_the_whole_vector_has_its_scale_and_no_other(engine, law):
    source, size = engine
    surely = isinstance(source, samplers.SystemSource)
    sure = SURE_OF_THE_SYSTEM if surely else SURE
    draws = drawn(law, size, source)
    assert draws.dtype == np.int64
    assert p_value(draws, law, surely=surely) > sure
    for mistake in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(draws, law, mistake, surely=surely) < sure


def test_one_of_many_numbers_has_its_own_law(engine):
    source, size = engine
    scale, groups = Fraction(1000, 3), (1,) * 12
    law = DiscreteCube(scale, groups)
    edges = np.arange(-8, 9) * 600
    mass_at = law.pmf_of_one(np.arange(-law.reach, law.reach + 1))
    for factor in (0.7, 1.0, 1.3):
        firsts = np.array([samplers.discrete_cube(scale, groups, source)[0] for _ in range(size // 2)]) * factor
        below = np.cumsum(mass_at)[edges + law.reach]
        mass = np.diff(np.concatenate([[0.0], below, [1.0]]))
        counts = np.bincount(np.searchsorted(edges, firsts), minlength=mass.size)
        surely = isinstance(source, samplers.SystemSource)
        sure = SURE_OF_THE_SYSTEM if surely else SURE
        assert ((sure_p_value_of_counts if surely else p_value_of_counts)(counts, mass) > sure) == (factor == 1.0)


def test_successive_draws_are_independent(engine):
    source, size = engine
    law = (Fraction(5), (1, 2))
    first = np.array([[samplers.discrete_cube(*law, source)[0] for _ in range(4)] for _ in range(size // 4)])
    own = DiscreteCube(*law)
    at = own.pmf_of_one(np.arange(8))
    positive, large = (1 - at[0]) / 2, 1 - (2 * at.sum() - at[0])
    assert p_value_of_pairs(first > 0, np.full(4, positive)) > SURE_OF_THE_SYSTEM
    assert p_value_of_pairs(np.abs(first) > 7, np.full(4, large)) > SURE_OF_THE_SYSTEM
    repeated = np.repeat(first[:, :2], 2, axis=1)
    assert p_value_of_pairs(np.abs(repeated) > 7, np.full(4, large)) < SURE_OF_THE_SYSTEM


# --- Samplers with a fault -----------------------------------------------------------------------------------------

FAULTY = (Fraction(3), (1, 2))


def with_faults(monkeypatch, source, fault):
    """Return a vector as a sampler with one fault would draw it."""
    scale, groups = FAULTY
    if fault == "independent Laplace noise":
        return samplers.discrete_laplace(Fraction(9, 2), 3, source)
    if fault == "groups in another order":
        return samplers.discrete_cube(scale, groups[::-1], source)
    if fault == "one ball for all":
        return samplers.discrete_cube(scale, (3,), source)
    if fault == "no negative number":
        return np.abs(samplers.discrete_cube(scale, groups, source))
    if fault == "signs of a group in common":
        noise = samplers.discrete_cube(scale, groups, source)
        noise[1:] = np.abs(noise[1:]) * np.sign(noise[0])
        return noise
    if fault == "one geometric variable too few":
        below = samplers.BigSampler(source.words).below

        def geometric(size):
            draws = samplers.discrete_laplace(scale, 8 * size, source)
            return draws[draws >= 0][: size - 1]

        return cube_sampling.draw_cube(scale, groups, geometric, below, source.words)
    assert fault == "every radius accepted"
    monkeypatch.setattr(cube_sampling, "_coin", lambda *_: True)
    return samplers.discrete_cube(scale, groups, source)


@pytest.mark.parametrize(
    "fault",
    [
        "independent Laplace noise",
        "groups in another order",
        "one ball for all",
        "no negative number",
        "signs of a group in common",
        "one geometric variable too few",
        "every radius accepted",
    ],
)
def test_a_wrong_sampler_is_rejected(monkeypatch, fault):
    source = SeededSource(72)
    draws = np.array([with_faults(monkeypatch, source, fault) for _ in range(6_000)])
    assert p_value(draws, FAULTY) < SURE


# --- Parts of the sampler ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_points_of_a_ball_are_counted_as_they_are(m):
    for radius in range(5):
        points = [z for z in product(range(-radius, radius + 1), repeat=m) if sum(map(abs, z)) <= radius]
        counts = points_by_support(m, radius)
        assert counts == [sum(np.count_nonzero(z) == k for z in points) for k in range(len(counts))]
        assert sum(counts) == len(points)


@pytest.mark.parametrize("sizes", [((1, 1),), ((1, 6),), ((2, 3),), ((7, 1),), ((1, 3), (2, 1), (4, 2))], ids=str)
def test_points_of_all_balls_are_a_sum_of_binomials_with_natural_factors(sizes):
    n_numbers = sum(m * times for m, times in sizes)
    starts = cube_sampling._starts(sizes)
    assert len(starts) == n_numbers + 1
    assert min(starts) >= 1
    assert starts == starts[::-1]
    for radius in range(2 * n_numbers + 1):
        binomials = (math.comb(max(radius + n_numbers - k, 0), n_numbers) for k in range(n_numbers + 1))
        assert sum(h * c for h, c in zip(starts, binomials, strict=True)) == cube_sampling._points(sizes, radius)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5)], ids=str)
def test_a_start_next_to_a_border_is_decided_with_more_digits(scale):
    """Of two starts of masses 1 and e^(-1 / scale) the first ends at 1 / (1 + e^(-1 / scale))."""
    context = Context(prec=200)
    decay = context.exp(context.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
    border = int(Fraction(context.divide(Decimal(1), context.add(1, decay))) * 2**160)
    for rest, found in ((0, 0), (1, 1)):
        asked = []

        def below(n, rest=rest, asked=asked):
            asked.append(n)
            return border if len(asked) == 1 else rest * (n - 1)

        assert cube_sampling._draw_start((1, 1), scale, below) == found
        assert len(asked) > 1


def test_many_numbers_are_as_large_as_they_should_be():
    """The norm is about gamma distributed; 6 standard errors are exceeded once in 5 * 10^8 seeds."""
    source = SeededSource(73)
    for groups, scale in (((1,) * 400, Fraction(900)), ((1,) * 20 + (3,) * 30 + (10,) * 20, Fraction(900))):
        n = sum(groups)
        found = norms(np.array([samplers.discrete_cube(scale, groups, source) for _ in range(300)]), groups)
        assert abs(found.mean() / (n * scale) - 1) < 6 / math.sqrt(n * 300) + 1 / (2 * scale)


def test_tiny_noise_is_zero_and_many_numbers_are_drawn_at_any_scale():
    for groups in ((1,) * 30, (1, 2, 5), (7,) * 10):
        assert not samplers.discrete_cube(Fraction(1, 2**20), groups, SeededSource(1)).any()
    assert samplers.discrete_cube(Fraction(1), (1,) * 600, SeededSource(2)).any()


def test_scales_that_could_leave_int64_are_refused():
    for groups in ((1,), (1,) * 1000, (999,)):
        largest = Fraction(2**50, sum(groups) + 1)
        assert np.abs(samplers.discrete_cube(largest, groups, SeededSource(3))).max() < 2**62
        for scale in (Fraction(0), Fraction(-1), largest + 1):
            with pytest.raises(ParameterError):
                samplers.discrete_cube(scale, groups, SeededSource(4))

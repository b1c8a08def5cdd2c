"""Closed forms against explicit matrices on small domains, and the optimisers' gradients."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privet import Categorical, Schema
from privet.errors import ParameterError
from privet.learners.matrix_forest import marginals, p_identity
from privet.learners.matrix_forest.domain_cells import DomainCells, over_subsets, over_supersets
from privet.learners.matrix_forest.leaf_values import hard_labels, leaf_votes
from privet.learners.matrix_forest.marginals import best_marginals
from privet.learners.matrix_forest.p_identity import PIdentity, best_p_identity
from privet.learners.matrix_forest.settings import leaf_sums
from privet.learners.matrix_forest.strategy import Explicit, Identity, Leaves, Marginals, Queries, supports
from privet.learners.matrix_forest.subsets import covering_subsets, random_subsets
from privet.learners.matrix_forest.votes import BatchVotes, ForestVotes, elementary_symmetric
from privet.parameters import public_rng
from privet.trees.id3_trees import draw_id3_trees
from privet.trees.structure import FeatureCodes
from privet_papers.tajima_2025.matrices import DecisionPaths

CAR = DomainCells((4, 4, 4, 3, 3, 3))
SMALL = DomainCells((3, 2, 4, 2))


def draw(dims, n_trees, depth, seed=0, features=None):
    schema = Schema({str(i): Categorical(list(range(size))) for i, size in enumerate(dims)}, classes=[0, 1])
    return draw_id3_trees(FeatureCodes.of(schema.encoding()), public_rng(seed), n_trees, depth, features)


def projection(cells, chosen):
    """Return P_R as an explicit Kronecker product."""
    matrix = np.eye(1)
    for feature, size in enumerate(cells.dims):
        mean = np.full((size, size), 1 / size)
        matrix = np.kron(matrix, np.eye(size) - mean if feature in chosen else mean)
    return matrix


def marginal_rows(cells, chosen):
    """Return the marginal on a set of features as an explicit 0/1 matrix."""
    matrix = np.eye(1, dtype=np.int64)
    for feature, size in enumerate(cells.dims):
        part = np.eye(size, dtype=np.int64) if feature in chosen else np.ones((1, size), np.int64)
        matrix = np.kron(matrix, part)
    return matrix


# --- trees --------------------------------------------------------------------------------------------------------


def test_every_column_of_t_has_a_one_for_each_tree():
    paths = DecisionPaths(draw(SMALL.dims, 7, 3))
    assert (paths.T.sum(axis=0) == 7).all()
    assert (paths.T.sum(axis=1) > 0).all()


def test_paths_use_different_features_and_every_leaf_fixes_as_many_as_the_depth():
    paths = DecisionPaths(draw(SMALL.dims, 20, 3))
    codes = SMALL.codes()
    for leaf in range(paths.trees.n_leaves):
        inside = codes[:, paths.T[[leaf]].toarray()[0] > 0]
        fixed = [len(np.unique(column)) == 1 for column in inside]
        assert sum(fixed) == 3


def test_trees_over_a_subset_of_the_features_never_look_at_another():
    trees = draw(SMALL.dims, 9, 4, features=(1, 3))
    assert set(trees.splits.feature[trees.splits.feature >= 0]) == {1, 3}
    assert trees.n_leaves == 9 * 4  # deeper than there are features: every path uses both


def test_a_feature_with_a_single_code_is_never_split():
    trees = draw((1, 3, 2), 5, 3)
    assert 0 not in trees.splits.feature
    with pytest.raises(ParameterError, match="nothing to split"):
        draw((1, 1), 2, 1)


def test_matrices_of_the_paper_agree_with_routing_and_counting():
    trees = draw(SMALL.dims, 6, 2)
    paths = DecisionPaths(trees)
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(size, size=50) for size in SMALL.dims]).astype(np.uint8)
    data = paths.D(codes, rng.integers(3, size=50), 3)
    queries = paths.Q(codes[:, :4])
    assert data.sum() == 50
    np.testing.assert_array_equal(paths.T @ data, leaf_sums(trees, SMALL.codes(), data.astype(float)))
    np.testing.assert_array_equal(queries @ paths.K @ data, queries @ (paths.T.T @ (paths.T @ data)))


def test_t_is_refused_where_it_would_not_fit():
    with pytest.raises(ParameterError, match="small domains"):
        _ = DecisionPaths(draw((50, 50, 50, 50), 4, 1)).T


# --- residual subspaces and closed forms --------------------------------------------------------------------------


def test_residual_projections_are_applied_by_transform():
    rng = np.random.default_rng(1)
    weights, table = rng.random((2,) * 4), rng.random((SMALL.number, 3))
    explicit = sum(w * projection(SMALL, chosen) for w, chosen in zip(weights.ravel(), SMALL.subsets(), strict=True))
    np.testing.assert_allclose(SMALL.apply(weights, table), explicit @ table, atol=1e-12)
    np.testing.assert_allclose(SMALL.transform_back(SMALL.transform(table)), table, atol=1e-12)


def test_energies_are_the_traces_of_the_projections():
    rows = np.random.default_rng(2).random((5, SMALL.number))
    expected = [np.trace(projection(SMALL, chosen) @ rows.T @ rows) for chosen in SMALL.subsets()]
    np.testing.assert_allclose(SMALL.block_energies(rows).ravel(), expected, rtol=1e-9)
    thin = DomainCells((3, 1, 2))
    assert thin.block_energies(np.eye(6)).sum() == pytest.approx(6)


def test_sums_over_supersets_and_subsets():
    values = np.random.default_rng(3).random((2, 2, 2))
    sets = DomainCells((2, 2, 2)).subsets()
    flat = values.ravel()
    above = [sum(flat[j] for j, other in enumerate(sets) if set(chosen) <= set(other)) for chosen in sets]
    below = [sum(flat[j] for j, other in enumerate(sets) if set(chosen) >= set(other)) for chosen in sets]
    np.testing.assert_allclose(over_supersets(values).ravel(), above)
    np.testing.assert_allclose(over_subsets(values).ravel(), below)


def test_kappa_and_leaf_masses_of_the_car_domain():
    kappas = [ForestVotes(CAR, h).kappa for h in range(1, 7)]
    np.testing.assert_allclose(kappas, [206, 37.227, 9.232, 3.080, 1.417, 1], atol=5e-4)
    masses = [ForestVotes(CAR, h).mean_leaf_mass(1) * 1382.4 for h in range(1, 7)]
    np.testing.assert_allclose(masses, [403.2, 117.12, 33.88, 9.76, 2.80, 0.80], atol=5e-3)
    assert ForestVotes(CAR, 4, 128).trace == pytest.approx(3.151, abs=5e-4)
    assert elementary_symmetric((0.5, 3.0)) == (1, 3.5, 1.5)


def test_the_infinite_forest_is_the_mean_of_drawn_ones():
    votes = ForestVotes(SMALL, 2)
    kernel = DecisionPaths(draw(SMALL.dims, 4000, 2)).K.toarray() / 4000
    np.testing.assert_allclose(kernel, votes.rows(), atol=0.04)
    assert draw(SMALL.dims, 4000, 2).n_leaves / 4000 == pytest.approx(votes.mean_leaves, rel=0.02)


def test_votes_by_transform_equal_the_explicit_kernel_times_the_counts():
    table = np.random.default_rng(4).random((SMALL.number, 3))
    for depth in range(1, 5):
        votes = ForestVotes(SMALL, depth)
        np.testing.assert_allclose(votes.answer(table), votes.rows() @ table, atol=1e-12)


def test_eigenvalues_of_the_kernel_with_their_multiplicities():
    votes = ForestVotes(SMALL, 2)
    expected = np.repeat(votes.eigenvalues.ravel(), SMALL.multiplicities.ravel().astype(int))
    np.testing.assert_allclose(np.linalg.eigvalsh(votes.rows()), np.sort(expected), atol=1e-9)


@pytest.mark.parametrize("n_trees", [None, 5])
def test_energies_add_up_to_the_noise_of_unit_cells(n_trees):
    for depth in range(1, 5):
        votes = ForestVotes(SMALL, depth, n_trees)
        assert votes.energies.sum() == pytest.approx(votes.trace, rel=1e-12)


def test_kappa_of_a_finite_forest_is_what_drawn_forests_have_on_average():
    found = [
        (DecisionPaths(draw(SMALL.dims, 3, 2, seed)).K.toarray() ** 2).sum() / 9 / SMALL.number for seed in range(400)
    ]
    expected = ForestVotes(SMALL, 2, 3).trace
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / 20)


# --- strategies ---------------------------------------------------------------------------------------------------


def error_of(matrix, rows):
    """Return |A|_1^2 |W A+|_F^2 per query, by pseudo-inverse."""
    matrix = matrix.astype(float)
    assert np.allclose(rows @ np.linalg.pinv(matrix) @ matrix, rows)
    return np.abs(matrix).sum(axis=0).max() ** 2 * ((rows @ np.linalg.pinv(matrix)) ** 2).sum() / len(rows)


def weighted_marginals(strategy):
    return np.vstack(
        [float(p) * marginal_rows(strategy.cells, s) for s, p in zip(strategy.sets, strategy.parts, strict=True)]
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_loss_of_marginals_is_their_error_by_pseudo_inverse(depth):
    votes = ForestVotes(SMALL, depth)
    chosen = best_marginals(votes, gaussian=False)
    assert sum(chosen.parts) == 1
    matrix = weighted_marginals(chosen)
    assert np.abs(matrix).sum(axis=0) == pytest.approx(1.0)
    predicted = chosen.vote_variance(votes, [1 / float(part) ** 2 for part in chosen.parts])
    assert predicted == pytest.approx(error_of(matrix, votes.rows()), rel=1e-6)
    assert predicted <= votes.kappa * (1 + 1e-9)


def test_marginals_of_the_car_domain_reach_the_stored_noise():
    for depth, expected in [(1, 6.0), (2, 11.1), (3, 9.232), (4, 3.08)]:
        votes = ForestVotes(CAR, depth)
        chosen = best_marginals(votes, gaussian=False)
        assert chosen.vote_variance(votes, [1 / float(part) ** 2 for part in chosen.parts]) <= expected * 1.01


def test_gaussian_marginals_reach_the_bound_of_the_singular_values():
    votes = ForestVotes(CAR, 2)
    chosen = best_marginals(votes, gaussian=True)
    noise = chosen.vote_variance(votes, [1 / float(part) for part in chosen.parts])
    # (sum of singular values)^2 / n, per query: the trace of the kernel is n
    assert noise == pytest.approx(1.0, rel=1e-3)


def test_gaussian_leaves_attain_the_bound_of_the_singular_values():
    trees = draw(CAR.dims, 128, 4)
    paths = DecisionPaths(trees)
    variance = 128.0  # of a leaf count at sigma_0 = 1: squared column norms of T
    total = Leaves(n_trees=128).vote_variance(None, [variance]) * 128**2 * CAR.number
    assert total == paths.K.diagonal().sum() ** 2 / CAR.number == 28_311_552
    assert Leaves(n_trees=128).norms[0].l2_squared == int((paths.T.toarray() ** 2).sum(axis=0).max())


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_gradient_for_marginals_is_that_of_finite_differences(gaussian):
    energies = ForestVotes(SMALL, 2).energies
    theta = np.random.default_rng(5).random((2,) * 4) + 0.1
    gradient = marginals.loss_and_gradient(theta, SMALL, energies, gaussian=gaussian)[1]
    for place in [(0, 0, 0, 0), (1, 0, 1, 0), (1, 1, 1, 1)]:
        step = np.zeros_like(theta)
        step[place] = 1e-6
        up, down = (
            marginals.loss_and_gradient(theta + s, SMALL, energies, gaussian=gaussian)[0] for s in (step, -step)
        )
        assert gradient[place] == pytest.approx((up - down) / 2e-6, rel=1e-6)


def test_the_gradient_for_p_identity_is_that_of_finite_differences():
    rows = ForestVotes(SMALL, 2).rows()[:5]
    gram = rows.T @ rows
    B = np.random.default_rng(6).random((4, SMALL.number))

    def loss(matrix):
        return p_identity.loss_and_gradient(matrix, np.diag(gram), lambda left: left @ gram)

    for place in [(0, 3), (2, 20), (3, 47)]:
        step = np.zeros_like(B)
        step[place] = 1e-6
        assert loss(B)[1][place] == pytest.approx((loss(B + step)[0] - loss(B - step)[0]) / 2e-6, rel=1e-6)


def batch_of(cells, depth, points):
    whole = ForestVotes(cells, depth)
    return BatchVotes(whole.whole_rows()[points], whole.scale, depth, cells)


def test_p_identity_has_exact_columns_on_the_grid_and_its_predicted_error():
    batch = batch_of(SMALL, 2, [0, 7, 30])
    chosen = best_p_identity(batch)
    matrix = np.vstack([np.diag(chosen.diagonal), chosen.sums])
    assert (matrix.sum(axis=0) == 1 << 20).all()
    assert chosen.norms[0].l1 == 1 << 20
    assert chosen.norms[0].l2_squared == (matrix**2).sum(axis=0).max()
    unit = float(1 << 20) ** 2
    assert chosen.vote_variance(batch, [unit]) == pytest.approx(error_of(matrix, batch.rows()), rel=1e-9)
    assert chosen.vote_variance(batch, [unit]) < 0.6 * batch.trace  # better than the identity
    counts = np.random.default_rng(7).integers(9, size=(SMALL.number, 2))
    np.testing.assert_allclose(chosen.estimate(chosen.measure(counts), [unit]), counts, atol=1e-6)


def test_p_identity_of_a_batch_on_car_is_as_good_as_stored():
    points = np.random.default_rng(0).choice(CAR.number, 10, replace=False)
    batch = batch_of(CAR, 4, points)
    chosen = best_p_identity(batch)
    assert chosen.vote_variance(batch, [float(1 << 20) ** 2]) / batch.trace < 0.36


def test_every_strategy_gives_exact_counts_back_without_noise_where_it_supports_them():
    rng = np.random.default_rng(8)
    counts = rng.integers(20, size=(SMALL.number, 2))
    every = [Identity(), Marginals(SMALL, ((0, 1, 2, 3), (1,)), (Fraction(3, 4), Fraction(1, 4)))]
    every.append(Explicit(rng.integers(4, size=(60, SMALL.number))))
    for strategy in every:
        variances = [1.0 / float(part) ** 2 for part in strategy.parts]
        np.testing.assert_allclose(strategy.estimate(strategy.measure(counts), variances), counts, atol=1e-6)


def test_exact_support():
    votes = ForestVotes(SMALL, 2)
    two_way = [chosen for chosen in SMALL.subsets() if len(chosen) == 2]
    even = tuple(Fraction(1, len(two_way)) for _ in two_way)
    assert Marginals(SMALL, tuple(two_way), even).supports(votes)
    assert supports(np.vstack([marginal_rows(SMALL, chosen) for chosen in two_way]), votes.whole_rows())
    lacking = Marginals(SMALL, tuple(two_way[1:]), tuple(Fraction(1, 5) for _ in two_way[1:]))
    assert not lacking.supports(votes)
    assert not supports(np.vstack([marginal_rows(SMALL, chosen) for chosen in two_way[1:]]), votes.whole_rows())
    assert not Explicit(np.ones((1, SMALL.number), np.int64)).supports(votes)
    assert PIdentity.on_grid(np.ones((2, SMALL.number))).supports(votes)
    assert not PIdentity(np.zeros(3, np.int64), np.ones((1, 3), np.int64)).supports(votes)


def test_queries_pay_for_what_one_record_changes_or_as_the_baseline_for_every_query():
    matrix = np.array([[2, 0, 1], [0, 2, 1]])
    batch = BatchVotes(matrix, 2, 1)
    exact, even = Queries(batch).norms[0], Queries(batch, evenly=True).norms[0]
    assert (exact.l1, exact.l2_squared) == (2, 4)
    assert (even.l1, even.l2_squared) == (4, 8)
    assert Queries(batch).supports(batch)
    assert not Queries(batch).supports(BatchVotes(matrix, 2, 1))


def test_predicted_noise_of_marginals_is_the_simulated_one():
    votes = ForestVotes(SMALL, 2)
    chosen = best_marginals(votes, gaussian=False)
    rng, scales = np.random.default_rng(9), [1 / float(part) for part in chosen.parts]
    zero = chosen.measure(np.zeros((SMALL.number, 400), np.int64))
    noisy = [values + rng.laplace(scale=scale, size=values.shape) for values, scale in zip(zero, scales, strict=True)]
    variances = [2 * scale**2 for scale in scales]
    found = (votes.answer(chosen.estimate(noisy, variances)) ** 2).mean()
    assert found == pytest.approx(chosen.vote_variance(votes, variances), rel=0.05)


def test_wrong_strategies_are_refused():
    with pytest.raises(ParameterError, match="add up to one"):
        Marginals(SMALL, ((0,),), (Fraction(1, 2),))
    with pytest.raises(ParameterError, match="whole numbers from 0"):
        Explicit(np.array([[-1, 1]]))


# --- votes and subsets --------------------------------------------------------------------------------------------


def test_hard_labels_have_fixed_rules_for_ties_and_empty_leaves():
    assert hard_labels(np.array([[2, 2, 1], [0, 0, 0], [0, 1, 5]])).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert hard_labels(np.array([[2, 2], [0, 0], [0, 1]])).tolist() == [[0], [0], [1]]
    to_the_letter = hard_labels(np.array([[2, 2, 1], [0, 0, 0], [0, 1, 5]]), "first class")
    assert to_the_letter.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 1]]


def test_voting_rules():
    counts, totals = np.array([[8.0, 1.0], [-1.0, -2.0]]), np.array([90.0, 10.0])
    assert leaf_votes(counts, "weight", totals) is counts
    assert leaf_votes(counts, "balanced", totals)[0] == pytest.approx([8 / 90, 0.1])
    assert leaf_votes(counts, "hard", totals).tolist() == [[1, 0], [1, 0]]
    assert leaf_votes(counts, "probability", totals).tolist() == [[8 / 9, 1 / 9], [0, 0]]


def test_subsets_are_different_and_covering_ones_hold_every_pair():
    features = tuple(range(6))
    drawn = random_subsets(features, 15, 4, public_rng(0))
    assert len(set(drawn)) == 15 == math.comb(6, 4)
    covering = covering_subsets(features, 3, 4, public_rng(0))
    pairs = {(a, b) for subset in covering for a in subset for b in subset if a < b}
    assert len(pairs) == 15
    many = covering_subsets(tuple(range(40)), 5, 6, public_rng(0))
    assert len(set(many)) == 5
    with pytest.raises(ParameterError, match="only 15 subsets"):
        random_subsets(features, 16, 4, public_rng(0))
    with pytest.raises(ParameterError, match="from 1 to 6"):
        random_subsets(features, 1, 7, public_rng(0))

"""The exact audit of boosting, part by part: bins, base, split choice, leaves, annealing.

Enumeration forces selections; of additive noise it knows the exact loss. What the noise came out as is forced too, so
that later rounds start from scores that earlier ones have moved, and their budgets from what they heard.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet import Categorical, Numeric, Schema
from privet.audit import enumeration
from privet.audit.enumeration import Enumerating, Subject
from privet.audit.exact import exact_audit
from privet.estimators.learning import Hints
from privet.learners.boosting.annealing import GridOfTwo
from privet.learners.boosting.cells import CellGrid, plan_start, with_gradients, without_base
from privet.learners.boosting.choice_base import ChoiceBase
from privet.learners.boosting.descent_base import DescentBase
from privet.learners.boosting.gradient_growth import CELL_STATE, NODE_STATE, AllAtRoot, GradientSums
from privet.learners.boosting.gradients import ONE
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.learner import Boosting, loss_of
from privet.learners.boosting.outlined import SPLIT_PART, Outline
from privet.learners.boosting.rank_counts import RankCounts
from privet.learners.boosting.regression_base import AdditiveBase, PairMoments, TargetMoments
from privet.mechanisms.release import Release, drawn
from privet.parameters import public_rng
from privet.privacy.cube_law import largest_group_norm
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

pytestmark = pytest.mark.law

TWO = {"a": Categorical([0, 1]), "b": Categorical([0, 1])}


def subject(learner, neighbours="add_remove", delta=0.0, features=TWO, classes=(0, 1), hints=None):
    schema = Schema(features, classes=list(classes), neighbours=neighbours)
    return Subject(learner, schema, Allowance.of(2.0, delta), hints=hints or Hints())


def force_noise(monkeypatch, factor):
    """Let released sums come out as a fixed pattern, `factor` standard deviations large."""

    class WithNoise(Enumerating):
        def noisy(self, values, event):
            zeros = super().noisy(values, event)
            deviation = float(event.parameter) ** (0.5 if event.mechanism is Mechanism.GAUSSIAN else 1.0)
            pattern = np.where(np.arange(zeros.size) % 2, 3, -1).reshape(zeros.shape)
            return zeros + np.rint(factor * deviation * pattern).astype(np.int64)

    monkeypatch.setattr(enumeration, "Enumerating", WithNoise)


# (learner, neighbours, delta, forced noise, largest share of the claim that is lost; two records, claims are 2 or rho)
EXPECTED = [
    (Boosting(1, 1), "add_remove", 0.0, 0.0, 0.9987),
    (Boosting(1, 1), "replace", 0.0, 0.0, 0.8691),
    (Boosting(1, 1), "label", 0.0, 0.0, 0.5678),
    (Boosting(2, 1), "add_remove", 0.0, 5.0, 0.8484),
    (Boosting(1, 1), "add_remove", 1e-6, 0.0, 0.9986),
    (Boosting(1, 1), "replace", 1e-6, 0.0, 0.7475),
    (Boosting(2, 1), "add_remove", 1e-6, 5.0, 0.9304),
    (Boosting(2, 1), "replace", 1e-6, 5.0, 0.7079),
]


@pytest.mark.parametrize(("learner", "neighbours", "delta", "factor", "expected"), EXPECTED)
def test_the_exact_loss_is_below_the_claim_and_what_it_was(learner, neighbours, delta, factor, expected, monkeypatch):
    force_noise(monkeypatch, factor)
    found = exact_audit(subject(learner, neighbours, delta), 2)
    assert not found.refuted
    assert found.loss / found.claimed == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("factor", [0.0, 5.0])
def test_bins_missing_values_and_three_classes_stay_within_the_claim(delta, factor, monkeypatch):
    force_noise(monkeypatch, factor)
    features = {"x": Numeric(0, 1, bins=3, missing=True)}
    found = exact_audit(subject(Boosting(1, 1), delta=delta, features=features, classes=(0, 1, 2)), 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


def turns_columns(watched):
    """Whether columns are turned: forced products leave records short; `test_audit_turned_columns` has long ones."""
    return "turned" in str(watched._public[2].facts["base"])


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("n_rows", [2, 10, 100, 300])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_rules_for_very_small_data_stay_within_the_claim(delta, n_rows, classes, neighbours):
    """Stumps or class histograms alone, or stumps on a regression, by the number of records that is claimed."""
    learner = Boosting() if n_rows < 100 else Boosting(1, 1)
    watched = subject(learner, neighbours, delta, classes=classes, hints=Hints(n_rows=n_rows))
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > found.claimed * (0.1 if turns_columns(watched) else 0.45)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_regression_on_numbers_and_categories_stays_within_the_claim(delta, factor, neighbours, monkeypatch):
    force_noise(monkeypatch, factor)
    features = {"x": Numeric(0, 1, bins=3, missing=True), "c": Categorical([0, 1])}
    if not delta:  # the rule takes it for large signals alone
        one = Outline(Fraction(0), Fraction(3, 10), 0, AdditiveBase("l1"), 1, 1, SPLIT_PART)
        monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: one)
    watched = subject(Boosting(1, 1), neighbours, delta, features=features, hints=Hints(n_rows=200))
    assert "regression" in str(watched._public[2].facts["base"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > found.claimed * (0.1 if turns_columns(watched) else 0.3)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize(("delta", "n_rows"), [(0.0, 100), (0.0, 10_000), (1e-6, 100), (1e-6, 1_000)])
def test_windows_steps_and_rounds_of_a_number_stay_within_the_claim(delta, n_rows, factor, neighbours, monkeypatch):
    force_noise(monkeypatch, factor)
    schema = Schema({"x": Numeric(0, 1, bins=2)}, target=Numeric(0, 1), neighbours=neighbours)
    watched = Subject(Boosting(1, 1), schema, Allowance.of(2.0, delta), hints=Hints(n_rows=n_rows))
    assert "steps" in str(watched._public[2].facts["base"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize(("steps", "curves"), [(2, 0), (1, 1)])
def test_windows_choices_and_curves_of_a_number_stay_within_the_claim(steps, curves, factor, neighbours, monkeypatch):
    """The base for little signal, on a feature that can be enumerated."""
    force_noise(monkeypatch, factor)
    few = Outline(
        *(Fraction(0), Fraction(9, 10), 0, ChoiceBase(steps, curves)),
        window_part=Fraction(1, 10),
        window_by_counts=True,
    )
    monkeypatch.setattr("privet.learners.boosting.learner.outline_for_regression", lambda *_: few)
    features = {"x": Numeric(0, 1, bins=2, missing=True), "c": Categorical([0, 1])}
    schema = Schema(features, target=Numeric(0, 1), neighbours=neighbours)
    watched = Subject(Boosting(), schema, Allowance.of(2.0), hints=Hints(n_rows=100))
    assert "choice" in str(watched._public[2].facts["base"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
def test_steps_of_gradient_descent_and_rounds_stay_within_the_claim(factor, neighbours, monkeypatch):
    """The base of many features, on one that can be enumerated."""
    force_noise(monkeypatch, factor)
    few = Outline(Fraction(0), Fraction(1, 2), 0, DescentBase(100, 3), 1, 1)
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: few)
    watched = subject(Boosting(), neighbours, 1e-6, features={"x": Numeric(0, 1, bins=2, missing=True)})
    assert "descent" in str(watched._public[2].facts["base"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_ranks_by_counts_and_descent_before_one_round_stay_within_the_claim(classes, neighbours, monkeypatch):
    """Counts of halves, then steps, for two classes and for three; a round, since noise alone is not enumerated."""
    force_noise(monkeypatch, 1.0)
    few = Outline(Fraction(1, 10), Fraction(1, 2), 0, DescentBase(100, 2), 1, 1, ranks=RankCounts(100, 2))
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: few)
    features = {"x": Numeric(0, 1, bins=3)}
    watched = subject(Boosting(), neighbours, 1e-6, features=features, classes=classes)
    names = [event.name for event in watched._public[2].whole.events()]
    assert names[:3] == ["ranks: halves of level 1", "ranks: halves of level 2", "base: classes"]
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.2 * found.claimed


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_all_that_descent_releases_moves_by_no_more_than_is_paid_for(neighbours):
    """Data sets of two records and all of their neighbours, all releases of the plan that has no rounds."""
    classes = (0, 1, 2)
    schema = Schema({"x": Numeric(0, 1, bins=3), "c": Categorical([0, 1])}, classes=list(classes))
    encoding, terms, allowance = schema.encoding(3), Terms(neighbours), Allowance.of(1.0, 1e-6)
    learner, hints = Boosting(), Hints(n_rows=300)
    plan = learner.plan(encoding, terms, allowance.whole, hints)
    assert plan.rounds is None
    assert all(event.mechanism is Mechanism.GAUSSIAN for event in plan.whole.events())

    class Watching(Release):
        def noisy(self, values, event):
            self.ledger.charge(event)
            seen.append(values.astype(object))
            return np.rint(event.deviation * np.cos(np.arange(values.size))).astype(np.int64).reshape(values.shape)

    records = list(product(range(3), range(2), range(len(classes))))
    moved = []
    for one in records[::2]:
        found = {}
        others = [[r] for r in records] if neighbours == "replace" else [[], *([r] for r in records)]
        for other in others:
            rows = [one, *other]
            codes = np.array([row[:2] for row in rows], dtype=np.uint8).reshape(-1, 2).T.copy()
            table, seen = MemoryTable(encoding, codes, np.array([row[2] for row in rows], dtype=np.int32)), []
            learner.grow(table, Watching(Ledger(terms, allowance, fixed=plan.whole), drawn()), public_rng(0), plan)
            found[tuple(other)] = seen
        pairs = combinations(found, 2) if neighbours == "replace" else (((), other) for other in found if other)
        for first, second in pairs:
            steps = zip(found[first], found[second], plan.whole.events(), strict=True)
            moved.append([((a - b) ** 2).sum() / (2 * event.parameter * event.cost.rho) for a, b, event in steps])
    assert 0.5 < np.max(moved) <= 1


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_splits_that_a_level_shares_stay_within_the_claim(delta, factor, neighbours, monkeypatch):
    force_noise(monkeypatch, factor)
    two_levels = Outline(Fraction(0), Fraction(0), 0, None, 1, 2, SPLIT_PART, shared_splits=True)
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: two_levels)
    watched = subject(Boosting(), neighbours, delta)
    assert "one split for each level" in str(watched._public[2].facts["rounds"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.45 * found.claimed


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
def test_shared_splits_of_a_number_stay_within_the_claim(factor, neighbours, monkeypatch):
    force_noise(monkeypatch, factor)
    window_part = Fraction(1, 20)
    two_levels = Outline(
        *(Fraction(0), Fraction(0), 0, None, 1, 2, SPLIT_PART), window_part=window_part, shared_splits=True
    )
    monkeypatch.setattr("privet.learners.boosting.learner.outline_for_regression", lambda *_: two_levels)
    schema = Schema(TWO, target=Numeric(0, 1), neighbours=neighbours)
    watched = Subject(Boosting(), schema, Allowance.of(2.0, 1e-6), hints=Hints(n_rows=100))
    assert "one split for each level" in str(watched._public[2].facts["rounds"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.3 * found.claimed


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_half_the_range_of_two_splits_by_one_choice_would_be_refuted(delta, monkeypatch):
    """All of the budget is for the choices, or what is left over would make up for it."""
    almost_all = Outline(Fraction(0), Fraction(0), 0, None, 1, 2, Fraction(99, 100), shared_splits=True)
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: almost_all)
    monkeypatch.setattr("privet.learners.boosting.gradients.Logistic.score_range", Fraction(1, 2))
    assert exact_audit(subject(Boosting(), delta=delta), 2).refuted


@pytest.mark.parametrize("shared_splits", [False, True])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_two_splits_by_one_choice_stay_within_the_claim(delta, neighbours, shared_splits, monkeypatch):
    """With a third level below them, missing values and three classes."""
    force_noise(monkeypatch, 5.0)
    outline = Outline(Fraction(0), Fraction(0), 0, None, 1, 3, SPLIT_PART, shared_splits=shared_splits)
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: outline)
    features = {"x": Numeric(0, 1, bins=2, missing=True)}
    watched = subject(Boosting(), neighbours, delta, features=features, classes=(0, 1, 2))
    assert "the first two splits by one choice" in str(watched._public[2].facts["rounds"])
    found = exact_audit(watched, 1)
    assert not found.refuted
    assert found.loss > 0.15 * found.claimed


def of_grids(monkeypatch, split_part, apart=False, below=0):
    """Let boosting plan one tree, whose first levels are a grid."""
    outline = Outline(
        *(Fraction(0), Fraction(0), 0, None, 1, 2 + below, split_part), shared_splits=True, grid=GridOfTwo(2, apart)
    )
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: outline)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_smaller_range_of_grids_would_be_refuted(delta, apart, monkeypatch):
    """Half of it for one choice; a quarter for two, which two records do not drive to the end both."""
    of_grids(monkeypatch, Fraction(99, 100), apart)
    monkeypatch.setattr("privet.learners.boosting.gradients.Logistic.score_range", Fraction(1, 4 if apart else 2))
    assert exact_audit(subject(Boosting(), delta=delta), 2).refuted


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_grids_stay_within_the_claim(delta, factor, neighbours, apart, monkeypatch):
    force_noise(monkeypatch, factor)
    of_grids(monkeypatch, SPLIT_PART, apart)
    watched = subject(Boosting(), neighbours, delta)
    assert "a grid of two features" in str(watched._public[2].facts["rounds"])
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > 0.45 * found.claimed


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_grids_with_levels_below_missing_values_and_three_classes_stay_within_the_claim(delta, apart, monkeypatch):
    force_noise(monkeypatch, 5.0)
    of_grids(monkeypatch, SPLIT_PART, apart, below=1)
    features = {"x": Numeric(0, 1, bins=2, missing=True), "c": Categorical([0, 1])}
    found = exact_audit(subject(Boosting(), delta=delta, features=features, classes=(0, 1, 2)), 1)
    assert not found.refuted
    assert found.loss > 0.15 * found.claimed


@pytest.mark.parametrize("factor", [0.0, 5.0])
def test_class_histograms_with_rounds_on_top_stay_within_the_claim(factor, monkeypatch):
    force_noise(monkeypatch, factor)
    found = exact_audit(subject(Boosting(1, 1), classes=(0, 1, 2), hints=Hints(n_rows=10_000)), 2)
    assert not found.refuted
    assert found.loss > 0.5 * found.claimed


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=8),
    one=st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
    n_features=st.integers(1, 2),
)
@settings(max_examples=60, deadline=None)
def test_a_record_changes_one_count_by_one_for_each_feature_that_is_measured(rows, one, n_features):
    schema = Schema({"x": Numeric(0, 1, bins=4), "c": Categorical([0, 1, 2])}, classes=[0, 1, 2])
    encoding, seen = schema.encoding(4), []

    class Watching(Release):
        def noisy(self, values, event):
            seen.append((values, event))
            return super().noisy(values, event)

    base = HistogramBase(100, n_features, groups=2)
    plan = base.plan(encoding, Terms(), Allowance.of(1.0).whole)
    for records in (rows, [*rows, one]):
        codes = np.array([r[:2] for r in records], dtype=np.uint8).reshape(-1, 2).T.copy()
        grid = CellGrid.of(encoding, {0: [1]})
        table = MemoryTable(encoding, codes, np.array([r[2] for r in records], dtype=np.int32))
        table = table.derive(CELL_STATE, grid.cells)
        release = Watching(Ledger(Terms(), Allowance.of(1.0)), drawn())
        base.run(table, release, plan, grid, without_base(encoding, grid, np.zeros(3), 1.0), public_rng(0))
    of_classes = list(zip(seen[:3], seen[3:], strict=True))
    for label, ((before, event), (after, _)) in enumerate(of_classes):
        moved = np.abs(after - before)
        assert moved.sum() == moved.astype(bool).sum() == (n_features if label == one[2] else 0)
        assert (event.mechanism, event.sensitivity) == (Mechanism.CUBE, 1)
        assert len(event.groups) == n_features
        assert largest_group_norm(moved, event.groups) == (label == one[2])


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_that_a_regressor_releases_with_noise_moves_by_no_more_than_is_paid_for(neighbours, delta):
    """Ranges have too many levels to enumerate: extreme and random records, each against its neighbours."""
    schema = Schema({"x": Numeric(0, 1, bins=4), "c": Categorical([0, 1])}, target=Numeric(0, 1), neighbours=neighbours)
    encoding, terms = schema.encoding(4), Terms.of(schema)
    plan = Boosting().plan(encoding, terms, Allowance.of(1.0, delta).whole, Hints())
    alone = plan_start(plan.loss, terms, Allowance.of(1.0, delta).whole)
    grid = CellGrid.of(encoding, {0: [1]})
    loss = replace(loss_of(encoding, "l1" if delta == 0 else "l2"), width=ONE // 8)
    starts = [without_base(encoding, grid, np.array([centre]), 1.0) for centre in (0.0, 0.5, 1.0)]
    design, known = plan.base.base.columns.design(encoding, grid)

    def released(records, start):
        """Return the sums of a common start, the products, and the sums from wherever the model is."""
        codes = np.array([r[:2] for r in records], dtype=np.uint8).reshape(-1, 2).T.copy()
        table = MemoryTable(encoding, codes, np.array([r[2] for r in records], dtype=np.int32))
        table = with_gradients(table.derive(CELL_STATE, grid.cells), start, grid, loss)
        sums = table.aggregate(TargetMoments(design, "range"))
        return {
            "start": table.derive(NODE_STATE, AllAtRoot()).aggregate(GradientSums(1, 1)),
            "pairs": table.aggregate(PairMoments(design))[np.triu(~known)],
            **{f"step {number}": sums for number in range(len(plan.base.sums))},
        }

    rng = np.random.default_rng(0)
    records = [
        (0, 0, 0),
        (3, 1, 65_535),
        *zip(rng.integers(0, 4, 20), rng.integers(0, 2, 20), rng.integers(0, 65_536, 20), strict=True),
    ]
    of_steps = {f"step {number}": event for number, event in enumerate(plan.base.sums)}
    events = {"start": alone, "pairs": plan.base.pairs, **of_steps}
    worst = dict.fromkeys(events, 0.0)
    for one, start in product(records, starts):
        for other in records if neighbours == "replace" else [None]:
            before, after = released([one], start), released([] if other is None else [other], start)
            for role in worst:
                moved = np.abs(before[role] - after[role]).astype(object)
                event = events[role]
                if delta:
                    worst[role] = max(worst[role], float((moved**2).sum() / (2 * event.parameter) / event.cost.rho))
                else:
                    worst[role] = max(worst[role], float(moved.sum() / event.parameter / event.cost.epsilon))
    assert all((0.15 if role == "pairs" else 0.5) < loss <= 1 for role, loss in worst.items()), worst


def test_a_rounds_budget_never_depends_on_more_than_was_released(monkeypatch):
    """The same forced noise gives the same events on every data set: what a filter's proof needs."""
    force_noise(monkeypatch, 1.0)
    watched = subject(Boosting(3, 1), delta=1e-6)
    events = {
        tuple(noise.event for noise in watched._run(data, ()).noises)
        for data in [(), ((0, 0, 0),), ((0, 1, 1),) * 4, ((0, 0, 0), (1, 1, 1))]
    }
    assert len(events) == 1
    (found,) = events
    assert sum(event.cost.rho for event in found) <= watched.allowance.rho

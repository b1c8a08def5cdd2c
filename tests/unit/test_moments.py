"""The regression that boosting starts with: its sums of products, their sensitivities, and what it makes of them."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.errors import ParameterError
from privet.learners.boosting.cells import CellGrid, count_of, start_scores, without_base
from privet.learners.boosting.column_sizes import CONSTANT, SIZES, WEIGHT, line_and_bend
from privet.learners.boosting.gradient_growth import CELL_STATE
from privet.learners.boosting.gradients import ONE, SCORE_STATE, Huber
from privet.learners.boosting.regression_base import AdditiveBase, PairMoments, TargetMoments
from privet.mechanisms.release import Release, drawn, open_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import Block, MemoryTable

NUMERIC = {"x": Numeric(0, 1, bins=4), "z": Numeric(0, 1, bins=3, missing=True), "w": Numeric(0, 1, bins=5)}
MIXED = {
    "x": Numeric(0, 1, bins=5, missing=True),
    "c": Categorical(list("abc"), other=True),
    "t": Numeric(0, 1, bins=2),
}
CATEGORIES = {"c": Categorical(list("abc"), other=True), "d": Categorical(list("ab")), "e": Categorical(list("ab"))}
ALL = pytest.mark.parametrize("features", [NUMERIC, MIXED, CATEGORIES], ids=["numeric", "mixed", "categories"])
NORMS = pytest.mark.parametrize("norm", ["l1", "l2"])


def tabled(features, classes=(0, 1), rows=None, target=None):
    """Every record that there can be, or these; one after the other, and how they are described."""
    encoding = Schema(features, classes=list(classes)).encoding(8)
    rows = list(product(*map(range, encoding.n_codes))) if rows is None else rows
    target = np.arange(len(rows)) % len(classes) if target is None else target
    grid = CellGrid.of(encoding, {})
    table = MemoryTable(encoding, np.array(rows, dtype=np.uint8).T.copy(), np.array(target, dtype=np.int32))
    return encoding, grid, table.derive(CELL_STATE, grid.cells)


def values_of(design, cells):
    """A record's values in all columns, by the definition, without kernels; and the factor by which it is shortened."""
    values = np.zeros(design.n_columns + 1, dtype=int)
    values[-1] = CONSTANT
    for feature, cell in enumerate(cells):
        place = design.offsets[feature] + cell
        np.add.at(values, design.column[place], design.value[place])
    size = np.abs(values).sum() if design.norm == "l1" else (values**2).sum()
    factor = 1024
    while size * factor ** (1 if design.norm == "l1" else 2) > design.cap * 1024 ** (1 if design.norm == "l1" else 2):
        factor -= 1
    return np.sign(values) * (np.abs(values) * factor // 1024), factor


@ALL
@NORMS
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_sums_of_products_are_those_of_matrices(features, norm, classes):
    encoding, grid, table = tabled(features, classes)
    design, _ = AdditiveBase(norm).design(encoding, grid)
    cells = np.array(list(product(*map(range, encoding.n_codes))))
    values, factors = (np.array(found) for found in zip(*(values_of(design, row) for row in cells), strict=True))
    np.testing.assert_array_equal(table.aggregate(PairMoments(design)), np.triu(values.T @ values))
    label, size = np.arange(len(cells)) % len(classes), WEIGHT * factors // 1024
    if len(classes) == 2:
        expected = values.T @ np.where(label == 1, size, -size)[:, np.newaxis]
        found = table.aggregate(TargetMoments(design, "two"))
    else:
        expected = values.T @ (np.eye(3, dtype=int)[label] * size[:, np.newaxis])
        found = table.aggregate(TargetMoments(design, "many", 3))
    np.testing.assert_array_equal(found, expected)
    assert (factors < 1024).any() == (features is not CATEGORIES), "records of categories alone are never shortened"


@ALL
@NORMS
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("steps", [1, 2])
def test_no_record_moves_what_is_released_by_more_than_is_paid_for(features, norm, classes, steps):
    """Every record there can be: alone, or in the place of every other."""
    encoding, grid, _ = tabled(features, classes)
    base, terms = AdditiveBase(norm), Terms("add_remove" if steps == 1 else "replace")
    design, known = base.design(encoding, grid)
    plan = base.plan(encoding, terms, Allowance.of(1.0, 0.0 if norm == "l1" else 1e-6).whole)
    kernel = TargetMoments(design, "two") if len(classes) == 2 else TargetMoments(design, "many", 3)
    pairs, sums = [], []
    for row in product(*map(range, encoding.n_codes)):
        for label in range(len(classes)):
            _, _, table = tabled(features, classes, [row], [label])
            pairs.append(table.aggregate(PairMoments(design))[np.triu(~known)])
            sums.append(table.aggregate(kernel).ravel())
    for event, moved in ((plan.pairs, np.array(pairs)), (plan.sums, np.array(sums))):
        changes = moved if steps == 1 else (moved[:, np.newaxis] - moved[np.newaxis]).reshape(-1, moved.shape[1])
        if norm == "l1":
            loss = np.abs(changes).sum(axis=1).max() / event.parameter / event.cost.epsilon
        else:
            loss = (changes.astype(object) ** 2).sum(axis=1).max() / (2 * event.parameter) / event.cost.rho
        assert loss <= 1
        assert loss > (0.99 if features is CATEGORIES and steps == 1 else 0.25), "and not by far less"


def share_of(norm):
    return Allowance.of(1.0, 0.0 if norm == "l1" else 1e-6).whole


KINDS = pytest.mark.parametrize(("norm", "bends"), [("l1", False), ("l2", False), ("l2", True)])


def farthest(base, n_numeric, n_categorical, missing):
    """Search for the record that moves the products of columns most, among 16 cells of each numeric feature.

    Return the schema's encoding and what the kernel adds up for that record: of sizes, or of squares.
    """
    features = {f"x{k}": Numeric(0, 1, bins=64, missing=missing) for k in range(n_numeric)}
    features |= {f"c{k}": Categorical(list("ab")) for k in range(n_categorical)}
    encoding = Schema(features, classes=[0, 1]).encoding(64)
    grid = CellGrid.of(encoding, CellGrid.even_cuts(encoding, 16))
    design, known = base.design(encoding, grid)

    def moved(products):
        released = np.abs(products[np.triu(~known)]).astype(object)
        return int(released.sum() if base.norm == "l1" else (released**2).sum())

    def of(cells):
        values, _ = values_of(design, cells)
        return moved(np.outer(values, values))

    best, last = [15] * n_numeric + [0] * n_categorical, -1
    while of(best) > last:
        last = of(best)
        for place in range(n_numeric):
            best[place] = max(range(16 + missing), key=lambda cell, at=place: of([*best[:at], cell, *best[at + 1 :]]))
    codes = [4 * cell for cell in best[:n_numeric]] + best[n_numeric:]
    table = MemoryTable(encoding, np.array([codes], dtype=np.uint8).T.copy(), np.zeros(1, np.int32))
    found = moved(table.derive(CELL_STATE, grid.cells).aggregate(PairMoments(design)))
    assert found == last
    return encoding, found


@KINDS
@pytest.mark.parametrize(
    ("n_numeric", "n_categorical", "missing"), [(1, 0, False), (3, 1, True), (7, 1, False), (3, 5, False)]
)
def test_no_record_that_a_search_finds_moves_products_by_more_than_is_paid_for(
    norm, bends, n_numeric, n_categorical, missing
):
    base = AdditiveBase(norm, bends)
    encoding, found = farthest(base, n_numeric, n_categorical, missing)
    paid_for = base.plan_pairs(encoding, Terms(), share_of(norm), 4).sensitivity
    assert found <= paid_for
    assert found > (0.9 if n_numeric > 1 else 0.75) * paid_for, "and not by far less"
    if n_numeric > n_categorical > 0:
        fewer = base.plan_pairs(encoding, Terms(), share_of(norm), 1).sensitivity
        assert found > fewer, "a bound for fewer cells than there are is refuted"
    for levels in (0, 6):
        assert paid_for <= base.plan_pairs(encoding, Terms(), share_of(norm), levels).sensitivity


@pytest.mark.parametrize("functions", [1, 2])
def test_the_bound_on_products_knows_every_cell_that_there_can_be(functions):
    sizes = replace(SIZES["l2"], functions=functions)
    for n_cells in [*range(1, 130), 241, 300, 4096]:
        known = set(zip(*(sums.tolist() for sums in sizes.of_cells(n_cells)), strict=True))
        squares = line_and_bend(n_cells, functions) ** 2
        there = zip(squares.sum(axis=1).tolist(), (squares**2).sum(axis=1).tolist(), strict=True)
        assert known.issuperset(there), n_cells


def test_what_is_known_of_categories_is_what_would_be_measured():
    encoding, grid, table = tabled(CATEGORIES)
    for norm in ("l1", "l2"):
        design, known = AdditiveBase(norm).design(encoding, grid)
        gram = table.aggregate(PairMoments(design))
        for column in range(design.n_columns):
            assert gram[column, column] * CONSTANT == gram[column, -1] * design.value.max()
        np.fill_diagonal(known, False)
        assert not gram[known].any(), "no record has two categories of one feature"


def test_sizes_of_one_measure_are_not_paid_for_in_the_other():
    encoding, _, _ = tabled(MIXED)
    for norm, delta in (("l1", 1e-6), ("l2", 0.0)):
        with pytest.raises(ParameterError, match="other measure"):
            AdditiveBase(norm).plan(encoding, Terms(), Allowance.of(1.0, delta).whole)


@NORMS
def test_without_noise_a_line_is_found_and_categories_are_told_apart(norm):
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(0, 5, 40_000), rng.integers(0, 4, 40_000), rng.integers(0, 2, 40_000)], axis=1)
    chance = 0.6 + 0.1 * (rows[:, 0] - 2) + np.array([0.1, -0.1, 0.0, 0.0])[rows[:, 1]]
    features = {"x": Numeric(0, 1, bins=5), "c": Categorical(list("abc"), other=True), "t": Numeric(0, 1, bins=2)}
    encoding, grid, table = tabled(features, rows=rows, target=rng.random(40_000) < chance)
    base, start = AdditiveBase(norm), without_base(Schema(features, classes=[0, 1]).encoding(8), grid, np.zeros(1), 1.0)
    release = open_release(Ledger(Terms(), None))
    found = base.run(table, release, base.plan(encoding, Terms(), None), grid, start)
    line, category = (found.tables[begin:end, 0] for begin, end in ((0, 5), (5, 9)))
    # twice the chance, for a target of -1 and 1, and the slope from there to log-odds, in fixed point
    unit = 2 * 2.5 * (1 << 16)
    np.testing.assert_allclose(np.diff(line) / unit, 0.1, atol=0.02)
    np.testing.assert_allclose((category - category[2]) / unit, [0.1, -0.1, 0.0, 0.0], atol=0.03)
    # together with the start they give the chance, which in the middle is 0.1 above one half
    middle = found.start[0] + line[2] + category[2] + found.tables[9:, 0].mean()
    assert middle / unit == pytest.approx(0.1, abs=0.01)
    assert found.noise.max() == 0
    assert 0.3 < found.n_records / 40_000 <= 1, "shortened records count for less"


def test_the_mean_of_a_number_and_how_many_there_are_follow_from_its_sums():
    loss = Huber("l2", 65_536, ONE // 2)
    levels = np.full(500, round(0.8 * 65_535))
    block = Block(
        np.zeros((1, 500), np.uint8),
        levels.astype(np.int32),
        np.arange(500, dtype=np.uint64),
        {SCORE_STATE: np.full((500, 1), 1 << 15)},
    )
    sums = loss(block).astype(np.int64).sum(axis=0, keepdims=True)
    assert count_of(sums, loss) == pytest.approx(500)
    assert start_scores(sums, loss)[0] == pytest.approx(0.8, abs=1e-3)
    # noise of half the width, in the mean, leaves half of the way from the middle
    assert start_scores(sums, loss, 0.5 * 500 * ONE)[0] == pytest.approx(0.65, abs=1e-3)


def test_the_noise_that_is_stated_for_a_table_is_the_spread_of_its_entries():
    rng = np.random.default_rng(0)
    features = {"x": Numeric(0, 1, bins=5), "c": Categorical(list("ab"))}
    rows = np.stack([rng.integers(0, 5, 5000), rng.integers(0, 2, 5000)], axis=1)
    encoding, grid, table = tabled(features, rows=rows, target=rng.integers(0, 2, 5000))
    base, start = AdditiveBase(), without_base(encoding, grid, np.zeros(1), 1.0)
    plan = base.plan(encoding, Terms(), Allowance.of(1.0, 1e-6).whole)
    # next to no noise on pairs: it is not in what is stated
    plan = replace(plan, pairs=replace(plan.pairs, parameter=Fraction(1)))

    class Loose(Release):
        def noisy(self, values, event):
            return super().noisy(values, event) if event is plan.sums else values

    draws = [
        base.run(table, Loose(Ledger(Terms(), Allowance.of(1.0, 1e-6)), drawn()), plan, grid, start) for _ in range(300)
    ]
    spread = np.stack([draw.tables[:, 0] for draw in draws]).std(axis=0) / (1 << 16)
    np.testing.assert_allclose(spread, draws[0].noise, rtol=0.2)

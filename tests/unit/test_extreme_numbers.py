"""No number that comes from scores, noise, codes or a tiny budget makes a loop overflow or read beyond its arrays.

Loops are run compiled and, so that a wrong index raises instead of reading on, as the plain Python that they are
written in.
"""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from privet import BoostingClassifier, Numeric, PrivaTreeClassifier, Schema
from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.boosting import cells, gradient_growth, gradients
from privet.learners.boosting.cells import in_fixed_point
from privet.learners.boosting.gradients import LARGEST_SCORE, ONE, SCORE_STATE, Huber, Logistic, Softmax
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.whitened_base import WhitenedPlan
from privet.learners.disjoint_forest import margin_law as margins
from privet.learners.matrix_forest.strategy import Explicit
from privet.learners.multinomial_forest.honest_growth import lay_out_records
from privet.mechanisms import raw_records
from privet.privacy.terms import Allowance, Terms
from privet.tables import Block, MemoryTable
from privet.trees.scores import head_start

LEAST, MOST = -(2**63), 2**63 - 1
FAR = [LEAST, LEAST + 1, -(2**62), -(2**40), -1, 0, 1, 2**40, 2**62, MOST - 1, MOST]
TABLE_STEP = 1 << 9
LOSSES = [Logistic("l2"), Softmax(3, "l2"), Softmax(3, "l1"), Huber("l2", 65_536, width=ONE // 4), Huber("l1", 2)]


@pytest.fixture(params=["compiled", "plain"])
def loops(request, monkeypatch):
    """Run all loops of the kernels compiled, or as plain Python."""
    if request.param == "plain":
        for module in (gradients, cells, margins):
            for name, function in vars(module).copy().items():
                if hasattr(function, "py_func"):
                    monkeypatch.setattr(module, name, function.py_func)
        with np.errstate(over="ignore"):  # unsigned differences are meant to go round
            yield
    else:
        yield


def block_of(scores, targets, **state):
    n = len(targets)
    return Block(
        np.zeros((1, n), np.uint8), np.array(targets, np.int32), np.arange(n, dtype=np.uint64), {**state} | scores
    )


def every_far_score(n_scores):
    """All tuples of two far scores, the others between them."""
    pairs = [(a, b) for a in FAR for b in FAR]
    return np.array([[a, b, (a + b) // 2][:n_scores] for a, b in pairs], dtype=np.int64)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradients_keep_their_norm_and_their_side_at_any_score(loss):
    scores = every_far_score(loss.n_scores)
    for target in range(max(loss.n_scores, 2)):
        found = loss(block_of({SCORE_STATE: scores}, [target] * len(scores))).astype(object)
        for row, vector in zip(scores.tolist(), found.tolist(), strict=True):
            size = sum(x * x for x in vector) if loss.norm == "l2" else sum(map(abs, vector))
            assert size <= loss.bound * (ONE * ONE if loss.norm == "l2" else ONE)
            if isinstance(loss, Softmax):
                for k, weight in enumerate(exact_weights(row)):
                    assert (abs(vector[k]) > 1) == (weight != (k == target)), (row, target)
            if isinstance(loss, Huber) and abs(row[0]) > 2**20:
                assert vector[0] == math.copysign(ONE, row[0])


def exact_weights(scores):
    """Return each class's probability, 0 or 1, or one half where two are equal, from whole numbers of any size."""
    near = [score for score in scores if max(scores) - score < TABLE_STEP]
    return [int(score in near) / len(near) for score in scores]


@pytest.mark.usefixtures("loops")
def test_scores_are_added_up_without_turning_their_sign():
    nodes = np.array([0, 1, 2, -1, 7], np.int32)
    values = np.array([[MOST], [LEAST], [5]])
    for score in FAR:
        block = block_of({SCORE_STATE: np.full((5, 1), score)}, [0] * 5, node=nodes)
        up, down, little, none, beyond = gradient_growth.AddValues(values)(block)[:, 0].tolist()
        assert down < 0 < up or score in (LEAST, LEAST + 1, -(2**62), 2**62, MOST, MOST - 1)
        assert down <= none <= up
        assert little == none + 5
        assert none == beyond == min(max(score, -(2**61)), 2**61), "a record at no node keeps its score"


@pytest.mark.usefixtures("loops")
def test_the_scores_of_a_base_are_held_within_their_bounds_whatever_its_tables_say():
    places = np.array([[0, 0], [1, 1]], np.uint8)
    tables, offsets = np.array([[MOST], [LEAST], [MOST], [LEAST]]), np.array([0, 2, 4])
    base = cells.BaseScores(np.array([7]), tables, offsets, -100, 100)
    assert base(block_of({"cell": places}, [0] * 2))[:, 0].tolist() == [100, -100]


@pytest.mark.usefixtures("loops")
def test_margins_beyond_the_table_count_as_its_last_and_never_as_one_before_it():
    by_margin = np.array([[1, 1, 0], [5, 1, 0], [9, 1, 0]])
    counts = np.array([[MOST, 0], [0, MOST], [3, 3], [-4, -9]])
    assert margins.margin_scores(counts, by_margin, abstains=True).tolist() == [[9, 1, 0], [1, 9, 0]] + [[1, 1, 0]] * 2


def test_noise_of_any_size_becomes_a_score_that_fits_a_model():
    assert in_fixed_point(np.array([1e300, -1e300, 2.0**50, 1.5])).tolist() == [
        LARGEST_SCORE,
        -LARGEST_SCORE,
        LARGEST_SCORE,
        3 << 15,
    ]


@pytest.mark.parametrize("target", [{"target": Numeric(0, 1)}, {"classes": [0, 1]}, {"classes": [0, 1, 2]}], ids=str)
@pytest.mark.parametrize("terms", [Terms(), Terms("replace"), Terms("replace", 1000, "id")], ids=str)
def test_columns_are_turned_only_where_the_noise_of_their_sums_can_be_drawn(target, terms):
    encoding = Schema({"x": Numeric(0, 1)}, **target).encoding(16)
    largest = 0
    for exponent, n_rows in product(range(2, 40), (10**7, 10**8, 10**10)):
        allowance = Allowance.of(2.0**-exponent, 1e-10)
        try:
            plan = Boosting().plan(encoding, terms, allowance.whole, Hints(n_rows=n_rows))
        except ParameterError:
            continue  # for so little budget there is no plan at all
        if isinstance(plan.base, WhitenedPlan):
            largest = max(largest, *(event.parameter for event in plan.whole.events() if event.cost.epsilon is None))
    assert 2**90 < largest <= 2**100


def test_the_least_integer_is_beyond_the_largest_score_of_a_model():
    X = np.linspace(0, 1, 50).reshape(-1, 1)
    model = BoostingClassifier(1.0, schema=SCHEMA, n_trees=1).fit(X, np.where(X[:, 0] > 0.5, "yes", "no")).model_
    for beyond in (LEAST, -LARGEST_SCORE - 1, LARGEST_SCORE + 1):
        with pytest.raises(ParameterError, match="start must be at most"):
            replace(model, start=np.array([beyond]))


def test_norms_of_a_strategy_are_exact_where_squares_add_up_beyond_64_bits():
    norm = Explicit(np.full((2**15, 1), 2**24)).norms[0]
    assert (norm.l1, norm.l2_squared) == (2**39, 2**63)


SCHEMA = Schema({"x": Numeric(0, 1, bins=4)}, classes=["no", "yes"])


@pytest.mark.parametrize("epsilon", [1e-9, 1e-11, 1e-13, 1e-20])
def test_a_public_head_start_fits_an_integer_at_any_budget(epsilon):
    assert 0 <= round(head_start(100, epsilon / 2**21)) <= 2**58
    X = np.linspace(0, 1, 50).reshape(-1, 1)
    y = np.where(X[:, 0] > 0.5, "yes", "no")
    PrivaTreeClassifier(epsilon, schema=SCHEMA, leaves="labels", stop=True).fit(X, y).predict(X)


def test_codes_and_classes_that_do_not_exist_are_held_or_left_out_by_honest_trees():
    encoding = SCHEMA.encoding(4)
    codes, target = np.array([[0, 1, 2, 3] * 10 + [255, 4]], np.uint8), np.array([0, 0, 1, 1] * 10 + [1, 9], np.int32)
    taken_out = raw_records.take_out(MemoryTable(encoding, codes, target))
    records = lay_out_records(encoding, *taken_out)
    assert records.codes.max() == encoding.n_codes[0] - 1
    assert records.target.tolist() == [0, 0, 1, 1] * 10 + [1], "all but the record of no known class"

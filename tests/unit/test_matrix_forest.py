"""The matrix forest: what it answers, what it refuses, and that its noise is what its plan says."""

import numpy as np
import pytest

import privet
from privet import Categorical, MatrixForestClassifier, Numeric, Schema
from privet.errors import ModelFileError, ParameterError, SchemaError
from privet.estimators.learning import Hints
from privet.learners.matrix_forest.domain_cells import CellClassCounts
from privet.learners.matrix_forest.learner import MatrixForest
from privet.learners.matrix_forest.vote_tables import BatchAnswers, CellTable, LeafVotes, shares_of
from privet.mechanisms.release import Release, drawn
from privet.models.files import model_from_dict, model_to_dict
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import Block, MemoryTable

SCHEMA = Schema({name: Categorical([0, 1, 2]) for name in "abcd"}, classes=["no", "yes", "maybe"])
POINTS = np.array([[0, 0, 1, 2], [2, 2, 1, 0], [1, 2, 0, 0]])


def records(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n, 4))
    return X, np.array(["no", "yes", "maybe"])[X[:, 0]]


def make(**parameters):
    return MatrixForestClassifier(**{"schema": SCHEMA, "n_trees": 16, "max_depth": 3, "random_state": 0, **parameters})


SETTINGS = [
    {"strategy": "leaves"},
    {"strategy": "gaussian", "delta": 1e-6},
    {"strategy": "cells"},
    {"strategy": "cells", "voting": "hard"},
    {"strategy": "cells", "voting": "balanced"},
    {"strategy": "cells", "voting": "probability"},
    {"strategy": "marginals"},
    {"strategy": "marginals", "delta": 1e-6},
    {"strategy": "p-identity"},
    {"n_trees": None},
    {"n_trees": None, "voting": "balanced"},
    {"n_ensembles": 3, "subset_features": 2, "subsets": "covering"},
    {"tune": "released", "max_depth": 4},
    {"tune": "public", "n_rows_hint": 2000, "max_depth": 4},
    {"mode": "aggregate"},
    {"mode": "aggregate", "voting": "hard", "n_trees": 8},
]


@pytest.mark.parametrize("parameters", SETTINGS, ids=str)
def test_every_setting_learns_an_easy_task_at_a_large_epsilon(parameters):
    X, y = records()
    clf = make(epsilon=20.0, **parameters).fit(X, y)
    assert clf.score(X, y) > 0.8
    assert clf.privacy_.epsilon == 20.0


@pytest.mark.parametrize("strategy", ["leaves", "cells", "marginals", "p-identity", "queries", "per-query"])
def test_a_batch_is_predicted_by_every_strategy(strategy):
    X, y = records()
    clf = make(epsilon=50.0, mode="prediction", strategy=strategy).fit(X, y, batch=POINTS)
    assert clf.predict(POINTS).tolist() == ["no", "maybe", "yes"]


@pytest.mark.parametrize("strategy", ["leaves", "p-identity", "queries"])
@pytest.mark.parametrize("voting", ["weight", "hard"])
def test_a_batch_is_predicted_by_trees_on_disjoint_data(strategy, voting):
    X, y = records()
    clf = make(epsilon=50.0, mode="aggregate", strategy=strategy, voting=voting, n_trees=8)
    assert clf.fit(X, y, batch=POINTS).predict(POINTS).tolist() == ["no", "maybe", "yes"]


def test_hard_votes_for_two_classes_measure_one_column():
    schema = Schema({name: Categorical([0, 1, 2]) for name in "abcd"}, classes=["no", "yes"])
    X, y = records()
    clf = make(schema=schema, mode="aggregate", voting="hard", n_trees=8, epsilon=4.0)
    clf.fit(X, np.where(y == "no", "no", "yes"))
    assert clf.privacy_.events[0].sensitivity == 1
    assert clf.score(X, np.where(y == "no", "no", "yes")) > 0.8
    many = make(mode="aggregate", voting="hard", n_trees=8).plan()
    assert many.events[0].sensitivity == 2


def test_a_release_that_supports_them_answers_points_outside_the_batch():
    X, y = records()
    clf = make(epsilon=50.0, mode="prediction", strategy="p-identity").fit(X, y, batch=POINTS)
    assert isinstance(clf.model_, CellTable)
    assert clf.predict([[0, 1, 2, 2]]).tolist() == ["no"]


def test_a_release_of_the_queries_alone_refuses_other_points_and_says_how_to_get_them():
    X, y = records()
    clf = make(epsilon=50.0, mode="prediction", strategy="queries").fit(X, y, batch=POINTS)
    assert isinstance(clf.model_, BatchAnswers)
    with pytest.raises(ParameterError, match="1 of 2 points are not in the batch"):
        clf.predict([[0, 1, 2, 2], [0, 0, 1, 2]])


def test_a_matrix_of_ones_own_answers_what_it_supports():
    X, y = records()
    first = np.arange(81) // 27  # the first feature of every cell
    by_first = np.stack([(first == code).astype(int) for code in range(3)])
    schema = Schema({name: Categorical([0, 1, 2]) for name in "a"}, classes=["no", "yes", "maybe"])
    whole = make(schema=schema, strategy=np.eye(3, dtype=int) * 5, epsilon=50.0, max_depth=1).fit(X[:, :1], y)
    assert whole.predict([[0], [1], [2]]).tolist() == ["no", "yes", "maybe"]
    with pytest.raises(ParameterError, match="does not support"):
        make(strategy=by_first, max_depth=1).fit(X, y)
    row = np.eye(81, dtype=int)[:54]  # no cell with 2 as its first feature
    full_depth = {"mode": "prediction", "max_depth": 4, "epsilon": 50.0}
    clf = make(strategy=row, **full_depth).fit(X, y, batch=POINTS[[0, 2]])
    assert isinstance(clf.model_, BatchAnswers)
    assert clf.predict(POINTS[[0, 2]]).tolist() == ["no", "yes"]
    with pytest.raises(ParameterError, match="does not support"):
        make(strategy=row, **full_depth).fit(X, y, batch=POINTS)


def test_another_batch_is_another_charge():
    X, y = records()
    with privet.budget(epsilon=3.0) as budget:
        clf = make(mode="prediction", strategy="queries").fit(X, y, batch=POINTS)
        clf.predict(POINTS)
        assert budget.spent == 1.0
        clf.fit(X, y, batch=POINTS[:1])
        assert budget.spent == 2.0


def test_the_batch_does_not_stay_with_the_estimator_but_for_its_points():
    X, y = records()
    clf = make(mode="prediction").fit(X, y, batch=POINTS)
    assert "_batch" not in vars(clf)


def test_models_are_of_the_kind_that_answers_fastest():
    X, y = records(100)
    assert isinstance(make(strategy="leaves").fit(X, y).model_, LeafVotes)
    assert isinstance(make(strategy="cells").fit(X, y).model_, CellTable)


@pytest.mark.parametrize("strategy", ["cells", "leaves", "queries"])
def test_saved_models_answer_the_same(strategy, tmp_path):
    X, y = records()
    clf = make(mode="prediction", strategy=strategy).fit(X, y, batch=POINTS)
    clf.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict_proba(POINTS), clf.predict_proba(POINTS))


def test_shares_keep_the_order_of_noisy_votes():
    votes = np.array([[3.0, 1.0], [-4.0, -2.0], [5.0, -5.0], [0.0, 0.0]])
    shares = shares_of(votes)
    assert shares.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert shares.argmax(axis=1).tolist() == [0, 1, 0, 0]
    assert shares[3].tolist() == [0.5, 0.5]


# --- plans --------------------------------------------------------------------------------------------------------


def test_the_plan_shows_every_candidate_and_takes_the_least_noise():
    design = make(mode="prediction").plan(batch=POINTS).plan.design
    assert {candidate.name for candidate in design.candidates} == {
        "leaves",
        "cells",
        "marginals",
        "p-identity",
        "queries",
        "per-query",
    }
    assert design.chosen.noise == min(c.noise for c in design.candidates if c.name != "per-query")
    assert " * " + design.chosen.name in str(design)
    assert "expected noise per vote" in make().plan().table()


def test_with_many_features_only_leaves_are_left_and_the_plan_says_why():
    wide = Schema({f"f{i}": Categorical([0, 1]) for i in range(60)}, classes=[0, 1])
    design = make(schema=wide, delta=1e-6).plan().plan.design
    assert design.chosen.name == "gaussian"
    assert "cells" in str(design)
    assert "ensembles" in str(design)


def simulated_noise(learner, share_delta=0.0, repetitions=60):
    """Return the mean squared vote on an empty table, and what the plan expects; votes are read off the model."""
    encoding, terms = SCHEMA.encoding(learner.bins), Terms.of(SCHEMA)
    allowance = Allowance.of(1.0, share_delta)
    plan = learner.plan(encoding, terms, allowance.whole, Hints())
    table = MemoryTable(encoding, np.zeros((4, 0), np.uint8), np.zeros(0, np.int32))
    squares = []
    for _ in range(repetitions):
        model = learner.grow(table, Release(Ledger(terms, allowance, fixed=plan.whole), drawn()), public_rng(0), plan)
        if isinstance(model, CellTable):
            squares.append(sum((t.votes**2).mean() for t in model.tables))
        elif isinstance(model, LeafVotes):
            reached = model.structure.route(POINTS.T.astype(np.uint8))
            scale = learner.n_trees if learner.mode != "aggregate" else 1
            squares.append(((model.values[reached].sum(axis=0) / scale) ** 2).mean())
        else:
            squares.append((model.answers**2).mean())
    return np.mean(squares), plan.design.chosen.noise**2, np.std(squares) / np.sqrt(repetitions)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        MatrixForest("training", "cells", None, 2, "weight"),
        MatrixForest("training", "marginals", None, 1, "weight"),
        MatrixForest("training", "cells", 400, 2, "weight"),
        MatrixForest("training", "leaves", 16, 2, "weight"),
        MatrixForest("aggregate", "leaves", 16, 2, "weight"),
        MatrixForest("prediction", "queries", 16, 2, "weight", batch=POINTS),
        MatrixForest("training", "cells", None, 2, "weight", n_ensembles=2, subset_features=2),
    ],
    ids=lambda learner: f"{learner.mode}-{learner.strategy}-{learner.n_trees}",
)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_predicted_noise_is_the_simulated_one(learner, delta):
    found, expected, error = simulated_noise(learner, delta)
    assert found == pytest.approx(expected, abs=5 * error + 0.01 * expected)


@pytest.mark.parametrize("strategy", ["cells", "p-identity"])
def test_the_predicted_noise_of_a_batch_is_the_simulated_one(strategy):
    learner = MatrixForest("prediction", strategy, 16, 2, "weight", batch=POINTS)
    encoding, terms, allowance = SCHEMA.encoding(4), Terms.of(SCHEMA), Allowance.of(1.0)
    plan = learner.plan(encoding, terms, allowance.whole, Hints())
    table = MemoryTable(encoding, np.zeros((4, 0), np.uint8), np.zeros(0, np.int32))
    squares = []
    for _ in range(150):
        model = learner.grow(table, Release(Ledger(terms, allowance, fixed=plan.whole), drawn()), public_rng(0), plan)
        ids = np.ravel_multi_index(tuple(POINTS.T), (3, 3, 3, 3))
        squares.append((model.tables[0].votes[ids] ** 2).mean())
    expected = plan.design.chosen.noise**2
    assert np.mean(squares) == pytest.approx(expected, abs=5 * np.std(squares) / np.sqrt(150))


# --- tuning -------------------------------------------------------------------------------------------------------


def test_the_depth_from_public_facts_grows_with_the_records_and_needs_a_hint():
    clf = make(tune="public", max_depth=4)
    depths = [clf.plan(n_rows_hint=n).plan.shape.depth for n in (50, 1_000, 100_000, 10_000_000)]
    assert depths == sorted(depths)
    assert depths[0] < depths[-1] == 4
    with pytest.raises(ParameterError, match="n_rows_hint"):
        make(tune="public", n_rows_hint="unknown").plan()


def test_the_number_of_records_is_bought_for_a_depth_from_public_facts():
    X, y = np.random.default_rng(0).integers(3, size=(4_000, 4)), ["no", "yes"] * 2_000
    forest = make(tune="public", max_depth=4).fit(X, y)
    assert forest.privacy_.events[0].name == "number of records"
    assert forest.privacy_.epsilon == forest.plan().epsilon


def test_the_depth_from_released_counts_follows_the_task():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(20_000, 4))
    shallow, deep = np.array(["no", "yes", "maybe"])[X[:, 0]], np.array(["no", "yes", "maybe"])[X.sum(axis=1) % 3]
    scores = [
        make(tune="released", max_depth=4, epsilon=4.0, n_trees=None).fit(X, y).score(X, y) for y in (shallow, deep)
    ]
    assert min(scores) > 0.95  # depth one would not do for the second task


# --- bad input: clear errors, nothing charged ---------------------------------------------------------------------

HUGE = Schema({f"f{i}": Categorical(list(range(10))) for i in range(12)}, classes=[0, 1])

REFUSED = [
    ({"mode": "prediction"}, {}, "batch"),
    ({"mode": "training"}, {"batch": POINTS}, "leave out batch"),
    ({"mode": "prediction"}, {"batch": POINTS + 5}, "not among its categories"),
    ({"mode": "prediction"}, {"batch": POINTS[:0]}, "empty"),
    ({"mode": "prediction", "voting": "balanced", "strategy": "queries"}, {"batch": POINTS}, "weight votes"),
    ({"strategy": "queries"}, {}, "public batch"),
    ({"strategy": "gaussian"}, {}, "delta"),
    ({"strategy": "leaves", "n_trees": None}, {}, "infinite forest"),
    ({"n_trees": None, "voting": "hard"}, {}, "n_trees=None"),
    ({"n_trees": None, "mode": "aggregate"}, {}, "n_trees=None"),
    ({"mode": "aggregate", "strategy": "cells"}, {}, "measured by leaves"),
    ({"mode": "aggregate", "strategy": "p-identity"}, {}, "public batch"),
    ({"n_ensembles": 7, "subset_features": 2}, {}, "only 6 subsets"),
    ({"subset_features": 5}, {}, "from 1 to 4"),
    ({"n_ensembles": 20, "subset_features": 2, "n_trees": 16}, {}, "n_trees"),
    ({"strategy": "best"}, {}, "strategy"),
    ({"mode": "guess"}, {}, "mode"),
    ({"voting": "loud"}, {}, "voting"),
    ({"tune": "later"}, {}, "tune"),
    ({"n_ensembles": "auto"}, {}, "goes with tune"),
    ({"tune": "released", "n_ensembles": 2, "subset_features": 2}, {}, "one ensemble"),
    ({"max_depth": 0}, {}, "max_depth"),
    ({"bins": 1}, {}, "bins"),
    ({"strategy": np.ones((2, 81))}, {}, "whole numbers"),
    ({"strategy": np.ones((2, 80), np.int64)}, {}, "81 columns"),
    ({"strategy": np.ones((2, 81), np.int64)}, {}, "does not support"),
]


@pytest.mark.parametrize(("parameters", "extra", "said"), REFUSED, ids=lambda value: str(value)[:60])
def test_bad_input_is_refused_with_the_remedy_and_nothing_is_charged(parameters, extra, said):
    X, y = records(50)
    with privet.budget(epsilon=1.0) as budget, pytest.raises(ParameterError, match=said):
        make(**parameters).fit(X, y, **extra)
    with privet.budget(epsilon=1.0) as untouched:
        pass
    assert budget.spent == untouched.spent


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"strategy": "cells"}, "1000000000000 cells"),
        ({"n_trees": None}, "no strategy can be used"),
        ({"n_trees": 50_000, "max_depth": 6}, "GB"),
    ],
)
def test_a_domain_of_a_million_million_cells_is_refused_in_words(parameters, said):
    X = np.zeros((20, 12), int)
    with privet.budget(epsilon=1.0) as budget, pytest.raises(ParameterError, match=said):
        make(schema=HUGE, **parameters).fit(X, X[:, 0])
    with privet.budget(epsilon=1.0) as untouched:
        pass
    assert budget.spent == untouched.spent


def test_such_a_domain_is_served_by_leaves_and_by_ensembles():
    X = np.random.default_rng(0).integers(10, size=(500, 12))
    for parameters in ({"strategy": "auto"}, {"strategy": "cells", "n_ensembles": 3, "subset_features": 3}):
        clf = make(schema=HUGE, **parameters).fit(X, X[:, 0] % 2)
        assert clf.predict(X).shape == (500,)


def test_a_batch_without_a_column_or_of_another_kind_is_refused():
    X, y = records(50)
    with pytest.raises(SchemaError, match="columns"):
        make(mode="prediction").fit(X, y, batch=POINTS[:, :3])


def test_numeric_features_fall_into_public_bins():
    schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1, missing=True)}, classes=[0, 1])
    rng = np.random.default_rng(0)
    X = rng.random((4000, 2))
    y = (X[:, 0] > 0.5).astype(int)
    X[::10, 1] = np.nan
    clf = make(schema=schema, bins=4, epsilon=5.0, max_depth=2).fit(X, y)
    assert clf.model_.tables[0].votes.shape == (4 * 5, 2)
    assert clf.score(X, y) > 0.95


def test_balanced_votes_find_a_rare_class_that_weight_votes_never_name():
    rng = np.random.default_rng(0)
    X = rng.integers(3, size=(20_000, 4))
    rare = (X[:, 0] == 2) & (rng.random(20_000) < 0.3)
    y = np.where(rare, "yes", "no")
    named = {}
    for voting in ("weight", "balanced"):
        clf = make(voting=voting, epsilon=5.0, max_depth=2).fit(X, y)
        named[voting] = (clf.predict(X) == "yes").mean()
    assert named["weight"] == 0
    assert 0.2 < named["balanced"] < 0.6


@pytest.mark.slow
def test_feature_subsets_are_chosen_from_public_facts_where_the_domain_is_too_large():
    clf = make(schema=HUGE, strategy="cells", tune="public", n_ensembles="auto", max_depth=6)
    few, many = (clf.plan(n_rows_hint=n).plan.shape for n in (500, 10_000_000))
    assert many.depth > few.depth
    assert many.n_ensembles * many.subset_features >= 12


def test_cells_are_counted_as_a_plain_loop_counts_them():
    rng = np.random.default_rng(0)
    codes, target = rng.integers(3, size=(4, 60)).astype(np.uint8), rng.integers(-1, 3, size=60).astype(np.int32)
    block = Block(codes, target, np.arange(60, dtype=np.uint64), {})
    expected = np.zeros((9, 3), int)
    for row in range(60):
        if target[row] >= 0:
            expected[codes[1, row] * 3 + codes[3, row], target[row]] += 1
    np.testing.assert_array_equal(CellClassCounts((1, 3), (3, 3), 3)(block), expected)


def damaged(content, **changes):
    return {**content, **changes}


@pytest.mark.parametrize("strategy", ["cells", "leaves", "queries"])
def test_damaged_model_files_are_refused_in_words(strategy):
    X, y = records(100)
    content = model_to_dict(make(mode="prediction", strategy=strategy).fit(X, y, batch=POINTS).model_)
    assert model_to_dict(model_from_dict(content)) == content
    other = Schema({"a": Categorical([0, 1])}, classes=[0, 1]).encoding().to_dict()
    wrong = [damaged(content, encoding=other), damaged(content, encoding={})]
    for name in {"tables", "values", "answers", "points", "structure"} & set(content):
        wrong += [damaged(content, **{name: []}), damaged(content, **{name: None})]
    if strategy == "cells":
        wrong.append(damaged(content, tables=[{**content["tables"][0], "features": [3, 2, 1, 0]}]))
        wrong.append(damaged(content, tables=[{**content["tables"][0], "features": [0, 1, 2, 9]}]))
        wrong.append(damaged(content, tables=[{**content["tables"][0], "features": "abcd"}]))
    for document in wrong:
        with pytest.raises(ModelFileError):
            model_from_dict(document)

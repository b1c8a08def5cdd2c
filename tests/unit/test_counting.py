"""Where nobody gave a hint, the number of records is bought, or taken where it is public: charged and stated."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import privet
from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    DisjointForestClassifier,
    MatrixForestClassifier,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    PrivetClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Unit,
)
from privet.audit.exact import exact_audit
from privet.audit.whole import tiny_subject
from privet.errors import BudgetError, NonPrivateWarning, ParameterError, PrivacyLeakWarning
from privet.estimators.counting import AGAIN_NAME, CLEAR, COUNT_NAME, LEAST_PART, CountedFirst, _Seen, about, count_part
from privet.privacy.events import Cost, Filter, has_mixture
from privet.privacy.terms import Allowance, Share, Terms
from privet.tables import ParquetTable

FEATURES = {"x": Numeric(0, 1), "c": Categorical(["a", "b"])}
TWO = Schema(FEATURES, classes=["no", "yes"])
NUMBER = Schema(FEATURES, target=Numeric(0, 1))
LEARNERS = {
    "boosting": BoostingClassifier,
    "random": RandomDecisionForestClassifier,
    "tree": PrivaTreeClassifier,
    "multinomial": MultinomialForestClassifier,
    "matrix": lambda *given, **settings: MatrixForestClassifier(*given, tune="public", n_trees=4, **settings),
    "choosing": PrivetClassifier,
}
every = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def records(n=600, unknown=0):
    rng = np.random.default_rng(0)
    x = rng.random(n)
    labels = np.where(x > 0.5, "yes", "no").astype(object)
    labels[:unknown] = "perhaps"
    return pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], n)}), labels


def names(ledger):
    return [event.name for event in ledger.events]


@every
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_number_is_bought_with_a_stated_part_and_the_whole_is_what_was_asked_for(make, delta):
    model = make(1.0, delta, TWO, random_state=0)
    planned = model.plan()
    assert planned.epsilon == 1.0
    count, rest = planned.composition.parts
    part = LEAST_PART
    if planned.allowance.rho is None:
        assert (count.cost.epsilon, rest.cost.epsilon) == (part, 1 - part)
        assert planned.cost.rho == count.cost.rho + (1 - part) ** 2 / 2, "a pure fit costs a finite rho as well"
    else:
        assert (count.cost.epsilon, rest.epsilon, rest.delta) == (part, 1 - part, planned.allowance.delta)
        assert planned.cost.rho == part**2 / 2 + (1 - part) ** 2 / 2, "what the pure alternative costs, the largest"
        assert planned.delta == delta
    with privet.budget(epsilon=1.0, delta=delta) as budget:
        model.fit(*records())
        assert (budget.spent, budget.spent_delta) == (1.0, planned.delta)
        with pytest.raises(BudgetError):
            model.fit(*records())
    assert model.privacy_.cost == planned.cost
    assert model.privacy_.events[0] == count
    assert len(model.privacy_.events) > 1


@every
def test_unknown_buys_nothing_and_a_hint_neither(make):
    for hint in ("unknown", 600):
        if hint == "unknown" and make is LEARNERS["matrix"]:
            continue  # it refuses: its shape cannot be chosen without a number
        assert COUNT_NAME not in names(make(1.0, 0.0, TWO, n_rows_hint=hint).plan())
    assert COUNT_NAME in names(make(1.0, 0.0, TWO).plan())


def test_nothing_is_bought_where_the_number_makes_no_difference():
    fixed = [
        RandomDecisionForestClassifier(1.0, 0.0, TWO, n_trees=3, max_depth=2),
        MultinomialForestClassifier(1.0, 0.0, TWO, max_depth=2),
        DisjointForestClassifier(1.0, 0.0, TWO),
        MatrixForestClassifier(1.0, 0.0, TWO),
    ]
    for model in fixed:
        assert model.plan().to_dict() == model.plan(n_rows_hint="unknown").to_dict()
    assert all(COUNT_NAME in names(BoostingRegressor(1.0, delta, NUMBER).plan()) for delta in (0.0, 1e-6))


@pytest.mark.parametrize("name", ["boosting", "random", "tree", "multinomial", "choosing"])
@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_a_budget_that_could_not_pay_for_a_number_buys_none(name, delta):
    X, y = records(60)
    fitted = LEARNERS[name](5e-7, delta, schema=TWO).fit(X, y)
    assert COUNT_NAME not in names(fitted.privacy_)
    assert fitted.privacy_.proven


def test_a_regressor_buys_too():
    X, _ = records()
    model = BoostingRegressor(1.0, 1e-6, NUMBER).fit(X, X["x"])
    assert names(model.privacy_)[0] == COUNT_NAME
    assert model.privacy_.cost == model.plan().cost


def test_what_was_bought_is_what_is_planned_with():
    X, y = records(6_000)
    bought = RandomDecisionForestClassifier(4.0, 0.0, TWO, random_state=0).fit(X, y).model_.structure
    hinted = RandomDecisionForestClassifier(4.0, 0.0, TWO, n_rows_hint=6_000, random_state=0).fit(X, y).model_.structure
    unknown = RandomDecisionForestClassifier(4.0, 0.0, TWO, n_rows_hint="unknown").fit(X, y).model_.structure
    assert abs(bought.n_trees - hinted.n_trees) <= 2  # less budget, and a number that is off by some tens at most
    assert bought.depth == hinted.depth != unknown.depth


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [200, 60_000])
def test_a_small_table_is_counted_twice_and_a_large_one_keeps_the_rest_for_learning(n, delta):
    model = PrivaTreeClassifier(0.1, delta, TWO, random_state=0)
    planned = model.plan()
    first, epsilon = planned.events[0], planned.allowance.epsilon
    spent = model.fit(*records(n)).privacy_.events
    assert spent[0] == first
    if n < CLEAR * first.deviation:
        assert spent[1] == planned.plan.again
        both = sum((event.cost for event in spent[:2]), Cost.nothing())
        assert both.epsilon == epsilon * count_part(Terms(), Share(epsilon=epsilon))
    else:
        assert AGAIN_NAME not in [event.name for event in spent]
    learned = spent[2:] if n < CLEAR * first.deviation else spent[1:]
    assert learned, "the tree comes after it"
    assert model.privacy_.cost == planned.cost, "whether there was a second look, all of the budget is charged"


def test_two_looks_count_by_how_sure_they_are():
    """A second number of noise of a tenth counts a hundred times as much."""
    seen = _Seen(100.0, 10.0).joined(_Seen(200.0, 1.0))
    assert seen.number == pytest.approx((100 + 100 * 200) / 101)
    assert seen.deviation == pytest.approx((0.01 + 1) ** -0.5)
    assert _Seen(-3.0, 40.0).n_rows == 40


def test_all_rows_of_a_unit_are_paid_for():
    unit = Schema(FEATURES, classes=["no", "yes"], unit=Unit("who", 7))
    one, seven = (PrivaTreeClassifier(1.0, 0.0, schema).plan() for schema in (TWO, unit))
    assert [float(planned.events[0].parameter) for planned in (one, seven)] == pytest.approx([100, 7 * 100])
    # Both looks together are as sure as noise of scale 50, or cost a twentieth of the budget.
    assert [float(planned.plan.again.parameter) for planned in (one, seven)] == pytest.approx([100, 7 * 25])


@pytest.mark.parametrize("neighbours", ["replace", "label"])
@every
def test_where_the_relation_makes_it_public_the_number_is_free(make, neighbours):
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours=neighbours)
    model = make(1.0, 0.0, schema, random_state=0)
    assert model.plan().epsilon == 1.0
    assert COUNT_NAME not in names(model.plan())
    model.fit(*records())
    hinted = make(1.0, 0.0, schema, n_rows_hint=600, random_state=0)
    assert [event.to_dict() for event in model.privacy_.events] == [
        event.to_dict() for event in hinted.fit(*records()).privacy_.events
    ]
    assert model.privacy_.cost.epsilon == model.plan().cost.epsilon == 1


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_a_public_number_counts_rows_without_a_known_label_since_a_neighbour_may_have_one(neighbours):
    """A record that is replaced by one without a label must not change the plan."""
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours=neighbours)
    ledgers = []
    for unknown in (0, 1):  # 615 rows: with 614 the number would be rounded to another
        X, y = records(615, unknown)
        ledgers.append(names_and_noise(PrivaTreeClassifier(0.5, 0.0, schema).fit(X, y).privacy_))
    assert ledgers[0] == ledgers[1]
    assert about(615) != about(614)


def names_and_noise(ledger):
    return [(event.name, event.parameter) for event in ledger.events]


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_the_rows_of_units_are_never_public(neighbours):
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours=neighbours, unit=Unit("who", 3))
    count = PrivaTreeClassifier(1.0, 0.0, schema).plan().events[0]
    assert count.name == COUNT_NAME
    assert float(count.parameter) == pytest.approx(2 * 3 * 100)


def test_tables_in_files_know_the_same_public_number(tmp_path):
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours="replace")
    X, y = records(615, 5)
    X.assign(y=y).to_parquet(tmp_path / "a.parquet")
    ledgers = [
        PrivaTreeClassifier(0.5, 0.0, schema).fit(*data).privacy_
        for data in ((X, y), (ParquetTable(tmp_path / "a.parquet", target="y"),))
    ]
    assert names_and_noise(ledgers[0]) == names_and_noise(ledgers[1])


def test_coins_that_records_share_are_refused_though_the_plan_does_not_show_them(tmp_path):
    X, y = records()
    X.assign(y=y, key=np.arange(600)).to_parquet(tmp_path / "a.parquet")
    table = ParquetTable(tmp_path / "a.parquet", target="y", id="key")
    forest = MultinomialForestClassifier(1.0, 0.0, TWO)
    assert not has_mixture(forest.plan().composition)
    with privet.budget(epsilon=1.0) as budget:
        with pytest.raises(ParameterError, match="share their secret coins"):
            forest.fit(table)
        assert budget.spent == 0.0, "refused before anything is spent"
    assert PrivetClassifier(1.0, 0.0, TWO).fit(table).privacy_.epsilon == 1.0


@every
def test_a_plan_with_a_count_can_be_pickled_as_others_can(make):
    planned = make(1.0, 0.0, TWO).plan()
    again = pickle.loads(pickle.dumps(planned))
    assert again.to_dict() == planned.to_dict()
    assert list(again.plan.possible) == list(planned.plan.possible)


def test_without_privacy_or_a_schema_nothing_is_bought():
    X, y = records()
    with pytest.warns(NonPrivateWarning):
        assert COUNT_NAME not in names(PrivaTreeClassifier(None, 0.0, TWO).fit(X, y).privacy_)
    with pytest.warns(PrivacyLeakWarning):
        assert COUNT_NAME not in names(PrivaTreeClassifier(1.0).fit(X, y).privacy_)


@pytest.mark.parametrize("hint", [None, "unknown", 600])
def test_a_file_keeps_what_was_said_of_the_number(tmp_path, hint):
    model = PrivaTreeClassifier(1.0, 0.0, TWO, n_rows_hint=hint).fit(*records())
    model.save(tmp_path / "model.json")
    again = privet.load(tmp_path / "model.json")
    assert again.n_rows_hint == hint
    assert again.privacy_.to_dict() == model.privacy_.to_dict()
    assert again.plan().to_dict() == model.plan().to_dict()


@every
def test_the_exact_audit_sees_the_count_and_what_follows(make):
    model = make(1.0, 0.0, TWO)
    subject = tiny_subject(model, n_trees=1, max_depth=1)
    assert isinstance(subject.learner, CountedFirst)
    found = exact_audit(subject, 1)
    assert not found.refuted
    assert found.loss > 0.02, "the count and the model both lose something"


def test_the_part_buys_noise_of_fifty_records_within_bounds_also_in_rho():
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(4)):
        for rows in (1, 5):
            terms = Terms(max_rows=rows, unit_column="who")
            for share in (Allowance.of(epsilon).whole, Allowance.of(epsilon, 1e-6).whole):
                part = count_part(terms, share)
                assert Fraction(1, 100) <= part <= Fraction(1, 20)
                deviation = terms.noise("", share * part).deviation
                if Fraction(1, 100) < part < Fraction(1, 20):
                    assert deviation == pytest.approx(np.sqrt(2) * 50, rel=1e-6)
                else:
                    assert (deviation > np.sqrt(2) * 49.9) == (part == Fraction(1, 20))


def test_a_filter_of_pure_epsilon_has_a_finite_rho():
    assert Filter("", Cost(Fraction(1, 2), None)).cost == Cost(Fraction(1, 2), Fraction(1, 8))
    assert Filter("", Cost(None, Fraction(1))).cost == Cost(None, Fraction(1))


def test_numbers_are_rounded_to_two_digits():
    assert [about(n) for n in (-5, 0, 0.4, 1, 94, 99.6, 605, 1_049, 999_999)] == [
        *(1, 1, 1, 1, 94, 100, 600, 1_000, 1_000_000)
    ]

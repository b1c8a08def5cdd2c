"""Alternatives that released values decide between: each keeps the guarantee in its own way, and nothing else does."""

import json
import pickle
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import privet
from privet import (
    BoostingClassifier,
    BoostingRegressor,
    Categorical,
    MatrixForestClassifier,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    PrivetClassifier,
    RandomDecisionForestClassifier,
    Schema,
    Unit,
)
from privet.errors import BudgetError, ModelFileError, ParameterError
from privet.estimators.counting import COUNT_NAME, LEARNING_NAME
from privet.privacy.accounts.limits import Limit
from privet.privacy.accounts.slots import Slot
from privet.privacy.conversions import epsilon_to_zcdp
from privet.privacy.events import Cost, Either, Filter, Mechanism, Parallel, Sequential, has_alternatives, readable
from privet.privacy.keeping import holds, keeps
from privet.privacy.ledger import Ledger
from privet.privacy.stages import stages
from privet.privacy.terms import Allowance, Terms
from privet.privacy.text import ledger_from_dict
from privet.robustness.guarantees import Guarantee
from privet.tables import ParquetTable
from tests.unit.accounts import make as make_account

TERMS = Terms()
ONE, DELTA = Fraction(1), Fraction(1, 10**6)
ASKED = Allowance.of(1, DELTA)
LOOK = TERMS.laplace("look", ONE / 100)
LEFT = 1 - LOOK.cost.epsilon
RHO = epsilon_to_zcdp(LEFT, DELTA)
SHARP = TERMS.sharpened(
    TERMS.noise("counts", Allowance.of(LEFT, DELTA).whole, l2_squared=4, largest=1), Allowance.of(LEFT, DELTA).whole
)
WAYS = {
    "pure": (Filter("trees", Cost(LEFT, None), (TERMS.permute_and_flip("split", LEFT),)),),
    "pure events": (TERMS.permute_and_flip("split", LEFT / 2), TERMS.laplace("leaves", LEFT / 2)),
    "by rho": (Filter("rounds", Cost(None, RHO), (TERMS.gaussian("leaves", RHO),)),),
    "by its exact delta": (SHARP,),
}


def whole(parts, first=LOOK, epsilon=LEFT, delta=DELTA):
    return Sequential((first, Either("a model", epsilon, delta, parts)))


@pytest.mark.parametrize("parts", WAYS.values(), ids=WAYS)
def test_every_way_keeps_what_was_asked_for_and_costs_the_same(parts):
    for ledger in (Ledger.stating(TERMS, ASKED, whole(parts)), charged(parts)):
        assert (ledger.epsilon, ledger.delta) == (1.0, 1e-6)
        assert ledger.cost == Cost(None, LOOK.cost.rho + LEFT**2 / 2)
        assert ledger.composition == whole(parts)
        again = ledger_from_dict(json.loads(json.dumps(ledger.to_dict())))
        assert again.to_dict() == ledger.to_dict()
        assert pickle.loads(pickle.dumps(ledger)).to_dict() == ledger.to_dict()


def charged(parts, first=LOOK, epsilon=LEFT, fixed=True):
    ledger = Ledger(TERMS, ASKED)
    ledger.charge(first)
    scope = ledger.fixed(Sequential(parts)) if fixed else nullcontext()
    with ledger.either("a model", epsilon, DELTA), scope:
        for part in parts:
            if isinstance(part, Filter):
                with ledger.filter(part.name, part.cap):
                    for event in part.parts:
                        ledger.charge(event)
            else:
                ledger.charge(part)
    return ledger


def test_an_exact_delta_counts_only_for_what_was_fixed_when_it_was_decided():
    with pytest.raises(BudgetError, match="would break the guarantee"):
        charged(WAYS["by its exact delta"], fixed=False)
    ledger, sharp = Ledger(TERMS, ASKED), Sequential((SHARP,))
    with pytest.raises(BudgetError, match="as an alternative only"), ledger.fixed(sharp):
        pass
    with ledger.either("a model", LEFT, DELTA):
        ledger.charge(TERMS.gaussian("something that could decide", RHO / 1000))
        with pytest.raises(BudgetError, match="before anything but looks"), ledger.fixed(sharp):
            pass


MORE = 1 + Fraction(1, 10**5)


@pytest.mark.parametrize(
    "parts",
    [
        (Filter("trees", Cost(LEFT * MORE, None)),),
        (Filter("rounds", Cost(None, RHO * MORE)),),
        (TERMS.gaussian("leaves", SHARP.cost.rho * MORE, l2_squared=4),),
        (SHARP, TERMS.laplace("more", ONE / 10**9)),
        (Filter("adaptive", Cost(None, SHARP.cost.rho), (SHARP,)),),
        (TERMS.laplace("a second look", ONE / 25), Filter("trees", Cost(LEFT, None))),
        (TERMS.laplace("a second look", ONE / 25), Filter("rounds", Cost(None, RHO))),
        (TERMS.laplace("a second look", ONE / 25), SHARP),
        (Filter("rounds", Cost(None, RHO)), TERMS.laplace("afterwards", ONE / 25)),
        (TERMS.laplace("a look of all", LEFT), TERMS.gaussian("leaves", RHO / 10**6)),
    ],
)
def test_what_no_way_allows_is_refused_before_it_is_drawn(parts):
    assert not keeps(whole(parts), TERMS, ONE, DELTA)
    with pytest.raises(BudgetError):
        Ledger.stating(TERMS, ASKED, whole(parts))
    with pytest.raises(BudgetError, match="nothing was drawn"):
        charged(parts)


def test_looks_inside_are_paid_for_by_what_follows():
    second = TERMS.laplace("a second look", ONE / 25)
    left = LEFT - second.cost.epsilon
    for rest in (Filter("", Cost(left, None)), Filter("", Cost(None, epsilon_to_zcdp(left, DELTA)))):
        assert Ledger.stating(TERMS, ASKED, whole((second, rest))).epsilon == 1.0
        assert charged((second, rest)).epsilon == 1.0


def test_epsilons_and_deltas_of_a_sequence_add_up():
    part = Either("", ONE / 2, DELTA / 2)
    assert keeps(Sequential((part, part)), TERMS, ONE, DELTA)
    assert not keeps(Sequential((part, part)), TERMS, ONE, DELTA * Fraction(99, 100))
    assert not keeps(Sequential((part, part)), TERMS, Fraction(99, 100), DELTA)
    assert not keeps(Sequential((part, part, LOOK)), TERMS, ONE, DELTA)
    assert not keeps(Sequential((part, TERMS.gaussian("", Fraction(1, 10**9)))), TERMS, ONE, DELTA)
    for wrong in (whole((), epsilon=ONE), whole((), delta=2 * DELTA)):
        with pytest.raises(BudgetError):
            Ledger.stating(TERMS, ASKED, wrong)


def test_nothing_of_it_fits_a_pure_allowance():
    with pytest.raises(BudgetError):
        Ledger.stating(TERMS, Allowance.of(2), whole(()))


def test_all_rows_of_a_unit_move_what_an_exact_delta_is_for():
    """Rows of a unit may all move one number, so that what holds for single records does not."""
    either = Either("", LEFT, DELTA, (SHARP,))
    assert holds(either, Terms())
    assert not holds(either, Terms(max_rows=2, unit_column="id"))


def test_alternatives_need_an_epsilon_and_a_delta():
    for wrong in ((Fraction(0), DELTA), (ONE, Fraction(0)), (ONE, ONE)):
        with pytest.raises(ParameterError):
            Either("", *wrong)


def test_a_file_that_claims_too_much_is_refused():
    data = Ledger.stating(TERMS, ASKED, whole(WAYS["by rho"])).to_dict()
    data["spent"]["sequential"][1]["either"][0]["rho"] = str(2 * RHO)
    with pytest.raises(ModelFileError):
        ledger_from_dict(data)
    data["spent"]["sequential"][1]["delta"] = "0"
    with pytest.raises(ModelFileError):
        ledger_from_dict(data)


# --- Learners -------------------------------------------------------------------------------------------------------

FEATURES = {"x": Numeric(0, 1), "c": Categorical(["a", "b"])}
TWO = Schema(FEATURES, classes=["no", "yes"])


def records(n):
    rng = np.random.default_rng(0)
    x = rng.random(n)
    return pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], n)}), np.where(x > 0.5, "yes", "no")


def taken(ledger):
    """The alternative, without looks."""
    (either,) = [part for part in ledger.composition.parts if isinstance(part, Either)]
    return either.parts[-1]


@pytest.mark.parametrize("unit", [None, Unit("who", 3)])
@pytest.mark.parametrize("n", [150, 30_000])
def test_a_forest_takes_laplace_noise_for_few_records_and_the_exact_delta_for_many(n, unit):
    schema = Schema(FEATURES, classes=["no", "yes"], unit=unit)
    X, y = records(n)
    model = RandomDecisionForestClassifier(0.5, 1e-6, schema, random_state=0)
    model.fit(X if unit is None else X.assign(who=np.arange(n) // 3), y)
    used = {event.mechanism for event in model.privacy_.events if "leaves" in event.name}
    assert used == {Mechanism.LAPLACE if n == 150 else Mechanism.GAUSSIAN}
    assert (model.privacy_.epsilon, model.privacy_.delta) == (0.5, 1e-6)
    assert model.privacy_.cost == model.plan().cost


def test_boosting_decides_by_the_number():
    schema = Schema({f"x{i}": Numeric(0, 1) for i in range(9)}, classes=["no", "yes"])
    rng = np.random.default_rng(0)
    ways = []
    for n in (60, 40_000):
        X = pd.DataFrame(rng.random((n, 9)), columns=list(schema.features))
        model = BoostingClassifier(0.1, 1e-6, schema, random_state=0).fit(X, np.where(X["x0"] > 0.5, "yes", "no"))
        assert isinstance(taken(model.privacy_), Filter)
        ways.append(taken(model.privacy_).cap.epsilon is not None)
        assert model.privacy_.cost == model.plan().cost
    assert ways == [True, False]


@pytest.mark.parametrize("neighbours", ["replace", "label"])
def test_a_public_number_decides_as_a_hint_does(neighbours):
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours=neighbours)
    for make in (BoostingClassifier, RandomDecisionForestClassifier, PrivaTreeClassifier, MultinomialForestClassifier):
        free, hinted = (make(0.5, 1e-6, schema, n_rows_hint=hint, random_state=0) for hint in (None, 600))
        X, y = records(600)
        ledgers = [model.fit(X, y).privacy_ for model in (free, hinted)]
        assert [event.to_dict() for event in ledgers[0].events] == [event.to_dict() for event in ledgers[1].events]
        assert ledgers[0].epsilon == ledgers[1].epsilon == 0.5


def test_a_regressor_and_a_choosing_estimator_decide_too():
    X, y = records(400)
    number = Schema(FEATURES, target=Numeric(0, 1))
    for model in (
        BoostingRegressor(0.5, 1e-6, number).fit(X, X["x"]),
        PrivetClassifier(0.5, 1e-6, TWO, goal="readable").fit(X, y),
        MatrixForestClassifier(0.5, 1e-6, TWO, tune="public", n_trees=4).fit(X, y),
    ):
        assert has_alternatives(model.privacy_.composition)
        assert (model.privacy_.epsilon, model.privacy_.cost) == (0.5, model.plan().cost)


def test_plans_and_estimators_travel():
    model = BoostingClassifier(0.5, 1e-6, TWO)
    planned = model.plan()
    again = pickle.loads(pickle.dumps(planned))
    assert again.to_dict() == planned.to_dict() == clone(model).plan().to_dict()
    assert list(again.plan.possible) == list(planned.plan.possible)
    fitted = pickle.loads(pickle.dumps(model.fit(*records(200))))
    assert fitted.privacy_.to_dict() == model.privacy_.to_dict()


def test_a_saved_model_states_the_same(tmp_path):
    for n in (150, 30_000):
        model = RandomDecisionForestClassifier(0.5, 1e-6, TWO, random_state=0).fit(*records(n))
        model.save(tmp_path / "model.json")
        assert privet.load(tmp_path / "model.json").privacy_.to_dict() == model.privacy_.to_dict()


def test_records_that_share_their_coins_do_not_take_a_pure_mixture(tmp_path):
    X, y = records(300)
    X.assign(y=y, key=1).to_parquet(tmp_path / "a.parquet")
    table = ParquetTable(tmp_path / "a.parquet", target="y", id="key")
    for model in (
        MultinomialForestClassifier(1.0, 1e-6, TWO),
        RandomDecisionForestClassifier(1.0, 1e-6, TWO, composition="disjoint"),
    ):
        found = taken(model.fit(table).privacy_)
        assert found.cost.epsilon is None or not any(map(_is_mixture, _all(found)))


def _all(part):
    yield part
    for child in getattr(part, "parts", ()):
        yield from _all(child)


def _is_mixture(part):
    return type(part).__name__ == "Mixture"


def test_accounts_that_add_up_rhos_are_charged_for_a_plan_by_rho(tmp_path):
    """There nothing is decided: a count and a filter, whose rho is what zCDP allows."""
    url = f"sqlite:///{tmp_path / 'a.db'}"
    model = RandomDecisionForestClassifier(1.0, 1e-6, TWO, random_state=0)
    outside = model.plan()
    slot = Slot.of(1, outside, "a forest")
    assert float(slot.rho) == pytest.approx(float(ASKED.rho), rel=1e-6)
    make_account(url, "all", Limit.of(epsilon=1.0, delta=1e-6))
    make_account(url, "slots", Limit.of(epsilon=1.01, delta=1e-6, slots=[slot]))
    for name in ("all", "slots"):
        with privet.budget(url, dataset=name):
            assert not has_alternatives(model.plan().composition)
            assert model.fit(*records(300)).privacy_.rho == model.plan().rho == readable(ASKED.rho)
            with pytest.raises(BudgetError):
                model.fit(*records(300))
    assert has_alternatives(outside.composition)


def test_where_no_number_would_decide_otherwise_the_pure_guarantee_is_claimed():
    planned = RandomDecisionForestClassifier(1.0, 1e-6, TWO, composition="disjoint").plan()
    assert (planned.epsilon, planned.delta) == (1.0, 0.0)
    assert not has_alternatives(planned.composition)
    assert planned.events[0].name == COUNT_NAME


def test_a_certificate_uses_a_rho_that_is_true_of_all_alternatives():
    planned = BoostingClassifier(0.5, 1e-6, TWO).plan()
    assert Guarantee.of(planned).rho == planned.cost.rho >= Fraction(99, 200) ** 2 / 2


def test_tables_show_the_epsilon_of_what_is_not_decided_and_the_measure_of_what_is():
    model = RandomDecisionForestClassifier(0.5, 1e-6, TWO, random_state=0)
    shown = model.plan().table()
    assert "epsilon" in shown.splitlines()[0]
    assert [(stage.name, stage.cost.epsilon) for stage in stages(model.plan())] == [
        (COUNT_NAME, Fraction(1, 200)),
        (LEARNING_NAME, Fraction(99, 200)),
    ]
    assert "99%" in shown
    assert "pure, or delta 1e-06" in model.plan().table(full=True)
    few, many = (model.fit(*records(n)).privacy_.table() for n in (150, 30_000))
    assert "epsilon" in few.splitlines()[0]
    assert "rho" in many.splitlines()[0]


def test_a_statement_whose_parts_do_not_keep_what_it_says_is_refused_wherever_it_stands():
    loud = TERMS.gaussian("sums", Fraction(100))
    broken = Either("a model", Fraction(1, 100), DELTA, (loud,))
    for stated in (broken, Sequential((broken,)), Parallel((broken,)), Filter("rounds", broken.cost, (broken,))):
        with pytest.raises(BudgetError, match="all alternatives"):
            Ledger.stating(TERMS, Allowance.of(1.0, 1e-6), stated)


@pytest.mark.parametrize("change", [{"numbers": -1}, {"rho": "-5"}, {"epsilon": "-1"}])
def test_a_file_in_which_a_release_costs_less_than_nothing_is_refused(change):
    ledger = Ledger.stating(TERMS, Allowance.of(1.0, 1e-6), TERMS.gaussian("sums", Fraction(1, 100)))
    data = ledger.to_dict()
    (event,) = data["spent"]["sequential"]
    event.update(change)
    with pytest.raises(ModelFileError, match="not a ledger"):
        ledger_from_dict(data)

"""Laws of a ledger by stages: nothing is left out, nothing counts twice, noise is in records."""

from fractions import Fraction

import pytest

from privet import (
    BoostingClassifier,
    BoostingRegressor,
    MultinomialForestClassifier,
    Numeric,
    PrivaTreeClassifier,
    Schema,
)
from privet.datasets import load_adult
from privet.privacy.events import Cost
from privet.privacy.ledger import Ledger
from privet.privacy.stages import noise_in_records, stages
from privet.privacy.terms import Allowance, Terms

SCHEMA = load_adult().schema
PRICE = Schema(SCHEMA.features, target=Numeric(-10, 50))
TERMS = Terms("add_remove", 1)


def plans():
    for delta in (0.0, 1e-6):
        for kind in (BoostingClassifier, PrivaTreeClassifier, MultinomialForestClassifier):
            yield kind(epsilon=1.0, delta=delta, schema=SCHEMA, n_rows_hint=30_000).plan()
        yield BoostingRegressor(epsilon=1.0, delta=delta, schema=PRICE, n_rows_hint=30_000).plan()


PLANS = list(plans())


@pytest.mark.parametrize("ledger", PLANS)
def test_every_release_is_in_exactly_one_stage(ledger):
    of_stages = [event for stage in stages(ledger) for event in stage.events]
    assert sorted(map(id, of_stages)) == sorted(map(id, ledger.events))
    assert len({stage.name for stage in stages(ledger)}) == len(stages(ledger)) <= 5


@pytest.mark.parametrize("ledger", PLANS)
def test_stages_never_cost_less_than_the_whole(ledger):
    total = Cost.nothing()
    for stage in stages(ledger):
        total = total + stage.cost
    assert total.rho >= ledger.cost.rho
    assert total.epsilon is None or total.epsilon >= ledger.cost.epsilon


def test_boosting_has_one_line_for_bins_base_and_rounds():
    ledger = BoostingClassifier(epsilon=1.0, delta=1e-6, schema=SCHEMA, n_rows_hint=30_000).plan()
    rows = [line.split()[0] for line in ledger.table().partition("\n\n")[0].splitlines()[2:]]
    assert rows == ["bins", "base", "rounds"]
    assert "level 6" in ledger.table(full=True)


def test_a_fitted_ledger_shows_the_rounds_that_were_charged_at_the_cost_of_their_cap():
    adult = load_adult()
    small = [part[:2_000] for part in adult.train]
    model = BoostingClassifier(
        epsilon=1.0, delta=1e-6, schema=SCHEMA, n_trees=3, n_rows_hint="unknown", random_state=0
    ).fit(*small)
    planned, charged = ({stage.name: stage for stage in stages(of)} for of in (model.plan(), model.privacy_))
    assert charged["rounds"].cost.rho == planned["rounds"].cost.rho
    assert charged["rounds"].noise.endswith(" records")
    assert planned["rounds"].noise == "as it adapts"


@pytest.mark.parametrize("sensitivity", [1, 7])
def test_noise_in_records_does_not_hang_on_the_unit_that_is_measured(sensitivity):
    laplace = TERMS.laplace("sums", Fraction(1, 10), l1=sensitivity)
    assert noise_in_records(laplace) == pytest.approx(10 * 2**0.5)
    gaussian = TERMS.gaussian("sums", Fraction(1, 200), l2_squared=sensitivity**2)
    assert noise_in_records(gaussian) == pytest.approx(10)


def test_a_release_with_a_name_of_its_own_is_a_stage_of_its_own():
    ledger = Ledger(TERMS, Allowance.of(1))
    ledger.charge(TERMS.laplace("number of records", Fraction(1, 2), l1=1))
    (stage,) = stages(ledger)
    assert (stage.name, stage.noise) == ("number of records", "2.8 records")
    assert "100%" in ledger.table()

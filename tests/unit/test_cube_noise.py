"""Cube noise: what it is charged, how it is planned, released, written down and read back."""

import json
from fractions import Fraction

import numpy as np
import pytest

from privet.errors import ModelFileError, ParameterError, PrivetError
from privet.forecast.noise import noise_of
from privet.mechanisms.release import Drawn, Release
from privet.mechanisms.replay import Forced, Recording
from privet.privacy.accounts.pairs import Pair
from privet.privacy.accounts.slots import releases_of
from privet.privacy.events import Cost, Either, Event, Mechanism, Sequential
from privet.privacy.keeping import holds
from privet.privacy.ledger import Ledger
from privet.privacy.stages import noise_in_records
from privet.privacy.terms import Allowance, Terms
from privet.privacy.text import ledger_from_dict
from privet.randomness.public import SeededSource

THIRD = Fraction(1, 3)
GROUPS = (1, 2, 1)
CUBE = Terms().cube("sums", THIRD, groups=GROUPS, norm=6)


@pytest.mark.parametrize(
    ("terms", "steps"),
    [
        (Terms(), 1),
        (Terms("replace"), 2),
        (Terms("label"), 2),
        (Terms("add_remove", 3, "id"), 3),
        (Terms("replace", 3, "id"), 6),
    ],
)
def test_the_scale_pays_for_all_steps_of_a_unit_and_not_for_the_number_of_numbers(terms, steps):
    for groups in ((1,), (1,) * 50, (2, 3)):
        event = terms.cube("sums", THIRD, groups=groups, norm=5)
        spent = 5 * steps / event.parameter
        assert THIRD * (1 - Fraction(1, 2**30)) <= spent <= THIRD
        assert event.cost == Cost(THIRD, THIRD**2 / 2)
        assert event.sensitivity == 5
        assert event.groups == groups


def test_a_share_of_nothing_and_groups_of_nothing_are_refused():
    with pytest.raises(ParameterError, match="positive share"):
        Terms().cube("sums", Fraction(0), groups=(1,))
    for groups in ((), (1, 0), (2, -1)):
        with pytest.raises(ParameterError, match="at least one number"):
            Terms().cube("sums", THIRD, groups=groups)
    with pytest.raises(ParameterError, match="no other mechanism"):
        Event("sums", Mechanism.LAPLACE, THIRD, THIRD, Cost.pure(THIRD), groups=(1,))


def test_the_noise_is_that_of_the_noisiest_number_and_2_45_times_less_than_laplace_noise():
    assert CUBE.deviations() == pytest.approx([18 * 10**0.5, 18 * 5**0.5, 18 * 5**0.5, 18 * 10**0.5])
    assert CUBE.deviation == max(CUBE.deviations())
    many = Terms().cube("sums", THIRD, groups=(1,) * 1000)
    laplace = Terms().laplace("sums", THIRD, l1=1000)
    assert laplace.deviation / many.deviation == pytest.approx(6**0.5, rel=2e-3)
    assert laplace.deviations(2) == (laplace.deviation, laplace.deviation)
    assert noise_in_records(CUBE) == pytest.approx(CUBE.deviation / 6)


def ledger_of(*events):
    return Ledger.stating(Terms(), Allowance.of(1), Sequential(events))


def test_a_ledger_shows_it_and_goes_to_a_file_and_back():
    ledger = ledger_of(CUBE, Terms().laplace("counts", THIRD))
    written = json.loads(json.dumps(ledger.to_dict()))
    again = ledger_from_dict(written)
    assert again.events == ledger.events
    assert again.to_dict() == ledger.to_dict()
    assert "groups" not in written["spent"]["sequential"][1], "files of other mechanisms stay what they were"
    row = next(line for line in ledger.table(full=True).splitlines() if line.startswith("sums"))
    assert "discrete cube noise" in row
    assert "scale 18" in row
    assert noise_of(ledger_of(CUBE)).people == pytest.approx(CUBE.deviation / 6)


@pytest.mark.parametrize("groups", [None, [], [0, 4], "four"])
def test_a_file_with_wrong_groups_is_damaged(groups):
    written = ledger_of(CUBE).to_dict()
    (event,) = written["spent"]["sequential"]
    del event["groups"]
    if groups is not None:
        event["groups"] = groups
    with pytest.raises(ModelFileError):
        ledger_from_dict(written)


def test_it_is_drawn_for_values_of_any_shape_recorded_and_replayed():
    recording = Recording(Drawn(SeededSource(5)))
    values = np.array([[10**6, 0], [-5, 7]])
    released = Release(Ledger(Terms(), Allowance.of(1)), recording).noisy(values, CUBE)
    assert released.shape == values.shape
    assert (released != values).any()
    again = Release(Ledger(Terms(), Allowance.of(1)), Forced(recording.transcript)).noisy(values + 1, CUBE)
    assert np.array_equal(again, released)


def test_numbers_that_were_not_planned_are_refused_before_anything_is_charged():
    ledger = Ledger(Terms(), Allowance.of(1))
    with pytest.raises(PrivetError, match="planned for 4 numbers, not for 3"):
        Release(ledger, Drawn(SeededSource(5))).noisy(np.zeros(3, dtype=np.int64), CUBE)
    assert not list(ledger.events)


def test_it_may_decide_between_alternatives_since_it_is_pure():
    rest = Terms().gaussian("leaves", Fraction(1, 10**6))
    assert holds(Either("a model", Fraction(1), Fraction(1, 10**6), (CUBE, rest)), Terms())
    assert not holds(Either("a model", THIRD, Fraction(1, 10**6), (CUBE, rest)), Terms())


def test_in_an_account_it_counts_as_anything_of_its_epsilon():
    assert releases_of(ledger_of(CUBE)) == ((Pair.pure(THIRD), 1),)


@pytest.mark.parametrize("groups", ["12", [1.9], [True], {"1": 1}])
def test_groups_in_a_file_are_a_list_of_whole_numbers(groups):
    ledger = Ledger(Terms(), Allowance.of(1.0))
    ledger.charge(Terms().cube("sums", Fraction(1), groups=(2, 1)))
    stated = ledger.to_dict()
    damaged = json.loads(json.dumps(stated).replace("[2, 1]", json.dumps(groups)))
    assert damaged != stated
    with pytest.raises(ModelFileError, match="not a ledger"):
        ledger_from_dict(damaged)

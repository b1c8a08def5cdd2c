"""The door charges before it draws, records and replays, and deals coins that nobody can guess."""

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from privet import Numeric, RandomDecisionForestClassifier, Schema
from privet.errors import BudgetError, ParameterError, PrivetError
from privet.mechanisms import release, samplers
from privet.mechanisms.release import (
    SEEDED,
    Coins,
    Drawn,
    Release,
    drawn,
    noise_source,
    open_release,
    secret_key,
)
from privet.mechanisms.replay import Forced, Recording, ReplayError
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms, unproven
from privet.randomness.public import SeededSource
from privet.tables import Block
from privet.tables.reading import encode_table
from privet.testing import seeded_noise
from tests.unit.test_tables import StateSum, table

TERMS = Terms()
EVENT = TERMS.laplace("counts", Fraction(1))


class NeverDraws:
    def noisy(self, values, event):
        raise AssertionError("drawn before it was charged")


def test_overspending_raises_before_anything_is_drawn():
    ledger = Ledger(TERMS, Allowance.of(0.5))
    with pytest.raises(BudgetError):
        Release(ledger, NeverDraws()).noisy(np.zeros(3, dtype=np.int64), EVENT)
    assert ledger.events == ()


def test_what_was_recorded_is_replayed_whatever_the_data_says():
    recording = Recording(drawn())
    release = Release(Ledger(TERMS, Allowance.of(3)), recording)
    first = release.noisy(np.arange(5), EVENT)
    chosen = release.choose(np.array([[1, 2], [3, 0]]), TERMS.permute_and_flip("labels", Fraction(1)))
    forced = Forced(recording.transcript)
    replay = Release(Ledger(TERMS, Allowance.of(3)), forced)
    np.testing.assert_array_equal(replay.noisy(np.zeros(5, dtype=np.int64), EVENT), first)
    event = TERMS.permute_and_flip("labels", Fraction(1))
    np.testing.assert_array_equal(replay.choose(np.zeros((2, 2), dtype=np.int64), event), chosen)
    forced.finish()


def test_a_replay_that_asks_something_else_is_an_error():
    recording = Recording(drawn())
    Release(Ledger(TERMS, Allowance.of(3)), recording).noisy(np.arange(5), EVENT)
    for values, event in [
        (np.arange(4), EVENT),
        (np.arange(5), TERMS.laplace("counts", Fraction(1, 2))),
    ]:
        with pytest.raises(ReplayError):
            Release(Ledger(TERMS, Allowance.of(3)), Forced(recording.transcript)).noisy(values, event)
    with pytest.raises(ReplayError, match="unused"):
        Forced(recording.transcript).finish()


def parts(key, weights, n=100_000):
    rows = np.arange(n, dtype=np.uint64)
    return Coins(key, weights)(Block(np.zeros((1, n), np.uint8), np.zeros(n, np.int32), rows, {}))


def test_coins_have_the_weights_that_were_asked_for_and_depend_on_the_key():
    weights = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
    dealt = parts(bytes(range(16)), weights)
    shares = np.bincount(dealt, minlength=3) / len(dealt)
    np.testing.assert_allclose(shares, [1 / 2, 1 / 3, 1 / 6], atol=0.01)
    other = parts(bytes(range(1, 17)), weights)
    agreement = (dealt == other).mean()
    assert agreement == pytest.approx(1 / 4 + 1 / 9 + 1 / 36, abs=0.01), "coins under two keys are not independent"


def test_a_single_part_takes_everything():
    assert (parts(bytes(16), (Fraction(1),), 10) == 0).all()


def test_coins_are_a_state_of_the_table_and_charge_nothing():
    ledger = Ledger(TERMS, Allowance.of(1))
    dealt = Release(ledger, drawn()).coins(table(1000)[0], 4)
    assert 1000 < dealt.aggregate(StateSum("part"))[0] < 2000
    assert ledger.events == ()


NOTHING = TERMS.choice("the forest", None)
FLAWED = unproven("splits", Mechanism.EXPONENTIAL, Fraction(1), "no proof")


@pytest.mark.parametrize(
    ("allowance", "event"), [(Allowance.of(1), NOTHING), (Allowance.of(1), EVENT), (None, EVENT)], ids=str
)
def test_records_do_not_leave_a_table_where_anything_could_be_claimed(allowance, event):
    private, ledger = table(10)[0], Ledger(TERMS, allowance)
    with pytest.raises(ParameterError, match="epsilon=None"):
        Release(ledger, drawn()).records(private, event)
    assert ledger.events == ()


@pytest.mark.parametrize(("allowance", "event"), [(None, NOTHING), (Allowance.of(1), FLAWED)], ids=str)
def test_records_that_leave_a_table_are_charged_and_leave_nothing_to_claim(allowance, event):
    ledger = Ledger(TERMS, allowance)
    private, codes, target = table(1000)
    taken = Release(ledger, drawn()).records(private, event)
    np.testing.assert_array_equal(taken[0], codes)
    np.testing.assert_array_equal(taken[1], target)
    assert ledger.events == (event,)
    assert not ledger.proven
    assert ledger.epsilon == np.inf


def test_records_are_no_outcome_that_a_replay_could_force():
    recording = Recording(drawn())
    Release(Ledger(TERMS, None), recording).records(table(10)[0], NOTHING)
    assert recording.transcript == []
    taken, _ = Release(Ledger(TERMS, None), Forced(recording.transcript)).records(table(20)[0], NOTHING)
    assert taken.shape[1] == 20, "a replay sees its own records, so that whatever looks at them differs"


def test_keys_are_fresh_and_never_printed():
    assert secret_key() != secret_key()
    coins = drawn().coins((Fraction(1, 2), Fraction(1, 2)))
    assert coins.key.hex() not in repr(coins)
    assert repr(coins.key) not in repr(coins)


def test_a_mechanism_that_was_not_planned_cannot_be_drawn():
    with pytest.raises(PrivetError, match="cannot be drawn here"):
        Drawn(None).noisy(np.arange(3), TERMS.permute_and_flip("labels", Fraction(1)))


class Counting:
    """The operating system's entropy, with the words counted."""

    def __init__(self):
        self.source, self.n_words = samplers.SystemSource(), 0

    def words(self, n):
        self.n_words += n
        return self.source.words(n)


def fit():
    """Return a fitted estimator."""
    schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    clf = RandomDecisionForestClassifier(1.0, schema=schema, n_trees=2, max_depth=2)
    return clf.fit(np.linspace(0, 1, 20)[:, None], np.arange(20) % 2)


def test_a_seed_in_one_thread_is_none_in_another(monkeypatch):
    secret = Counting()
    monkeypatch.setattr(release, "_source", lambda: secret)
    with ThreadPoolExecutor(1) as thread, seeded_noise(5):
        beside = thread.submit(fit).result(120)
    assert beside.privacy_.proven
    assert secret.n_words > 0


def test_a_seed_that_another_thread_sets_in_the_middle_of_a_fit_reaches_neither_its_noise_nor_its_ledger(monkeypatch):
    secret, begun, seeded = Counting(), threading.Event(), threading.Event()

    def wait_for_the_seed(*arguments):
        begun.set()
        assert seeded.wait(120)
        return encode_table(*arguments)

    monkeypatch.setattr(release, "_source", lambda: secret)
    monkeypatch.setattr("privet.estimators.base.encode_table", wait_for_the_seed)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(fit)
        assert begun.wait(120)
        with seeded_noise(5):
            seeded.set()
            beside = running.result(120)
    assert beside.privacy_.proven
    assert secret.n_words > 0


def test_noise_and_doubts_are_one_answer():
    assert noise_source().doubts == ()
    with seeded_noise(5):
        noise = noise_source()
    assert noise.doubts == (SEEDED,)
    assert isinstance(noise.source, SeededSource)
    ledger = Ledger(Terms(), Allowance.of(1.0))
    open_release(ledger, noise)
    assert not ledger.proven, "the noise is seeded, though the block is over"

"""How frequent two classes are: what is released, and what boosting makes of a class that is rare."""

import numpy as np
import pandas as pd
import pytest

from privet import BoostingClassifier, Numeric, Schema
from privet.estimators.learning import Hints
from privet.learners.boosting.cells import CellGrid, without_base
from privet.learners.boosting.class_means_base import ClassMeansBasePlan
from privet.learners.boosting.frequencies_base import RARE, FrequenciesBase, is_rare
from privet.learners.boosting.learner import DOUBT, Boosting
from privet.learners.boosting.outlined import MANY_FEATURES
from privet.learners.boosting.two_classes_outline import SIGNAL_FOR_ROUNDS, SIGNALS_FOR_A_LOOK
from privet.mechanisms.release import open_release
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from privet.testing import seeded_noise

FEATURES = {f"x{k}": Numeric(0, 1) for k in range(MANY_FEATURES + 1)}
N_ROWS = sum(SIGNALS_FOR_A_LOOK) // 2


def started(labels, epsilon, n_rows):
    encoding = Schema(FEATURES, classes=[0, 1]).encoding(4)
    grid = CellGrid.of(encoding, CellGrid.public_cuts(encoding))
    table = MemoryTable(encoding, np.zeros((len(FEATURES), len(labels)), dtype=np.uint8), np.array(labels, np.int32))
    base, allowance = FrequenciesBase(n_rows), Allowance.of(epsilon)
    plan = base.plan(encoding, Terms(), allowance.whole)
    start = without_base(encoding, grid, np.zeros(1), 1.0)
    return base.run(table, open_release(Ledger(Terms(), allowance)), plan, start)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
def test_without_noise_a_model_begins_at_the_classes_shares(share):
    labels = np.arange(1_000) < 1_000 * share
    found = started(labels, 1_000.0, 1_000)
    np.testing.assert_allclose(found.frequencies, [1 - share, share], atol=1e-3)
    np.testing.assert_allclose(found.start[0] / (1 << 16), np.log(share / (1 - share)), atol=0.02)
    assert found.n_records == 1_000


def test_where_noise_is_all_there_is_classes_are_taken_for_equally_frequent():
    found = started(np.ones(50), 1e-4, 50)
    np.testing.assert_allclose(found.frequencies, 0.5, atol=0.01)


def test_a_class_is_rare_below_a_quarter_whichever_it_is():
    assert not is_rare(None)
    assert not is_rare(np.array([RARE, 1 - RARE]))
    assert is_rare(np.array([RARE - 0.01, 1.01 - RARE]))
    assert is_rare(np.array([0.9, 0.1]))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("rarer", "is_one_rare"), [(0.04, True), (0.45, False)])
def test_class_means_take_the_place_of_rounds_where_a_class_is_rare(rarer, is_one_rare, neighbours):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((N_ROWS, len(FEATURES))), columns=list(FEATURES))
    labels = np.where(np.arange(N_ROWS) < rarer * N_ROWS, "yes", "no")
    schema = Schema(FEATURES, classes=["no", "yes"], neighbours=neighbours)
    steps = 2 if neighbours == "replace" else 1
    model = BoostingClassifier(float(steps), 0.0, schema, n_rows_hint=N_ROWS, random_state=0)
    planned = model.plan()
    with seeded_noise(1):
        model.fit(frame, labels)
    names = [event.name for event in model.privacy_.events]
    assert any("sums of columns" in name for name in names) == is_one_rare
    assert any("round" in name for name in names) != is_one_rare
    assert planned.epsilon == steps
    assert (model.model_.trees is None) == is_one_rare
    assert np.isfinite(model.noise_interval(frame)).all()
    assert "rare" in planned.table() or "rare" in str(planned.to_dict())


def test_of_a_bought_number_one_deviation_more_is_taken():
    """With half of the true number shares are twice as far from one half."""
    encoding = Schema(FEATURES, classes=[0, 1]).encoding(4)
    share = Allowance.of(1.0).whole
    assert FrequenciesBase(400).plan(encoding, Terms(), share).n_records == 400
    assert FrequenciesBase(400).plan(encoding, Terms(), share, 90.5).n_records == 490.5


@pytest.mark.parametrize("n_rows", [40, 150])
def test_a_fit_that_bought_a_number_hands_its_deviation_on_and_spends_what_was_planned(n_rows, monkeypatch):
    rng, seen = np.random.default_rng(1), []
    plan = FrequenciesBase.plan

    def watched(self, encoding, terms, share, rows_deviation=0.0):
        seen.append((self.n_rows, rows_deviation))
        return plan(self, encoding, terms, share, rows_deviation)

    monkeypatch.setattr(FrequenciesBase, "plan", watched)
    frame = pd.DataFrame(rng.random((n_rows, 4)), columns=list("abcd"))
    schema = Schema({name: Numeric(0, 1) for name in "abcd"}, classes=["no", "yes"])
    model, labels = BoostingClassifier(0.1, 0.0, schema, random_state=0), ["yes", "no"] * (n_rows // 2)
    with seeded_noise(3):
        model.fit(frame, labels)
    looks = [event.deviation for event in model.privacy_.events if "number of records" in event.name]
    deviation = sum(look**-2 for look in looks) ** -0.5
    assert len(looks) == 2
    assert seen[-1][1] == pytest.approx(deviation)
    assert seen[-1][0] > 0.7 * deviation, "below the noise it says no more than that there are hardly more"
    assert 0.09 < model.fit(frame, labels).privacy_.epsilon <= model.plan().epsilon == 0.1


@pytest.mark.parametrize("deviation", [0.0, 50.0, 80.0])
def test_class_means_are_alone_where_a_bought_number_may_be_of_so_small_a_table(deviation):
    encoding, share = Schema(FEATURES, classes=[0, 1]).encoding(16), Allowance.of(1.0).whole
    n_rows = SIGNAL_FOR_ROUNDS + 15
    plan = Boosting().plan(encoding, Terms(), share, Hints(n_rows, rows_deviation=deviation))
    may_be_small = n_rows - DOUBT * deviation < SIGNAL_FOR_ROUNDS
    assert may_be_small == (deviation == 80)
    assert (plan.rounds is None) == may_be_small
    assert isinstance(plan.base, ClassMeansBasePlan) == may_be_small
    surely = Boosting().plan(encoding, Terms(), share, Hints(10 * n_rows, rows_deviation=deviation))
    assert surely.rounds is not None

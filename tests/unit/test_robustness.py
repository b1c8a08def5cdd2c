"""Guarantees, tables and the certify function: what is counted, what is refused, what is said."""

import json
import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from privet import Numeric, RandomDecisionForestClassifier, Schema, Unit
from privet.errors import ParameterError
from privet.robustness import (
    Certificates,
    Closeness,
    Guarantee,
    certify,
    compare,
    infimum,
    infimum_from_sample,
    paper_accuracy,
    paper_attack_success,
    tail_certificate,
)
from privet.robustness.bounds import _inflated_by_rho, two_sided
from privet.robustness.table import NOT_A_RELEASE, how_many
from privet.testing import seeded_noise

SCHEMA = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["low", "high"])


def records(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    return X, np.where(X[:, 0] > 0.5, "high", "low")


def forest(**changes):
    return RandomDecisionForestClassifier(
        **{"epsilon": 0.5, "schema": SCHEMA, "n_trees": 3, "max_depth": 3, "random_state": 1, **changes}
    )


@pytest.mark.parametrize(
    ("neighbours", "change", "steps"),
    [
        ("add_remove", "added_or_removed", 1),
        ("add_remove", "modified", 2),
        ("add_remove", "relabelled", 2),
        ("replace", "modified", 1),
        ("replace", "relabelled", 1),
        ("label", "relabelled", 1),
    ],
)
def test_steps_per_poisoned_record_follow_the_relation(neighbours, change, steps):
    close = Guarantee.stated(0.1, 0.0, neighbours).under(7, change, group=3)
    assert close.log_ratio == pytest.approx(0.1 * 7 * 3 * steps)
    assert close.delta == 0


@pytest.mark.parametrize(
    ("neighbours", "change"), [("replace", "added_or_removed"), ("label", "modified"), ("label", "added_or_removed")]
)
def test_a_change_that_the_relation_does_not_cover_is_refused(neighbours, change):
    with pytest.raises(ParameterError, match="says nothing about"):
        Guarantee.stated(0.1, 0.0, neighbours).under(1, change)


def test_delta_grows_as_group_privacy_says():
    guarantee = Guarantee.stated(0.1, 1e-6)
    by_induction = 0.0
    for k in range(1, 31):  # delta_k = delta + e^epsilon delta_(k-1)
        by_induction = 1e-6 + math.exp(0.1) * by_induction
        assert guarantee.under(k).delta == pytest.approx(by_induction)
    assert guarantee.under(10**6).delta == 1.0
    assert paper_accuracy(0.9, guarantee.under(10**6)) == 0.0
    assert Guarantee.stated(0.0, 1e-3).under(5).delta == pytest.approx(5e-3)


def test_the_infimum_with_delta_is_refused_with_the_remedy():
    with pytest.raises(ParameterError, match="tail_certificate"):
        infimum([0.5], Closeness(1.0, 1e-6))


def test_an_unbounded_poisoner_leaves_the_worst_value_and_nothing_else():
    everything = Guarantee.stated(1.0).under(10**6)
    assert everything.ratio == math.inf
    assert infimum([0.4, 0.2, 0.9], everything) == pytest.approx(0.2)
    assert infimum([0.0, 0.4], everything, [0.0, 1.0]) == pytest.approx(0.4)
    assert tail_certificate(np.full(100, 0.9), everything).expected == 0.0
    assert paper_attack_success(0.1, everything) == 1.0


def test_no_poisoners_leave_the_clean_mean():
    scores = np.linspace(0.2, 0.8, 50)
    assert infimum(scores, Closeness(0.0)) == pytest.approx(scores.mean())
    assert infimum_from_sample(scores, Closeness(0.0)) < scores.mean()


@pytest.mark.parametrize("scores", [[], [1.2] * 40, [-0.1] * 40, [float("nan")] * 40])
def test_scores_outside_zero_and_one_are_refused(scores):
    with pytest.raises(ParameterError):
        tail_certificate(scores, Closeness(1.0))


def test_too_few_retrainings_certify_nothing():
    with pytest.raises(ParameterError, match="retrainings"):
        tail_certificate([0.9] * 5, Closeness(1.0))


def test_the_guarantee_of_a_model_is_what_its_ledger_proves():
    X, y = records()
    fitted = forest().fit(X, y)
    assert Guarantee.of(fitted) == Guarantee(Fraction(1, 2), rho=fitted.privacy_.cost.rho)
    replaced = forest(schema=Schema(SCHEMA.features, classes=["low", "high"], neighbours="replace"))
    assert Guarantee.of(replaced.fit(X, y)).neighbours == "replace"
    gaussian = Guarantee.of(forest(delta=1e-6, n_trees=40).plan())  # so many trees that Gaussian noise is better
    assert gaussian.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("max_rows", [1, 4])
def test_poisoners_are_counted_in_units_where_a_unit_was_declared(max_rows):
    pd = pytest.importorskip("pandas")
    schema = Schema(SCHEMA.features, classes=["low", "high"], unit=Unit("person", max_rows))
    X, y = records()
    frame = pd.DataFrame(X, columns=list(SCHEMA.features)).assign(person=np.arange(len(X)) // 8)
    table = certify(forest(schema=schema), frame, y, frame, y, poisoned=[0.1], n_retrainings=20)
    assert table.n_records == 50
    assert table.rows[0].n_poisoned == 5
    unit = f"unit (the rows that share a value of column 'person', at most {max_rows} of which take"
    assert unit in table.to_dict()["unit"]
    assert f"for one {unit}" in str(table)
    assert "retrainings on 50 units" in str(table)
    assert "record" not in str(table)
    assert "is two steps (the unit is removed, the changed one added) and counts as two" in " ".join(str(table).split())
    assert table.guarantee.steps("modified") == 2


def test_a_guarantee_for_replaced_units_takes_a_row_under_an_existing_id_for_one_step():
    schema = Schema(SCHEMA.features, classes=["low", "high"], unit=Unit("person", 1), neighbours="replace")
    guarantee = Guarantee.of(forest(schema=schema).plan())
    assert guarantee.steps("modified") == 1
    assert "two" not in guarantee.counting("modified")
    assert Guarantee.stated(1.0).counting("modified") == ""


def test_what_is_not_proven_is_not_certified():
    X, y = records()
    with seeded_noise(1):
        seeded = forest().fit(X, y)
    with pytest.raises(ParameterError, match="no privacy is proven"):
        Guarantee.of(seeded)
    with pytest.raises(ParameterError, match=r"Guarantee\.stated"):
        Guarantee.of(object())


def test_certify_makes_a_table_that_says_what_it_is():
    X, y = records()
    X_test, y_test = records(100, seed=9)
    table = certify(forest(), X, y, X_test, y_test, poisoned=[0, 2, 0.01], n_retrainings=60)
    assert [row.n_poisoned for row in table.rows] == [0, 2, 4]
    assert [row.log_ratio for row in table.rows] == [0.0, 1.0, 2.0]
    assert table.at(0.01) is table.rows[2]
    guaranteed = [row.guaranteed for row in table.rows]
    assert guaranteed == sorted(guaranteed, reverse=True)
    assert all(row.guaranteed <= table.clean for row in table.rows)
    assert table.n_retrainings == 60
    # All thresholds together have half the level, the infimum the other half.
    thresholds = {row.tail.threshold for row in table.rows}
    assert table.rows[0].tail.level == pytest.approx(0.05 / 2 / len(thresholds))
    assert NOT_A_RELEASE in str(table)
    assert json.loads(json.dumps(table.to_dict()))["note"] == NOT_A_RELEASE


def test_certify_refuses_before_it_retrains():
    X, y = records()
    fitted = []

    class Counting(RandomDecisionForestClassifier):
        def fit(self, X, y):
            fitted.append(1)
            return super().fit(X, y)

    schema = Schema(SCHEMA.features, classes=["low", "high"], neighbours="replace")
    with pytest.raises(ParameterError, match="says nothing"):
        certify(Counting(epsilon=0.5, schema=schema), X, y, X, y, n_retrainings=50)
    assert len(fitted) == 1
    with pytest.raises(ParameterError, match="fixed test set"):
        certify(forest(), X, y)


def test_a_learner_of_anyone_is_certified_under_a_stated_guarantee_with_a_score_of_its_own():
    from sklearn.dummy import DummyClassifier

    X, y = records()
    table = certify(
        DummyClassifier(),
        X,
        y,
        poisoned=[10],
        score=lambda model: 0.75,
        score_name="resistance",
        guarantee=Guarantee.stated(0.01),
        n_retrainings=2000,
    )
    assert table.at(10).tail.expected == pytest.approx(0.75, abs=0.01)
    assert "Certified resistance of DummyClassifier" in str(table)


def test_shares_are_rounded_down_and_numbers_kept():
    assert how_many(0.001, 36177) == 36
    assert how_many(12, 36177) == 12
    with pytest.raises(ParameterError, match="share"):
        how_many(1.5, 100)
    with pytest.raises(ParameterError, match="empty"):
        Certificates.from_scores([0.5] * 40, Guarantee.stated(1.0), 100, [])


def test_pictures_are_drawn_to_a_file_or_on_axes(tmp_path):
    tables = [
        Certificates.from_scores([score] * 100, Guarantee.stated(0.1), 1000, [0, 5, 10], subject=name)
        for name, score in [("one", 0.9), ("two", 0.8)]
    ]
    tables[0].plot(tmp_path / "one.svg")
    assert "<svg" in (tmp_path / "one.svg").read_text()
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert compare(tables, axes) is axes
    assert [line.get_label() for line in axes.lines] == ["one (clean 0.900)", "two (clean 0.800)"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [row.guaranteed for row in tables[0].rows])


def test_groups_are_worth_the_square_of_their_size_in_rho():
    guarantee = Guarantee(Fraction(1), Fraction(1, 10**6), rho=Fraction(24356, 10**6))
    alone = Guarantee(Fraction(1), Fraction(1, 10**6))
    assert guarantee.under(5).rho == pytest.approx(25 * 0.024356)
    assert guarantee.under(5, "modified").rho == pytest.approx(100 * 0.024356)
    scores = np.r_[np.zeros(1), np.ones(12_000)]  # the threshold is missed with a probability of at most .001 or so
    with_rho, without = (tail_certificate(scores, g.under(5), 0.05) for g in (guarantee, alone))
    assert with_rho.clean_risk == without.clean_risk < 0.001
    assert 1 - with_rho.probability < 0.3 * (1 - without.probability)


@pytest.mark.parametrize("rho", [0.001, 0.1, 1.0, 5.0])
def test_the_bound_by_rho_holds_for_the_pair_that_rho_is_exact_for(rho):
    """Two normal laws of variance one, sqrt(2 rho) apart, have Rényi divergences of exactly a rho."""
    cuts = np.linspace(-6, 6, 241)
    apart, normal = np.sqrt(2 * rho), NormalDist()
    clean = np.array([normal.cdf(-cut) for cut in cuts])
    poisoned = np.array([normal.cdf(apart - cut) for cut in cuts])
    bound = _inflated_by_rho(clean, rho)
    assert (poisoned <= bound).all()
    assert (bound <= 1).all()
    assert np.log(bound[-1]) < 0.7 * np.log(poisoned[-1]), "far out it is not far off"


def test_what_never_happens_on_clean_data_stays_impossible_by_rho():
    assert _inflated_by_rho(np.array([0.0, 1.0]), 2.0).tolist() == [0.0, 1.0]
    assert two_sided(0.999, Closeness(5.0, 1e-4, 0.6)) > two_sided(0.999, Closeness(5.0, 1e-4))

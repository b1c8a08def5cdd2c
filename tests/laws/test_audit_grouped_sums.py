"""Sums in groups under pure epsilon: one step, class means, class histograms, against what their ledgers claim.

Every record of a small schema is sent through the production code, and what it adds to each release is kept. These are
sums over records, so that all neighbours follow from them: a record that comes, goes or is replaced, and units of rows.
What a release loses is how far it moves, in the norm of its noise, over the scale.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from privet import Categorical, Numeric, Schema
from privet.audit import enumeration
from privet.audit.enumeration import Enumerating, Subject
from privet.audit.exact import exact_audit
from privet.audit.pure_noise import length
from privet.estimators.learning import Hints
from privet.learners.boosting import class_means, direction_base, grouped_noise
from privet.learners.boosting.class_means import CENTRES_PART, ClassMeans
from privet.learners.boosting.class_means_base import ClassMeansBase
from privet.learners.boosting.direction_base import DirectionBase
from privet.learners.boosting.frequencies_base import FrequenciesBase
from privet.learners.boosting.histogram_base import HistogramBase
from privet.learners.boosting.learner import Boosting
from privet.learners.boosting.outlined import SPLIT_PART, Outline
from privet.learners.boosting.rank_counts import FINE
from privet.mechanisms.release import Release, drawn
from privet.parameters import public_rng
from privet.privacy.events import Mechanism
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable

pytestmark = pytest.mark.law

FEATURES = {
    "x": Numeric(0, 1, bins=3, missing=True),
    "two": Categorical([0, 1]),
    "three": Categorical([0, 1, 2]),
    "one": Categorical([0]),
}
WITH_MANY = {**FEATURES, "many": Categorical(list(range(40)))}  # for which Laplace noise is the smaller one
CODES = {"few": (range(4), range(2), range(3), range(1)), "many": ((0, 3), range(2), (0, 2), range(1), (0, 39))}
BASES = {
    "direction": DirectionBase(100),
    "histograms": HistogramBase(100),
    "class means": ClassMeansBase(100, ClassMeans(), Fraction(1, 3)),
    "class means around centres": ClassMeansBase(100, ClassMeans(most_centred=100), Fraction(1, 3)),
}
CENTRED = BASES["class means around centres"]
EACH = pytest.mark.parametrize("base", BASES.values(), ids=BASES)
ALONE = {**BASES, "frequencies": FrequenciesBase(100)}
SOME_FEATURES = [HistogramBase(100, 2, groups=2), ClassMeansBase(100, ClassMeans(2), Fraction(1, 3))]
SOME = pytest.mark.parametrize("base", SOME_FEATURES, ids=str)
TERMS = [Terms(), Terms("replace"), Terms("add_remove", 2, "id"), Terms("replace", 2, "id"), Terms("label", 2, "id")]


class Watching(Release):
    """Keeps what would be noised, and releases zeros in place of it."""

    def __init__(self, ledger):
        super().__init__(ledger, drawn())
        self.seen = []

    def noisy(self, values, event):
        self.ledger.charge(event)
        self.seen.append(values.astype(object))
        return np.zeros_like(values)


def classes_of(base):
    return (0, 1, 2) if isinstance(base, HistogramBase) else (0, 1)


def what_records_add(monkeypatch, terms, base, kind="few"):
    """Return the events of all releases, and what each record adds to each of them, by features and class."""
    alone = Outline(Fraction(0), Fraction(1), 0, base)
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: alone)
    features, classes = FEATURES if kind == "few" else WITH_MANY, classes_of(base)
    encoding = Schema(features, classes=list(classes)).encoding(3)
    allowance, learner = Allowance.of(1.0), Boosting()
    plan = learner.plan(encoding, terms, allowance.whole, Hints(n_rows=100))
    records, added = list(product(*CODES[kind], classes)), {}
    for record in records:
        codes = np.array([record[:-1]], dtype=np.uint8).T.copy()
        release = Watching(Ledger(terms, allowance))
        learner.grow(MemoryTable(encoding, codes, np.array(record[-1:], dtype=np.int32)), release, public_rng(0), plan)
        added[record] = release.seen
        assert release.ledger.composition == plan.whole
        assert release.ledger.epsilon == 1.0
    return list(plan.whole.events()), added


def neighbours(terms, records):
    """Yield records that leave and records that come instead, for one unit of privacy."""
    rows = list(combinations_with_replacement(records, terms.max_rows))
    match terms.neighbours:
        case "add_remove":
            yield from ((of, ()) for of in rows)
        case "label":
            labels = {record[-1] for record in records}
            yield from ((of, tuple((*row[:-1], label) for row in of)) for of in rows for label in labels)
        case _:
            rng = np.random.default_rng(0)
            picked = rows if terms.max_rows == 1 else [rows[k] for k in rng.permutation(len(rows))[:60]]
            picked += [(record,) * terms.max_rows for record in records[::5]]
            yield from product(picked, picked)


def largest_loss(monkeypatch, terms, base, kind="few"):
    """Return the largest loss of all releases together, of any two neighbours."""
    events, added = what_records_add(monkeypatch, terms, base, kind)

    def loss(leaving, coming):
        moved = [
            sum((added[r][k] for r in leaving), start=0) - sum((added[r][k] for r in coming), start=0)
            for k in range(len(events))
        ]
        return sum(Fraction(length(event, of)) / event.parameter for event, of in zip(events, moved, strict=True))

    return float(max(loss(*pair) for pair in neighbours(terms, list(added))))


@pytest.mark.parametrize("terms", TERMS, ids=str)
@pytest.mark.parametrize("base", ALONE.values(), ids=ALONE)
def test_all_that_is_released_in_groups_moves_by_just_what_is_paid_for(base, terms, monkeypatch):
    # means of all records hang on no label that is known: they are paid for since a record without one is left out
    beside = Fraction(2, 3) * CENTRES_PART if base is CENTRED and terms.neighbours == "label" else 0
    assert 0.999 < largest_loss(monkeypatch, terms, base) + beside <= 1


@pytest.mark.parametrize("terms", TERMS[:2], ids=str)
@SOME
def test_so_do_sums_of_some_of_the_features(base, terms, monkeypatch):
    assert 0.999 < largest_loss(monkeypatch, terms, base) <= 1


@pytest.mark.parametrize("terms", TERMS[:2], ids=str)
@EACH
def test_beside_very_many_categories_laplace_noise_pays_for_the_sum_of_all_groups(base, terms, monkeypatch):
    events, _ = what_records_add(monkeypatch, terms, base, "many")
    assert {event.mechanism for event in events} == {Mechanism.LAPLACE}
    assert 0.999 < largest_loss(monkeypatch, terms, base, "many") <= 1


@EACH
def test_half_of_the_noise_would_be_refuted(base, monkeypatch):
    halve_the_noise(monkeypatch)
    # the noise of frequencies stays as it is
    assert largest_loss(monkeypatch, Terms(), base) > (1.6 if isinstance(base, ClassMeansBase) else 1.9)


def halve_the_noise(monkeypatch):
    halved = _with_half_of_the_noise(grouped_noise.plan_grouped)
    for module in (class_means, direction_base, grouped_noise):
        monkeypatch.setattr(module, "plan_grouped", halved)


def _with_half_of_the_noise(plan_grouped):
    def planned(*arguments, **named):
        event = plan_grouped(*arguments, **named)
        return replace(event, parameter=event.parameter / 2)

    return planned


def subject(neighbours, classes, outline, monkeypatch):
    monkeypatch.setattr("privet.learners.boosting.learner.outline", lambda *_: outline)
    features = {"x": Numeric(0, 1, bins=2, missing=True), "c": Categorical([0, 1])}
    schema = Schema(features, classes=list(classes), neighbours=neighbours)
    return Subject(Boosting(), schema, Allowance.of(2.0), hints=Hints(n_rows=100))


def before_a_round(base):
    return Outline(Fraction(0), Fraction(3, 10), 0, base, 1, 1, SPLIT_PART)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("factor", [0.0, 5.0])
@EACH
def test_sums_in_groups_before_a_round_stay_within_the_claim(base, factor, neighbours, monkeypatch):
    """With the noise of the first release forced to a pattern, so that the round starts from scores that it moved."""

    class WithNoise(Enumerating):
        def noisy(self, values, event):
            zeros = super().noisy(values, event)
            pattern = np.where(np.arange(zeros.size) % 2, 3, -1).reshape(zeros.shape)
            return zeros + np.rint(factor * event.deviation * pattern).astype(np.int64)

    monkeypatch.setattr(enumeration, "Enumerating", WithNoise)
    watched = subject(neighbours, classes_of(base), before_a_round(base), monkeypatch)
    found = exact_audit(watched, 2)
    assert not found.refuted
    # class means of much noise saturate the scores that the round starts from, which leaves it less to lose
    assert found.loss > (0.4 if isinstance(base, ClassMeansBase) else 0.5) * found.claimed


@EACH
def test_the_exact_audit_refutes_half_of_the_noise(base, monkeypatch):
    """Nearly all of the budget is for the base, or what is left over would make up for it."""
    halve_the_noise(monkeypatch)
    almost_all = replace(before_a_round(base), base_part=Fraction(9, 10))
    assert exact_audit(subject("add_remove", classes_of(base), almost_all, monkeypatch), 2).refuted


LOOK = Outline(Fraction(0), Fraction(1, 10), 0, FrequenciesBase(100), 1, 1, SPLIT_PART, if_rare=ClassMeans())
NEITHER_IS_RARE, ONE_IS_RARE = 0, 90 * FINE  # how many more records one class has than the other, as released


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(("more", "least"), [(NEITHER_IS_RARE, 0.5), (ONE_IS_RARE, 0.99)])
def test_a_look_at_frequencies_and_what_comes_of_it_stay_within_the_claim(more, least, neighbours, monkeypatch):
    watched = replace(subject(neighbours, (0, 1), LOOK, monkeypatch), answer=more)
    found = exact_audit(watched, 2)
    assert not found.refuted
    assert found.loss > least * found.claimed
    (path, *_) = watched.paths(((0, 0, 1),))
    assert any("class" in noise.event.name and noise.values.size > 1 for noise in path.noises) == bool(more)


def test_with_half_of_the_noise_class_means_in_place_of_rounds_are_refuted(monkeypatch):
    halve_the_noise(monkeypatch)
    assert exact_audit(replace(subject("add_remove", (0, 1), LOOK, monkeypatch), answer=ONE_IS_RARE), 2).refuted

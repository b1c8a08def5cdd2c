"""The query for the most, or least, frequent item: private in the form with a proof, and refuted as printed."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privet import budget
from privet.errors import BudgetError, ParameterError
from privet.privacy import laws
from privet.privacy.events import Mechanism
from privet.privacy.terms import Allowance, Terms
from privet_papers.fletcher_islam_2017.frequent_items import (
    frequent_item,
    frequent_item_event,
    item_scores,
    margin,
    printed_law,
    smooth_sensitivity,
)

pytestmark = pytest.mark.law
ENDS = ("most", "least")
LARGEST = 5


def neighbours(n_items=3, largest=LARGEST):
    """Yield all pairs of counts that differ by one record."""
    for counts in product(range(largest), repeat=n_items):
        for item in range(n_items):
            yield np.array(counts), np.array(counts) + (np.arange(n_items) == item)


def sound_law(counts, epsilon, which):
    """The law that the event of the query has by its own parameter, by which it is drawn."""
    event = frequent_item_event(Terms(), Allowance.of(epsilon).whole, which)
    assert event.mechanism is Mechanism.PERMUTE_AND_FLIP
    return laws.permute_and_flip(item_scores(counts, which), event.parameter)


@pytest.mark.parametrize("which", ENDS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_loss_of_the_query_is_its_claim_and_no_more(which, epsilon):
    losses = [
        np.abs(np.log(sound_law(a, epsilon, which)) - np.log(sound_law(b, epsilon, which))).max()
        for a, b in neighbours()
    ]
    assert max(losses) <= epsilon * (1 + 1e-9)
    assert max(losses) > 0.8 * epsilon, "no budget is wasted"


@pytest.mark.parametrize("which", ENDS)
def test_the_printed_query_has_no_finite_epsilon_at_either_end(which):
    def loss(j):
        counts = [np.array([j, 0]), np.array([j + 1, 0])]
        before, after = (np.log(printed_law(pair, 1.0, which)) for pair in counts)
        return np.abs(before - after).max()

    losses = [loss(j) for j in (1, 2, 3)]
    assert losses == pytest.approx([2.131308810, 6.323728689, 17.256263057], abs=1e-6)


@pytest.mark.parametrize("which", ENDS)
def test_the_global_sensitivity_would_have_been_private(which):
    def log_law(counts):
        return np.log(printed_law(counts, 1.0, which, smooth=False))

    worst = max(np.abs(log_law(a) - log_law(b)).max() for a, b in neighbours())
    assert 0.25 < worst <= 1.0 + 1e-9


def zero_one(counts, which):
    scores = item_scores(np.asarray(counts), which)
    return (scores == scores.max()).astype(float)


def around(counts):
    """Yield the neighbours of some counts: one record more or fewer."""
    for item in range(len(counts)):
        for step in (-1, 1):
            if counts[item] + step >= 0:
                yield tuple(count + step * (place == item) for place, count in enumerate(counts))


@pytest.mark.parametrize("which", ENDS)
def test_the_smooth_sensitivity_is_that_of_definition_7_and_the_printed_one_is_too_small(which):
    epsilon = 0.5
    for counts in product(range(3), repeat=3):
        within, by_definition = {counts}, 0.0
        for k in range(3):  # the data sets at distance k
            local = max(np.abs(zero_one(y, which) - zero_one(z, which)).max() for y in within for z in around(y))
            by_definition = max(by_definition, math.exp(-k * epsilon) * local)
            within = within | {z for y in within for z in around(y)}
        assert smooth_sensitivity(np.array(counts), epsilon, which) == pytest.approx(by_definition)
        printed = smooth_sensitivity(np.array(counts), epsilon, which, version="printed")
        assert (printed < by_definition) == (margin(np.array(counts), which) >= 1)


def test_both_ends_are_found_where_they_are_clear_and_each_costs_its_epsilon():
    items = ["brie"] * 300 + ["feta"] * 150 + ["gouda"] * 2
    for which, expected in (("most", "brie"), ("least", "gouda")):
        item, ledger = frequent_item(items, ["brie", "feta", "gouda"], 1.0, which=which)
        assert item == expected
        assert ledger.cost.epsilon == Fraction(1)


def test_what_is_not_in_the_domain_counts_for_nothing_and_raises_nothing():
    assert frequent_item(["a"] * 100 + ["not known"] * 500 + [["no", "hash"]], ["a", "b"], 2.0)[0] == "a"


def test_budgets_are_charged_and_refuse_the_one_query_too_many():
    with budget(epsilon=1.5) as left:
        frequent_item(["a"] * 10, ["a", "b"], 1.0)
        assert left.spent == 1
        with pytest.raises(BudgetError):
            frequent_item(["a"] * 10, ["a", "b"], 1.0)


def test_replacing_a_record_is_two_steps():
    event = frequent_item_event(Terms("replace"), Allowance.of(1).whole, "most")
    assert event.parameter == Fraction(1, 2)


@pytest.mark.parametrize("domain", [[], ["a", "a"]])
def test_a_domain_without_different_items_is_refused(domain):
    with pytest.raises(ParameterError, match="list each one once"):
        frequent_item(["a"], domain)

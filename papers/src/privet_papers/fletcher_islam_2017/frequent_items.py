"""The most, or the least, frequent item of a set: the query by itself, as printed and with a proof.

Fletcher and Islam (2017) offer their query beyond trees (sections 1.2, 4.1 and 6): score the most, or the least,
frequent item 1 and all others 0, and divide by the smooth sensitivity e^(-j epsilon), j being the margin between the
two counts that compete. `printed_law` is the law of that. It has no finite epsilon, for either end: at margin j the
log-odds of the winner are epsilon e^(j epsilon) / 2, and one record more multiplies them by e^epsilon. Nor is
e^(-j epsilon) the smooth sensitivity of Definition 7: at margin one a record makes two items equal, so that both score
1 and the score of one has changed; that is j - 1 steps away, and the largest term is e^(-(j - 1) epsilon)
(`smooth_sensitivity`).

`frequent_item` is the query with a proof.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.mechanisms.grounds import Grounds, Said
from privet.parameters import check_choice
from privet.privacy.events import Event
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Share, Terms
from privet.tables.protocol import IntArray
from privet_papers.framework.smooth_sensitivity import RATE, top_scores

Which = Literal["most", "least"]
Item = TypeVar("Item", bound=Hashable)


def frequent_item(
    items: Iterable[Item],
    domain: Sequence[Item],
    epsilon: float = 1.0,
    *,
    which: Which = "most",
    neighbours: Literal["add_remove", "replace"] = "add_remove",
) -> tuple[Item, Ledger]:
    """Return the most, or the least, frequent item privately, and the ledger that says what it cost.

    Parameters
    ----------
    items : iterable
        The records, one item each; what is not in the domain counts for nothing.
    domain : sequence
        All items that there may be: public, and at least one.
    epsilon : float, default=1.0
        What this one query spends; budgets in force are charged.
    which : {"most", "least"}, default="most"
        Which end. An item that nobody has is as good a candidate as any.
    neighbours : {"add_remove", "replace"}, default="add_remove"
        What one record more or less means. People with several records are not protected as such: pass one of each.

    Notes
    -----
    *Privacy.* epsilon. Scores are the counts, or minus the counts. A record that is added moves one score by one and
    leaves the others, so that changes of scores span one, and permute-and-flip at the rate epsilon costs epsilon
    (`privet.privacy.laws.permute_and_flip` has the proof; it asks for no monotone direction, so that both ends are
    alike). The domain is public, and every item of it is a candidate whatever the records are. Replacing a record is
    two such steps, and the rate is halved.

    Examples
    --------
    >>> cheeses = ["brie"] * 900 + ["feta"] * 400 + ["gouda"] * 20
    >>> item, ledger = frequent_item(cheeses, ["brie", "feta", "gouda"], epsilon=1.0, which="least")
    >>> item, ledger.epsilon
    ('gouda', 1.0)
    """
    check_choice("neighbours", neighbours, ("add_remove", "replace"))
    grounds, allowance = Grounds.of(Said(None, neighbours, None, None, None)), Allowance.of(epsilon)
    event = frequent_item_event(grounds.terms, allowance.whole, which)
    scores = item_scores(counted(items, domain), which)
    release = grounds.open(allowance, event, "frequent_item")
    return domain[int(release.choose(scores[np.newaxis], event)[0])], release.ledger


def frequent_item_event(terms: Terms, share: Share, which: Which) -> Event:
    """Plan the query: one selection among the items of the domain, whose scores change by one."""
    check_choice("which", which, ("most", "least"))
    return terms.choice(f"the {which} frequent item", share, score_range=1)


def counted(items: Iterable[Item], domain: Sequence[Item]) -> IntArray:
    """Return how often each item of the domain occurs."""
    places = {item: place for place, item in enumerate(domain)}
    if not places or len(places) < len(domain):
        raise ParameterError(f"domain must have different items, at least one, got {len(domain)}; list each one once")
    counts = np.zeros(len(domain), np.int64)
    for item in items:
        if isinstance(item, Hashable) and item in places:  # no error tells that somebody's item is a strange one
            counts[places[item]] += 1
    return counts


def item_scores(counts: IntArray, which: Which) -> IntArray:
    """Return what is best at the wanted end: the counts, or minus the counts."""
    return counts if which == "most" else -counts


def printed_law(counts: IntArray, epsilon: float, which: Which = "most", *, smooth: bool = True) -> NDArray[np.float64]:
    """Return the probabilities with which the printed query names each item.

    Parameters
    ----------
    counts : int64 array of shape (n_items,)
        Exact and private.
    epsilon : float
        The paper's budget.
    which : {"most", "least"}, default="most"
        Which end.
    smooth : bool, default=True
        Whether the score is divided by e^(-j epsilon), as printed, or by the global sensitivity of one.

    Notes
    -----
    *Privacy.* None with `smooth`: from counts (3, 0) to (4, 0) at epsilon 1 the log-probability of the rarer item
    moves by 17.3.

    Examples
    --------
    >>> [round(float(np.log(printed_law(np.array([j, 0]), 1.0)[1])), 2) for j in (1, 2, 3, 4)]
    [-1.59, -3.72, -10.04, -27.3]
    """
    check_choice("which", which, ("most", "least"))
    scores = item_scores(np.asarray(counts, np.int64), which)
    exponents = top_scores(scores[np.newaxis], epsilon, smooth=smooth)[0] * float(RATE)
    weights = np.exp(exponents - exponents.max())
    law: NDArray[np.float64] = weights / weights.sum()
    return law


def margin(counts: IntArray, which: Which = "most") -> int:
    """Return j: by how much the item at the wanted end is ahead of the next one."""
    first, second = np.sort(item_scores(np.asarray(counts, np.int64), which))[::-1][:2]
    return int(first - second)


def smooth_sensitivity(
    counts: IntArray, epsilon: float, which: Which = "most", *, version: Literal["derived", "printed"] = "derived"
) -> float:
    """Return the smooth sensitivity of the 0-1 score: e^(-j epsilon) as printed, e^(-(j - 1) epsilon) by Definition 7.

    Items of equal count score alike, as in the authors' code. With ties given to the first item the printed one holds
    where the first item is ahead, and not where another one is.

    Examples
    --------
    >>> counts = np.array([5, 2, 2])
    >>> [round(smooth_sensitivity(counts, 1.0, version=version), 4) for version in ("printed", "derived")]
    [0.0498, 0.1353]
    """
    check_choice("version", version, ("derived", "printed"))
    j = margin(counts, which)
    return math.exp(-epsilon * (j if version == "printed" else max(j - 1, 0)))

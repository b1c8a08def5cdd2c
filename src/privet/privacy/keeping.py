"""Whether what is charged keeps an epsilon and a delta, though its rho is above what zCDP would allow for them.

Three reasons are known: the exact delta of one Gaussian release (`privet.privacy.exact_delta`), that of many which are
fixed in advance (`privet.privacy.exact_gaussian`), and alternatives among which released values decide
(`privet.privacy.events.Either`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from privet.privacy import exact_delta, exact_gaussian
from privet.privacy.conversions import epsilon_to_zcdp
from privet.privacy.events import Composition, Either, Event, Mechanism, Sequential, exceeds
from privet.privacy.terms import Terms


def keeps(whole: Composition, terms: Terms, epsilon: Fraction, delta: Fraction, *, exact: bool = True) -> bool:
    """Whether a composition keeps a guarantee for one of these reasons.

    Parameters
    ----------
    whole : Composition
        What is charged, or planned.
    terms : Terms
        Neighbours and unit.
    epsilon, delta : Fraction
        The guarantee.
    exact : bool
        Whether all of it was fixed in advance, so that exact deltas may count. A run that decides between two of these
        by what it has released can have nearly twice the delta of either, though each of its ends keeps it.

    Notes
    -----
    *Privacy.* In a sequence of which every part has a pure epsilon, or is an `Either`, epsilons and deltas add up
    (basic composition). For all other parts nothing is said here.
    """
    if exact and _keeps_exactly(whole, terms, epsilon, delta):
        return True
    spent, missed = Fraction(0), Fraction(0)
    for part in _in_sequence(whole):
        if isinstance(part, Either):
            if not holds(part, terms):
                return False
            spent, missed = spent + part.epsilon, missed + part.delta
        elif part.cost.epsilon is None:
            return False
        else:
            spent += part.cost.epsilon
    return spent <= epsilon and missed <= delta


def holds(either: Either, terms: Terms, *, exact: bool = True) -> bool:
    """Whether what was charged inside keeps what is claimed for all alternatives; `exact` as for `keeps`.

    Looks come first, which are Laplace or cube noise: they are what the decision may depend on. What follows is one
    alternative that is fixed by then, or a filter, and keeps what looks leave of epsilon.
    """
    n_looks = 0
    while n_looks < len(either.parts) and is_look(either.parts[n_looks]):
        n_looks += 1
    looks, rest = Sequential(either.parts[:n_looks]).cost, Sequential(either.parts[n_looks:])
    assert looks.epsilon is not None
    left, spent = either.epsilon - looks.epsilon, rest.cost
    if left < 0 or exceeds(looks + spent, either.cost):
        return False
    if spent.epsilon is not None and spent.epsilon <= left:
        return True
    if left == 0:
        return False
    by_rho = spent.rho is not None and spent.rho <= epsilon_to_zcdp(left, either.delta)
    return by_rho or (exact and _keeps_exactly(rest, terms, left, either.delta))


def _keeps_exactly(whole: Composition, terms: Terms, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether all is Gaussian noise that is fixed in advance, perhaps beside one choice, and small enough a delta."""
    one_release = exact_delta.keeps(whole, terms.max_rows, epsilon, delta)
    return one_release or exact_gaussian.keeps(whole, terms.steps, epsilon, delta)


def is_look(part: Composition) -> bool:
    """Whether a decision may depend on a part: noise of a pure epsilon."""
    pure = (Mechanism.LAPLACE, Mechanism.CUBE)
    return isinstance(part, Event) and part.mechanism in pure and part.cost.epsilon is not None


def _in_sequence(part: Composition) -> Iterator[Composition]:
    if isinstance(part, Sequential):
        for child in part.parts:
            yield from _in_sequence(child)
    else:
        yield part

"""Pure noise for numbers in groups, of which a record changes each group by little: cube or Laplace noise.

Laplace noise goes with how many groups there are, cube noise (`privet.privacy.cube_law`) with how many numbers. For
groups of one size cube noise is always the smaller: by a factor of 2.45 for many groups of one number, of 1.37 for many
of four. But beside a feature of very many categories it is the larger one for all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privet.mechanisms.release import Release
from privet.privacy.events import Event, Parallel
from privet.privacy.terms import Terms
from privet.tables.protocol import Floats, IntArray

MOST_NUMBERS = 2_000  # of cube noise: with more, its first draw of a process would take many seconds


def plan_grouped(
    terms: Terms, name: str, epsilon: Fraction, groups: Sequence[int], *, norm: int = 1, sees: str = "all records"
) -> Event:
    """Plan whichever noise is the smaller, by its variance on average over groups.

    Parameters
    ----------
    terms : Terms
        What one unit of privacy may change.
    name : str
        What is released.
    epsilon : Fraction
        What it may cost.
    groups : sequence of int
        The sizes of the consecutive groups of numbers; public.
    norm : int
        What a record changes the numbers of a group by at most, all of them together.
    sees : str
        Which records are looked at.

    Notes
    -----
    *Privacy.* A record moves no group by more than `norm` in L1, so all of them by at most `norm` times their number:
    either noise keeps epsilon. Which of them it is depends on the sizes of groups alone.
    """
    laplace = terms.laplace(name, epsilon, l1=norm * len(groups), sees=sees)
    if sum(groups) > MOST_NUMBERS:
        return laplace
    cube = terms.cube(name, epsilon, groups=groups, norm=norm, sees=sees)
    return min(cube, laplace, key=lambda event: variance_of_groups(event, groups))


def plan_by_class(
    terms: Terms, name: str, epsilon: Fraction, groups: Sequence[int], n_classes: int, *, norm: int = 1
) -> tuple[Event, ...]:
    """Plan such noise on the sums of each class.

    Notes
    -----
    *Privacy.* A record is in one class and changes no other's sums, so that classes are parallel (`Parallel`), each at
    all of epsilon. Where a record is replaced, one leaves the sums of a class and one enters those of the same class or
    another: two steps, of which each costs half of epsilon. Rows of a unit take as many steps, whatever their classes.
    """
    sees = "the records of one class; classes are disjoint"
    first = plan_grouped(terms, name, epsilon, groups, norm=norm, sees=sees)
    return tuple(replace(first, name=f"{name}, class {label + 1}") for label in range(n_classes))


def released_by_class(sums: IntArray, release: Release, planned: Sequence[Event]) -> IntArray:
    """Release sums of shape (n_classes, n_numbers), each class with the noise that is planned for it."""
    with release.parallel(Parallel(tuple(planned))):
        return np.stack([release.noisy(of, event) for of, event in zip(sums, planned, strict=True)])


def variance_of_groups(event: Event, groups: Sequence[int]) -> float:
    """Return the variance of noise on the numbers of so many groups, each of which counts the same."""
    variances: Floats = np.square(event.deviations(sum(groups)))
    of_group = 1 / np.repeat(groups, groups)
    return math.fsum(variances * of_group) / len(groups)

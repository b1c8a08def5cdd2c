"""Pure noise for numbers in groups, of which a record changes each group by little: cube or Laplace noise.

Laplace noise goes with how many groups there are, cube noise (`privet.privacy.cube_law`) with how many numbers. For
groups of one size cube noise is always the smaller: by a factor of 2.45 for many groups of one number, of 1.37 for many
of four. But beside a feature of very many categories it is the larger one for all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privet.privacy.events import Event
from privet.privacy.terms import Terms
from privet.tables.protocol import Floats

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


def variance_of_groups(event: Event, groups: Sequence[int]) -> float:
    """Return the variance of noise on the numbers of so many groups, each of which counts the same."""
    variances: Floats = np.square(event.deviations(sum(groups)))
    of_group = 1 / np.repeat(groups, groups)
    return math.fsum(variances * of_group) / len(groups)

"""How much of noisy effects is believed, where a few of them may be large and the others next to nothing.

The horseshoe (Carvalho, Polson and Scott, 2010): an effect is normal with a deviation of ``tau`` times a half-Cauchy
number of its own. What stands out is believed nearly whole, and what does not is shrunk to little. Shrinking all alike
would do the same to all of them, so that one effect that decides would drown in the noise of the others.

Here effects are bounded: classes lie no further apart than a few deviations of a column. Without a bound the heavy tail
would take noise that is far larger than any effect for one. Both scales are taken from grids, and averaged over by how
likely they make what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privet.tables.protocol import Floats

LARGEST_SCALE = 2.0  # effects are in units of a deviation
GLOBAL_SCALES = np.geomspace(0.02, 1.0, 9)
LOCAL_SCALES = np.geomspace(0.05, 100.0, 41)  # times a global one; of these as many as stay within the largest


class Belief(NamedTuple):
    """What is believed of noisy effects.

    Attributes
    ----------
    part : float64 array
        By what each effect is multiplied to have its mean, from 0 to 1.
    evidence : float
        The logarithm of how likely what was seen is.
    """

    part: Floats
    evidence: float


def belief_in(seen: Floats, variance: Floats) -> Belief:
    """Return how much of noisy effects is believed under the horseshoe.

    Parameters
    ----------
    seen : float64 array
        Noisy effects, in units in which those that matter are about one.
    variance : float64 array
        The variance of the noise of each.

    Examples
    --------
    >>> belief_in(np.array([0.1, 0.1, 0.1, 0.1, 1.5]), np.full(5, 0.04)).part.round(1).tolist()
    [0.3, 0.3, 0.3, 0.3, 1.0]
    """
    if not seen.size:
        return Belief(np.zeros(0), 0.0)
    scales = GLOBAL_SCALES[:, np.newaxis] * LOCAL_SCALES
    possible = scales <= LARGEST_SCALE
    prior = np.where(possible, LOCAL_SCALES / (1 + LOCAL_SCALES**2), 0.0)  # half-Cauchy on a grid of even logarithms
    prior /= prior.sum(axis=1, keepdims=True)
    total = (scales**2)[:, np.newaxis, :] + variance[:, np.newaxis]  # by global scale, effect, local scale
    likely_of_each = -0.5 * (np.log(total) + seen[:, np.newaxis] ** 2 / total)
    exponent = np.where(possible[:, np.newaxis, :], likely_of_each, -np.inf)
    largest = exponent.max(axis=2, keepdims=True)
    each = prior[:, np.newaxis, :] * np.exp(exponent - largest)
    of_effect = each.sum(axis=2)
    of_scale = (np.log(of_effect) + largest[:, :, 0]).sum(axis=1)
    likely = np.exp(of_scale - of_scale.max())
    part = (each * ((scales**2)[:, np.newaxis, :] / total)).sum(axis=2) / of_effect
    return Belief(likely @ part / likely.sum(), float(np.log(likely.sum()) + of_scale.max()))

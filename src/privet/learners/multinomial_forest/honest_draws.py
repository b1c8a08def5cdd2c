"""Public draws inside compiled growers: a pure function of a seed, a tree's number and how many draws came before."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inner
from privet.randomness.hashing import bounded, mix

_UNIT = 2.0**-53


@compiled
def start_draws(seed: int | np.uint64, tree: int) -> NDArray[np.uint64]:
    """Return the state of a tree's draws: seed, tree, and a counter."""
    state = np.zeros(3, np.uint64)
    state[0], state[1] = np.uint64(seed), np.uint64(tree)
    return state


@compiled
def _word(state: NDArray[np.uint64]) -> Any:
    state[2] += np.uint64(1)
    return mix(state[0], state[1], state[2])


@compiled
def skip(state: NDArray[np.uint64], n: int) -> None:
    """Leave out `n` draws whose outcome does not matter, so that all that follow are as if they had been made."""
    state[2] += np.uint64(n)


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Draw from [0, 1)."""
    return float(_word(state) >> np.uint64(11)) * _UNIT


@compiled
def draw_below(state: NDArray[np.uint64], n: int) -> Any:
    """Draw a whole number from 0 to n - 1."""
    return np.int64(bounded(_word(state), n))


@compiled
def poisson(state: NDArray[np.uint64], mean: float) -> int:
    """Draw from Poisson's law by inversion; made for small means."""
    chance, number = np.exp(-mean), 0
    mass, rest = chance, uniform(state)
    while rest > mass and chance > 0.0:
        number += 1
        chance *= mean / number
        mass += chance
    return number


@inner
def shuffle_first(state: NDArray[np.uint64], items: NDArray[Any], n: int) -> None:
    """Put `n` random items first, in random order."""
    for i in range(n):
        other = i + draw_below(state, items.size - i)
        items[i], items[other] = items[other], items[i]


@compiled
def softmax_choice(state: NDArray[np.uint64], values: NDArray[np.float64], rate: float) -> int:
    """Draw an index with weights exp(rate x), x the values brought to the range from 0 to 1.

    Equal values have equal weights. With an infinite rate one of the largest is drawn, all equally likely.
    """
    low, high = values.min(), values.max()
    span, total = high - low, 0.0
    for value in values:
        total += _weight(value, high, span, rate)
    rest, last = uniform(state) * total, 0
    for index in range(values.size):
        weight = _weight(values[index], high, span, rate)
        if weight > 0.0:
            last = index
            if rest < weight:
                return index
            rest -= weight
    return last  # rounding left nothing for the last


@compiled
def _weight(value: float, high: float, span: float, rate: float) -> Any:
    if value == high or rate == 0.0:
        return 1.0
    return np.exp(rate * (value - high) / span)

"""Public randomness: shapes of random trees, folds, and the seeded stand-in for the secret source in tests.

Nothing here is secret: noise and coins come from another source, from which only releases draw. No other file may use
numpy.random.
"""

from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
PublicRng: TypeAlias = np.random.Generator


def public_rng(random_state: RandomState = None) -> np.random.Generator:
    """Turn what scikit-learn accepts as `random_state` into a NumPy generator.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        None gives a freshly seeded generator, and an int the same generator each time. A generator is returned as it
        is. A `RandomState` is advanced by one draw, so that two calls with one state differ, as in scikit-learn.

    Returns
    -------
    numpy.random.Generator

    Examples
    --------
    >>> int(public_rng(7).integers(100)) == int(public_rng(7).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    if random_state is None:
        return _unseeded()
    # A bool is an Integral, but as a seed it is surely a mistake.
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ParameterError(
        f"random_state must be None, an int >= 0, a numpy Generator or a RandomState; got {random_state!r}"
    )


def _unseeded() -> np.random.Generator:
    return np.random.default_rng()


def derive_seed(rng: np.random.Generator) -> int:
    """Draw a public seed of 63 bits, for structures that are pure functions of a seed."""
    return int(rng.integers(2**63))


class SeededSource:
    """A repeatable source of 64-bit words in place of the operating system's, for tests only.

    Parameters
    ----------
    seed : int
        The key of a Philox generator. Sources of equal seeds give equal words, however many are fetched in each call.

    Notes
    -----
    *Privacy*: none. Anyone who knows the seed can subtract the noise; the ledger of such a fit claims nothing.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._philox = np.random.Philox(seed)

    def words(self, n: int) -> NDArray[np.uint64]:
        """Return the next `n` words."""
        return np.asarray(self._philox.random_raw(n), dtype=np.uint64)

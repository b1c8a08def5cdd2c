"""Public randomness: seeds of random trees, and the seeded stand-in for the secret source in tests.

Nothing here is secret: noise and coins come from another source, from which only releases draw. No other file may use
numpy.random, except `privet.parameters`, which makes a generator of what users pass as ``random_state``.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

PublicRng: TypeAlias = np.random.Generator


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

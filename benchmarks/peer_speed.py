"""Time diffprivlib's forest in its own interpreter: ``python peer_speed.py DATA.npz TREES DEPTH REPEATS``."""

from __future__ import annotations

import sys
import time

import numpy as np
from diffprivlib.models import RandomForestClassifier


def main() -> None:
    """Print the shortest time of several fits, in seconds of the processor."""
    data = np.load(sys.argv[1])
    X, y = data["X"], data["y"]
    trees, depth, repeats = (int(argument) for argument in sys.argv[2:])
    times = []
    for _ in range(repeats):
        forest = RandomForestClassifier(
            trees, epsilon=1.0, max_depth=depth, bounds=(data["low"], data["high"]), classes=[0, 1], n_jobs=1
        )
        start = time.process_time()
        forest.fit(X, y)
        times.append(time.process_time() - start)
    print(min(times))


if __name__ == "__main__":
    main()

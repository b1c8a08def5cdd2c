"""diffprivlib's private decision tree, trained in an environment of its own.

This file is also a script for that environment's interpreter, which has diffprivlib and NumPy, and not privet.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

PEER = "PRIVET_DIFFPRIVLIB"  # names the interpreter of an environment with diffprivlib


def peer_python() -> Path | None:
    """Return the interpreter of the other environment; None where none is given."""
    named = os.environ.get(PEER)
    return Path(named) if named else None


def run_peer(python: Path, arrays: dict[str, Any], epsilon: float, depth: int) -> dict[str, float]:
    """Train one tree in the other environment; return its test accuracy and the seconds that the fit took.

    Parameters
    ----------
    python : Path
        The interpreter of an environment with diffprivlib.
    arrays : dict
        ``X``, ``y`` (whole numbers from 0), ``X_test``, ``y_test``, and public bounds ``low`` and ``high``.
    epsilon : float
        The budget.
    depth : int
        The tree's depth.
    """
    import numpy as np

    from privet.errors import ParameterError

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        command = [str(python), __file__, str(file), str(epsilon), str(depth)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ParameterError(f"diffprivlib failed under {python}: {last[0]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _train(file: str, epsilon: float, depth: int) -> dict[str, float]:
    import numpy as np
    from diffprivlib.models.forest import DecisionTreeClassifier  # type: ignore[import-not-found]  # only in the other

    warnings.simplefilter("ignore")
    arrays = np.load(file)
    classes = list(range(int(arrays["n_classes"])))
    tree = DecisionTreeClassifier(
        max_depth=depth, epsilon=epsilon, bounds=(arrays["low"], arrays["high"]), classes=classes
    )
    start = time.perf_counter()
    tree.fit(arrays["X"], arrays["y"])
    seconds = time.perf_counter() - start
    return {"accuracy": float((tree.predict(arrays["X_test"]) == arrays["y_test"]).mean()), "seconds": seconds}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_train(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))

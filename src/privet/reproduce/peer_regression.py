"""Private logistic regression of diffprivlib, trained in an environment of its own.

This file is also a script for that environment's interpreter, which has diffprivlib, NumPy and scikit-learn, and not
privet.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any


def run_peer(python: Path, arrays: dict[str, Any], epsilon: float, repeats: int) -> list[float]:
    """Train in the other environment and return the test accuracies.

    Parameters
    ----------
    python : Path
        The interpreter of an environment with diffprivlib.
    arrays : dict
        ``X``, ``y``, ``X_test``, ``y_test``.
    epsilon : float
        The budget of each training.
    repeats : int
        How often to train.
    """
    import numpy as np

    from privet.errors import ParameterError

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        done = subprocess.run(
            [str(python), __file__, str(file), str(epsilon), str(repeats)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ParameterError(f"diffprivlib failed under {python}: {last[0]}")
    accuracies: list[float] = json.loads(done.stdout)
    return accuracies


def _train(file: str, epsilon: float, repeats: int) -> list[float]:
    import numpy as np
    from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]  # only in the other one
    from sklearn.preprocessing import StandardScaler

    warnings.simplefilter("ignore")
    arrays = np.load(file)
    # As the paper does: centred and of unit variance, by the data's own mean and variance. That is not private.
    scaler = StandardScaler().fit(arrays["X"])
    X, X_test = scaler.transform(arrays["X"]), scaler.transform(arrays["X_test"])
    norm = float(np.linalg.norm(X, axis=1).max())
    models = (LogisticRegression(epsilon=epsilon, data_norm=norm).fit(X, arrays["y"]) for _ in range(repeats))
    return [float(model.score(X_test, arrays["y_test"])) for model in models]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_train(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))

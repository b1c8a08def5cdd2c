"""A script: train diffprivlib's private decision tree once; say its test accuracy and the seconds that the fit took.

Run by `privet_papers.framework.peers.interpreter` under an interpreter that has diffprivlib and NumPy, and not privet.
It reads ``X``, ``y`` (whole numbers from 0), ``X_test``, ``y_test``, ``n_classes``, and public bounds ``low`` and
``high``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings


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

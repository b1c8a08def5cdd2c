"""A script: train diffprivlib's private decision tree on several splits; say test accuracies and seconds of the fits.

Run by `privet_papers.framework.peers.interpreter` under an interpreter that has diffprivlib and NumPy, and not privet.
It reads ``X``, ``y`` (whole numbers from 0), ``is_test`` (a row for each training: which records are left out of it and
test it), ``n_classes``, and public bounds ``low`` and ``high``.
"""

from __future__ import annotations

import json
import sys
import time
import warnings


def _train(file: str, epsilon: float, depth: int) -> dict[str, list[float]]:
    import numpy as np
    from diffprivlib.models.forest import DecisionTreeClassifier  # type: ignore[import-not-found]  # only in the other

    warnings.simplefilter("ignore")
    arrays = np.load(file)
    X, y, classes = arrays["X"], arrays["y"], list(range(int(arrays["n_classes"])))
    found: dict[str, list[float]] = {"accuracy": [], "seconds": []}
    for is_test in arrays["is_test"]:
        tree = DecisionTreeClassifier(
            max_depth=depth, epsilon=epsilon, bounds=(arrays["low"], arrays["high"]), classes=classes
        )
        X_train, y_train = X[~is_test], y[~is_test]
        start = time.perf_counter()
        tree.fit(X_train, y_train)
        found["seconds"].append(time.perf_counter() - start)
        found["accuracy"].append(float((tree.predict(X[is_test]) == y[is_test]).mean()))
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_train(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))

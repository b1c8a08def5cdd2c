"""A script: train diffprivlib's private logistic regression a few times on each of several splits; say test accuracies.

Run by `privet_papers.framework.peers.interpreter` under an interpreter that has diffprivlib, NumPy and scikit-learn,
and not privet. It reads ``X``, ``y`` and ``is_test``, a row for each split: which records are left out and test it.
"""

from __future__ import annotations

import json
import sys
import warnings


def _train(file: str, epsilon: float, repeats: int) -> list[float]:
    import numpy as np
    from diffprivlib.models import LogisticRegression  # type: ignore[import-not-found]  # only in the other one
    from sklearn.preprocessing import StandardScaler

    warnings.simplefilter("ignore")
    arrays = np.load(file)
    numbers, labels = arrays["X"], arrays["y"]
    accuracies: list[float] = []
    for is_test in arrays["is_test"]:
        # As the paper does: centred and of unit variance, by the data's own mean and variance. That is not private.
        scaler = StandardScaler().fit(numbers[~is_test])
        X, X_test = scaler.transform(numbers[~is_test]), scaler.transform(numbers[is_test])
        y, y_test = labels[~is_test], labels[is_test]
        norm = float(np.linalg.norm(X, axis=1).max())
        models = (LogisticRegression(epsilon=epsilon, data_norm=norm).fit(X, y) for _ in range(repeats))
        accuracies += [float(model.score(X_test, y_test)) for model in models]
    return accuracies


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_train(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))

"""A script: train diffprivlib's private logistic regression a few times; say the test accuracies.

Run by `privet_papers.framework.peers.interpreter` under an interpreter that has diffprivlib, NumPy and scikit-learn,
and not privet. It reads ``X``, ``y``, ``X_test`` and ``y_test``.
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
    # As the paper does: centred and of unit variance, by the data's own mean and variance. That is not private.
    scaler = StandardScaler().fit(arrays["X"])
    X, X_test = scaler.transform(arrays["X"]), scaler.transform(arrays["X_test"])
    norm = float(np.linalg.norm(X, axis=1).max())
    models = (LogisticRegression(epsilon=epsilon, data_norm=norm).fit(X, arrays["y"]) for _ in range(repeats))
    return [float(model.score(X_test, arrays["y_test"])) for model in models]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_train(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))))

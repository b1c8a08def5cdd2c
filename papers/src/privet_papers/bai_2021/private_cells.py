"""What Figure 5 of Bai et al. (2021) and the consistency entry compute."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning, UnsoundWarning
from privet.learners.disjoint_forest.forest import DisjointForestClassifier
from privet.learners.multinomial_forest import ConsistentForestClassifier, MultinomialForestClassifier
from privet.parameters import public_rng
from privet.randomness.public import PublicRng
from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet_papers import MultinomialForest2021Classifier, SmoothForestClassifier
from privet_papers.bai_2021.data import folds_of

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

FEWER_BUCKETS = 16_384
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "MRF, printed": (MultinomialForest2021Classifier, {"labels": "printed"}),
    "MRF, authors' code": (MultinomialForest2021Classifier, {"labels": "code"}),
    "SmoothRF, printed": (SmoothForestClassifier, {"max_leaves": FEWER_BUCKETS}),
    "MRF, sound": (MultinomialForestClassifier, {}),
    "MRF, sound, disjoint": (MultinomialForestClassifier, {"composition": "disjoint"}),
    "disjoint forest, sound": (DisjointForestClassifier, {"max_leaves": FEWER_BUCKETS}),
}
N_TEST = 50_000
N_FEATURES = 3


def private_accuracy(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy of one method in each fold, under the schema of the published data."""
    loaded = data.load(settings["data"])
    y = np.asarray(loaded.y)
    kind, fixed = MODELS[settings["method"]]
    scores = []
    for fold, (train, test) in enumerate(folds_of(settings, len(y))):
        model = kind(
            settings["epsilon"],
            schema=loaded.schema,
            n_trees=settings["n_trees"],
            n_rows_hint=len(train),
            random_state=fold,
            **fixed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsoundWarning)
            model.fit(loaded.X.iloc[train], y[train])
        scores.append(float((model.predict(loaded.X.iloc[test]) == y[test]).mean()))
    return {"accuracy": scores}


def share_of_ones(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the chance of class 1 at each point of the unit cube: smooth, with curved boundaries between classes."""
    wave = np.sin(2 * math.pi * X[:, 0]) * np.cos(math.pi * X[:, 1])
    return 1 / (1 + np.exp(-6 * (wave + X[:, 2] - 0.5)))


def _draw(n_rows: int, rng: PublicRng) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X = rng.random((n_rows, N_FEATURES))
    return X, (rng.random(n_rows) < share_of_ones(X)).astype(np.int64)


def excess_error(settings: Settings, data: DataFolder) -> Result:
    """Return the error beyond the Bayes risk, and that risk: by the known chances at new points, not by new labels."""
    rng = public_rng(settings["seed"])
    n_rows, epsilon = settings["n_rows"], settings["epsilon"]
    X, y = _draw(n_rows, rng)
    schema = Schema({f"x{j}": Numeric(0, 1) for j in range(N_FEATURES)}, classes=[0, 1])
    model: ConsistentForestClassifier | MultinomialForestClassifier
    if epsilon is None:
        # Theorem 1: k grows with n, but slower. No leaf has fewer than k estimation points.
        k = math.ceil(math.sqrt(n_rows) / 4)
        model = ConsistentForestClassifier(
            schema=schema, n_trees=settings["n_trees"], min_leaf=k, leaf_rule="every_leaf", random_state=1
        )
    else:
        model = MultinomialForestClassifier(
            epsilon, schema=schema, n_trees=1, gamma=settings["gamma"], n_rows_hint=n_rows, random_state=1
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateWarning)
        model.fit(X, y)
    points = rng.random((N_TEST, N_FEATURES))
    ones = share_of_ones(points)
    risk = np.where(model.predict(points) == 1, 1 - ones, ones).mean()
    bayes = np.minimum(ones, 1 - ones).mean()
    return {"excess": float(risk - bayes), "bayes": float(bayes)}

"""What the entries of Bai et al. (2021) compute: cross-validated accuracy of consistent forests and Breiman's."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning
from privet.learners.multinomial_forest import ConsistentForestClassifier
from privet.parameters import public_rng
from privet.schema.schema import Schema
from privet_papers.bai_2021.comprf import CompRFClassifier
from privet_papers.bai_2021.consistent_rivals import BernoulliForestClassifier, Denil14Classifier
from privet_papers.bai_2021.data import N_FOLDS, folds_of, load_exact

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

BREIMAN = "Breiman"
# Section 5.1: 100 trees, k = 5, B1 = B2 = 10, B3 infinite, partition rate 1. Written out, whatever the defaults are.
COMMON: dict[str, Any] = {"n_trees": 100, "min_leaf": 5}
OF_MRF: dict[str, Any] = {
    **COMMON,
    "partition_rate": 1.0,
    "criterion": "gini",
    "feature_rate": 10.0,
    "value_rate": 10.0,
    "label_rate": None,
    "leaf_rule": "algorithm",
    "max_depth": "auto",
}
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Denil14": (Denil14Classifier, {**COMMON, "n_points": 100}),
    "BRF": (BernoulliForestClassifier, {**COMMON, "p_feature": 0.05, "p_value": 0.05}),
    "CompRF-C": (CompRFClassifier, {**COMMON, "variant": "consistent"}),
    "MRF": (ConsistentForestClassifier, {**OF_MRF, "variant": "multinomial"}),
    "CompRF-I": (CompRFClassifier, {**COMMON, "variant": "inconsistent"}),
    "Breiman+SE": (ConsistentForestClassifier, {**OF_MRF, "variant": "breiman_se"}),
    "Breiman+M": (ConsistentForestClassifier, {**OF_MRF, "variant": "breiman_m"}),
}


def cross_validated(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy of one method in each fold; `parameters` are the estimator's."""
    loaded, schema = load_exact(settings["data"], data)
    y = np.asarray(loaded.y)
    scores = []
    for fold, (train, test) in enumerate(folds_of(settings, len(y))):
        model = make(settings["method"], schema, N_FOLDS * settings["seed"] + fold, settings.get("parameters", {}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonPrivateWarning)
            model.fit(loaded.X.iloc[train], y[train])
        X_test = loaded.X.iloc[test]
        by_chance = settings.get("ties") == "by chance"
        predicted = _ties_by_chance(model, X_test, settings["seed"]) if by_chance else model.predict(X_test)
        scores.append(float((predicted == y[test]).mean()))
    return {"accuracy": scores}


def _ties_by_chance(model: Any, X: Any, seed: int) -> NDArray[Any]:
    """Predict the class of most votes, one of them at random where there are several: Equation 5."""
    votes = model.predict_proba(X)
    # Shares of votes are sums of equal parts: nearer than half a part is a tie.
    is_top = votes > votes.max(axis=1, keepdims=True) - 1e-9
    chosen = np.where(is_top, public_rng(seed).random(votes.shape), -1.0).argmax(axis=1)
    predicted: NDArray[Any] = model.classes_[chosen]
    return predicted


def make(method: str, schema: Schema, seed: int, parameters: Settings) -> Any:
    """Return an unfitted classifier by the name that the tables give it."""
    if method == BREIMAN:
        return OrdinalForest(schema, seed, **parameters)
    kind, fixed = METHODS[method]
    return kind(epsilon=None, schema=schema, random_state=seed, **{**fixed, **parameters})


class OrdinalForest:
    """scikit-learn's random forest on the codes of the records: categories count as whole numbers, as in the paper."""

    def __init__(self, schema: Schema, seed: int, min_leaf: int = 5, min_split: int = 2) -> None:
        from sklearn.ensemble import RandomForestClassifier

        self.encoding = schema.encoding()
        self.forest = RandomForestClassifier(
            100, min_samples_leaf=min_leaf, min_samples_split=min_split, random_state=seed, n_jobs=1
        )

    def fit(self, X: Any, y: Any) -> None:
        """Fit on codes."""
        self.forest.fit(self.encoding.encode(X).T.astype(np.float32), y)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict from codes."""
        predicted: NDArray[Any] = self.forest.predict(self.encoding.encode(X).T.astype(np.float32))
        return predicted

"""From shares of the vote to predictions: what every classifier does once its model is public. Nothing here spends."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privet.estimators.learning import Model
from privet.estimators.objectives import Objective, class_weights
from privet.parameters import threads
from privet.progress import counting_records
from privet.schema.encoding import ClassTarget
from privet.tables.protocol import Floats, IntArray

SMALLEST = 1e-12  # a share of zero counts as this where numbers must be finite


class Deciding:
    """Shares, their logarithms, and the class that an objective prefers."""

    objective: Objective = "accuracy"  # of estimators whose constructor does not have it
    model_: Model
    classes_: Any
    n_jobs: int | None

    def predict_proba(self, X: Any) -> Floats:
        """Return for each record a share of the vote for each class, in the order of ``classes_``. Spends nothing."""
        codes = self._codes(X)  # type: ignore[attr-defined]  # of the estimator
        with counting_records():
            shares: Floats = self.model_.votes(codes, threads(self.n_jobs))
        return shares

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of `predict_proba`, minus infinity for a share of zero. Spends nothing."""
        with np.errstate(divide="ignore"):
            logarithms: Floats = np.log(self.predict_proba(X))
        return logarithms

    def decision_function(self, X: Any) -> Floats:
        """Return how far each record is from being predicted otherwise: log-odds, moved by the objective.

        Two classes: one number for each record, above zero where the second class is predicted. More classes: one for
        each class, of which the largest is predicted. A share of zero counts as 1e-12. Spends nothing.
        """
        logarithms = np.log(np.maximum(self.predict_proba(X), SMALLEST))
        weights = self._class_weights()
        if weights is not None:
            logarithms = logarithms + np.log(weights)
        if logarithms.shape[1] == 2:
            odds: Floats = logarithms[:, 1] - logarithms[:, 0]
            return odds
        return logarithms

    def predict(self, X: Any) -> NDArray[Any]:
        """Return for each record the class that the objective prefers: by default the largest share. Spends nothing."""
        winners = self.decided(self.predict_proba(X))
        labels: NDArray[Any] = self.classes_[winners]
        return labels

    def decided(self, shares: Floats) -> IntArray:
        """Return the number of the class that is predicted for each row of shares, the first of equals."""
        weights = self._class_weights()
        winners: IntArray = (shares if weights is None else shares * weights).argmax(axis=1)
        return winners

    def _class_weights(self) -> Floats | None:
        """Return what shares are multiplied by; None where they count as they are."""
        target = cast(ClassTarget, self.model_.encoding.target)
        return class_weights(self.objective, self.model_, target.classes)

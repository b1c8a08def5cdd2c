"""What a fitted model says about itself: which features matter, what each adds to a prediction. Nothing is spent."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.estimators.learning import Model
from privet.tables.protocol import Floats


class Explained:
    """Explanations that are made of released values alone, where a model has them."""

    model_: Model

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature matters, in the schema's order, adding up to one (or zero). Spends nothing.

        Of a tree's splits the decrease of impurity counts, by the noisy counts of the leaves below; of an additive
        model how far tables and trees move the score. Splits that only follow noise count as well, so values near zero
        mean little. Where only labels were released the attribute does not exist.
        """
        found: Floats | None = self._said_by_model("importances", "which features matter")()
        if found is None:
            raise AttributeError(f"{type(self).__name__} released no counts that would tell which features matter")
        return found

    def contributions(self, X: Any) -> tuple[Floats, Floats, Floats]:
        """Take the scores of records apart, exactly, where the model is additive (boosting). Spends nothing.

        Parameters
        ----------
        X : frame or array
            Records, as for `predict`.

        Returns
        -------
        common : float64 array of shape (n_rows, n_scores)
            What all records have in common. Scores are log-odds of the second class, or one for each of more classes,
            or the place within the target's range.
        tables : float64 array of shape (n_rows, n_features, n_scores)
            What each feature's own table adds, in the order of ``feature_names_in_``.
        trees : float64 array of shape (n_rows, n_trees, n_scores)
            What each tree adds. All three add up to the scores.
        """
        method = self._said_by_model("contributions", "what each feature adds")
        parts: tuple[Floats, Floats, Floats] = method(np.ascontiguousarray(self._codes(X)))  # type: ignore[attr-defined]  # of the estimator
        return parts

    def _said_by_model(self, name: str, what: str) -> Any:
        """Return a method of the model, or say that this kind of model has none."""
        check_is_fitted(self, "model_")
        method = getattr(self.model_, name, None)
        if method is None:
            raise AttributeError(f"the model of {type(self).__name__} does not say {what}: boosting does")
        return method

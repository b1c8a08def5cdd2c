"""What estimators say about themselves: what privacy would cost, which features matter and how, cards in notebooks.

Nothing is spent by any of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from privet.estimators.learning import Model
from privet.tables.protocol import Floats

if TYPE_CHECKING:
    from privet.forecast import Forecast
    from privet.privacy.ledger import Ledger
    from privet.schema.schema import Schema


class Forecasting:
    """Base of estimators that forecast."""

    def forecast(
        self,
        *,
        schema: Schema | None = None,
        n_rows_hint: int | None = None,
        shares: Sequence[float] | None = None,
    ) -> Forecast:
        """Forecast what privacy would cost in accuracy, from public facts alone: nothing is read and nothing is spent.

        Parameters
        ----------
        schema, n_rows_hint : optional
            Ask for another schema or hint than the estimator's own.
        shares : sequence of float, optional
            The classes' shares in the order of the schema, if they are public.

        Returns
        -------
        Forecast
            The expected loss over epsilon below the twin without privacy, with a band, the smallest useful epsilon, and
            the noise in people; see `privet.forecast.forecast`.
        """
        # The room above is looked up by its name, when it is asked: imports go down only.
        room = importlib.import_module("privet.forecast")
        found: Forecast = room.forecast(self, schema=schema, n_rows_hint=n_rows_hint, shares=shares)
        return found

    def _calibrated_as(self, n_rows: int) -> str:
        """Return the name of the estimator whose measured losses a forecast is calibrated with."""
        return type(self).__name__


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


class ShownInNotebooks:
    """A card with the parameters that were given and, once fitted, the guarantee."""

    get_params: Any
    privacy_: Ledger

    def _repr_html_(self) -> str:
        """Show the estimator in a notebook: its parameters and, once fitted, its guarantee and what it cost."""
        from privet.markup import card, paragraph, table
        from privet.privacy.text import guarantee_in_words, stage_table

        defaults = type(self)().get_params(deep=False)
        own = {
            name: value for name, value in self.get_params(deep=False).items() if repr(value) != repr(defaults[name])
        }
        rows = [[name, repr(value)] for name, value in own.items()]
        settings = table("Parameters that are not the default", ["name", "value"], rows) if rows else None
        if not hasattr(self, "privacy_"):
            return card(f"{type(self).__name__}, not fitted", settings)
        guarantee = paragraph(f"Fitted: {guarantee_in_words(self.privacy_)}")
        return card(type(self).__name__, guarantee, stage_table(self.privacy_), settings)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Show the same in place of scikit-learn's diagram, which notebooks would prefer."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

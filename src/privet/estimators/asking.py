"""What every estimator can be asked before it spends anything, answered by rooms above this one."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privet.forecast import Forecast
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

"""The candidates of a search: estimators with settings, those that differ in their objective alone trained as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateEstimator, PrivateRegressor

# A search has them, not its candidates: one budget, one schema, one hint for all.
OF_THE_SEARCH = ("epsilon", "delta", "schema", "n_rows_hint", "random_state", "n_jobs")


@dataclass(frozen=True, eq=False)
class Candidate:
    """One estimator with its settings.

    Attributes
    ----------
    estimator : PrivateEstimator
        A copy of what was given, with the settings; never fitted.
    settings : mapping
        What distinguishes it: the settings of the grid, and the estimator itself where there are several.
    fit : int
        Which of the search's fits it predicts with: candidates that differ in their objective share one.
    """

    estimator: PrivateEstimator
    settings: Mapping[str, Any]
    fit: int


def candidates_of(estimators: Any, grid: Any) -> tuple[Candidate, ...]:
    """Return all candidates in order: each estimator with each combination of the grid's settings.

    Raises
    ------
    ParameterError
        If there is none, if one is not an estimator of this library, or if settings are not its own.
    """
    several = isinstance(estimators, Sequence) and not isinstance(estimators, str)
    given = list(estimators) if several else [estimators]
    if not given or not all(isinstance(one, PrivateClassifier | PrivateRegressor) for one in given):
        raise ParameterError(
            "a search needs an estimator of this library, or a list of them, such as BoostingClassifier()"
        )
    if len({isinstance(one, PrivateClassifier) for one in given}) > 1:
        raise ParameterError("a search is among classifiers or among regressors, not both")
    found, fits = list[Candidate](), list[tuple[type, dict[str, Any]]]()
    for one in given:
        for settings in _combinations(grid):
            copy = clone(one)
            _check_settings(copy, settings)
            copy.set_params(**settings)
            what = type(copy), _settings_of_fit(copy)
            if what not in fits:
                fits.append(what)
            named = {"estimator": type(one).__name__, **settings} if several else dict(settings)
            found.append(Candidate(copy, named, fits.index(what)))
    return tuple(found)


def first_of_each_fit(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return one candidate for each different fit, in their order."""
    first: dict[int, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.fit, candidate)
    return tuple(first.values())


def _combinations(grid: Any) -> list[dict[str, Any]]:
    if grid is None:
        return [{}]
    parts = [grid] if isinstance(grid, Mapping) else list(grid)
    if not parts or not all(isinstance(part, Mapping) for part in parts):
        raise ParameterError("param_grid must be a mapping from names to lists of values, or a list of such mappings")
    return [dict(settings) for settings in ParameterGrid([dict(part) for part in parts])]


def _check_settings(estimator: PrivateEstimator, settings: Mapping[str, Any]) -> None:
    known = estimator.get_params(deep=False)
    for name in settings:
        if name in OF_THE_SEARCH:
            raise ParameterError(f"{name} belongs to the search, which has one budget and one schema: set it there")
        if name not in known:
            raise ParameterError(f"param_grid: {type(estimator).__name__} has no parameter {name!r}")


def _settings_of_fit(estimator: PrivateEstimator) -> dict[str, Any]:
    left_out = {*OF_THE_SEARCH, "objective"}
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in left_out}

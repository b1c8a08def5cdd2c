"""`privet.evaluate`: how good a model is on private records, paid for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from privet.errors import NonPrivateWarning, ParameterError
from privet.estimators.base import PrivateEstimator
from privet.estimators.learning import Hints
from privet.evaluation.class_figures import ClassFigures
from privet.evaluation.classes import ClassEvaluator, ClassTallies
from privet.evaluation.regressors import RegressorEvaluator, RegressorFigures, RegressorTallies
from privet.evaluation.results import PrivateClassEvaluation, PrivateEvaluation, PrivateNumberEvaluation
from privet.frames.opening import one_column
from privet.mechanisms.release import noise_source, open_release, secret_key
from privet.parameters import public_rng, threads
from privet.privacy import budgets
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Categorical
from privet.schema.encoding import Column, Encoding, RangeTarget
from privet.schema.schema import Schema
from privet.tables.described import Described
from privet.tables.reading import closing_afterwards, declared_accounts, described, encode_table


def evaluate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float | None = 0.1,
    delta: float = 0.0,
    by: str | Mapping[str, Categorical] | None = None,
) -> PrivateEvaluation:
    """Measure a fitted estimator on private records with known answers, with noise that hides each of them.

    Use records that the model was not fitted on. Figures on its own training records are too good.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this library.
    X : pandas, polars or PyArrow frame, NumPy array, or table
        The features, and the unit's column where the schema declares a unit; or a table, as for `fit`.
    y : array-like or str
        The answers; for a table, the name of their column. A record is left out if its label is not in the schema, or
        its target is not a number.
    epsilon : float or None, default=0.1
        The privacy budget of the evaluation, whatever the number of figures. It comes on top of what the fit has spent
        where both look at records of the same people. None for exact counts without privacy, with a warning; their
        intervals still allow for the sampling error.
    delta : float, default=0.0
        Zero for pure epsilon.
    by : str or mapping of one name to Categorical, optional
        Compare the groups of a categorical column: the name of a feature, or of another column of `X` with its public
        categories, such as ``{"sex": Categorical(["Female", "Male"])}``. Half of the budget goes into that.

    Returns
    -------
    PrivateClassEvaluation or PrivateNumberEvaluation
        The figures, each with a 95% interval that allows for the noise and for the sampling error, and the ledger.

    Notes
    -----
    *Privacy.* Neighbours and unit are those of the estimator's schema. A classifier: noisy counts of records by true
    class and cell of the predicted share, first in fine cells, then in coarser ones. A regressor: noisy sums of squared
    and absolute errors and of the target. All figures are post-processing of these, so that more figures cost nothing.
    The cells are public: they depend on the model, not on the records. The ledger is in `privacy`, and every budget in
    force is charged before anything is drawn.

    The sampling error is that of independent records (or units, whose rows may be as alike as can be). Each interval
    holds with 95% confidence for itself, not all of them at once.

    Examples
    --------
    >>> import numpy as np
    >>> import privet
    >>> schema = privet.Schema({"x": privet.Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> tree = privet.PrivaTreeClassifier(epsilon=1.0, schema=schema).fit(X[::2], y[::2])
    >>> found = privet.evaluate(tree, X[1::2], y[1::2], epsilon=0.5)
    >>> found.privacy.epsilon
    0.5
    >>> found.accuracy.low > 0.8 and found.accuracy.width < 0.2
    True
    """
    if not isinstance(estimator, PrivateEstimator) or not hasattr(estimator, "model_"):
        raise ParameterError(
            f"evaluate() measures fitted estimators of this library, got {type(estimator).__name__}: "
            "fit it first, or take scikit-learn's metrics for others"
        )
    X = described(X, y) or X
    declared = declared_accounts(estimator.schema_, X)
    charged, noise = budgets.in_force(estimator._carried_budgets, declared), noise_source()
    y = y if isinstance(X, Described) else one_column(y)
    schema, encoding = estimator.schema_, estimator.model_.encoding
    allowance = None if epsilon is None else Allowance.of(epsilon, delta)
    encoding, group_feature = _with_groups(schema, encoding, by)
    terms, is_regression = Terms.of(schema), isinstance(encoding.target, RangeTarget)
    evaluator: Any = _evaluator(estimator, group_feature, is_regression)
    plan = evaluator.plan(encoding, terms, None if allowance is None else allowance.whole, Hints())
    doubts = [*([schema.inferred] if schema.inferred else []), *noise.doubts]
    stated = Ledger.stating(terms, allowance, plan.whole, doubts)
    table = encode_table(schema, encoding, X, y, secret_key, threads(estimator.n_jobs), one_pass=True)
    with closing_afterwards(table):
        budgets.charge(charged, stated, "evaluate", {"schema": schema.digest()})
        ledger = Ledger(terms, allowance, doubts, stated.cost)
        tallies = evaluator.grow(table, open_release(ledger, noise), public_rng(0), plan)
    if epsilon is None:
        warnings.warn("evaluate(epsilon=None) discloses exact counts of the records", NonPrivateWarning, stacklevel=2)
    column = None if group_feature is None else encoding.columns[group_feature]
    return _figures(tallies, estimator, ledger, column)


def _evaluator(estimator: Any, group_feature: int | None, is_regression: bool) -> RegressorEvaluator | ClassEvaluator:
    if is_regression:
        return RegressorEvaluator(estimator.model_, group_feature)
    weights = estimator._class_weights()
    return ClassEvaluator(estimator.model_, group_feature, None if weights is None else tuple(weights))


def _with_groups(
    schema: Schema, encoding: Encoding, by: str | Mapping[str, Categorical] | None
) -> tuple[Encoding, int | None]:
    """Return an encoding that has the column of the groups, and its place there."""
    if by is None:
        return encoding, None
    features = [column.name for column in encoding.columns]
    if isinstance(by, str):
        if by not in features:
            raise ParameterError(
                f"by={by!r} is not a feature of the schema, so its groups are not known to be public: name a "
                f"categorical feature, or pass by={{{by!r}: Categorical([...])}} for another column of X"
            )
        if encoding.columns[features.index(by)].ordered:
            raise ParameterError(f"by={by!r} is a numeric feature: name a categorical one")
        return encoding, features.index(by)
    if not isinstance(by, Mapping) or len(by) != 1:
        raise ParameterError('by must be a name, or one name with its categories: {"sex": Categorical([...])}')
    ((name, domain),) = by.items()
    if not isinstance(domain, Categorical) or not isinstance(name, str):
        raise ParameterError(f"by={{{name!r}: ...}} needs a Categorical, got {type(domain).__name__}")
    if name in features or (schema.unit is not None and schema.unit.column == name):
        raise ParameterError(f"by={name!r} is a feature or the unit already: pass the name of a feature alone")
    Schema({name: domain}, schema.target)  # checks the domain
    return replace(encoding, columns=(*encoding.columns, domain.column(name, 2))), len(features)


def _figures(tallies: Any, estimator: Any, ledger: Ledger, groups: Column | None) -> PrivateEvaluation:
    by, names = (None, ()) if groups is None else (groups.name, _group_names(groups))
    crowding = float(ledger.terms.max_rows)
    if isinstance(tallies, RegressorTallies):
        errors = RegressorFigures(tallies, estimator.model_.encoding.target, crowding)
        return PrivateNumberEvaluation(
            ledger,
            errors.records(),
            by,
            errors.rmse(),
            errors.mae(),
            errors.r_squared(),
            errors.mean(),
            errors.deviation(),
            errors.target,
            errors.groups(names),
        )
    assert isinstance(tallies, ClassTallies)
    figures, labels = ClassFigures(tallies, crowding), np.asarray(estimator.classes_).tolist()
    scored = labels[-tallies.layout.n_scores :]
    return PrivateClassEvaluation(
        ledger,
        figures.records(),
        by,
        figures.accuracy(),
        figures.balanced_accuracy(),
        figures.auc(),
        figures.log_loss(),
        dict(zip(labels, figures.recalls(), strict=True)),
        figures.confusion(),
        dict(zip(scored, figures.calibration(), strict=True)),
        figures.groups(names),
    )


def _group_names(column: Column) -> tuple[str, ...]:
    """Return a name for each code of a categorical column."""
    names = [str(category) for category in column.categories]
    names += ["(other)"] * (column.other_code is not None) + ["(missing)"] * (column.missing_code is not None)
    return tuple(names)

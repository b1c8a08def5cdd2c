"""The shared part of every estimator: checks, schema, plan, budget, fit, predict, pickling.

An estimator's own file adds parameters and a learner; see `privet.learners.random_decision_forest.forest` for an
example.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from privet.errors import LargeDeltaWarning, NonPrivateWarning, ParameterError, PrivacyLeakWarning, SchemaError
from privet.estimators.counting import CountedFirst, CountedPlan, MakeLearner, buys_count
from privet.estimators.deciding import Deciding
from privet.estimators.explaining import Explained, Forecasting, ShownInNotebooks
from privet.estimators.learning import Circumstances, Hints, Learner, RegressionModel
from privet.estimators.objectives import check_objective
from privet.frames.opening import one_column
from privet.mechanisms.release import Randomness, noise_source, open_release, secret_key
from privet.parameters import RowsHint, check_rows_hint, public_rng, threads
from privet.privacy import budgets
from privet.privacy.events import Composition, has_mixture
from privet.privacy.ledger import Ledger
from privet.privacy.plan import Plan
from privet.privacy.statements import delta_in_words, stated_down
from privet.privacy.terms import Allowance, Terms, most_delta
from privet.progress import counting_records
from privet.schema.domains import Categorical, Numeric
from privet.schema.encoding import ClassTarget, Encoding, RangeTarget
from privet.schema.schema import Schema
from privet.tables.described import Described
from privet.tables.predicting import encode_features
from privet.tables.reading import adapted, closing_afterwards, declared_accounts, described, encode_table

NO_SCHEMA = "no schema was given: bounds, categories and classes were read off the data"
_deltas_warned_of: set[tuple[Fraction, int | None]] = set()  # by fits in this process, each with its n_rows_hint


class _Planned(NamedTuple):
    """Everything that is decided before any data is seen, and the ledger that states what it will cost."""

    learner: Learner[Any]
    encoding: Encoding
    plan: Plan
    stated: Ledger


class PrivateEstimator(Forecasting, Explained, ShownInNotebooks, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """Base of all estimators; subclasses store parameters and implement `_learner`.

    Every subclass has the parameters ``epsilon``, ``delta``, ``schema``, ``n_rows_hint``, ``random_state``, ``n_jobs``.
    """

    epsilon: float | None
    delta: float
    schema: Schema | None
    n_rows_hint: RowsHint
    random_state: Any
    n_jobs: int | None

    # Budgets under which this object, or what it is a clone of, was pickled or copied, and what its last fit was
    # charged to; see privet.privacy.budgets.
    _carried_budgets: tuple[budgets.Handle, ...] = ()
    _receipt: budgets.Receipt = budgets.Receipt()
    # What the learner's rules were given in the last fit: a number of records that was bought, or is public; and its
    # own part of epsilon, where it won a search. None for the parameters.
    _planned_rows: int | None = None
    _planned_epsilon: float | None = None
    _keeps_what_was_planned: ClassVar[bool] = False  # in files, where it says what was chosen

    @abstractmethod
    def _learner(self) -> Learner[Any]:
        """Return the learner that the parameters describe, or raise `ParameterError`."""

    def _carried(self) -> tuple[budgets.Handle, ...]:
        """Return the budgets that a fit is charged to wherever it is run."""
        return self._carried_budgets

    def _learner_for(self, n_rows: int | None) -> Learner[Any]:
        """Return the learner for a number of records, where which one it is depends on that."""
        return self._learner()

    @classmethod
    def _of_file(cls, parameters: dict[str, Any]) -> tuple[type[PrivateEstimator], dict[str, Any]]:
        """Return today's class and parameters for those in a file; by default they are unchanged."""
        return cls, parameters

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return one prediction for each record. Spends nothing."""

    @abstractmethod
    def _check_target(self, schema: Schema) -> None:
        """Raise `SchemaError` unless the estimator can predict the schema's target."""

    @abstractmethod
    def _infer(self, X: Any, y: Any) -> Schema:
        """Read a schema off the data. A ledger with such a schema claims nothing."""

    def plan(self, *, schema: Schema | None = None, n_rows_hint: RowsHint = None) -> Ledger:
        """Return the ledger that a fit will end with, without any data.

        Parameters
        ----------
        schema, n_rows_hint : optional
            Ask for another schema or hint than the estimator's own.
        """
        return self._ledger_of_plan(self._learner_for, schema, n_rows_hint)

    def fit(self, X: Any, y: Any = None, **unsupported: Any) -> Self:
        """Learn from private records, spending the budget.

        Parameters
        ----------
        X : pandas, polars or PyArrow frame, NumPy array, or table
            The features; columns in any order for a frame, in the schema's order for an array. A frame's further
            columns are ignored; an `IgnoredColumnsWarning` names them once, unless the schema lists them. Or a table
            that need not fit into memory: one of `privet.tables`, a polars LazyFrame, a PyArrow dataset or
            RecordBatchReader, or a DuckDB relation.
        y : array-like or str
            The labels, or the values of a regression target: a list, an array, a column of any library, or a frame of
            one column. A record is left out if its label is not in the schema, or its target is not a number. For a
            table, the name of its column.
        """
        return self._fit(self._learner_for, X, y, unsupported)

    def _ledger_of_plan(self, make: MakeLearner, schema: Schema | None, n_rows_hint: RowsHint) -> Ledger:
        """Carry out `plan` with a learner that may know further public facts, such as a batch to predict."""
        schema = self.schema if schema is None else schema
        if schema is None:
            raise ParameterError("plan() needs to know what is public: pass schema=Schema(...)")
        hint = self.n_rows_hint if n_rows_hint is None else n_rows_hint
        stated = self._plan(make, schema, hint, Circumstances(noise_source())).stated
        # Whether an account would be charged matters to no other plan.
        if stated.beyond_rho and _adds_up(budgets.in_force(self._carried(), declared_accounts(schema, None))):
            stated = self._plan(make, schema, hint, Circumstances(noise_source(), by_rho=True)).stated
        _warn_of_large_delta(stated.allowance, check_rows_hint(hint))
        return stated

    def _fit(self, make: MakeLearner, X: Any, y: Any, unsupported: Mapping[str, Any]) -> Self:
        """Carry out `fit` with such a learner."""
        if unsupported:
            raise ParameterError(
                f"fit() does not take {', '.join(sorted(unsupported))}: weights taken from data would not be private; "
                "meet a rare class with a threshold on predict_proba"
            )
        X = described(X, y) or X
        # Both are looked up once, here: what other threads change during the fit does not affect it.
        charged, noise = budgets.in_force(self._carried(), declared_accounts(self.schema, X)), noise_source()
        schema, X, y = self._read(X, y if isinstance(X, Described) else one_column(y))
        under = Circumstances(noise, _dealt_by_id(X), _adds_up(charged))
        learner, encoding, plan, stated = self._plan(make, schema, self.n_rows_hint, under)
        _refuse_mixtures_by_id(X, stated)
        _warn_of_large_delta(stated.allowance, check_rows_hint(self.n_rows_hint), again=False)
        rng = public_rng(self.random_state)
        # A table that is described may be large: it gets all cores unless the number of threads is given.
        n_jobs = threads(-1 if self.n_jobs is None and isinstance(X, Described) else self.n_jobs)
        one_pass = getattr(plan, "one_pass", getattr(learner, "one_pass", False))
        counted: list[int | None] = []
        if isinstance(learner, CountedFirst):
            learner = cast(Learner[Any], replace(learner, tell=counted.append))
        table = encode_table(schema, encoding, X, y, secret_key, n_jobs, one_pass, self.epsilon is not None)
        with closing_afterwards(table):
            receipt = budgets.Receipt()
            if charged:
                receipt = budgets.charge(charged, stated, type(self).__name__, {"schema": schema.digest()})
            doubts = _doubts(schema, noise)
            ledger = Ledger(stated.terms, stated.allowance, doubts, stated.cost, fixed=stated.composition)
            model = learner.grow(table, open_release(ledger, noise), rng, plan)
        # Together: a fit that fails leaves the model before it, and what that was paid with.
        self.model_, self._receipt = model, receipt
        self.privacy_, self._planned_rows, self._planned_epsilon = ledger, counted[0] if counted else None, None
        self._note_public_facts(schema, table.encoding)
        if self.epsilon is None:
            warnings.warn(
                f"{type(self).__name__}(epsilon=None) is the twin without privacy, for comparison only",
                NonPrivateWarning,
                stacklevel=3,
            )
        return self

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file: schema, parameters, model and ledger, and nothing else."""
        from privet.estimators.files import save

        check_is_fitted(self, "model_")
        budgets.record_model(self._receipt, save(self, Path(path)))

    def _plan(self, make: MakeLearner, schema: Schema, n_rows_hint: RowsHint, under: Circumstances) -> _Planned:
        hints, terms = Hints(check_rows_hint(n_rows_hint), under.shared_coins), Terms.of(schema)
        learner = make(hints.n_rows)
        encoding = schema.encoding(learner.bins)
        allowance = self._asked()
        # Where the schema was read off the data nothing is claimed, and nothing needs to be bought.
        counts = n_rows_hint is None and schema.inferred is None
        if counts and buys_count(learner, encoding, None if allowance is None else allowance.whole):
            learner = CountedFirst(make, learner.bins, self._stronger)
            if allowance is not None and learner.is_always_pure(allowance, encoding, terms, hints):
                allowance = allowance.pure
        else:
            allowance = self._allowance(encoding, terms, hints)
        share = None if allowance is None else allowance.whole
        if share is not None and under.by_rho:
            share = replace(share, guarantee=None)
        plan = learner.plan(encoding, terms, share, hints)
        stated = Ledger.stating(terms, allowance, plan.whole, _doubts(schema, under.noise))
        stated.plan = plan
        return _Planned(learner, encoding, plan, stated)

    def _asked(self) -> Allowance | None:
        """Return the guarantee that was asked for; None for a model without privacy."""
        return None if self.epsilon is None else Allowance.of(self.epsilon, self.delta)

    def _allowance(self, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance | None:
        """Return the guarantee to plan with: the one asked for, unless there is a stronger one for free."""
        asked = self._asked()
        return asked if asked is None or asked.rho is None else self._stronger(asked, encoding, terms, hints)

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Return ``asked.pure`` where that is no worse for accuracy than what is asked for, which has a delta."""
        return asked

    def _read(self, X: Any, y: Any) -> tuple[Schema, Any, Any]:
        """Return the declared schema, or one read off the data with a warning; and the data, its form checked."""
        declared = X.schema if self.schema is None and isinstance(X, Described) else self.schema
        if declared is not None:
            if not isinstance(declared, Schema):
                raise SchemaError(f"schema must be a privet.Schema, got {type(declared).__name__}")
            self._check_target(declared)
            return declared, X, y
        if isinstance(X, Described):
            raise SchemaError("a table needs a schema, since it is not read twice: pass schema=Schema(...)")
        if _is_frame(X):
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
        else:
            X, y = validate_data(self, X, y, dtype=None, ensure_all_finite="allow-nan")
        inferred = self._infer(X, y)
        if self.epsilon is not None:
            warnings.warn(
                f"{NO_SCHEMA}; the ledger claims nothing. Pass schema=Schema(...) with public knowledge",
                PrivacyLeakWarning,
                stacklevel=4,
            )
        return inferred, X, y

    def _codes(self, X: Any) -> NDArray[np.unsignedinteger]:
        check_is_fitted(self, "model_")
        # With a declared schema columns are found by name, in any order; without one, scikit-learn's rules apply.
        if self.schema is None and self.schema_.inferred is not None:
            if _is_frame(X):
                validate_data(self, X, reset=False, skip_check_array=True)
            else:
                X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
        table = X if isinstance(X, Described) else adapted(X)
        if table is not None:
            return encode_features(table, self.model_.encoding)
        return self.model_.encoding.encode(X, ignore=self.schema_.named_columns)

    def _note_public_facts(self, schema: Schema, encoding: Encoding) -> None:
        """Set the public attributes of a fitted estimator, after a fit or from a file."""
        self.schema_ = schema
        if self.schema is not None or schema.inferred is None:
            self.n_features_in_ = len(schema.features)
            self.feature_names_in_ = np.array(list(schema.features), dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        carried = budgets.in_force(self._carried_budgets)
        if carried:
            state["_carried_budgets"] = carried
        return state

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        if self._carried_budgets:
            twin._carried_budgets = self._carried_budgets
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = True  # the noise is fresh in every fit
        return tags


class PrivateClassifier(Deciding, ClassifierMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the classifiers: they predict one of the schema's classes, by the objective that was asked for."""

    _estimator_type: ClassVar[str] = "classifier"

    def _check_target(self, schema: Schema) -> None:
        if not isinstance(schema.target, Categorical):
            raise SchemaError("the schema's target is a numeric range: use a regressor, or give classes=[...]")

    def _infer(self, X: Any, y: Any) -> Schema:
        check_classification_targets(y)
        return Schema.infer(X, y)

    def _plan(self, make: MakeLearner, schema: Schema, n_rows_hint: RowsHint, under: Circumstances) -> _Planned:
        if self.objective != "accuracy":
            check_objective(self.objective, schema)
        return super()._plan(make, schema, n_rows_hint, under)

    def _note_public_facts(self, schema: Schema, encoding: Encoding) -> None:
        assert isinstance(encoding.target, ClassTarget)
        self.classes_ = np.asarray(encoding.target.classes)
        super()._note_public_facts(schema, encoding)


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the regressors: they predict a value within the target's public range."""

    _estimator_type: ClassVar[str] = "regressor"

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return a value within the target's range for each record. Spends nothing."""
        codes = self._codes(X)
        with counting_records():
            return cast(RegressionModel, self.model_).predictions(codes, threads(self.n_jobs))

    def _check_target(self, schema: Schema) -> None:
        if not isinstance(schema.target, Numeric):
            raise SchemaError("the schema's target is a list of classes: use a classifier, or give Numeric(low, high)")

    def _infer(self, X: Any, y: Any) -> Schema:
        return Schema.infer(X, y, task="regression")

    def _note_public_facts(self, schema: Schema, encoding: Encoding) -> None:
        assert isinstance(encoding.target, RangeTarget)
        super()._note_public_facts(schema, encoding)


def _adds_up(charged: Sequence[budgets.Handle]) -> bool:
    """Whether a fit is charged to an account that adds up what many fits cost in rho, so that rho is what to save."""
    return any(handle.lasting for handle in charged)


def _doubts(schema: Schema, noise: Randomness) -> list[str]:
    return [*([schema.inferred] if schema.inferred else []), *noise.doubts]


def _refuse_mixtures_by_id(X: Any, stated: Ledger) -> None:
    """Refuse a mixture of pure budgets on records that are dealt by the values of a column.

    *Privacy.* Two records with one value get the same coins. The cost of a mixture in epsilon is proven for a record
    whose coin is its own; in zero-concentrated privacy, and for disjoint parts, the largest part is charged anyway.
    """
    if (
        _dealt_by_id(X)
        and stated.allowance is not None
        and stated.allowance.rho is None
        and any(map(has_mixture, _possible(stated)))
    ):
        raise ParameterError(
            f"records that share a value of {X.id!r} would share their secret coins, on which this learner's epsilon "
            "relies: leave out id=..., or give a delta"
        )


def _dealt_by_id(X: Any) -> bool:
    return isinstance(X, Described) and X.id is not None


def _possible(stated: Ledger) -> Iterator[Composition]:
    """Yield what may be charged; after a count, that is not yet in the plan."""
    yield stated.composition
    if isinstance(stated.plan, CountedPlan):
        yield from stated.plan.possible


def _warn_of_large_delta(allowance: Allowance | None, n_rows: int | None, *, again: bool = True) -> None:
    """Warn of a delta that is not far below one in the number of records. Depends on public facts alone.

    If not `again`, warn only once in a process. Python's own filter does not suffice: it forgets which warnings it has
    shown whenever `warnings.catch_warnings` is used, as scikit-learn does for every fit of a search.
    """
    if allowance is None or allowance.delta <= most_delta(n_rows):
        return
    if not again and (allowance.delta, n_rows) in _deltas_warned_of:
        return
    if n_rows is None:
        remedy = "Take one far below one in the number of records, and give that as n_rows_hint if it is public"
    else:
        most = stated_down(most_delta(n_rows), 1)
        remedy = f"With {n_rows:,} records (n_rows_hint) take at most {most}, better far less"
    warnings.warn(
        f"delta is large: {delta_in_words(allowance.delta)}: enough to disclose a whole record. {remedy}",
        LargeDeltaWarning,
        stacklevel=4,  # the caller of plan() or fit()
    )
    _deltas_warned_of.add((allowance.delta, n_rows))


def _is_frame(X: Any) -> bool:
    """Whether columns have names; scikit-learn takes columns with numbers for names by position."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return names is not None and all(isinstance(name, str) for name in names)

"""The estimators to begin with: they choose learner and settings from public facts, and say why."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from sklearn.base import clone

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateEstimator, PrivateRegressor
from privet.estimators.counting import COUNT_NAME, MakeLearner
from privet.estimators.learning import Circumstances, Hints, Learner
from privet.estimators.objectives import Objective
from privet.estimators.registry import estimator_class
from privet.learners.choose.rules import CLASSIFIERS, REGRESSORS, Choice, Goal, quarter
from privet.parameters import RowsHint, check_choice, check_rows_hint
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema

UNKNOWN = 1000  # records, where the number is neither known nor bought, as in the learners' own rules

WORDS = {
    "Boosting": "boosted small trees",
    "PrivaTree": "a single tree of privately chosen splits",
    "RandomDecisionForest": "a forest of random trees",
    "DisjointForest": "a forest on disjoint records",
}


class _Chosen(PrivateEstimator):
    """Parameters and choice that classifier and regressor share."""

    _limits: Mapping[str, int] = MappingProxyType({})
    _keeps_what_was_planned = True

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        goal: Goal = "accuracy",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.goal = goal
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _choice(self, n_rows: int | None) -> Choice:
        """Look up the table of rules."""

    @property
    def _kind(self) -> str:
        return "Classifier" if isinstance(self, PrivateClassifier) else "Regressor"

    def _signal(self, n_rows: int | None) -> float:
        """Return the number of records times epsilon."""
        return (UNKNOWN if n_rows is None else n_rows) * (math.inf if self.epsilon is None else float(self.epsilon))

    def _estimator(self, n_rows: int | None) -> Any:
        """Return the chosen estimator, not yet fitted."""
        choice = self._choice(n_rows)
        shared = {"delta": self.delta, "schema": self.schema, "random_state": self.random_state, "n_jobs": self.n_jobs}
        kind = estimator_class(choice.learner + self._kind)
        estimator = kind(self.epsilon, n_rows_hint=n_rows, **shared, **choice.settings)
        known = estimator.get_params(deep=False)
        for name, most in self._limits.items():
            if name not in known:
                continue
            value = known[name]
            estimator.set_params(**{name: min(value, most) if isinstance(value, int) else most})
        return estimator

    def _limited(self, limits: Mapping[str, int]) -> Self:
        """Return a copy that chooses no more trees and depth than that, for audits."""
        twin: Self = clone(self)
        twin._limits = limits
        return twin

    def _learner(self) -> Learner[Any]:
        return self._learner_for(check_rows_hint(self.n_rows_hint))

    def _learner_for(self, n_rows: int | None) -> Learner[Any]:
        learner: Learner[Any] = self._estimator(n_rows)._learner()
        return learner

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Return what the chosen learner would ask for."""
        allowance: Allowance = self._estimator(hints.n_rows)._stronger(asked, encoding, terms, hints)
        return allowance

    def _calibrated_as(self, n_rows: int) -> str:
        return self._choice(n_rows).learner + self._kind

    def _note_public_facts(self, schema: Schema, encoding: Encoding) -> None:
        super()._note_public_facts(schema, encoding)
        n_rows = check_rows_hint(self.n_rows_hint) if self._planned_rows is None else self._planned_rows
        as_planned = self
        if self._planned_epsilon is not None:  # the winner of a search chose for its own part of the budget
            as_planned = clone(self).set_params(epsilon=self._planned_epsilon)
        self.learner_ = as_planned._estimator(n_rows).set_params(epsilon=self.epsilon)
        self.learner_.model_, self.learner_.privacy_ = self.model_, self.privacy_
        self.learner_._note_public_facts(schema, encoding)
        choice = as_planned._choice(n_rows)
        what = [WORDS[choice.learner], *(f"{name}={value!r}" for name, value in choice.settings.items())]
        self.why_ = (
            f"{type(self.learner_).__name__} ({', '.join(what)}), since it was the best for goal={self.goal!r} in "
            f"docs/results/choose.md, {as_planned._known(n_rows, schema, self.privacy_)}."
        )

    def _known(self, n_rows: int | None, schema: Schema, spent: Ledger) -> str:
        """Say which number of records the choice is for, and where that is from."""
        if self.epsilon is None:
            return "without privacy"
        if n_rows is None:
            return "without a number of records"
        known = f"for about {n_rows:,} records at epsilon {self.epsilon:.4g}"
        if self.n_rows_hint is not None or schema.inferred is not None:
            return known
        if any(event.name == COUNT_NAME for event in spent.events):
            return f"{known}, a noisy number that was bought with a small part of the budget"
        return f"{known}, a number that is public under {schema.neighbours!r}"


class PrivetClassifier(_Chosen, PrivateClassifier):
    """The classifier to begin with: it chooses learner and settings from public facts, and says why.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the chosen learner's twin without privacy.
    delta : float, default=0.0
        Zero for pure epsilon. A delta far below one in the number of records (1e-6, say) makes boosting more accurate.
    schema : Schema, optional
        What is public. Without it, domains are read off the data, and nothing is guaranteed.
    goal : {"accuracy", "readable", "labels only"}, default="accuracy"
        What is wanted. *accuracy*: the most accurate probabilities. *readable*: a single tree, to be read and drawn.
        *labels only*: a single tree that publishes a label in each leaf, and no counts or probabilities.
    objective : {"accuracy", "balanced_accuracy", "f1"} or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, its order of magnitude is enough; never compared with the data. None: a
        noisy number is bought with a small part of the budget, or taken for free where it is public
        (`privet.estimators.counting`). "unknown": do without.
    random_state : int, RandomState, Generator or None
        Seeds public choices. Noise never depends on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    learner_ : estimator
        The chosen estimator, fitted: for boosting with `noise_interval`, for example. Where the number of records was
        bought, or is public, that number is its hint.
    why_ : str
        The choice in one sentence.
    classes_ : array
        The schema's classes.
    model_ : Model
        What was learned.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* That of the chosen learner. The choice depends on the goal, epsilon and the hint, or on a noisy number of
    records (sensitivity one, a small part of the budget). The remaining part is fixed in advance, and the ledger holds
    whatever is chosen to it; see `privet.estimators.counting`.

    The rules are a table (`privet.learners.choose.rules`) that ``benchmarks/choose.py`` makes from measurements;
    docs/choosing.md has it.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivetClassifier, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> model = PrivetClassifier(epsilon=1.0, schema=schema, n_rows_hint=4000).fit(X, y)
    >>> type(model.learner_).__name__, model.privacy_.epsilon
    ('BoostingClassifier', 1.0)
    >>> model.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        goal: Goal = "accuracy",
        objective: Objective = "accuracy",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            schema,
            goal=goal,
            n_rows_hint=n_rows_hint,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.objective = objective

    def _plan(self, make: MakeLearner, schema: Schema, n_rows_hint: RowsHint, under: Circumstances) -> Any:
        if self.goal == "labels only" and self.objective in ("balanced_accuracy", "f1"):
            raise ParameterError(
                f"objective={self.objective!r} needs released counts, and goal='labels only' releases none: take "
                "goal='readable', or costs, such as objective={'no': 1, 'yes': 9}"
            )
        return super()._plan(make, schema, n_rows_hint, under)

    def _estimator(self, n_rows: int | None) -> Any:
        return super()._estimator(n_rows).set_params(objective=self.objective)

    def _choice(self, n_rows: int | None) -> Choice:
        goal = check_choice("goal", self.goal, tuple(CLASSIFIERS))
        return CLASSIFIERS[goal][quarter(self._signal(n_rows))]


class PrivetRegressor(_Chosen, PrivateRegressor):
    """The regressor to begin with: it chooses learner and settings from public facts, and says why.

    Parameters
    ----------
    epsilon, delta, schema, n_rows_hint, random_state, n_jobs
        As for `PrivetClassifier`; the schema's target is ``Numeric(low, high)``.
    goal : {"accuracy", "readable"}, default="accuracy"
        What is wanted. *accuracy*: boosted trees. *readable*: a single tree, to be read and drawn. For a sum of one
        curve for each feature take ``BoostingRegressor(max_depth=1)``.

    Attributes
    ----------
    learner_, why_, model_, privacy_
        As for `PrivetClassifier`.

    Notes
    -----
    *Privacy.* As for `PrivetClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivetRegressor, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, target=Numeric(0, 10))
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> model = PrivetRegressor(epsilon=1.0, schema=schema, n_rows_hint=4000).fit(X, 10 * X[:, 0])
    >>> bool(abs(model.predict([[0.5]])[0] - 5) < 2)
    True
    """

    def _choice(self, n_rows: int | None) -> Choice:
        return REGRESSORS[check_choice("goal", self.goal, tuple(REGRESSORS))]

"""`PrivateSearch`: choose among estimators and settings privately, for one charge."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier, PrivateEstimator
from privet.estimators.counting import MakeLearner, buys_count
from privet.estimators.files import save
from privet.estimators.learning import Circumstances, Hints, Learner, Model
from privet.estimators.objectives import DEFAULT_OBJECTIVE, check_objective
from privet.mechanisms.random_stopping import PRICES, StoppingLaw
from privet.parameters import RowsHint, check_choice, check_rows_hint, check_whole, exact
from privet.privacy import budgets
from privet.privacy.terms import Terms
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.protocol import Floats
from privet.tuning.candidates import Candidate, candidates_of, first_of_each_fit
from privet.tuning.fits import Field, Fit, Found
from privet.tuning.held_out import HeldOutSearch
from privet.tuning.scoring import Scoring
from privet.tuning.stopping import StoppingSearch

Method = Literal["held_out", "random_stopping"]

TICKETS_PER_CANDIDATE = 10
POSSIBLE_ROWS = (None, 100, 10_000)  # on which it may depend what an estimator chooses, where a count comes first


def _classifies(search: PrivateSearch) -> bool:
    return isinstance(getattr(search, "best_estimator_", None) or search._candidates()[0].estimator, PrivateClassifier)


class PrivateSearch(PrivateEstimator):
    """Choose among estimators, settings and thresholds by private records, for one stated charge.

    Read docs/tuning.md first: in most of the measurements there a search costs more accuracy than it gains, since the
    library's rules already choose settings from public facts.

    Parameters
    ----------
    estimator : estimator or list of them
        What is compared. Their own epsilon, delta, schema, hint, seed and threads are not used.
    param_grid : mapping or list of mappings, optional
        As for scikit-learn's ``GridSearchCV``: lists of values by name, all combinations of which are tried with each
        estimator. Values of ``objective`` share one fit, so that thresholds are cheap to choose.
    epsilon, delta : float
        The budget of the whole search: all fits, the choice, the last fit. ``epsilon=None`` for a search without
        privacy.
    schema : Schema, optional
        What is public. Without it, domains are read off the data, and nothing is guaranteed.
    method : {"held_out", "random_stopping"}, default="held_out"
        *held_out*: every candidate is trained on some records, and one is chosen by others. *random_stopping*:
        random candidates are tried a random number of times; that costs as much as two or three trials, however many
        candidates there are, but the best candidate may not be among them. For pure epsilon only.
    scoring : {"accuracy", "balanced_accuracy", "absolute_error"} or mapping, optional
        What is compared on held-out records: by default accuracy, or the absolute error of a regressor. A mapping has
        the cost of missing a record of each class.
    held_out : float, default=0.25
        The part of the records that is held out from training in the search.
    refit : float, default=0.75
        The part of the budget with which the winner is trained once more, on all records. 0 to publish the winner as it
        was trained for the choice.
    stopping : {"logarithmic", "geometric"}, default="logarithmic"
        How the number of trials is drawn: all together cost two or three times a trial, see
        `privet.mechanisms.random_stopping.RandomStopping`.
    n_tickets : int or "auto", default="auto"
        One over the probability that a trial is the last, of the geometric law; "auto" is ten times the number of
        candidates. More tickets cost time and no privacy.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, for the candidates' rules. Never compared with the data. None: a noisy
        number is bought with a small part of the budget, or taken for free where it is public, where a candidate needs
        it (`privet.estimators.counting`). "unknown": do without.
    random_state : int, RandomState, Generator or None
        Seeds public choices. Noise and coins never depend on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner, fitted. Its ledger is that of the whole search.
    best_params_ : dict
        Its settings in the grid, and its name where there are several estimators.
    best_index_ : int
        Its place among all candidates.
    model_ : Model
        What it learned.
    privacy_ : Ledger
        What was spent on the whole search, and the guarantee.

    Notes
    -----
    *Privacy.* `privet.tuning.held_out.HeldOutSearch` and `privet.tuning.stopping.StoppingSearch` have the proofs. One
    plan states the whole cost, budgets are charged once, before anything is drawn. Nothing about losing candidates
    comes out, and no score of the winner: it would be too good, having been chosen for it. Measure the winner with
    `privet.evaluate` on records that the search has not seen. The running time of random stopping shows how many
    trials there were.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivaTreeClassifier, Schema
    >>> from privet.tuning import PrivateSearch
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> search = PrivateSearch(PrivaTreeClassifier(), {"max_depth": [1, 6]}, epsilon=2.0, schema=schema)
    >>> search.plan().epsilon
    2.0
    >>> search.fit(X, y).privacy_.epsilon
    2.0
    >>> search.predict([[0.05], [0.95]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Any = None,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        method: Method = "held_out",
        scoring: Scoring = None,
        held_out: float = 0.25,
        refit: float = 0.75,
        stopping: StoppingLaw = "logarithmic",
        n_tickets: int | Literal["auto"] = "auto",
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.method = method
        self.scoring = scoring
        self.held_out = held_out
        self.refit = refit
        self.stopping = stopping
        self.n_tickets = n_tickets
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def classes_(self) -> NDArray[Any]:
        """The schema's classes, of a search among classifiers."""
        check_is_fitted(self, "best_estimator_")
        classes: NDArray[Any] = self.best_estimator_.classes_
        return classes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the winner's predictions. Spends nothing."""
        return np.asarray(self._winner().predict(X))

    @available_if(_classifies)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Floats:
        """Return the winner's shares of the vote. Spends nothing."""
        return np.asarray(self._winner().predict_proba(X))

    @available_if(_classifies)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> Floats:
        """Return the winner's decision function. Spends nothing."""
        return np.asarray(self._winner().decision_function(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the winner's exact accuracy or R2 on *public* records: on private ones it would be a disclosure."""
        return float(self._winner().score(X, y))

    def save(self, path: str | Path) -> None:
        """Write the winner to a JSON file, with the ledger of the whole search; `privet.load` gives the winner."""
        budgets.record_model(self._receipt, save(self._winner(), Path(path)))

    def _winner(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _class_weights(self) -> Floats | None:
        weights: Floats | None = self._winner()._class_weights()
        return weights

    def _candidates(self) -> tuple[Candidate, ...]:
        return candidates_of(self.estimator, self.param_grid)

    def _carried(self) -> tuple[budgets.Handle, ...]:
        """Return those of the candidates, too: an estimator does not leave its budgets behind in a search."""
        of_candidates = (handle for one in self._candidates() for handle in one.estimator._carried_budgets)
        return tuple(dict.fromkeys([*self._carried_budgets, *of_candidates]))

    def _learner(self) -> Learner[Any]:
        if self.schema is None:
            raise ParameterError("a search is planned for a schema: pass schema=Schema(...)")
        return self._search(self.schema, check_rows_hint(self.n_rows_hint))

    def _plan(self, make: MakeLearner, schema: Schema, n_rows_hint: RowsHint, under: Circumstances) -> Any:
        self._check_target(schema)
        for candidate in self._candidates():
            check_objective(getattr(candidate.estimator, "objective", DEFAULT_OBJECTIVE), schema)
        # Where a count comes first, the search itself is planned after it; what is wrong with it is said before.
        hints, terms = Hints(check_rows_hint(n_rows_hint), under.shared_coins), Terms.of(schema)
        search = self._search(schema, hints.n_rows)
        encoding = schema.encoding(search.bins)
        allowance = self._allowance(encoding, terms, hints)
        share = None if allowance is None else allowance.whole
        search.plan(encoding, terms, share, hints)
        bought = n_rows_hint is None and schema.inferred is None and buys_count(search, encoding, share)
        for n_rows in POSSIBLE_ROWS if bought else (hints.n_rows,):
            self._search(schema, n_rows).field.check_objectives(terms, allowance, Hints(n_rows, under.shared_coins))
        return super()._plan(lambda n_rows: self._search(schema, n_rows), schema, n_rows_hint, under)

    def _search(self, schema: Schema, n_rows: int | None) -> HeldOutSearch | StoppingSearch:
        """Return the search as a learner, for about so many records."""
        method = check_choice("method", self.method, ("held_out", "random_stopping"))
        check_choice("stopping", self.stopping, tuple(PRICES))
        held_out, refit = (self._part(name) for name in ("held_out", "refit"))
        if not held_out:
            raise ParameterError("held_out must be above 0: there would be no records to choose by")
        candidates = self._candidates()
        fits = first_of_each_fit(candidates)
        judged, last = self._parts(len(fits))
        searched = [self._set_up(one, schema, n_rows, *judged) for one in fits]
        final = [self._set_up(one, schema, n_rows, *last) for one in fits]
        own = [(one._learner(), last._learner()) for one, last in zip(searched, final, strict=True)]
        field = Field(
            tuple(Fit(one, last, schema.encoding(one.bins)) for one, last in own),
            tuple((one.fit, getattr(one.estimator, "objective", DEFAULT_OBJECTIVE)) for one in candidates),
            bins=max(one.bins for one, _ in own),
        )
        if method == "held_out":
            return HeldOutSearch(field, self.scoring, held_out, refit)
        tickets = TICKETS_PER_CANDIDATE * len(candidates)
        if self.n_tickets != "auto":
            tickets = check_whole("n_tickets", self.n_tickets, 2, 10**6)
        return StoppingSearch(field, self.scoring, held_out, refit, self.stopping, tickets)

    def _parts(self, n_fits: int) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Return the parts of budget and records of each fit that is judged, and of the one that is published."""
        held_out, refit = (self._part(name) for name in ("held_out", "refit"))
        price = n_fits if self.method == "held_out" else PRICES[self.stopping]
        judged = (1 - refit) / price, 1 - held_out
        return judged, (refit, Fraction(1)) if refit else judged

    def _part(self, name: str) -> Fraction:
        part = exact(getattr(self, name), name)
        if not 0 <= part < 1:
            raise ParameterError(f"{name} must be at least 0 and below 1, got {getattr(self, name)}")
        return part

    def _set_up(
        self, candidate: Candidate, schema: Schema, n_rows: int | None, part: Fraction, records: Fraction
    ) -> PrivateEstimator:
        """Return a candidate with the search's own parameters, for this part of the budget and of the records.

        Its epsilon is only for rules that look at it: the plan gives it its share. In zero-concentrated privacy a part
        of rho is about its square root of epsilon.
        """
        shrunk = float(part) if not self.delta else math.sqrt(part)
        copy: PrivateEstimator = clone(candidate.estimator)
        copy.set_params(
            epsilon=None if self.epsilon is None else self.epsilon * shrunk,
            delta=self.delta,
            schema=schema,
            n_rows_hint="unknown" if n_rows is None else max(1, int(n_rows * records)),
            random_state=None,
            n_jobs=self.n_jobs,
        )
        return copy

    def _check_target(self, schema: Schema) -> None:
        self._candidates()[0].estimator._check_target(schema)

    def _infer(self, X: Any, y: Any) -> Schema:
        return self._candidates()[0].estimator._infer(X, y)

    def _note_public_facts(self, schema: Schema, encoding: Encoding) -> None:
        found = cast(Found, self.model_)
        self.model_: Model = found.model
        super()._note_public_facts(schema, self.model_.encoding)
        candidate = self._candidates()[found.winner]
        best = clone(candidate.estimator).set_params(
            epsilon=self.epsilon,
            delta=self.delta,
            schema=schema,
            n_rows_hint=self.n_rows_hint,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        best.model_, best.privacy_, best._receipt = self.model_, self.privacy_, self._receipt
        n_rows = check_rows_hint(self.n_rows_hint) if self._planned_rows is None else self._planned_rows
        published = self._parts(len(first_of_each_fit(self._candidates())))[1]
        used = self._set_up(candidate, schema, n_rows, *published)  # its rules looked at these, not at the whole
        best._planned_rows, best._planned_epsilon = check_rows_hint(used.n_rows_hint), used.epsilon
        best._note_public_facts(schema, self.model_.encoding)
        self.best_estimator_, self.best_params_, self.best_index_ = best, dict(candidate.settings), found.winner

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._candidates()[0].estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.target_tags = inner.regressor_tags, inner.target_tags
        return tags

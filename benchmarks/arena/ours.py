"""privet's learners with their defaults, and the ceilings: learners without privacy."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from arena.data import Problem, Task
from arena.methods import Answer, MethodError
from privet.errors import PrivetError
from privet.estimators.registry import estimator_class, estimator_names


@dataclass(frozen=True)
class Ours:
    """An estimator of privet with its defaults or other settings, a schema, and a rounded number of rows as a hint."""

    estimator: str
    delta: float
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As tables show it."""
        learner = self.estimator.removesuffix("Classifier").removesuffix("Regressor")
        return ", ".join([learner, *(f"{name}={value}" for name, value in self.settings.items())])

    @property
    def rivals(self) -> str:
        """Whom it is ranked against."""
        return "approximate" if self.delta else "pure"

    def can(self, problem: Problem | Task) -> bool:
        """Whether it can learn this problem at all."""
        return (problem.n_classes > 0) == self.estimator.endswith("Classifier")

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train with secret noise."""
        train, test = problem.split(split)
        public = {"delta": self.delta, "schema": problem.schema, "n_rows_hint": problem.rows_hint}
        model = estimator_class(self.estimator)(epsilon, **public, **self.settings, random_state=split)
        start = time.process_time()
        try:
            model.fit(problem.frame.iloc[train], problem.labels[train])
        except PrivetError as error:  # a public limit, such as memory for the leaves
            raise MethodError(str(error)) from error
        seconds = time.process_time() - start
        if problem.n_classes == 0:
            return Answer(model.predict(problem.frame.iloc[test]), seconds)
        return Answer(model.predict_proba(problem.frame.iloc[test]), seconds)


@dataclass(frozen=True)
class Ceiling:
    """A learner without privacy."""

    name: str
    rivals: str = "none"

    def can(self, problem: Problem | Task) -> bool:
        """It learns everything."""
        return True

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train as usual; epsilon means nothing."""
        train, test = problem.split(split)
        X, y = problem.codes, problem.labels
        model = self._model(problem, split)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a class with too few records to be held out
            model.fit(X[train], y[train])
        seconds = time.process_time() - start
        if problem.n_classes == 0:
            return Answer(model.predict(X[test]), seconds)
        shares = np.zeros((len(test), problem.n_classes))
        shares[:, model.classes_] = model.predict_proba(X[test])
        return Answer(shares, seconds)

    def _model(self, problem: Problem, split: int) -> Any:
        boosting, tree = HistGradientBoostingClassifier, DecisionTreeClassifier
        if problem.n_classes == 0:
            boosting, tree = HistGradientBoostingRegressor, DecisionTreeRegressor
        if self.name == "HistGradientBoosting":
            sizes = problem.domains[2]
            return boosting(categorical_features=(sizes > 0) & (sizes <= 255), random_state=split)
        return tree(max_depth=4, random_state=split)


CEILINGS = [Ceiling("HistGradientBoosting"), Ceiling("tree of depth 4")]


def house(delta: float) -> list[Ours]:
    """Every classifier of privet, once for each kind of guarantee."""
    names = estimator_names("Classifier")
    return [Ours(name, each) for each in (delta, 0.0) for name in names]

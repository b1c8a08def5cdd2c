"""Which learners there are, which one is meant, and with which parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from privet.errors import ParameterError, SchemaError
from privet.estimators.registry import estimator_class, estimator_names
from privet.schema.domains import Categorical, Domain, Numeric

DEFAULTS = ("PrivetClassifier", "PrivetRegressor")  # they choose by themselves

# Parameters that have their own options.
_OWN_OPTIONS = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "schema": "--schema",
    "n_rows_hint": "--rows-hint",
    "random_state": "--public-seed",
    "n_jobs": "--jobs",
}


def learner_names(target: Domain | None = None) -> list[str]:
    """Return the names of the learners that can predict a target, or of all learners; the default comes first."""
    return sorted(_learners(target), key=lambda name: (name not in DEFAULTS, name))


def find_learner(name: str | None, target: Domain | None = None) -> Any:
    """Return the estimator class that a name means for a target.

    "privatree" and "PrivaTreeClassifier" mean the same; "boosting" means the classifier or the regressor, depending on
    the target.
    """
    wanted = learner_names(target)[0] if name is None else name
    for full in _learners(target):
        if _letters_and_digits(wanted) in (_letters_and_digits(full), _without_kind(full)):
            return estimator_class(full)
    able = ", ".join(learner_names(target))
    if any(_letters_and_digits(wanted) in (_letters_and_digits(full), _without_kind(full)) for full in _learners(None)):
        what, remedy = (
            ("a range of numbers", "list its classes in the schema")
            if isinstance(target, Numeric)
            else ("a list of classes", "declare it as numeric in the schema")
        )
        raise SchemaError(f"{name} cannot predict the schema's target, {what}; use --learner {able}, or {remedy}")
    raise ParameterError(f"no learner is called {name!r}; there are {able}")


def make_estimator(learner: str | None, settings: Sequence[str], **own: Any) -> Any:
    """Return an estimator with parameters given as NAME=VALUE and with those of the command's own options."""
    schema = own.get("schema")
    estimator = find_learner(learner, None if schema is None else schema.target)()
    known = estimator.get_params(deep=False)
    parameters = dict(_setting(text, type(estimator).__name__, known) for text in settings)
    own = {name: value for name, value in own.items() if name in known}
    return estimator.set_params(**parameters, **own)


def check_setting(name: str, learner: str, known: Collection[str]) -> None:
    """Refuse a parameter that a learner does not have, or that has an option of its own."""
    if name in _OWN_OPTIONS:
        raise ParameterError(f"{name} has an option of its own; use {_OWN_OPTIONS[name]}")
    if name not in known:
        free = [parameter for parameter in known if parameter not in _OWN_OPTIONS]
        raise ParameterError(f"{learner} has no parameter {name!r}; it has {', '.join(free) or 'none to set'}")


def _setting(text: str, learner: str, known: dict[str, Any]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals:
        raise ParameterError(f"--set takes NAME=VALUE, got {text!r}; e.g. --set max_depth=4")
    check_setting(name, learner, known)
    return name, read_value(value)


def read_value(text: str) -> Any:
    """Read a parameter's value: JSON where it can be, and a word otherwise."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def _learners(target: Domain | None) -> list[str]:
    """Return the learners that can predict a target."""
    if target is None:
        return estimator_names()
    return estimator_names("Classifier" if isinstance(target, Categorical) else "Regressor")


def _letters_and_digits(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _without_kind(name: str) -> str:
    return re.sub(r"(classifier|regressor)$", "", _letters_and_digits(name))

"""Which learners there are, which one is meant, and with which parameters."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Sequence
from typing import Any

import privet
from privet.errors import ParameterError

PREFERRED = "PrivaTreeClassifier"  # one readable tree, the most accurate of the learners on most tables

# Parameters that have an option of their own, or that make no sense on a command line.
_OWN_OPTIONS = {
    "epsilon": "--epsilon",
    "delta": "--delta",
    "schema": "--schema",
    "n_rows_hint": "--rows-hint",
    "random_state": "--public-seed",
    "n_jobs": "--jobs",
}


def default_learner() -> str:
    """Return the learner that is used where none is named."""
    return PREFERRED if PREFERRED in privet.ESTIMATORS else next(iter(privet.ESTIMATORS))


def learner_names() -> list[str]:
    """Return the names of all learners, the default one first."""
    return sorted(privet.ESTIMATORS, key=lambda name: (name != default_learner(), name))


def find_learner(name: str | None) -> Any:
    """Return the estimator class that a name means; "privatree" and "PrivaTreeClassifier" are the same."""
    wanted = _short(name or default_learner())
    for full, module in privet.ESTIMATORS.items():
        if _short(full) == wanted:
            return getattr(importlib.import_module(module), full)
    raise ParameterError(f"no learner is called {name!r}; there are {', '.join(learner_names())}")


def make_estimator(learner: str | None, settings: Sequence[str], **own: Any) -> Any:
    """Return an estimator with the parameters given as NAME=VALUE and those of the command's own options."""
    estimator = find_learner(learner)()
    known = estimator.get_params(deep=False)
    parameters = dict(_setting(text, type(estimator).__name__, known) for text in settings)
    own = {name: value for name, value in own.items() if name in known}
    return estimator.set_params(**parameters, **own)


def _setting(text: str, learner: str, known: dict[str, Any]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals:
        raise ParameterError(f"--set takes NAME=VALUE, got {text!r}; e.g. --set max_depth=4")
    if name in _OWN_OPTIONS:
        raise ParameterError(f"{name} has an option of its own; use {_OWN_OPTIONS[name]}")
    if name not in known:
        free = [parameter for parameter in known if parameter not in _OWN_OPTIONS]
        raise ParameterError(f"{learner} has no parameter {name!r}; it has {', '.join(free) or 'none to set'}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value.strip()


def _short(name: str) -> str:
    return re.sub(r"(classifier|regressor)$", "", re.sub(r"[^a-z0-9]", "", name.lower()))

"""Which estimators there are: the library's own, and those of other installed distributions.

A distribution announces an estimator as an entry point of the group ``privet.estimators``. Its name is the name of the
class, and ends in ``Classifier`` or ``Regressor``. Then `privet.load`, the command line and the laws of the test suite
know it.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Literal

import privet
from privet.errors import ParameterError

ENTRY_POINT_GROUP = "privet.estimators"

EstimatorKind = Literal["Classifier", "Regressor"]

OWN = {name: home for name, home in privet.HOMES.items() if name.endswith(("Classifier", "Regressor"))}

# Model files may contain them, but they are not listed where a private learner is looked for.
WITHOUT_PRIVACY = frozenset({"ConsistentForestClassifier"})


def estimator_names(kind: EstimatorKind | None = None) -> list[str]:
    """Return the names of all private estimators, or of those of one kind, in alphabetical order."""
    return sorted(name for name in _homes() if name not in WITHOUT_PRIVACY and (kind is None or name.endswith(kind)))


def is_estimator(name: str) -> bool:
    """Return whether there is an estimator of that name, private or not."""
    return name in _homes()


def estimator_class(name: str) -> Any:
    """Return the estimator of that name. Only registered code is imported, whatever the name is."""
    homes = _homes()
    if name not in homes:
        raise ParameterError(f"unknown estimator {name[:60]!r}; it may be of a distribution that is not installed here")
    module = homes[name]
    return getattr(importlib.import_module(module), name)


@cache
def _homes() -> dict[str, str]:
    """Return the module of each estimator. Other distributions cannot take the names of the library's own."""
    entries = entry_points(group=ENTRY_POINT_GROUP)
    others = {entry.name: entry.module for entry in entries if entry.attr == entry.name}
    return others | OWN

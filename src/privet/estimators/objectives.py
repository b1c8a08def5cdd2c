"""What a prediction should be good at: accuracy, balanced accuracy, F1, or costs. Met after the fit, free of charge.

A class is predicted by its share of the vote times a weight. All weights are made of public numbers and of values that
a model released anyway, so that an objective spends nothing, and can be changed after a fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from privet.errors import ParameterError
from privet.schema.domains import plain_value
from privet.schema.schema import Schema
from privet.tables.protocol import Floats

Named = Literal["accuracy", "balanced_accuracy", "f1"]
Objective = Named | Mapping[Any, float]

DEFAULT_OBJECTIVE: Named = "accuracy"  # left out of model files, as those of older versions have none
NAMES = ("accuracy", "balanced_accuracy", "f1")
_OTHERWISE = (
    "give costs, such as objective={'no': 1, 'yes': 9}, or let privet.tuning choose among some, which is charged"
)


def check_objective(objective: Any, schema: Schema) -> None:
    """Raise `ParameterError` unless an objective fits the schema's classes. No record is looked at."""
    _check_for(tuple(getattr(schema.target, "categories", ())), objective)


def _check_for(classes: Sequence[Any], objective: Any) -> None:
    if isinstance(objective, Mapping):
        costs = list(objective.values())
        if set(objective) != set(classes) or not all(_is_cost(cost) for cost in costs):
            raise ParameterError(
                "objective: costs must have a positive number for each class of the schema, "
                f"{', '.join(map(repr, classes))[:200]}: what it costs to miss one of its records"
            )
        return
    if not isinstance(objective, str) or objective not in NAMES:
        raise ParameterError(f"objective must be one of {', '.join(NAMES)}, or costs by class, got {objective!r:.60}")
    if objective == "f1" and len(classes) != 2:
        raise ParameterError(f"objective='f1' is for two classes, the schema has {len(classes)}: {_OTHERWISE}")


def class_weights(objective: Objective, model: Any, classes: Sequence[Any]) -> Floats | None:
    """Return by what each class's share is multiplied before the largest wins; None for accuracy.

    Parameters
    ----------
    objective : str or mapping
        *accuracy*: shares as they are. *balanced_accuracy*: one over each class's frequency, as released. *f1*, for two
        classes, of which the second counts: see below. A mapping: what it costs to miss a record of each class.
    model : Model
        What was learned.
    classes : sequence
        The classes in their order.

    Notes
    -----
    If shares are the probabilities that they are meant to be, the expected cost is least where cost times probability
    is largest; and balanced accuracy counts a record of a class by one over the class's frequency. F1 is largest at the
    threshold of half the largest F1. That is found from how the model's own probabilities are spread, as far as
    released values tell: over leaves, weighted by their noisy counts; for an additive model over made-up records, moved
    so that their mean is the released frequency.

    *Privacy.* Post-processing of released values and of what the user says.

    Raises
    ------
    ParameterError
        If there is no such objective, or the model has not released what it needs.
    """
    _check_for(classes, objective)  # it may have been changed after the fit
    if isinstance(objective, Mapping):
        return np.array([float(objective[label]) for label in classes])
    if objective == "accuracy":
        return None
    if objective == "balanced_accuracy":
        frequencies = _released(getattr(model, "class_frequencies", None), objective)
        chosen = getattr(model, "weights", None)  # by which a forest's votes are multiplied already
        return np.asarray(frequencies.max() / frequencies / (1.0 if chosen is None else chosen))
    threshold = best_f1_threshold(*_released(getattr(model, "class_spread", None), objective))
    return np.array([threshold, 1 - threshold])


def best_f1_threshold(weights: Floats, shares: Floats) -> float:
    """Return the threshold of the largest F1 for groups of records with these weights and probabilities.

    Examples
    --------
    >>> round(best_f1_threshold(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.4, 0.9])), 3)
    0.353
    """
    order = np.argsort(-shares, kind="stable")
    named = weights[order] * shares[order]
    reached = 2 * np.cumsum(named) / (np.cumsum(weights[order]) + named.sum())
    return float(np.clip(reached.max() / 2, 0.001, 0.5))


def _released(method: Callable[[], Any] | None, objective: str) -> Any:
    """Return what a model's method says, if the model has it, and an answer."""
    found = None if method is None else method()
    if found is None:
        raise ParameterError(
            f"objective={objective!r} needs more than this model has released: PrivaTree with leaves='counts' and "
            f"boosting serve all objectives. Or {_OTHERWISE}"
        )
    return found


def _is_cost(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
    return number and math.isfinite(value) and value > 0


def objective_to_plain(objective: Any) -> Any:
    """Return an objective for a model file: a name, or pairs of class and cost."""
    if not isinstance(objective, Mapping):
        return objective
    return [[plain_value(label), float(cost)] for label, cost in objective.items()]


def objective_from_plain(plain: Any) -> Any:
    """Read it back; whether it fits is for `check_objective` to say."""
    if not isinstance(plain, list):
        return plain
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in plain):
        raise ParameterError("objective: expected pairs of class and cost")
    return dict(plain)

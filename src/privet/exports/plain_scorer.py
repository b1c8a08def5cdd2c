"""Scores records by a model that `privet` wrote. It needs Python and nothing else.

Call ``predict(record)`` or, for a classifier, ``predict_proba(record)`` with a mapping from names to values. A value
that is None, NaN or not there is missing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Any

MODEL: dict[str, Any] = {}


def predict(record: Any) -> Any:
    """Return the class with the largest probability, the first of equals; or a number for a regression."""
    if "range" in MODEL:
        low, high = MODEL["range"]
        return low + min(max(scores(record)[0], 0.0), 1.0) * (high - low)
    shares = predict_proba(record)
    return MODEL["classes"][shares.index(max(shares))]


def predict_proba(record: Any) -> list[float]:
    """Return the probability of each class, in the order of ``MODEL["classes"]``."""
    total, link = scores(record), MODEL["link"]
    if link == "logistic":
        second = 1 / (1 + math.exp(-total[0]))
        return [1 - second, second]
    if link == "softmax":
        total = [math.exp(score - max(total)) for score in total]
    elif link == "lifted":
        total = [score - min(0.0, min(total)) for score in total]
    whole = sum(total)
    return [score / whole if whole else 1 / len(total) for score in total]


def scores(record: Any) -> list[float]:
    """Return the sums that the answers are made of."""
    codes = [code(feature, record.get(feature["name"])) for feature in MODEL["features"]]
    total = list(MODEL["start"])
    for table in MODEL["tables"]:
        cell = 0
        for feature in table["features"]:
            cell = cell * MODEL["features"][feature]["codes"] + codes[feature]
        add(total, table["values"][cell])
    if MODEL["bounds"]:
        total = [min(max(score, MODEL["bounds"][0]), MODEL["bounds"][1]) for score in total]
    trees = MODEL["trees"]
    said = [0.0] * len(total)
    for node in trees["roots"]:
        while trees["feature"][node] >= 0:
            here = codes[trees["feature"][node]]
            node = trees["child"][node] + step(trees["test"][node], here)
        add(said, trees["values"][trees["child"][node]])
    add(total, said)
    return total


def add(total: list[float], values: list[float]) -> None:
    """Add values to a list of sums."""
    for place, value in enumerate(values):
        total[place] += value


def step(test: Any, here: int) -> int:
    """Return which child a code leads to: by a cut, by a text with a digit for each code, or by the code itself."""
    if test is None:
        return here
    return int(test[here]) if isinstance(test, str) else int(here > test)


def code(feature: Any, value: Any) -> Any:
    """Return the code of a value."""
    if value is None or value != value:
        return feature["missing"]
    if "cuts" in feature:
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            return feature["missing"]
        return feature["missing"] if value != value else bisect_left(feature["cuts"], value)
    if "words" in feature and isinstance(value, str):
        return feature["words"].get(value.strip().lower(), feature["unknown"])
    try:
        return PLACES[feature["name"]].get(value, feature["unknown"])
    except TypeError:  # a value that nothing can be looked up by
        return feature["unknown"]


PLACES = {
    feature["name"]: {value: place for place, value in enumerate(feature.get("categories", ()))}
    for feature in MODEL.get("features", ())
}

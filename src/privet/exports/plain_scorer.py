"""Scores records by a model that `privet` wrote. It needs Python and nothing else.

Call ``predict(record)`` or, for a classifier, ``predict_proba(record)`` with a mapping from names to values. A value
that is None, NaN or not there is missing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from datetime import date, datetime
from hashlib import blake2b
from typing import Any

MODEL: dict[str, Any] = {}


def predict(record: Any) -> Any:
    """Return the class with the largest probability, the first of equals; or the value of a regression target."""
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
    codes = [code(feature, record.get(feature.get("column", feature["name"]))) for feature in MODEL["features"]]
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
    if "as" in feature:
        value = made(feature, value)
        if value is None or feature["as"] != "days":
            return feature["missing"] if value is None else value
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


def made(feature: Any, value: Any) -> Any:
    """Return what a feature makes of a value: a bucket, a number of days, a month or a weekday; None if it cannot."""
    try:
        if feature["as"] == "bucket":
            digest = blake2b(text_of(value).encode("utf-8", "surrogatepass"), digest_size=8).digest()
            return int.from_bytes(digest, "big") % feature["buckets"]
        day = day_of(value, feature.get("form"))
        if feature["as"] == "days":
            return day
        whole = date.fromordinal(day + date(1970, 1, 1).toordinal())
        return whole.weekday() if feature["as"] == "weekday" else whole.month - 1
    except (TypeError, ValueError, OverflowError):
        return None


def day_of(value: Any, form: Any) -> int:
    """Return the number of days from 1970-01-01 to a date, which may be a text or that number."""
    if isinstance(value, str):
        text = value.strip()
        if form is None and text[10:11] not in ("", "T", " "):
            raise ValueError(text)
        value = date.fromisoformat(text[:10]) if form is None else datetime.strptime(text, form)
    return value.toordinal() - date(1970, 1, 1).toordinal() if isinstance(value, date) else math.floor(value)


def text_of(value: Any) -> str:
    """Return the text that a value is hashed by: the same for 5, 5.0 and "5"."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))


PLACES = {
    feature["name"]: {value: place for place, value in enumerate(feature.get("categories", ()))}
    for feature in MODEL.get("features", ())
}

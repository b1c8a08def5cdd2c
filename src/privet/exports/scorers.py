"""A model as one file of Python or JavaScript that needs nothing else, not even privet.

Both are the text of a small program, `plain_scorer.py` and `plain_scorer.js` beside this file, with the model written
into it as data. No code is made from names or values of a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np

from privet.errors import ParameterError
from privet.exports.date_forms import as_expression
from privet.exports.scoring import CodedFeature, Scoring, scoring_of
from privet.privacy.certificate import certificate
from privet.schema.encoding import RangeTarget
from privet.schema.readings import Buckets, Days, Part

MOST_VALUES = 1 << 22  # of leaves, tables and nodes, some 50 MB of text


def to_python(estimator: Any) -> str:
    """Return a fitted model as a Python program without dependencies.

    It has ``predict(record)`` and, for a classifier, ``predict_proba(record)``; a record is a mapping from names to
    values, where None, NaN or no entry is a missing value. Dates may be dates, texts or numbers of days since
    1970-01-01. Any Python from 3.8 on runs it.

    Parameters
    ----------
    estimator : estimator
        Any fitted one of this library, except one that was fitted for a single batch.

    Raises
    ------
    ParameterError
        If the model is too large to be written as text.

    Examples
    --------
    >>> from privet import PrivaTreeClassifier
    >>> from privet.datasets import load_adult
    >>> adult = load_adult()
    >>> tree = PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, max_depth=2).fit(*adult.train)
    >>> scorer = {}
    >>> exec(to_python(tree), scorer)
    >>> person = adult.test[0].iloc[0].to_dict()
    >>> scorer["predict"](person) == tree.predict(adult.test[0][:1])[0]
    True
    """
    model = _data(scoring_of(estimator), _guarantee(estimator), lambda _, form: form)
    lines = [f"    {key!r}: {value!r}," for key, value in model.items()]
    return _filled("plain_scorer.py", "MODEL: dict[str, Any] = {}", ["MODEL = {", *lines, "}"])


def to_javascript(estimator: Any) -> str:
    """Return a fitted model as a JavaScript program without dependencies, for browsers and Node.

    It has ``predict(record)`` and, for a classifier, ``predictProba(record)``; a record is an object from names to
    values, where null, undefined or NaN is a missing value. Dates may be texts, numbers of days since 1970-01-01, or
    Date objects, of which the day in UTC is taken. In a browser both are in ``privetModel``, in Node they are exported.

    Parameters
    ----------
    estimator : estimator
        Any fitted one of this library, except one that was fitted for a single batch.

    Raises
    ------
    ParameterError
        If the model is too large to be written as text.

    Examples
    --------
    >>> from privet import PrivaTreeClassifier
    >>> from privet.datasets import load_adult
    >>> adult = load_adult()
    >>> tree = PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, max_depth=2).fit(*adult.train)
    >>> "predictProba" in to_javascript(tree)
    True
    """
    model = _data(scoring_of(estimator), _guarantee(estimator), as_expression)
    lines = [f"    {json.dumps(key)}: {_script(value)}," for key, value in model.items()]
    return _filled("plain_scorer.js", "  const MODEL = {};", ["  const MODEL = {", *lines, "  };"])


def _script(value: object) -> str:
    # Within a page "</script>" would end the program and "<!--" would hide it, even within a text.
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/").replace("<!--", "<\\u0021--")


def _filled(program: str, place: str, model: list[str]) -> str:
    """Return a program's text with the model at its place."""
    lines = files("privet.exports").joinpath(program).read_text("utf-8").splitlines()
    at = lines.index(place)
    return "\n".join([*lines[:at], *model, *lines[at + 1 :]]) + "\n"


def _guarantee(estimator: Any) -> str:
    return str(certificate(estimator.privacy_, estimator.schema_, "")["guarantee"])


def _data(scoring: Scoring, guarantee: str, form_of_dates: Callable[[str, str], str]) -> dict[str, Any]:
    """Return what a scorer needs, as plain values; how texts write dates is said in the scorer's own way."""
    n_nodes = 0 if scoring.trees is None else scoring.trees.leaf.size
    size = 3 * n_nodes + scoring.values.size + sum(table.values.size for table in scoring.tables)
    if size > MOST_VALUES:
        raise ParameterError(
            f"as text the model would have {size:,} numbers, more than {MOST_VALUES:,}; "
            "use fewer or shallower trees, or export to ONNX"
        )
    target = scoring.target
    goal = {"range": [target.low, target.high]} if isinstance(target, RangeTarget) else {"classes": [*scoring.classes]}
    return {
        "guarantee": guarantee,
        **goal,
        "link": scoring.link,
        "features": [_feature(feature, form_of_dates) for feature in scoring.features],
        "start": scoring.start.tolist(),
        "bounds": None if scoring.bounds is None else list(scoring.bounds),
        "tables": [{"features": [*table.features], "values": table.values.tolist()} for table in scoring.tables],
        "trees": _trees(scoring),
    }


def _feature(feature: CodedFeature, form_of_dates: Callable[[str, str], str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    match feature.reading:
        case Buckets(buckets):
            return {"name": feature.name, "as": "bucket", "buckets": buckets, **_others(feature)}
        case Days(form):
            made = {"as": "days"}
        case Part(of, part, form):
            made = {"column": of, "as": part}
        case None:
            form = None
    if form is not None:
        made["form"] = form_of_dates(feature.name, form)
    values = {"cuts": list(feature.cuts)} if feature.cuts is not None else {"categories": list(feature.categories)}
    words = {"words": dict(feature.words)} if feature.words else {}
    return {"name": feature.name, **made, **values, **_others(feature), **words}


def _others(feature: CodedFeature) -> dict[str, int]:
    return {"codes": feature.n_codes, "missing": feature.missing, "unknown": feature.unknown}


def _trees(scoring: Scoring) -> dict[str, Any]:
    """Return the trees as flat lists: a node's test leads to a child; a leaf's child is its row of values."""
    trees = scoring.trees
    if trees is None:
        return {"roots": [], "feature": [], "test": [], "child": [], "values": []}
    return {
        "roots": trees.tree_offsets[:-1].tolist(),
        "feature": trees.splits.feature.tolist(),
        "test": [_test(scoring, node) for node in range(trees.leaf.size)],
        "child": np.where(trees.leaf >= 0, trees.leaf, trees.first_child).tolist(),
        "values": scoring.values.tolist(),
    }


def _test(scoring: Scoring, node: int) -> int | str | None:
    trees = scoring.trees
    assert trees is not None
    if trees.leaf[node] >= 0 or trees.n_children[node] > 2:
        return None
    if trees.splits.set_index[node] < 0 and not trees.splits.missing_first[node]:
        return int(trees.splits.cut[node])
    return "".join(map(str, (scoring.children(node) - trees.first_child[node]).tolist()))

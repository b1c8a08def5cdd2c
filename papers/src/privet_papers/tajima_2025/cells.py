"""Cells of Tajima, Wu and Houmansadr (2025): one fit with its CPU seconds by phase, and the noise of votes alone."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from privet.estimators.learning import Hints
from privet.learners.matrix_forest.learner import MatrixForest
from privet.learners.matrix_forest.marginals import best_marginals
from privet.learners.matrix_forest.vote_tables import CellTable, LeafVotes
from privet.mechanisms.release import open_release, secret_key
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables.reading import encode_table
from privet.trees.id3_trees import draw_id3_trees
from privet.trees.structure import FeatureCodes
from privet_papers.framework.data import ADULT_ROWS, TARGET, DataSet, binary_adult, public_schema
from privet_papers.framework.entry import Result, Settings

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder

BINS = 4
TRAIN = 0.8
A1A_ROWS = 30_956
# As UCI's descriptions list them. It matters where equal counts are a vote for the first class.
CLASS_ORDER = {"car": ("unacc", "acc", "good", "vgood"), "balance_scale": ("L", "B", "R")}


def accuracy(settings: Settings, data: DataFolder) -> Result:
    """Fit on 80% of the records, or on all, and score the rest, or a batch of them; seconds are those of the phases."""
    benchmark = load(settings["data"], data)
    train, test = _split(len(benchmark.X), settings)
    X, y = benchmark.X, benchmark.y
    learner = _learner(settings, None if settings.get("batch") is None else X.iloc[test])
    encoding, terms = benchmark.schema.encoding(BINS), Terms.of(benchmark.schema)
    epsilon = settings["epsilon"]
    allowance = None if epsilon is None else Allowance.of(epsilon, settings.get("delta", 0.0))
    share = None if allowance is None else allowance.whole
    best_marginals.cache_clear()  # a search that is remembered would look free
    started = time.process_time()
    plan = learner.plan(encoding, terms, share, Hints(len(train)))
    planned = time.process_time()
    table = encode_table(benchmark.schema, encoding, X.iloc[train], y.iloc[train], secret_key, 1)
    counted = time.process_time()
    release = open_release(Ledger(terms, allowance, fixed=plan.whole))
    model = learner.grow(table, release, public_rng(learner.seed), plan)
    grown = time.process_time()
    shares = model.votes(encoding.encode(X.iloc[test]))
    predicted = time.process_time()
    truth = encoding.encode_target(y.iloc[test].to_numpy())
    shape, design = plan.shape, plan.design
    building = _building_time(encoding, learner, shape)
    result: Result = {
        "accuracy": float((shares.argmax(axis=1) == truth).mean()),
        "build": building,
        "optimise": max(planned - started - building, 0.0),
        "train": grown - counted,
        "predict": predicted - grown,
        "strategy": design.chosen.name,
        "q": shape.n_ensembles,
        "d": shape.subset_features,
        "h": shape.depth,
    }
    if encoding.n_classes == 2:
        result["auc"] = float(roc_auc_score(truth, shares[:, 1]))
        result["balanced"] = float(balanced_accuracy_score(truth, shares.argmax(axis=1)))
    return result


def noise(settings: Settings, data: DataFolder) -> Result:
    """Return the noise of a vote that the plan expects, and that of an empty table's votes."""
    benchmark = load(settings["data"], data)
    encoding, terms = benchmark.schema.encoding(BINS), Terms.of(benchmark.schema)
    allowance = Allowance.of(settings["epsilon"])
    learner = _learner(settings, benchmark.X.iloc[: settings["batch"]] if settings.get("batch") else None)
    plan = learner.plan(encoding, terms, allowance.whole, Hints())
    table = encode_table(benchmark.schema, encoding, benchmark.X.iloc[:0], benchmark.y.iloc[:0], secret_key, 1)
    points = encoding.encode(benchmark.X.iloc[: settings.get("batch") or len(benchmark.X)])
    squares = []
    for _ in range(settings["repetitions"]):
        model = learner.grow(table, open_release(Ledger(terms, allowance, fixed=plan.whole)), public_rng(0), plan)
        if isinstance(model, CellTable):
            votes = sum(part.votes[_ids(encoding, part.features, points)] for part in model.tables)
        elif isinstance(model, LeafVotes):
            votes = model.values[model.structure.route(points)].sum(axis=0) / (learner.n_trees or 1)
        else:
            votes = model.answers
        squares.append(float((np.asarray(votes) ** 2).mean()))
    design = plan.design
    return {"expected": design.chosen.noise, "simulated": float(np.mean(squares)) ** 0.5}


def load(name: str, data: DataFolder) -> DataSet:
    """Read a benchmark with the domains that the paper takes as public; numbers fall into four cells of equal width."""
    if name == "adult":
        return adult_in_binary_columns(data)
    codes = tuple(str(column) for column in data.load(name).X.columns) if name == "balance_scale" else ()
    benchmark = data.load(name, drop_missing=name == "heart_cleveland", categorical=codes)
    if name not in CLASS_ORDER:
        return benchmark
    ordered = Schema(dict(benchmark.schema.features), classes=CLASS_ORDER[name])
    return replace(benchmark, schema=ordered)


def adult_in_binary_columns(data: DataFolder) -> DataSet:
    """Return the paper's Adult: LIBSVM's a1a, whose test part has the paper's 30,956 records, in 123 binary columns.

    The paper counts 124 columns. LIBSVM's file does not say which records they are; the last ones are taken.
    """
    import pandas as pd

    loaded = data.load("adult")
    table = pd.concat([loaded.X, loaded.y.rename(TARGET)], axis=1).iloc[ADULT_ROWS - A1A_ROWS : ADULT_ROWS]
    table = binary_adult(table.reset_index(drop=True))
    X, y = table.drop(columns=TARGET), table[TARGET]
    return DataSet("adult", X, y, public_schema(table, categorical=tuple(X.columns)))


def _learner(settings: Settings, batch: Any) -> MatrixForest:
    subsets: Any = settings.get("subsets", "random")
    return MatrixForest(
        settings["mode"],
        settings["strategy"],
        settings["n_trees"],
        settings["depth"],
        settings["voting"],
        settings.get("n_ensembles", 1),
        settings.get("subset_features"),
        cast(Any, subsets if isinstance(subsets, str) else tuple(tuple(subset) for subset in subsets)),
        settings.get("tune"),
        BINS,
        settings.get("seed", 0),
        batch,
        settings.get("empty", "no vote"),
    )


def _split(n: int, settings: Settings) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    order = public_rng(settings["seed"]).permutation(n)
    train, test = (order, order) if settings.get("train_on_all") else (order[: int(TRAIN * n)], order[int(TRAIN * n) :])
    return train, test[: settings.get("batch")]


def _ids(encoding: Encoding, features: tuple[int, ...], points: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    sizes = tuple(int(encoding.n_codes[feature]) for feature in features)
    return np.asarray(np.ravel_multi_index(tuple(points[list(features)].astype(np.int64)), sizes))


def _building_time(encoding: Encoding, learner: MatrixForest, shape: Any) -> float:
    if learner.n_trees is None:
        return 0.0
    started = time.process_time()
    draw_id3_trees(FeatureCodes.of(encoding), public_rng(learner.seed), learner.n_trees, shape.depth)
    return time.process_time() - started

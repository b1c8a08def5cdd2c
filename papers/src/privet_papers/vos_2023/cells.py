"""What the entries of Vos et al. (2023) compute: cross-validated accuracy, times of a fit, shares of the budget."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning, UnsoundWarning
from privet.estimators.learning import Hints
from privet.learners.privatree.tree import PrivaTree, PrivaTreeClassifier
from privet.mechanisms.release import Release, drawn, secret_key
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet.tables.reading import encode_table
from privet_papers import (
    BDPTClassifier,
    DPGDFClassifier,
    PrivaTree2023Classifier,
    PrivaTreeNoisyNClassifier,
    PrivaTreeStarClassifier,
)
from privet_papers.framework.data import TARGET, DataSet, public_schema
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB as PEER
from privet_papers.framework.peers.interpreter import TREE_SCRIPT, run_script
from privet_papers.vos_2023.dpgdf import DPGDFTreeClassifier

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

N_FOLDS = 5
DEPTH = 4
HIGGS = "higgs (synthetic)"
HIGGS_COLUMNS = 24

OURS = ("ours", "ours, counts")
STOP = "ours, may stop"
PARAMETERS: dict[str, dict[str, Any]] = {
    "ours": {"leaves": "labels"},
    "ours, counts": {"leaves": "counts"},
    STOP: {"leaves": "labels", "stop": True},
    "DPGDF, sound": {"numeric": False},
}
OTHERS: dict[str, Any] = {
    "PrivaTree 2023": PrivaTree2023Classifier,
    "PrivaTree*": PrivaTreeStarClassifier,
    "PrivaTree repaired": PrivaTreeNoisyNClassifier,
    "BDPT": BDPTClassifier,
    "DPGDF": DPGDFClassifier,
    "DPGDF, sound": DPGDFTreeClassifier,
}
TREE = "tree"
DIFFPRIVLIB = "DiffPrivLib"


def load(name: str, data: DataFolder, n_rows: int | None = None) -> DataSet:
    """Read a data set without records that miss a value, as the paper does; or make one in the shape of Higgs."""
    if name != HIGGS:
        return data.load(name, drop_missing=True)
    import pandas as pd

    rng = public_rng(0)
    X = rng.standard_normal((n_rows or 1, HIGGS_COLUMNS))
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + rng.standard_normal(len(X))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(HIGGS_COLUMNS)]).assign(**{TARGET: (score > 0).astype(int)})
    return DataSet(name, frame.drop(columns=TARGET), frame[TARGET], public_schema(frame))


def cross_validated(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy of one method in each of five stratified folds."""
    from sklearn.model_selection import StratifiedKFold

    loaded = load(settings["data"], data)
    y = np.asarray(loaded.y)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(loaded.X, y)
    if settings["method"] == DIFFPRIVLIB:
        return {"accuracy": [_peer(settings, loaded, train, test)["accuracy"] for train, test in folds]}
    scores = []
    for train, test in folds:
        predict = _fit(settings, loaded, y, train)
        scores.append(float((predict(loaded.X.iloc[test]) == y[test]).mean()))
    return {"accuracy": scores}


def times(settings: Settings, data: DataFolder) -> Result:
    """Return the time of one fit on all records, in seconds; the least of three."""
    loaded = load(settings["data"], data, settings.get("n_rows"))
    y, everything = np.asarray(loaded.y), np.arange(len(loaded.y))
    if settings["method"] == DIFFPRIVLIB:
        return {"seconds": min(_peer(settings, loaded, everything, everything[:1])["seconds"] for _ in range(3))}
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        _fit(settings, loaded, y, everything)
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds)}


def _fit(settings: Settings, loaded: DataSet, y: NDArray[Any], train: NDArray[np.int64]) -> Any:
    """Fit one method and return how it predicts."""
    method, X = settings["method"], loaded.X.iloc[train]
    if method == TREE:
        from sklearn.tree import DecisionTreeClassifier

        encoding = loaded.schema.encoding(255)
        tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=settings["seed"])
        # as the paper does: categories become whole numbers
        tree.fit(_numbers(loaded, X, encoding), y[train])
        return lambda frame: tree.predict(_numbers(loaded, frame, encoding))
    common = {"schema": loaded.schema, "max_depth": DEPTH, "random_state": settings["seed"], "n_jobs": 1}
    model = OTHERS.get(method, PrivaTreeClassifier)(
        settings["epsilon"], n_rows_hint=len(train), **common, **PARAMETERS.get(method, {})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        warnings.simplefilter("ignore", NonPrivateWarning)
        return model.fit(X, y[train]).predict


def _peer(settings: Settings, loaded: DataSet, train: NDArray[np.int64], test: NDArray[np.int64]) -> dict[str, float]:
    """Fit diffprivlib's tree in its own environment, with public bounds and classes; categories as whole numbers."""
    encoding = loaded.schema.encoding(255)
    X, y = _numbers(loaded, loaded.X, encoding), encoding.encode_target(loaded.y)
    bounds = [
        (domain.low, domain.high) if isinstance(domain, Numeric) else (0.0, max(1.0, column.n_codes - 1.0))
        for domain, column in zip(loaded.schema.features.values(), encoding.columns, strict=True)
    ]
    low, high = np.array(bounds, dtype=np.float64).T
    arrays = {"X": X[train], "y": y[train], "X_test": X[test], "y_test": y[test], "low": low, "high": high}
    arrays["n_classes"] = np.array(encoding.n_classes)
    found: dict[str, float] = run_script(PEER.interpreter(), TREE_SCRIPT, arrays, settings["epsilon"], DEPTH)
    return found


def _numbers(loaded: DataSet, frame: Any, encoding: Any) -> NDArray[np.float64]:
    """Return numeric columns as they are and categories as their codes."""
    codes = encoding.encode(frame)
    columns = [
        frame[column.name].to_numpy(np.float64) if column.ordered else codes[i].astype(np.float64)
        for i, column in enumerate(encoding.columns)
    ]
    return np.stack(columns, axis=1)


def budget_shares(settings: Settings, data: DataFolder) -> Result:
    """Return the mean training accuracy at depth 3 with a given part of epsilon for the leaves."""
    loaded = load(settings["data"], data)
    learner = PrivaTree(max_depth=3, leaves="labels", leaf_part=Fraction(settings["leaf_part"]))
    encoding, terms = loaded.schema.encoding(learner.bins), Terms.of(loaded.schema)
    allowance = Allowance.of(settings["epsilon"])
    plan = learner.plan(encoding, terms, allowance.whole, Hints())
    table = encode_table(loaded.schema, encoding, loaded.X, loaded.y, secret_key, 1)
    codes, target = encoding.encode(loaded.X), encoding.encode_target(loaded.y)
    scores = []
    for repetition in range(settings["repetitions"]):
        model = learner.grow(table, Release(Ledger(terms, allowance), drawn()), public_rng(repetition), plan)
        scores.append(float((model.predict(codes) == target).mean()))
    return {"accuracy": float(np.mean(scores))}


def probabilities(settings: Settings, data: DataFolder) -> Result:
    """Return accuracy, AUC and Brier score of our tree with one kind of leaves, means over five folds."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    loaded = load(settings["data"], data)
    y = np.asarray(loaded.y)
    found = []
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(loaded.X, y):
        model = _ours(settings, loaded.schema, len(train), leaves=settings["leaves"])
        shares = model.fit(loaded.X.iloc[train], y[train]).predict_proba(loaded.X.iloc[test])
        truth = y[test] == model.classes_[1]
        right = (shares.argmax(axis=1) == 1) == truth
        found.append((right.mean(), roc_auc_score(truth, shares[:, 1]), ((shares[:, 1] - truth) ** 2).mean()))
    return dict(zip(("accuracy", "auc", "brier"), np.mean(found, axis=0).tolist(), strict=True))


def grids(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy of our tree on one kind of grid; data called "tail s" are six log-normal features."""
    from sklearn.model_selection import StratifiedKFold

    name = settings["data"]
    loaded = _long_tail(float(name.split()[1])) if name.startswith("tail") else load(name, data)
    y = np.asarray(loaded.y)
    features = {
        feature: replace(domain, grid=settings["spacing"]) if isinstance(domain, Numeric) else domain
        for feature, domain in loaded.schema.features.items()
    }
    schema = Schema(features, loaded.schema.target)
    scores = []
    for train, test in StratifiedKFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(loaded.X, y):
        model = _ours(settings, schema, len(train), grid=settings["grid"])
        scores.append(model.fit(loaded.X.iloc[train], y[train]).score(loaded.X.iloc[test], y[test]))
    return {"accuracy": float(np.mean(scores))}


def _ours(settings: Settings, schema: Schema, n_rows: int, **parameters: Any) -> PrivaTreeClassifier:
    return PrivaTreeClassifier(
        settings["epsilon"], schema=schema, n_rows_hint=n_rows, random_state=settings["seed"], n_jobs=1, **parameters
    )


def _long_tail(s: float) -> DataSet:
    """Make 20,000 records of six features exp(s N); two of them decide the class, a tenth of labels is flipped."""
    import pandas as pd

    rng = public_rng(0)
    normal = rng.standard_normal((20_000, 6))
    y = (normal[:, 0] > 0) ^ (normal[:, 1] > 0.5) ^ (rng.random(20_000) < 0.1)
    frame = pd.DataFrame(np.exp(s * normal), columns=[f"x{i}" for i in range(6)]).assign(**{TARGET: y.astype(int)})
    return DataSet(f"tail {s:g}", frame.drop(columns=TARGET), frame[TARGET], public_schema(frame))

"""What the entries of Vos et al. (2023) compute: cross-validated accuracy, times of a fit, shares of the budget."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning, UnsoundWarning
from privet.estimators.learning import Hints
from privet.learners.privatree.tree import PrivaTree, PrivaTreeClassifier
from privet.mechanisms.release import Release, drawn, secret_key
from privet.models.forest import Forest
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.schema.domains import Numeric
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
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
from privet_papers.vos_2023.data import load
from privet_papers.vos_2023.dpgdf import DPGDFTreeClassifier
from privet_papers.vos_2023.printed import PrintedPrivaTree

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

N_FOLDS = 5
DEPTH = 4
SHARES_DEPTH = 3  # of Figure 2

OURS = ("ours", "ours, counts")
STOP = "ours, may stop"
PARAMETERS: dict[str, dict[str, Any]] = {
    "ours": {"leaves": "labels"},
    "ours, counts": {"leaves": "counts"},
    STOP: {"leaves": "labels", "stop": True},
    "DPGDF, sound": {"numeric": False},
    "BDPT, thresholds": {"splits": "thresholds"},
}
OTHERS: dict[str, Any] = {
    "PrivaTree 2023": PrivaTree2023Classifier,
    "PrivaTree*": PrivaTreeStarClassifier,
    "PrivaTree repaired": PrivaTreeNoisyNClassifier,
    "BDPT": BDPTClassifier,
    "BDPT, thresholds": BDPTClassifier,
    "DPGDF": DPGDFClassifier,
    "DPGDF, sound": DPGDFTreeClassifier,
}
TREE = "tree"
DIFFPRIVLIB = "DiffPrivLib"


def cross_validated(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy of one method in each of five stratified folds."""
    from sklearn.model_selection import StratifiedKFold

    loaded = load(settings["data"], data)
    y = np.asarray(loaded.y)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(loaded.X, y)
    if settings["method"] == DIFFPRIVLIB:
        return {"accuracy": _peer(settings, loaded, [test for _, test in folds])["accuracy"]}
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
        return {"seconds": min(_peer(settings, loaded, [everything[:1]] * 3)["seconds"])}
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


def _peer(settings: Settings, loaded: DataSet, tests: Sequence[NDArray[np.int64]]) -> dict[str, list[float]]:
    """Fit diffprivlib's tree on all but each set of test rows, in its own environment, with public bounds."""
    encoding = loaded.schema.encoding(255)
    bounds = [
        (domain.low, domain.high) if isinstance(domain, Numeric) else (0.0, max(1.0, column.n_codes - 1.0))
        for domain, column in zip(loaded.schema.features.values(), encoding.columns, strict=True)
    ]
    low, high = np.array(bounds, dtype=np.float64).T
    arrays = {**numbers_and_tests(loaded, tests), "low": low, "high": high, "n_classes": np.array(encoding.n_classes)}
    found: dict[str, list[float]] = run_script(PEER.interpreter(), TREE_SCRIPT, arrays, settings["epsilon"], DEPTH)
    return found


def numbers_and_tests(loaded: DataSet, tests: Sequence[NDArray[np.int64]]) -> dict[str, NDArray[Any]]:
    """Return what a peer reads: categories as whole numbers, labels, and which rows are left out of each training."""
    encoding = loaded.schema.encoding(255)
    is_test = np.zeros((len(tests), len(loaded.y)), np.bool_)
    for mask, rows in zip(is_test, tests, strict=True):
        mask[rows] = True
    X, y = _numbers(loaded, loaded.X, encoding), encoding.encode_target(loaded.y)
    return {"X": X, "y": y, "is_test": is_test}


def _numbers(loaded: DataSet, frame: Any, encoding: Any) -> NDArray[np.float64]:
    """Return numeric columns as they are and categories as their codes."""
    codes = encoding.encode(frame)
    columns = [
        frame[column.name].to_numpy(np.float64) if column.ordered else codes[i].astype(np.float64)
        for i, column in enumerate(encoding.columns)
    ]
    return np.stack(columns, axis=1)


def budget_shares(settings: Settings, data: DataFolder) -> Result:
    """Return training accuracies at depth 3 with a given part of epsilon for the leaves; ours."""
    learner = PrivaTree(max_depth=SHARES_DEPTH, leaves="labels", leaf_part=Fraction(settings["leaves"]))
    grown = _Repeated.of(settings, data, learner)
    plan = grown.plan(learner)
    return {
        "accuracy": [
            grown.accuracy(learner.grow(grown.table, grown.release(), public_rng(repetition), plan))
            for repetition in range(settings["repetitions"])
        ]
    }


def printed_shares(settings: Settings, data: DataFolder) -> Result:
    """Return training accuracies at depth 3 as printed, with a given part of epsilon for the quantiles.

    A list for each part of the leaves; the rest is for the nodes. Each list has the same quantiles, one draw for each
    repetition: they take nearly all the time.
    """
    quantiles = Fraction(settings["quantiles"])
    learners = []
    for part in settings["leaves"]:
        shares = quantiles, 1 - quantiles - Fraction(part), Fraction(part)
        learners.append(PrintedPrivaTree(SHARES_DEPTH, shares=shares))
    grown = _Repeated.of(settings, data, learners[0])
    plans = [grown.plan(learner) for learner in learners]
    found: list[list[float]] = [[] for _ in learners]
    for _ in range(settings["repetitions"]):
        cuts = learners[0].cuts(grown.table, grown.release(), plans[0])
        for learner, plan, scores in zip(learners, plans, found, strict=True):
            scores.append(grown.accuracy(learner.grow_between(cuts, grown.table, grown.release(), plan)))
    return {"accuracy": found}


@dataclass(frozen=True)
class _Repeated:
    """A data set that is read once, for many trees."""

    schema: Schema
    encoding: Encoding
    table: Table
    target: NDArray[np.int32]
    allowance: Allowance
    codes: NDArray[Any]

    @classmethod
    def of(cls, settings: Settings, data: DataFolder, learner: PrivaTree | PrintedPrivaTree) -> _Repeated:
        loaded = load(settings["data"], data)
        encoding = loaded.schema.encoding(learner.bins)
        table = encode_table(loaded.schema, encoding, loaded.X, loaded.y, secret_key, 1)
        target, codes = encoding.encode_target(loaded.y), encoding.encode(loaded.X)
        return cls(loaded.schema, encoding, table, target, Allowance.of(settings["epsilon"]), codes)

    def plan(self, learner: Any) -> Any:
        return learner.plan(self.encoding, Terms.of(self.schema), self.allowance.whole, Hints())

    def release(self) -> Release:
        return Release(Ledger(Terms.of(self.schema), self.allowance), drawn())

    def accuracy(self, model: Forest) -> float:
        return float((model.predict(self.codes) == self.target).mean())


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


def properties(settings: Settings, data: DataFolder) -> Result:
    """Return the size of a data set, its categorical features, and the share of its larger class."""
    loaded = load(settings["data"], data)
    shares = loaded.y.value_counts(normalize=True)
    ordered = [column.ordered for column in loaded.schema.encoding(2).columns]
    return {"shape": list(loaded.X.shape), "categorical": ordered.count(False), "majority": float(shares.max())}

"""What the entries of Fletcher and Islam (2017) compute: cross-validated scores, empty leaves, flipped labels."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning, UnsoundWarning
from privet.learners.disjoint_forest.depth import fletcher_depth
from privet.learners.disjoint_forest.forest import FINE_GRID, DisjointForestClassifier
from privet.learners.disjoint_forest.margin_law import MarginLaw, margin_scores
from privet.parameters import public_rng
from privet.privacy import laws
from privet.randomness.public import PublicRng
from privet.tables import MemoryTable
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.kernels.implicit import child_word, draw_multiway, enter_child, root_word
from privet.trees.random_trees import RandomTrees, with_own_leaves
from privet_papers import RGVForestClassifier, SmoothForestClassifier
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, FIRST_GENERATOR, Loaded, load
from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier
from privet_papers.fletcher_islam_2017.jpw import JPWForestClassifier

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

N_FOLDS = 10
FEWER_BUCKETS = 16_384  # a quarter of the default, for speed; a tree sees some hundred records, so that few collide
TEST_ROWS_OF_SCALING = 30_000
MOST_COUNTED = 1 << 22


def estimator(method: str, epsilon: float, loaded: Loaded, n_rows: int, seed: int, parameters: Settings) -> Any:
    """Return an unfitted classifier by the name that tables and figures give it."""
    common = {"schema": loaded.schema, "random_state": seed, **parameters}
    match method:
        case "sound":
            return DisjointForestClassifier(epsilon, max_leaves=FEWER_BUCKETS, **common)
        case "without privacy":
            return DisjointForestClassifier(None, max_leaves=FEWER_BUCKETS, **common)
        case "printed":
            return SmoothForestClassifier(epsilon, max_leaves=FEWER_BUCKETS, **common)
        case "JPW":
            return JPWForestClassifier(epsilon, n_rows_hint=n_rows, **common)
        case "FS":
            return FSTreeClassifier(epsilon, n_rows_hint=n_rows, **common)
        case "RGV":
            return RGVForestClassifier(epsilon, **common)
    raise ValueError(f"no method is called {method!r}")


def cross_validated(settings: Settings, data: DataFolder) -> Result:
    """Return accuracy, AUC and F1 of one method on the first few of ten stratified folds.

    With `generators` in the settings, each fold of a synthetic set is one of another problem of the same shape.
    """
    from sklearn.model_selection import StratifiedKFold

    results = []
    for fold in range(settings["folds"]):
        loaded = load(settings["data"], data, generator=FIRST_GENERATOR + fold % settings.get("generators", 1))
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(loaded.X, loaded.y)
        train, test = next(islice(folds, fold, None))
        # Other trees in every fold, and the same ones for all methods, so that comparisons are paired.
        results.append(_score({**settings, "seed": 100 * settings["seed"] + fold}, loaded, train, test))
    return {name: [result[name] for result in results] for name in results[0]}


def _score(
    settings: Settings, loaded: Loaded, train: NDArray[np.int64], test: NDArray[np.int64]
) -> dict[str, float | None]:
    from sklearn.metrics import f1_score, roc_auc_score

    fitted, encode = _fit(settings, loaded, train)
    truth = loaded.y[test]
    shares = fitted.predict_proba(encode(loaded.X.iloc[test]))
    predicted = fitted.classes_[shares.argmax(axis=1)]
    accuracy = float((predicted == truth).mean())
    classes, counts = np.unique(loaded.y, return_counts=True)
    if len(classes) > 2:
        return {"accuracy": accuracy, "auc": None, "f1": None}
    rarer = classes[counts.argmin()]  # "the least frequent class label is the positive case"
    share = shares[:, list(fitted.classes_).index(rarer)]
    return {
        "accuracy": accuracy,
        "auc": float(roc_auc_score(truth == rarer, share)),
        "f1": float(f1_score(truth == rarer, predicted == rarer)),
    }


def _fit(settings: Settings, loaded: Loaded, train: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return a fitted classifier, and what it wants done to a frame first."""
    X, y = loaded.X.iloc[train], loaded.y[train]
    if settings["method"] == "Breiman":
        from sklearn.ensemble import RandomForestClassifier

        encoding = loaded.schema.encoding(FINE_GRID)
        forest = RandomForestClassifier(100, random_state=settings["seed"], n_jobs=1)
        return forest.fit(encoding.encode(X).T, y), lambda frame: encoding.encode(frame).T
    epsilon, parameters = settings["epsilon"], settings["parameters"]
    model = estimator(settings["method"], epsilon, loaded, len(train), settings["seed"], parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        warnings.simplefilter("ignore", NonPrivateWarning)
        return model.fit(X, y), lambda frame: frame


def scaling(settings: Settings, data: DataFolder) -> Result:
    """Return the accuracy on a held-out part, for some of the records of one large synthetic data set.

    The generator's problem depends on how many records it is asked for, so that it is asked for the same number always.
    """
    loaded = load(settings["data"], data, settings["n_generated"])
    order = public_rng(settings["seed"]).permutation(len(loaded.y))
    train = order[TEST_ROWS_OF_SCALING:][: settings["n_rows"]]
    return {"accuracy": _score(settings, loaded, train, order[:TEST_ROWS_OF_SCALING])["accuracy"]}


def depth_of(settings: Settings, data: DataFolder) -> Result:
    """Return both depths for a data set's numbers of features."""
    benchmark = BENCHMARKS[settings["data"]]
    numbers = benchmark.continuous, benchmark.discrete
    return {"table": fletcher_depth(*numbers), "printed": fletcher_depth(*numbers, rule="printed")}


def smooth_sensitivity(settings: Settings, data: DataFolder) -> Result:
    """Return e^(-j epsilon), Theorem 1."""
    return {"sensitivity": math.exp(-settings["j"] * settings["epsilon"])}


def leaf_facts(settings: Settings, data: DataFolder) -> Result:
    """Deal the records to trees, and say how many leaves are empty, how sensitive the others are, what is flipped.

    Exact counts are used without privacy: these are the paper's diagnostics, which no private fit may give.
    """
    loaded = load(settings["data"], data)
    n_trees, epsilon, seed = settings["n_trees"], settings["epsilon"], settings["seed"]
    encoding = loaded.schema.encoding(FINE_GRID)
    depth = BENCHMARKS[settings["data"]].depth
    trees = RandomTrees.draw(encoding, seed, n_trees, depth, "multiway", max(FEWER_BUCKETS, (1 << 20) // n_trees))
    table = MemoryTable(encoding, encoding.encode(loaded.X), encoding.encode_target(loaded.y))
    rng = public_rng(seed)
    disjoint = settings["composition"] == "disjoint"
    part = rng.integers(n_trees, size=len(loaded.y)).astype(np.int32)
    dealt = table.derive("tree", lambda block: part[block.rows.astype(np.int64)])
    kernel = LeafClassCounts(trees, encoding.n_classes, "tree" if disjoint else None)
    counts = (dealt if disjoint else table).aggregate(kernel)
    touched = counts[counts.sum(axis=1) > 0]
    leaves = number_of_leaves(trees, rng)
    rate = epsilon if disjoint else epsilon / n_trees
    largest_two = np.partition(touched, -2, axis=1)[:, -2:]
    margin = (largest_two[:, 1] - largest_two[:, 0]).astype(np.float64)
    return {
        "empty": 1 - len(touched) / leaves,
        "sensitivity": float(np.exp(-margin * rate).mean()),
        **flipped(touched, margin, rate),
    }


def number_of_leaves(trees: RandomTrees, rng: PublicRng) -> float:
    """Count the leaves of all trees, or estimate their number where trees are too large to be written down."""
    written = with_own_leaves(replace(trees, max_leaves=MOST_COUNTED), MOST_COUNTED)
    if isinstance(written, ExplicitTrees):
        return float(written.n_leaves)
    return sum(estimated_leaves(trees, tree, rng) for tree in range(trees.n_trees))


def estimated_leaves(trees: RandomTrees, tree: int, rng: PublicRng, n_paths: int = 200) -> float:
    """Estimate a tree's number of leaves without bias: the product of branchings on random paths (Knuth 1975)."""
    domains, total = trees.domains, 0.0
    for _ in range(n_paths):
        low, high = np.zeros(domains.n_features, np.int64), domains.n_cells - 1
        word, product = np.uint64(root_word(np.uint64(trees.seed), tree)), 1.0
        for _ in range(trees.depth):
            if not (high > low).any():
                break
            feature, cut, _ = draw_multiway(word, domains.ordered, low, high)
            branches = 2 if cut >= 0 else int(domains.n_codes[feature])
            child = int(rng.integers(branches))
            product *= branches
            enter_child(feature, cut, child, low, high)
            word = np.uint64(child_word(word, child))
        total += product
    return total / n_paths


def flipped(counts: NDArray[np.int64], margin: NDArray[np.float64], epsilon: float) -> dict[str, float]:
    """Return the expected share of non-empty leaves whose label is not a most frequent class, for three rules."""
    top = counts == counts.max(axis=1, keepdims=True)
    n_top, n_classes = top.sum(axis=1), counts.shape[1]
    weight = np.exp(np.minimum(epsilon / 2 * np.exp(np.minimum(margin * epsilon, 500.0)), 500.0))
    printed = 1 - n_top * weight / (n_top * weight + n_classes - n_top)
    rows, repeats = np.unique(counts, axis=0, return_counts=True)
    of_rows = rows == rows.max(axis=1, keepdims=True)
    rate = Fraction(repr(epsilon))
    uniform = [1 - laws.permute_and_flip(row, rate)[is_top].sum() for row, is_top in zip(rows, of_rows, strict=True)]
    result = {
        "printed": float(printed.mean()),
        "permute-and-flip": float(np.average(uniform, weights=repeats)),
    }
    if MarginLaw.applies(rate, n_classes):
        law = MarginLaw.of(rate, n_classes)
        scores = margin_scores(rows, law.scores, abstains=law.abstains)
        probabilities = np.exp(scores / 2.0**32)
        wrong = np.where(of_rows, 0.0, probabilities[:, :n_classes]).sum(axis=1)
        silent = probabilities[:, n_classes] if law.abstains else np.zeros(len(rows))
        result["margin law"] = float(np.average(wrong, weights=repeats))
        result["margin law, silent"] = float(np.average(silent, weights=repeats))
    return result

"""Places that were slow or large: deep random trees, many classes, trees, features or categories.

Every place is measured in a process of its own, after a small fit that compiles. Seconds are those of the processor.

python benchmarks/slow_places.py
PYTHONPATH=../privet-before/src python benchmarks/slow_places.py     # another copy of the sources
"""

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privet
from privet import BoostingClassifier, Categorical, DisjointForestClassifier, Numeric, Schema

N_ROWS, N_SMALL, N_WIDE, N_CATEGORIES = 8_192, 200, 1_000, 10_000
DEEP = {"epsilon": 1.0, "max_depth": 21, "random_state": 0}


def wide(n_features: int, n_rows: int, n_classes: int = 2) -> tuple[Schema, np.ndarray, np.ndarray]:
    """Return a schema of numbers, and records of it."""
    X = np.random.default_rng(0).random((n_rows, n_features))
    schema = Schema(features={f"x{i}": Numeric(0, 1) for i in range(n_features)}, classes=list(range(n_classes)))
    return schema, X, (X[:, 0] * n_classes).astype(np.int64)


def used(make: Any, X: Any, y: np.ndarray) -> tuple[Any, float, float]:
    """Fit twice, first on a few records; return the model, seconds, and by how many GB the largest memory grew."""
    make().fit(X[:N_SMALL], y[:N_SMALL])
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    model = make().fit(X, y)
    spent = time.process_time() - began
    return model, spent, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6


def deep_predictions() -> Iterator[tuple[str, str]]:
    """Route rows through 100 trees of depth 21."""
    schema, X, y = wide(28, N_ROWS)
    forest = DisjointForestClassifier(schema=schema, n_trees=100, **DEEP).fit(X, y)
    forest.predict(X[:1024])  # compiles
    began = time.process_time()
    forest.predict(X)
    spent = time.process_time() - began
    yield "disjoint forest, 100 trees of depth 21: predict, microseconds a row", f"{1e6 * spent / N_ROWS:.1f}"


def many_classes() -> Iterator[tuple[str, str]]:
    """Fit 100 trees of 65,536 leaves with 100 classes."""
    schema, X, y = wide(28, 20_000, 100)
    _, spent, grown = used(lambda: DisjointForestClassifier(schema=schema, n_trees=100, **DEEP), X, y)
    yield "disjoint forest, 100 classes: fit, s", f"{spent:.1f}"
    yield "memory beyond that of a small fit, GB", f"{grown:.2f}"


def many_trees() -> Iterator[tuple[str, str]]:
    """Fit 1,000 trees of 65,536 leaves."""
    schema, X, y = wide(28, 20_000)
    small = DisjointForestClassifier(schema=schema, n_trees=2, **DEEP).fit(X[:N_SMALL], y[:N_SMALL])
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    small.set_params(n_trees=1000).fit(X, y)
    yield "disjoint forest, 1,000 trees: fit, s", f"{time.process_time() - began:.1f}"
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e6
    yield "memory beyond that of a small fit, GB", f"{grown:.2f}"


def many_categories() -> Iterator[tuple[str, str]]:
    """Fit boosting to five features of 10,000 categories."""
    rng, names = np.random.default_rng(0), [f"c{i}" for i in range(N_CATEGORIES)]
    X = pd.DataFrame({f"x{i}": np.array(names, object)[rng.integers(0, N_CATEGORIES, 20_000)] for i in range(5)})
    schema = Schema({name: Categorical(names) for name in X.columns}, classes=[0, 1])
    y = rng.integers(0, 2, len(X))
    _, spent, _ = used(lambda: BoostingClassifier(epsilon=1.0, schema=schema, random_state=0), X, y)
    yield "boosting, 5 features of 10,000 categories: fit, s", f"{spent:.2f}"


def many_features() -> Iterator[tuple[str, str]]:
    """Fit boosting to 1,000 numeric features, save and load it."""
    schema, X, y = wide(N_WIDE, 2_000)
    model, spent, _ = used(lambda: BoostingClassifier(epsilon=1.0, schema=schema, random_state=0), X, y)
    yield f"boosting, {N_WIDE} numeric features: fit, s", f"{spent:.2f}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        began = time.process_time()
        model.save(path)
        yield "save, s", f"{time.process_time() - began:.2f}"
        yield "file, MB", f"{path.stat().st_size / 1e6:.2f}"
        try:
            privet.load(path)
            yield "loads again", "yes"
        except privet.errors.PrivetError:
            yield "loads again", "no"


PLACES = {
    place.__name__: place for place in (deep_predictions, many_classes, many_trees, many_categories, many_features)
}


def main() -> None:
    """Print a table in Markdown."""
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        for what, value in PLACES[sys.argv[1]]():
            print(f"| {what} | {value} |", flush=True)
        return
    print("| place | |\n|---|---:|", flush=True)
    for name in PLACES:
        subprocess.run([sys.executable, __file__, name], check=False)


if __name__ == "__main__":
    main()

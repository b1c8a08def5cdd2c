"""Places that were slow: predictions of deep random trees, and models of many features. Seconds of the processor.

python benchmarks/slow_places.py
PYTHONPATH=../privet-before/src python benchmarks/slow_places.py     # another copy of the sources
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import privet
from privet import BoostingClassifier, DisjointForestClassifier, Numeric, Schema

N_ROWS, N_WIDE = 8_192, 1_000


def wide(n_features: int, n_rows: int) -> tuple[Schema, np.ndarray, np.ndarray]:
    """Return a schema of numbers, and records of it."""
    X = np.random.default_rng(0).random((n_rows, n_features))
    schema = Schema(features={f"x{i}": Numeric(0, 1) for i in range(n_features)}, classes=[0, 1])
    return schema, X, (X[:, 0] > 0.5).astype(np.int64)


def main() -> None:
    """Print a table in Markdown."""
    warnings.simplefilter("ignore")
    print("| place | |\n|---|---:|")
    schema, X, y = wide(28, N_ROWS)
    forest = DisjointForestClassifier(epsilon=1.0, schema=schema, n_trees=100, max_depth=21, random_state=0).fit(X, y)
    forest.predict(X[:1024])  # compiles
    began = time.process_time()
    forest.predict(X)
    spent = time.process_time() - began
    print(f"| disjoint forest, 100 trees of depth 21: predict, microseconds a row | {1e6 * spent / N_ROWS:.1f} |")
    schema, X, y = wide(N_WIDE, 2_000)
    BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)  # compiles
    began = time.process_time()
    model = BoostingClassifier(epsilon=1.0, schema=schema, random_state=0).fit(X, y)
    print(f"| boosting, {N_WIDE} numeric features: fit, s | {time.process_time() - began:.2f} |")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        began = time.process_time()
        model.save(path)
        print(f"| save, s | {time.process_time() - began:.2f} |")
        print(f"| file, MB | {path.stat().st_size / 1e6:.2f} |")
        try:
            privet.load(path)
            print("| loads again | yes |")
        except privet.errors.PrivetError:
            print("| loads again | no |")


if __name__ == "__main__":
    main()

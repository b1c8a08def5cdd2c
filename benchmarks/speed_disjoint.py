"""The disjoint forest on 3,000,000 records against diffprivlib's forest of the same shape, in one run; and its memory.

    python benchmarks/speed_disjoint.py [--rows N] [--out FILE]

100 trees of depth 8 on 10 numeric features, one thread, seconds of the processor: a busy machine makes little
difference to them, but look at the ratio. Memory is the most that a process has had, interpreter and all, less the
data. diffprivlib runs in an environment of its own, which is built on first use; if it cannot be had, that is said.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np

from privet import DisjointForestClassifier, Numeric, Schema
from privet.errors import ParameterError
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB, run_script

HERE = Path(__file__).resolve().parent
TREES, DEPTH, FEATURES = 100, 8, 10
LIMIT = 4.0
GOAL, MOST_MEMORY = 10.0, 2.0


def synthetic(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ten features, three of them informative."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, FEATURES)).clip(-LIMIT, LIMIT)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(rows) > 0).astype(np.int64)
    return X, y


def forest() -> DisjointForestClassifier:
    """Return our forest in the shape that is compared, with its defaults otherwise."""
    schema = Schema({f"x{i}": Numeric(-LIMIT, LIMIT) for i in range(FEATURES)}, classes=[0, 1])
    return DisjointForestClassifier(1.0, schema=schema, n_trees=TREES, max_depth=DEPTH, random_state=0)


def memory_of_a_fit(rows: int) -> float:
    """Return the most gigabytes that a process has had beside its data when it has fitted once; run it in a new one."""
    X, y = synthetic(rows)
    forest().fit(X, y)
    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return (most - X.nbytes - y.nbytes) / 2**30


def peer_seconds(X: np.ndarray, y: np.ndarray) -> float | None:
    """Return diffprivlib's time, or None where its environment cannot be built."""
    try:
        python = DIFFPRIVLIB.built(say=print)
    except (OSError, ParameterError) as error:
        print(f"left out: diffprivlib, since its environment cannot be built ({error})")
        return None
    arrays = {"X": X, "y": y, "low": np.full(FEATURES, -LIMIT), "high": np.full(FEATURES, LIMIT)}
    return float(run_script(python, HERE / "peer_speed.py", arrays, TREES, DEPTH, 2))


def main() -> None:
    """Time both, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "speed_disjoint.csv")
    arguments = parser.parse_args()
    X, y = synthetic(arguments.rows)
    forest().fit(X[:1000], y[:1000])  # compiles the kernels
    times = []
    for _ in range(3):
        start = time.process_time()
        fitted = forest().fit(X, y)
        times.append(time.process_time() - start)
    with multiprocessing.get_context("spawn").Pool(1) as process:
        memory = process.apply(memory_of_a_fit, (arguments.rows,))
    theirs = peer_seconds(X, y)
    row = {
        "rows": arguments.rows,
        "privet seconds": f"{min(times):.2f}",
        "diffprivlib seconds": "" if theirs is None else f"{theirs:.2f}",
        "times faster": "" if theirs is None else f"{theirs / min(times):.1f}",
        "goal": GOAL,
        "memory beside the data, GB": f"{memory:.2f}",
        "most memory, GB": MOST_MEMORY,
        "training accuracy": f"{fitted.score(X[:100_000], y[:100_000]):.3f}",
    }
    for name, value in row.items():
        print(f"{name}: {value}")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, row.keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerow(row)


if __name__ == "__main__":
    main()

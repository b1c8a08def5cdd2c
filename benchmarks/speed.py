"""How fast random decision forests are, against a C++ loop, diffprivlib and scikit-learn, all in one run.

    python benchmarks/speed.py [--quick] [--out FILE]

One thread on all sides unless said; then seconds are of the processor, so that a busy machine makes little
difference. They depend on the machine all the same: look at the ratios, which are written as CSV. The
C++ loop is compiled here by ``g++ -O3 -march=native``; diffprivlib runs in an environment of its own, which is built
on first use; what cannot be had is left out and said.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

from privet import Numeric, RandomDecisionForestClassifier, Schema
from privet.errors import ParameterError
from privet.learners.random_decision_forest.forest import RandomDecisionForest
from privet.mechanisms.release import Release, drawn
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables import MemoryTable
from privet.trees.kernels.blocks import BLOCK_ROWS
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB, run_script

HERE = Path(__file__).resolve().parent
TREES, DEPTH, FEATURES = 100, 8, 28


@dataclass(frozen=True)
class Comparison:
    """One line of the table: `ratio` is better when it is larger."""

    what: str
    ours: float
    theirs: float
    goal: float

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.theirs / self.ours


def best_of(function: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return the shortest time of several calls, after one to warm up."""
    return best_of_both(function, lambda: None, repeats, clock)[0]


def best_of_both(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time
) -> tuple[float, float]:
    """Return the shortest times of two functions, called in turns, so that a busy machine slows both."""
    ours(), theirs()
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for function, own in zip((ours, theirs), times, strict=True):
            start = clock()
            function()
            own.append(clock() - start)
    return min(times[0]), min(times[1])


def synthetic(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return as many features as Higgs has, with a few of them informative."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, FEATURES))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(rows) > 0).astype(np.int64)
    return X.clip(-4, 4), y


def schema_of_features() -> Schema:
    """Return bounds that are public."""
    return Schema({f"x{i}": Numeric(-4, 4) for i in range(FEATURES)}, classes=[0, 1])


def forest(**parameters: Any) -> RandomDecisionForestClassifier:
    """Return our forest in the shape that is compared."""
    return RandomDecisionForestClassifier(
        1.0, schema=schema_of_features(), n_trees=TREES, max_depth=DEPTH, random_state=0, **parameters
    )


def routing(X: np.ndarray, repeats: int) -> list[Comparison]:
    """Compare the routing kernel with a compiled loop; nothing but leaf numbers is computed."""
    if shutil.which("g++") is None:
        print("left out: routing against C++, since there is no g++")
        return []
    encoding = schema_of_features().encoding(255)
    codes = encoding.encode(X)
    trees = RandomTrees.draw(encoding, 0, TREES, DEPTH).materialise()
    by_row = np.ascontiguousarray(codes.T)
    feature, cut = trees.splits.feature.astype(np.uint32), trees.splits.cut.astype(np.uint8)
    leaves = np.zeros((TREES, BLOCK_ROWS), np.int32)

    def ours() -> None:
        for start in range(0, len(X), BLOCK_ROWS):
            trees.route_block(codes, start, min(start + BLOCK_ROWS, len(X)), 0, leaves)

    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "route_loop.so"
        source = HERE / "route_loop.cpp"
        subprocess.run(["g++", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
        compiled = ctypes.CDLL(str(library)).route
        compiled.restype = ctypes.c_int64
        at = [array.ctypes.data_as(ctypes.c_void_p) for array in (by_row, feature, cut)]
        whole = ctypes.c_int64

        def theirs() -> None:
            out = leaves.ctypes.data_as(ctypes.c_void_p)
            rows = (at[0], whole(len(X)), whole(FEATURES))
            compiled(*rows, at[1], at[2], whole(TREES), whole(DEPTH), out, whole(BLOCK_ROWS))

        theirs()
        last = len(X) - len(X) % BLOCK_ROWS if len(X) % BLOCK_ROWS else len(X) - BLOCK_ROWS
        expected = trees.route(codes[:, last:]) - trees.leaf_offsets[:-1, None]
        np.testing.assert_array_equal(leaves[:, : len(X) - last], expected)
        return [Comparison("routing, against a C++ -O3 loop", *best_of_both(ours, theirs, repeats), 1 / 1.2)]


def fitting(X: np.ndarray, y: np.ndarray, repeats: int, peer: Path | None) -> list[Comparison]:
    """Compare whole fits and predictions."""
    ours = best_of(lambda: forest().fit(X, y), repeats)
    extra = ExtraTreesClassifier(TREES, max_depth=DEPTH, max_features=1, n_jobs=1, random_state=0)
    start = time.process_time()
    extra.fit(X, y)
    found = [Comparison("fit, against ExtraTrees(max_features=1)", ours, time.process_time() - start, 20)]
    if peer is not None:
        arrays = {"X": X, "y": y, "low": np.full(FEATURES, -4.0), "high": np.full(FEATURES, 4.0)}
        theirs = float(run_script(peer, HERE / "peer_speed.py", arrays, TREES, DEPTH, min(repeats, 2)))
        found.insert(0, Comparison("fit, against diffprivlib's forest", ours, theirs, 3))
    fitted = forest().fit(X, y)
    times = best_of_both(lambda: fitted.predict(X), lambda: extra.predict(X), repeats)
    found.append(Comparison("prediction, against ExtraTrees", *times, 5))
    return found


def threads(X: np.ndarray, y: np.ndarray, repeats: int) -> list[Comparison]:
    """Compare two threads with one, in counting and in voting."""
    encoding = schema_of_features().encoding(255)
    codes, target = encoding.encode(X), encoding.encode_target(y)
    trees = RandomTrees.draw(encoding, 0, TREES, DEPTH).materialise()
    model = forest().fit(X, y).model_
    tables = [MemoryTable(encoding, codes, target, n_jobs=n_jobs) for n_jobs in (2, 1)]
    counting = [lambda table=table: table.aggregate(LeafClassCounts(trees, 2)) for table in tables]
    voting = [lambda n_jobs=n_jobs: model.votes(codes, n_jobs) for n_jobs in (2, 1)]
    repeats = 3 * repeats  # they are short, and a clock on the wall needs some luck
    return [
        Comparison(
            "route and count, two threads against one", *best_of_both(*counting, repeats, time.perf_counter), 1.6
        ),
        Comparison("votes, two threads against one", *best_of_both(*voting, repeats, time.perf_counter), 1.6),
    ]


def shares(X: np.ndarray, y: np.ndarray, repeats: int) -> list[Comparison]:
    """Compare the whole fit with encoding and with noise: each is to be under a third of it."""
    encoding = schema_of_features().encoding(255)
    event = RandomDecisionForest(TREES, DEPTH).event(TREES, Terms(), Allowance.of(1.0).whole)
    counts = np.zeros((TREES << DEPTH, 2), np.int64)
    whole = best_of(lambda: forest().fit(X, y), repeats)
    encode = best_of(lambda: (encoding.encode(X), encoding.encode_target(y)), repeats)
    noise = best_of(lambda: Release(Ledger(Terms(), Allowance.of(1.0)), drawn()).noisy(counts, event), repeats)
    return [
        Comparison("encoding, against the whole fit", encode, whole, 3),
        Comparison("noise, against the whole fit", noise, whole, 3),
    ]


def main() -> None:
    """Run all comparisons and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="50,000 rows, without diffprivlib and threads")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "speed.csv")
    arguments = parser.parse_args()
    rows = 50_000 if arguments.quick else arguments.rows
    peer = None
    if not arguments.quick:
        try:
            peer = DIFFPRIVLIB.built(say=print)
        except (OSError, ParameterError) as error:
            print(f"left out: diffprivlib, since its environment cannot be built ({error})")
    X, y = synthetic(rows)
    forest().fit(X[:1000], y[:1000]).predict(X[:1000])  # compiles the kernels
    found = [
        *routing(X, arguments.repeats),
        *shares(X, y, arguments.repeats),
        *([] if arguments.quick else threads(X, y, arguments.repeats)),
        *fitting(X, y, arguments.repeats, peer),
    ]
    print(f"{rows} rows, {FEATURES} features, {TREES} trees of depth {DEPTH}")
    table = [
        {
            "comparison": one.what,
            "privet seconds": f"{one.ours:.3f}",
            "other seconds": f"{one.theirs:.3f}",
            "times faster": f"{one.ratio:.2f}",
            "goal": f"{one.goal:.2f}",
            "met": "yes" if one.ratio >= one.goal else "no",
        }
        for one in found
    ]
    for line in table:
        print("  ".join(f"{name}: {value}" for name, value in line.items()))
    if not arguments.quick:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        with arguments.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(table)


if __name__ == "__main__":
    sys.exit(main())

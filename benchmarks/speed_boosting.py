"""Time and memory of private boosting against interpret's DP-EBM, in one run: Adult, and 300,000 x 20.

    python benchmarks/speed_boosting.py --data FOLDER [--rows N] [--repeats N] [--out FILE]

Both learn the same records at epsilon = 1, delta = 1e-6 with the same public bounds, one thread each, in turns. Seconds
are the processor's, the least of the repeats: a busy machine makes little difference to them, but look at the ratio.
Memory is the most that a process has had by the end of its fits, interpreter and data and all. DP-EBM runs in an
environment of its own, which is built on first use.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from arena import data
from arena.data import TEST_SHARE, Problem, Task
from arena.ours import Ours
from arena.peers import PeerLearner
from privet.schema.domains import Numeric
from privet.schema.schema import Schema

HERE = Path(__file__).resolve().parent
FEATURES, LIMIT = 20, 4.0
EPSILON, DELTA = 1.0, 1e-6
GOAL = 3.0


def synthetic(rows_to_fit: int) -> Problem:
    """Return twenty features, three of them informative, and records for the tests beside those to fit."""
    rng, rows = np.random.default_rng(0), round(rows_to_fit / (1 - TEST_SHARE))
    X = rng.standard_normal((rows, FEATURES)).clip(-LIMIT, LIMIT)
    y = (X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(rows) > 0).astype(np.int64)
    names = [f"x{place}" for place in range(FEATURES)]
    schema = Schema({name: Numeric(-LIMIT, LIMIT) for name in names}, classes=[0, 1])
    name = f"{rows_to_fit:,} x {FEATURES}"
    return Problem(Task(name, Path(name)), pd.DataFrame(X, columns=names), X, y, schema)


def most_memory() -> float:
    """Return the most gigabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 2**30


def our_fits(problem: Problem, repeats: int) -> tuple[list[float], float]:
    """Fit a few times and return the seconds, the compiling fit left out, and the memory; run it in a new process."""
    ours = Ours("BoostingClassifier", DELTA)
    seconds = [ours.run(problem, 0, EPSILON).seconds for _ in range(repeats + 1)]
    return seconds[1:], most_memory()


def compare(problem: Problem, repeats: int) -> dict[str, str | int | float]:
    """Time both on one problem."""
    peer = PeerLearner("DP-EBM", "dp_ebm", DELTA, binary=True)
    theirs = min(peer.run(problem, 0, EPSILON).seconds for _ in range(repeats))
    with multiprocessing.get_context("spawn").Pool(1) as process:
        seconds, memory = process.apply(our_fits, (problem, repeats))
    return {
        "records": problem.task.name,
        "privet seconds": f"{min(seconds):.2f}",
        "DP-EBM seconds": f"{theirs:.2f}",
        "times faster": f"{theirs / min(seconds):.1f}",
        "goal": GOAL,
        "privet memory, GB": f"{memory:.2f}",
        "DP-EBM memory, GB": f"{peer.memory():.2f}",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Time both on both, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.environ.get("PRIVET_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=folder is None)
    parser.add_argument("--rows", type=int, default=300_000, help="that are fitted")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "speed_boosting.csv")
    options = parser.parse_args(arguments)
    adult = data.load(Task("adult", options.data / "adult.parquet"))
    assert adult is not None
    rows = [compare(problem, options.repeats) for problem in (adult, synthetic(options.rows))]
    for row in rows:
        print(*(f"{name}: {value}" for name, value in row.items()), sep="; ")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

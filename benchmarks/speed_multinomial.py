"""The consistent multinomial forest against scikit-learn's random forest, in one run; and its cost by n and D.

    python benchmarks/speed_multinomial.py [--trees T] [--rounds R] [--cpu] [--quick] [--out FILE]

Both fit as many trees on one thread: ours from the frame, encoding included; scikit-learn's from the codes that our
encoding makes of it, as floats, with its defaults and with at least five records in a leaf. They take turns, and
medians over the rounds are compared. Seconds depend on the machine: look at the ratios. ``PRIVET_DATA`` names a folder
with ``connect_4.parquet`` and ``adult.parquet``; without it a synthetic table of Connect-4's shape is timed.

The second part times synthetic tables of several sizes and fits exponents: the paper states D n log n for a tree.
"""

import argparse
import csv
import os
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from privet import ConsistentForestClassifier
from privet.errors import NonPrivateWarning
from privet_papers.framework.data import DataFolder, public_schema

LEAF = 5


def tables(quick):
    """Return frames with a column "target", by name."""
    folder = os.environ.get("PRIVET_DATA")
    found = {}
    for name in ("connect_4", "adult"):
        if folder and (Path(folder) / f"{name}.parquet").exists():
            found[name] = pd.read_parquet(DataFolder.at(Path(folder)).file(name))
    if not found:
        rng = np.random.default_rng(0)
        codes = rng.choice(["x", "o", "b"], (67_557, 42), p=[0.3, 0.3, 0.4])
        frame = pd.DataFrame(codes, columns=[f"cell{i}" for i in range(42)])
        score = (codes[:, :12] == "x").sum(axis=1) - (codes[:, :12] == "o").sum(axis=1)
        frame["target"] = np.select([score > 1, score < -1], ["win", "loss"], "draw")
        found["synthetic, the shape of connect_4"] = frame
    return {name: frame.iloc[:5_000] for name, frame in found.items()} if quick else found


def ours(frame, trees, schema=None):
    """Return a function that fits our forest."""
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    model = ConsistentForestClassifier(
        schema=schema or public_schema(frame), n_trees=trees, min_leaf=LEAF, random_state=0, n_jobs=1
    )

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonPrivateWarning)
            model.fit(X, y)

    return fit


def theirs(frame, trees, **parameters):
    """Return a function that fits scikit-learn's forest on codes."""
    encoding = public_schema(frame).encoding(255)
    X = np.ascontiguousarray(encoding.encode(frame.drop(columns="target")).T.astype(np.float32))
    y = encoding.encode_target(frame["target"])
    return lambda: RandomForestClassifier(trees, n_jobs=1, random_state=0, **parameters).fit(X, y)


def medians(fits, clock, rounds):
    """Let all take turns, and return the median time of each."""
    times = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            start = clock()
            fit()
            times[name].append(clock() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def compare(options, clock):
    """Return a row for each table: seconds and ratios."""
    rows = []
    for name, frame in tables(options.quick).items():
        fits = {
            "ours": ours(frame, options.trees),
            "scikit-learn": theirs(frame, options.trees),
            "scikit-learn, leaves of 5": theirs(frame, options.trees, min_samples_leaf=LEAF),
        }
        took = medians(fits, clock, options.rounds)
        shape = f"{len(frame):,} x {frame.shape[1] - 1}"
        print(f"{name}, {shape}, {options.trees} trees: ours {took['ours']:.2f} s")
        for peer in list(fits)[1:]:
            print(f"  {peer} {took[peer]:.2f} s, ours {took['ours'] / took[peer]:.2f} times that")
            rows.append([name, shape, options.trees, peer, round(took["ours"] / took[peer], 2)])
    return rows


def scaling(options, clock):
    """Print the time of a tree by n and D, and the exponents of log n n and of D that fit it best."""
    sizes, widths = ((2_000, 8_000), (8, 16)) if options.quick else ((5_000, 20_000, 80_000), (8, 16, 32))
    rng = np.random.default_rng(0)
    points = []
    for n_rows in sizes:
        for n_columns in widths:
            X = rng.integers(0, 64, (n_rows, n_columns))
            frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(n_columns)])
            frame["target"] = (X[:, 0] + X[:, 1] + rng.integers(0, 64, n_rows) > 95).astype(int)
            trees = 5
            took = medians({"ours": ours(frame, trees)}, clock, options.rounds)["ours"] / trees
            print(f"{n_rows:,} x {n_columns}: {1e3 * took:.1f} ms a tree")
            points.append((np.log(n_rows * np.log(n_rows)), np.log(n_columns), np.log(took)))
    points = np.array(points)
    design = np.column_stack([points[:, :2], np.ones(len(points))])
    (of_n, of_d, _), *_ = np.linalg.lstsq(design, points[:, 2], rcond=None)
    print(f"time grows as (n log n)^{of_n:.2f} D^{of_d:.2f}; the paper states exponents of one")
    exponents = {"exponent of n log n": of_n, "exponent of D": of_d}
    return [["synthetic", "", trees, name, round(value, 2)] for name, value in exponents.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="processor time: for a busy machine")
    parser.add_argument("--quick", action="store_true", help="few records and trees")
    parser.add_argument("--out", type=Path, help="also write the ratios to this CSV file")
    options = parser.parse_args()
    if options.quick:
        options.trees, options.rounds = min(options.trees, 10), 1
    clock = time.process_time if options.cpu else time.perf_counter
    small = next(iter(tables(True).values())).iloc[:500]
    ours(small, 1)()  # compiles
    rows = compare(options, clock) + scaling(options, clock)
    if options.out:
        with options.out.open("w", newline="") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerow(["table", "shape", "trees", "against", "ratio"])
            table.writerows(rows)


if __name__ == "__main__":
    main()

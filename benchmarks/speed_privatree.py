"""One private depth-4 tree against the marginal time of one tree of LightGBM and of HistGradientBoosting, in one run.

    python benchmarks/speed_privatree.py [--rows N] [--threads T ...] [--rounds R] [--cpu]

Encoding and binning are apart on all sides; selection and noise are included on ours. Peers grow depth-4 trees with 16
leaves on 255 bins, on as many threads; their marginal time is that of ten further trees, over ten. All take turns, and
medians over the rounds are compared. Seconds depend on the machine: look at the ratios. LightGBM is in the extra
``bench``; without it only scikit-learn is compared. ``PRIVET_DATA`` names a folder with
``bench_covertype_like.parquet``; without it only the synthetic table is timed.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from privet import Numeric, Schema
from privet.estimators.learning import Hints
from privet.learners.privatree.tree import PrivaTree
from privet.mechanisms.release import Release, drawn, secret_key
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables.reading import encode_table

MORE_TREES = 10


def synthetic(rows, columns=28):
    """Return as many rows and columns as Higgs has, with a few of them informative."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + rng.standard_normal(rows) * 0.5
    return X, (score > 0).astype(np.int32)


def ours(X, y, threads):
    """Return a function that fits one tree on an encoded table."""
    features = {f"x{i}": Numeric(float(X[:, i].min()), float(X[:, i].max())) for i in range(X.shape[1])}
    schema = Schema(features, classes=[0, 1])
    learner, terms, allowance = PrivaTree(), Terms.of(schema), Allowance.of(1.0)
    encoding = schema.encoding(learner.bins)
    plan = learner.plan(encoding, terms, allowance.whole, Hints(n_rows=1_000_000))
    table = encode_table(schema, encoding, X, y, secret_key, threads)

    def fit():
        release = Release(Ledger(terms, allowance), drawn())
        return learner.grow(table, release, public_rng(0), plan)

    return fit


def lightgbm(X, y, threads):
    """Return a function that fits so many trees of LightGBM on a binned table, or None where it is not installed."""
    try:
        from lightgbm import Dataset, train
    except ImportError:
        return None
    parameters = {
        "objective": "binary",
        "max_depth": 4,
        "num_leaves": 16,
        "max_bin": 255,
        "num_threads": threads,
        "verbose": -1,
        "force_col_wise": True,
    }
    data = Dataset(X, y, params=parameters).construct()
    return lambda trees: train(parameters, data, num_boost_round=trees)


def histgb(X, y, threads):
    """Return a function that fits so many trees of scikit-learn's HistGradientBoosting."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def fit(trees):
        model = HistGradientBoostingClassifier(max_iter=trees, max_depth=4, max_leaf_nodes=16, early_stopping=False)
        with threadpool_limits(threads):
            return model.fit(X, y)

    return fit


def compare(name, X, y, threads, clock, rounds):
    """Let all take turns on one table and print a row of medians."""

    def took(function, *arguments):
        start = clock()
        function(*arguments)
        return clock() - start

    mine = ours(X, y, threads)
    peers = {"LightGBM": lightgbm(X, y, threads), "HistGradientBoosting": histgb(X, y, threads)}
    peers = {peer: fit for peer, fit in peers.items() if fit is not None}
    for warm_up in (mine, *(lambda fit=fit: fit(1) for fit in peers.values())):
        warm_up()
    times = {peer: [] for peer in ("ours", *peers)}
    for _ in range(rounds):
        times["ours"].extend(took(mine) for _ in range(3))
        for peer, fit in peers.items():
            times[peer].append((took(fit, 1 + MORE_TREES) - took(fit, 1)) / MORE_TREES)
    median = {peer: statistics.median(seconds) for peer, seconds in times.items()}
    print(f"{name}, {X.shape[0]:,} x {X.shape[1]}, {threads} threads: ours {median['ours'] * 1e3:.0f} ms a tree")
    for peer in peers:
        print(f"  {peer} {median[peer] * 1e3:.0f} ms, ours {median['ours'] / median[peer]:.2f} of it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, os.cpu_count() or 1}))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", action="store_true", help="processor time, one thread: for a busy machine")
    options = parser.parse_args()
    clock, several = (time.process_time, [1]) if options.cpu else (time.perf_counter, options.threads)
    tables = {"synthetic": synthetic(options.rows)}
    folder = os.environ.get("PRIVET_DATA")
    if folder and (Path(folder) / "bench_covertype_like.parquet").exists():
        import pandas as pd

        frame = pd.read_parquet(Path(folder) / "bench_covertype_like.parquet")
        labels = frame["target"].to_numpy()
        X = frame.drop(columns="target").to_numpy(np.float32)
        tables["covertype"] = X, (labels == labels.max()).astype(np.int32)
    for name, (X, y) in tables.items():
        for threads in several:
            compare(name, X, y, threads, clock, options.rounds)


if __name__ == "__main__":
    main()

"""One private depth-4 tree against the marginal time of one tree of LightGBM and of HistGradientBoosting, in one run.

    python benchmarks/speed_privatree.py [--rows N] [--threads T] [--cpu]

Encoding and binning are apart on all sides; selection and noise are included on ours. Peers grow depth-4 trees with 16
leaves on 255 bins; their marginal time is that of ten further trees, over ten. Seconds depend on the machine: look at
the ratios. LightGBM is in the extra ``bench``; without it only scikit-learn is compared. ``PRIVET_DATA`` names a folder
with ``bench_covertype_like.parquet``; without it only the synthetic table is timed.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from privet import Numeric, Schema
from privet.fitting import encode_table
from privet.learners.privatree import PrivaTree
from privet.learning import Hints
from privet.ledger import Ledger
from privet.randomness import public_rng
from privet.release import Release, drawn
from privet.terms import Allowance, Terms

REPEATS = 5
MORE_TREES = 10


def synthetic(rows, columns=28):
    """Return as many rows and columns as Higgs has, with a few of them informative."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + rng.standard_normal(rows) * 0.5
    return X, (score > 0).astype(np.int32)


def best_of(function, clock, repeats=REPEATS):
    """Return the shortest time of several runs, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def ours(X, y, threads, clock):
    """Return the time of one fit on an encoded table."""
    features = {f"x{i}": Numeric(float(X[:, i].min()), float(X[:, i].max())) for i in range(X.shape[1])}
    schema = Schema(features, classes=[0, 1])
    learner, terms, allowance = PrivaTree(), Terms.of(schema), Allowance.of(1.0)
    encoding = schema.encoding(learner.bins)
    plan = learner.plan(encoding, terms, allowance.whole, Hints(n_rows=1_000_000))
    table = encode_table(schema, encoding, X, y, threads)

    def fit():
        release = Release(Ledger(terms, allowance), drawn())
        return learner.grow(table, release, public_rng(0), plan)

    return best_of(fit, clock)


def lightgbm_marginal(X, y, threads, clock):
    """Return the marginal time of one tree of LightGBM, or None where it is not installed."""
    try:
        import lightgbm
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
    data = lightgbm.Dataset(X, y, params=parameters).construct()
    first, more = (
        best_of(lambda trees=trees: lightgbm.train(parameters, data, num_boost_round=trees), clock, 3)
        for trees in (1, 1 + MORE_TREES)
    )
    return (more - first) / MORE_TREES


def histgb_marginal(X, y, clock):
    """Return the marginal time of one tree of scikit-learn's HistGradientBoosting, on its own number of threads."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def fit(trees):
        model = HistGradientBoostingClassifier(max_iter=trees, max_depth=4, max_leaf_nodes=16, early_stopping=False)
        return model.fit(X, y)

    first, more = (best_of(lambda trees=trees: fit(trees), clock, 1) for trees in (1, 1 + MORE_TREES))
    return (more - first) / MORE_TREES


def compare(name, X, y, threads, clock):
    """Time all on one table and print a row."""
    mine, lightgbm = ours(X, y, threads, clock), lightgbm_marginal(X, y, threads, clock)
    histgb = histgb_marginal(X, y, clock)
    against = "not installed" if lightgbm is None else f"{lightgbm * 1e3:.0f} ms, ours {mine / lightgbm:.2f} of it"
    print(f"{name}, {X.shape[0]:,} x {X.shape[1]}, {threads} threads: ours {mine * 1e3:.0f} ms a tree")
    print(f"  LightGBM {against}; HistGradientBoosting {histgb * 1e3:.0f} ms, ours {mine / histgb:.2f} of it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--cpu", action="store_true", help="processor time, one thread: for a busy machine")
    options = parser.parse_args()
    clock, threads = (time.process_time, 1) if options.cpu else (time.perf_counter, options.threads)
    compare("synthetic", *synthetic(options.rows), threads, clock)
    folder = os.environ.get("PRIVET_DATA")
    if folder and (Path(folder) / "bench_covertype_like.parquet").exists():
        import pandas as pd

        frame = pd.read_parquet(Path(folder) / "bench_covertype_like.parquet")
        X = frame.drop(columns="target").to_numpy(np.float32)
        labels = frame["target"].to_numpy()
        compare("covertype", X, (labels == labels.max()).astype(np.int32), threads, clock)


if __name__ == "__main__":
    main()

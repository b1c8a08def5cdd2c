"""How a fit from Parquet grows: time and peak memory by records, features, cores and learner.

    python benchmarks/scale.py --folder /tmp/scale --most 8e6 check    # the figures of docs/results/scale.md
    python benchmarks/scale.py --folder /tmp/scale --most 1e6 grid     # every learner, into docs/results/scale.csv

Every fit runs in a process of its own. Seconds are those of the processor, added up over threads, since they do not
depend on what else runs on the machine; wall-clock seconds are beside them. Memory is the peak of the whole process,
some 300 MB of which are Python, NumPy, scikit-learn and numba. The folder can be deleted afterwards.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FILES = 16
LEARNERS = {
    "random decision forest, 100 trees": ("RandomDecisionForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "disjoint forest, 100 trees": ("DisjointForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "PrivaTree, depth 4": ("PrivaTreeClassifier", {"max_depth": 4}),
    "multinomial forest": ("MultinomialForestClassifier", {"max_depth": 4}),
    "boosting": ("BoostingClassifier", {"n_rows_hint": 1_000_000}),
}


def write_table(folder: Path, n_rows: int, n_features: int) -> Path:
    """Write random records whose label depends on three features; do nothing if they are there already."""
    home = folder / f"{n_rows}x{n_features}"
    if home.is_dir():
        return home
    beside = home.with_suffix(".part")
    beside.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        rng, n = np.random.default_rng([n_rows, number]), n_rows // FILES
        X = rng.random((n_features, n))
        y = (X[0] + X[1] * X[2] > 0.75 + 0.2 * rng.standard_normal(n)).astype(np.int8)
        columns = {f"x{j}": X[j] for j in range(n_features)} | {"y": y}
        pq.write_table(pa.table(columns), beside / f"part-{number:02d}.parquet", row_group_size=1 << 17)
    beside.rename(home)
    return home


def bare_read(home: Path, n_jobs: int) -> None:
    """Read all files, row group by row group, and do nothing with them."""

    def read(path: Path) -> None:
        file = pq.ParquetFile(path)
        for number in range(file.num_row_groups):
            file.read_row_group(number, use_threads=False)

    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(read, sorted(home.glob("*.parquet"))))


def work(task: dict[str, object]) -> None:
    """Carry out one task in this process: warm up, measure, print."""
    home, n_jobs = Path(str(task["home"])), int(str(task["n_jobs"]))
    if task["what"] == "read":
        run = lambda: bare_read(home, n_jobs)  # noqa: E731  # one of three of the same kind
    else:
        import privet
        from privet.estimators.registry import estimator_class
        from privet.tables import ParquetTable

        names = [name for name in pq.read_schema(next(home.glob("*.parquet"))).names if name != "y"]
        schema = privet.Schema({name: privet.Numeric(0, 1) for name in names}, classes=[0, 1])
        kind, parameters = LEARNERS[str(task["learner"])]
        estimator = estimator_class(kind)(schema=schema, random_state=0, n_jobs=n_jobs, **parameters)
        estimator.fit(np.random.default_rng(0).random((2000, len(names))), np.arange(2000) % 2)  # compiled by now
        memory = task.get("memory")
        if task["what"] == "in memory":
            frame = pq.read_table(home)
            X, y = frame.drop_columns(["y"]), frame.column("y")
            run = lambda: estimator.fit(X, y)  # noqa: E731
        else:
            first = sorted(home.glob("*.parquet"))[0]
            estimator.fit(ParquetTable(first, target="y", memory=memory))  # for what else is compiled
            run = lambda: estimator.fit(ParquetTable(home, target="y", memory=memory))  # noqa: E731
    cpu, wall = time.process_time(), time.perf_counter()
    run()
    figures = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps({**{k: round(v, 3) for k, v in figures.items()}, "peak": round(peak)}))


def measured(**task: object) -> dict[str, float]:
    """Carry out a task in a new process and return its figures."""
    command = [sys.executable, __file__, "work", json.dumps({"n_jobs": 2, **task}, default=str)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


def check(folder: Path, n_rows: int) -> None:
    """Measure the promises side by side; ratios are of processor seconds."""
    home = write_table(folder, n_rows, 28)
    read = min((measured(what="read", home=home) for _ in range(3)), key=lambda found: found["cpu"])
    print(f"bare read of {n_rows:,} x 28, two threads: {read}", flush=True)
    forest, tree, boosting = (name for name in LEARNERS if name.startswith(("random", "PrivaTree", "boosting")))
    found = min((measured(what="fit", home=home, learner=forest) for _ in range(3)), key=lambda found: found["cpu"])
    print(f"{forest}: {found}; {found['cpu'] / read['cpu']:.2f} times the bare read", flush=True)
    smaller = write_table(folder, n_rows // 8, 28)
    for learner in (tree, boosting):
        whole = measured(what="in memory", home=smaller, learner=learner)
        kept = measured(what="fit", home=smaller, learner=learner)
        spilled = measured(what="fit", home=smaller, learner=learner, memory=0)
        times = [found["cpu"] / whole["cpu"] for found in (kept, spilled)]
        ratios = f"{times[0]:.2f} times from Parquet, {times[1]:.2f} times spilled"
        print(f"{learner}, {n_rows // 8:,} records: {whole} in memory; {ratios} ({kept}, {spilled})", flush=True)


def grid(folder: Path, most: int) -> None:
    """Measure every learner by records, features and cores; write the results."""
    tasks = [(n, 28, 2) for n in (10_000, 100_000, 1_000_000, 8_000_000, 100_000_000) if n <= most]
    tasks += [(100_000, features, 2) for features in (10, 100, 1000)]
    tasks += [(min(most, 1_000_000), 28, 1)]
    rows = []
    for n, features, n_jobs in tasks:
        home = write_table(folder, n, features)
        for learner in LEARNERS:
            found = measured(what="fit", home=home, learner=learner, n_jobs=n_jobs)
            rows.append({"learner": learner, "records": n, "features": features, "cores": n_jobs, **found})
            print(rows[-1], flush=True)
    with (RESULTS / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("scale-data"), help="where to write the tables")
    parser.add_argument("--most", type=float, default=1e6, help="the largest number of records")
    parser.add_argument("command", choices=["check", "grid", "work"])
    parser.add_argument("task", nargs="?", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.command == "work":
        work(json.loads(given.task))
    elif given.command == "check":
        check(given.folder, int(given.most))
    else:
        grid(given.folder, int(given.most))


if __name__ == "__main__":
    main()

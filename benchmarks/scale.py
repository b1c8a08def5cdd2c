"""How a fit from Parquet grows: time and peak memory by records, features, cores, trees, depth and learner.

    python benchmarks/scale.py check --folder DATA            # the promises, side by side: docs/results/scale_check.csv
    python benchmarks/scale.py grid --folder DATA --most 1e8  # every learner: docs/results/scale.csv
    python benchmarks/scale.py page                           # docs/results/scale.md and its pictures from both

Every fit runs in a process of its own, forked from one in which everything has been imported and compiled. Seconds are
those of the processor, added up over threads, since they hardly depend on what else runs on the machine; wall-clock
seconds are beside them. What is compared is measured in turn, and medians are compared. Memory is the peak of the whole
process, some 300 MB of which are Python, NumPy, scikit-learn, PyArrow and numba. The folder can be deleted afterwards.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import privet
from privet.estimators.registry import estimator_class
from privet.tables import ParquetTable
from scale_page import write_page

RESULTS = Path(__file__).parents[1] / "docs" / "results"
FILES = 16
_MOST_WRITTEN = 10_000_000  # records; tables of more are one file under sixteen names
WIDTH = 28
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "random decision forest": ("RandomDecisionForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "disjoint forest": ("DisjointForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "PrivaTree": ("PrivaTreeClassifier", {"max_depth": 4}),
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
        if n_rows > _MOST_WRITTEN and number:  # the same records again: what a fit costs does not depend on them
            os.link(beside / "part-00.parquet", beside / f"part-{number:02d}.parquet")
            continue
        rng, n = np.random.default_rng([n_rows, number]), n_rows // FILES
        path = beside / f"part-{number:02d}.parquet"
        columns = [pa.field(f"x{j}", pa.float64()) for j in range(n_features)]
        with pq.ParquetWriter(path, pa.schema([*columns, pa.field("y", pa.int8())])) as writer:
            for begin in range(0, n, 1 << 17):
                X = rng.random((n_features, min(1 << 17, n - begin)))
                y = (X[0] + X[1] * X[2] > 0.75 + 0.2 * rng.standard_normal(X.shape[1])).astype(np.int8)
                writer.write_table(pa.table([*X, y], schema=writer.schema), row_group_size=1 << 17)
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


def read_whole(home: Path) -> pa.Table:
    """Read all files into one table, with as many threads as PyArrow has been given."""
    return pq.read_table(home)


def estimator(learner: str, home: Path, n_jobs: int = 2, **changes: Any) -> Any:
    """Return a learner for the records in a folder."""
    names = [name for name in pq.read_schema(next(home.glob("*.parquet"))).names if name != "y"]
    schema = privet.Schema({name: privet.Numeric(0, 1) for name in names}, classes=[0, 1])
    kind, parameters = LEARNERS[learner]
    return estimator_class(kind)(schema=schema, random_state=0, n_jobs=n_jobs, **(parameters | changes))


def from_files(learner: str, home: Path, n_jobs: int = 2, memory: int | None = None, **changes: Any) -> None:
    """Fit to the records in a folder."""
    estimator(learner, home, n_jobs, **changes).fit(ParquetTable(home, target="y", memory=memory))


def spilled(learner: str, home: Path) -> None:
    """Fit to the records in a folder, with all codes on disk."""
    from_files(learner, home, memory=0)


def from_frame(learner: str, home: Path) -> Callable[[], Any]:
    """Read the records, and return what fits to them: the reading is not measured."""
    frame = read_whole(home)
    X, y, unfitted = frame.drop_columns(["y"]), frame.column("y"), estimator(learner, home)
    return lambda: unfitted.fit(X, y)


def resident() -> float:
    """Return how many megabytes of memory this process has in use."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(prepare: Callable[[], Callable[[], Any]]) -> dict[str, float]:
    """Run what `prepare` returns in a process of its own; return seconds and peak megabytes."""
    reads, writes = os.pipe()
    so_far = resident()
    child = os.fork()
    if child == 0:
        pa.set_cpu_count(2)
        at_first = resident()  # less than in the parent: what is mapped from files is not counted before it is used
        run = prepare()
        cpu, wall = time.process_time(), time.perf_counter()
        run()
        found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        peak = so_far + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6 - at_first
        os.write(writes, json.dumps({**{k: round(v, 4) for k, v in found.items()}, "peak": round(peak)}).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    figures: dict[str, float] = json.loads(text)
    return figures


def warm_up(folder: Path, learners: Iterable[str]) -> None:
    """Import and compile everything; with one thread, since threads do not survive a fork."""
    home = write_table(folder, 160_000, WIDTH)
    for learner in learners:
        from_files(learner, home, n_jobs=1)
        frame = pq.read_table(next(home.glob("*.parquet")), use_threads=False)
        estimator(learner, home, 1).fit(frame.drop_columns(["y"]), frame.column("y"))


def check(folder: Path, n_rows: int, repeats: int) -> None:
    """Measure the promises in turn."""
    warm_up(folder, ["random decision forest", "PrivaTree", "boosting"])
    home, smaller = write_table(folder, n_rows, WIDTH), write_table(folder, n_rows // 8, WIDTH)
    forest = "random decision forest"
    tasks: list[tuple[str, str, int, Callable[[], Callable[[], Any]]]] = [
        ("bare read, two threads", "", n_rows, lambda: lambda: bare_read(home, 2)),
        ("pyarrow.parquet.read_table, two threads", "", n_rows, lambda: lambda: read_whole(home)),
        ("fit from Parquet", forest, n_rows, lambda: lambda: from_files(forest, home)),
    ]
    for name in ("PrivaTree", "boosting"):
        tasks += [
            ("fit to a frame in memory", name, n_rows // 8, lambda name=name: from_frame(name, smaller)),
            ("read, then fit to the frame", name, n_rows // 8, lambda name=name: lambda: from_frame(name, smaller)()),
            ("fit from Parquet", name, n_rows // 8, lambda name=name: lambda: from_files(name, smaller)),
            ("fit from Parquet, codes spilled", name, n_rows // 8, lambda name=name: lambda: spilled(name, smaller)),
        ]
    rows = []
    for _ in range(repeats):
        for what, learner, n, prepare in tasks:
            rows.append({"what": what, "learner": learner, "records": n, "features": WIDTH, **measured(prepare)})
            print(rows[-1], flush=True)
        summary(rows).to_csv(RESULTS / "scale_check.csv", index=False)


def summary(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return medians of seconds and the largest peaks, with the machine they were measured on."""
    grouped = pd.DataFrame(rows).groupby(["what", "learner", "records", "features"], sort=False)
    table = grouped.agg({"cpu": median, "wall": median, "peak": "max"})
    return table.assign(repeats=grouped.size(), machine=machine()).reset_index()


def machine() -> str:
    """Name the machine: cores, memory and versions."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gigabytes:.0f} GB, Python {platform.python_version()}, PyArrow {pa.__version__}"


def grid(folder: Path, most: int) -> None:
    """Measure every learner by one quantity after the other; write the results."""
    warm_up(folder, LEARNERS)
    forest, base = "random decision forest", {"records": 100_000, "features": WIDTH, "cores": 2}
    tasks: list[tuple[str, dict[str, Any]]] = []
    tasks += [(learner, base | {"records": n}) for n in (10_000, 100_000, 1_000_000) for learner in LEARNERS]
    tasks += [(forest, base | {"records": 100_000_000, "features": 10})]
    tasks += [(each, base | {"records": 20_000, "features": width}) for width in (10, 100, 1000) for each in LEARNERS]
    tasks += [(forest, base | {"records": 1_000_000, "n_trees": trees}) for trees in (10, 30, 300)]
    tasks += [(forest, base | {"records": 1_000_000, "max_depth": depth}) for depth in (4, 6, 10, 12)]
    tasks += [("PrivaTree", base | {"records": 1_000_000, "max_depth": depth}) for depth in (2, 6, 8)]
    tasks += [(forest, base | {"records": 8_000_000})]
    tasks += [(learner, base | {"cores": 1}) for learner in LEARNERS]
    names = ["learner", "records", "features", "cores", "n_trees", "max_depth", "cpu", "wall", "peak"]
    with (RESULTS / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for learner, task in (each for each in tasks if each[1]["records"] <= most):
            home = write_table(folder, task["records"], task["features"])
            changes = {name: value for name, value in task.items() if name in ("n_trees", "max_depth")}
            run = lambda: lambda: from_files(learner, home, task["cores"], **changes)  # noqa: E731, B023  # run at once
            row = {"learner": learner, **LEARNERS[learner][1], **task, **measured(run)}
            writer.writerow({name: row.get(name, "") for name in names})
            file.flush()
            print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "grid", "page"])
    parser.add_argument("--folder", type=Path, default=Path("scale-data"), help="where to write the tables")
    parser.add_argument("--most", type=float, default=8e6, help="the largest number of records")
    parser.add_argument("--repeats", type=int, default=5, help="how often the promises are measured")
    given = parser.parse_args()
    if given.command == "check":
        check(given.folder, int(given.most), given.repeats)
    elif given.command == "grid":
        grid(given.folder, int(given.most))
    else:
        write_page(RESULTS)


if __name__ == "__main__":
    main()

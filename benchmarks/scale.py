"""How a fit from Parquet grows: time and peak memory by records, features, cores, trees, depth and learner.

    python benchmarks/scale.py check --folder DATA            # the promises, side by side: docs/results/scale_check.csv
    python benchmarks/scale.py check --folder DATA --only boosting --repeats 1  # some of them; the others stay
    python benchmarks/scale.py grid --folder DATA --most 1e8  # every learner: docs/results/scale.csv
    python benchmarks/scale.py grid --folder DATA --most 1e8 --more --minutes 9  # go on where it was left
    python benchmarks/scale.py page                           # docs/results/scale.md and its pictures from both

Every fit runs in a process of its own, forked from one in which everything has been imported and compiled. Seconds are
those of the processor, added up over threads, since they hardly depend on what else runs on the machine; wall-clock
seconds are beside them. What is compared is measured in turn, and medians are compared. Memory is the peak of the whole
process, some 400 MB of which are Python, NumPy, scikit-learn, PyArrow and numba. The folder can be deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import time
from collections.abc import Callable, Iterable, Sequence
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
_MOST_WRITTEN = 8_000_000  # records; tables of more are one file under sixteen names
LESS_MEMORY = 1_000_000_000  # bytes of codes, for tables of more
WIDTH = 28
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "random decision forest": ("RandomDecisionForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "disjoint forest": ("DisjointForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "PrivaTree": ("PrivaTreeClassifier", {"max_depth": 4}),
    "multinomial forest": ("MultinomialForestClassifier", {"max_depth": 4}),
    "matrix forest": ("MatrixForestClassifier", {}),
    "boosting": ("BoostingClassifier", {"n_rows_hint": 1_000_000}),
}
FOREST, TREE = "random decision forest", "PrivaTree"
CHECKED = (FOREST, TREE, "boosting")


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


def check(folder: Path, n_rows: int, repeats: int, learners: Sequence[str]) -> None:
    """Measure the promises about some learners, in turn; what was measured of the others stays."""
    path = RESULTS / "scale_check.csv"
    others = pd.read_csv(path, keep_default_na=False) if path.exists() else pd.DataFrame({"learner": []})
    others = others[~others["learner"].isin(learners)]
    warm_up(folder, learners)
    home = write_table(folder, n_rows, WIDTH)
    for learner in learners:
        tasks: dict[str, Callable[[], Callable[[], Any]]] = {
            "bare read, two threads": lambda: lambda: bare_read(home, 2),
            "read_table, two threads": lambda: lambda: read_whole(home),
            "fit from Parquet": lambda learner=learner: lambda: from_files(learner, home),
        }
        if learner != FOREST:
            tasks |= {
                "fit from Parquet, codes spilled": lambda learner=learner: lambda: spilled(learner, home),
                "fit to a frame in memory": lambda learner=learner: from_frame(learner, home),
                "read, then fit to the frame": lambda learner=learner: lambda: from_frame(learner, home)(),
            }
        rows = []
        for _ in range(repeats):
            for what, prepare in tasks.items():
                about = {"learner": learner, "what": what, "records": n_rows, "features": WIDTH}
                rows.append({**about, **measured(prepare)})
                print(rows[-1], flush=True)
        others = pd.concat([others, summary(rows)]) if len(others) else summary(rows)
        others.sort_values("learner", key=lambda names: names.map(CHECKED.index), kind="stable").to_csv(
            path, index=False
        )


def summary(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return medians of seconds and the largest peaks, with the machine they were measured on."""
    grouped = pd.DataFrame(rows).groupby(["learner", "what", "records", "features"], sort=False)
    table = grouped.agg({"cpu": median, "wall": median, "peak": "max"})
    return table.assign(repeats=grouped.size(), machine=machine()).reset_index()


def machine() -> str:
    """Name the machine: cores, memory and versions."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {gigabytes:.0f} GB, Python {platform.python_version()}, PyArrow {pa.__version__}"


def grid_tasks() -> list[tuple[str, dict[str, Any]]]:
    """Return what is measured: every learner by one quantity after the other."""
    base = {"records": 100_000, "features": WIDTH, "cores": 2}
    tasks: list[tuple[str, dict[str, Any]]] = []
    tasks += [(learner, base | {"records": n}) for n in (10_000, 100_000, 1_000_000) for learner in LEARNERS]
    tasks += [(each, base | {"records": 20_000, "features": width}) for width in (10, 100, 1000) for each in LEARNERS]
    tasks += [(FOREST, base | {"records": 1_000_000, "n_trees": trees}) for trees in (10, 30, 300)]
    tasks += [(FOREST, base | {"records": 1_000_000, "max_depth": depth}) for depth in (4, 6, 10, 12)]
    tasks += [(TREE, base | {"records": 1_000_000, "max_depth": depth}) for depth in (2, 6, 8)]
    tasks += [(learner, base | {"cores": 1}) for learner in LEARNERS]
    tasks += [(learner, base | {"records": 10_000_000, "cores": cores}) for cores in (2, 1) for learner in LEARNERS]
    tasks += [(learner, base | {"records": 100_000_000, "features": 10}) for learner in (FOREST, TREE)]
    return tasks


def grid(folder: Path, most: int, more: bool, minutes: float) -> None:
    """Measure the grid and write the results as they come; with `more`, what is not there yet."""
    begin, path = time.monotonic(), RESULTS / "scale.csv"
    names = ["learner", "records", "features", "cores", "n_trees", "max_depth", "cpu", "wall", "peak"]
    there = pd.read_csv(path) if more and path.exists() else pd.DataFrame(columns=names)
    done = set(there[names[:6]].astype(object).where(there[names[:6]].notna(), None).itertuples(index=False, name=None))
    rows, warm = there.to_dict("records"), False
    for learner, task in grid_tasks():
        row: dict[str, Any] = {name: (LEARNERS[learner][1] | task).get(name) for name in names} | {"learner": learner}
        if task["records"] > most or tuple(row[name] for name in names[:6]) in done:
            continue
        if time.monotonic() - begin > 60 * minutes:
            print("time is up; go on with --more")
            return
        if not warm:
            warm_up(folder, LEARNERS)
            warm = True
        home = write_table(folder, task["records"], task["features"])
        changes = {name: value for name, value in task.items() if name in ("n_trees", "max_depth")}
        memory = LESS_MEMORY if task["records"] > _MOST_WRITTEN else None
        run = lambda: lambda: from_files(learner, home, task["cores"], memory, **changes)  # noqa: E731, B023  # run at once
        rows.append(row | measured(run))
        print(rows[-1], flush=True)
        table = pd.DataFrame(rows, columns=names).astype({"n_trees": "Int64", "max_depth": "Int64"})
        table.sort_values(["records", "features"], kind="stable").to_csv(path, index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["check", "grid", "page"])
    parser.add_argument("--folder", type=Path, default=Path("scale-data"), help="where to write the tables")
    parser.add_argument("--most", type=float, default=8e6, help="the largest number of records")
    parser.add_argument("--repeats", type=int, default=5, help="how often the promises are measured")
    parser.add_argument("--only", choices=CHECKED, action="append", help="the promises about this learner")
    parser.add_argument("--more", action="store_true", help="measure what is missing in the grid")
    parser.add_argument("--minutes", type=float, default=600, help="begin nothing new in the grid afterwards")
    given = parser.parse_args()
    if given.command == "check":
        check(given.folder, int(given.most), given.repeats, given.only or CHECKED)
    elif given.command == "grid":
        grid(given.folder, int(given.most), given.more, given.minutes)
    else:
        write_page(RESULTS)


if __name__ == "__main__":
    main()

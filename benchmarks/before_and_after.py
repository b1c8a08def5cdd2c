"""How fast this version is beside another one, in one run: fits, predictions and imports, in alternation.

    git clone . ../privet-before && git -C ../privet-before checkout dd2a9ef    # before the rooms of version 0.2
    python benchmarks/before_and_after.py --before ../privet-before/src

Each version has a process of its own, which fits when it is asked to; both take turns, so a busy machine slows both.
Seconds are of the processor, one thread; medians of the repeats are compared, and a ratio below one means that this
version is faster. The fits are those of ``benchmarks/speed*.py`` in smaller sizes, and small ones, in which what is
done around the records counts. What a version does not have is set to what the other does: equal vote weights in
random forests, the consistent forest by its old name. Written to ``docs/results``, as a page and as CSV.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NOW = HERE.parent / "src"
BEFORE = "dd2a9ef"
SLOWER = 1.05  # from this ratio on, a line is marked
FEW_VALUES = 10_000  # fits of so small a table are repeated more often: an interrupt takes as long as a prediction
MORE_REPEATS = 11

IMPORTS = {
    "import privet": "import privet",
    "import of the estimators": "from privet import BoostingClassifier, PrivaTreeClassifier",
}


@dataclass(frozen=True)
class Case:
    """An estimator with settings, and the size of its table."""

    estimator: str
    rows: int
    columns: int
    settings: dict[str, Any] = field(default_factory=dict)
    of: str = ""  # the benchmark whose fit this is, in a smaller size
    words: bool = False  # features of three categories, in a frame


EQUAL = {"n_trees": 100, "max_depth": 8, "vote_weights": "equal"}
DEALT = {"n_trees": 100, "max_depth": 8}
ONE_TREE = {"n_trees": 1, "max_depth": 6, "criterion": "mix"}
CONSISTENT = {"epsilon": None, "n_trees": 5, "min_leaf": 5}
CASES = {
    "random forest": Case("RandomDecisionForestClassifier", 100_000, 28, EQUAL, "speed.py"),
    "boosting": Case("BoostingClassifier", 100_000, 20, {"delta": 1e-6}, "speed_boosting.py"),
    "disjoint forest": Case("DisjointForestClassifier", 300_000, 10, DEALT, "speed_disjoint.py"),
    "consistent forest": Case("ConsistentForestClassifier", 5_000, 42, CONSISTENT, "speed_multinomial.py", True),
    "PrivaTree": Case("PrivaTreeClassifier", 300_000, 28, {}, "speed_privatree.py"),
    "multinomial forest": Case("MultinomialForestClassifier", 50_000, 20, ONE_TREE),
    "random forest, small": Case("RandomDecisionForestClassifier", 2_000, 5, EQUAL),
    "boosting, small": Case("BoostingClassifier", 2_000, 5, {"delta": 1e-6}),
    "boosting a target, small": Case("BoostingRegressor", 2_000, 5, {"delta": 1e-6}),
    "disjoint forest, small": Case("DisjointForestClassifier", 2_000, 5, DEALT),
    "matrix forest, small": Case("MatrixForestClassifier", 2_000, 5, {"n_trees": 32}),
    "multinomial forest, small": Case("MultinomialForestClassifier", 2_000, 5, ONE_TREE),
    "PrivaTree, small": Case("PrivaTreeClassifier", 2_000, 5),
    "PrivaTree, 500 features": Case("PrivaTreeClassifier", 1_000, 500),
}


def serve() -> None:
    """Fit and predict as asked, one request a line: the name of a case. Answer with seconds of the processor."""
    warnings.simplefilter("ignore")
    ready: dict[str, tuple[Any, Any, Any]] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = prepared(CASES[name])
            estimator, X, y = ready[name]
            estimator.fit(X, y).predict(X)  # compiles
        estimator, X, y = ready[name]
        marks = [time.process_time()]
        estimator.fit(X, y)
        marks.append(time.process_time())
        estimator.predict(X)
        marks.append(time.process_time())
        print(json.dumps([marks[1] - marks[0], marks[2] - marks[1]]), flush=True)


def prepared(case: Case) -> tuple[Any, Any, Any]:
    """Return the estimator, as this version has it, and records: a few features are informative."""
    import numpy as np
    import pandas as pd

    import privet
    from privet import Categorical, Numeric, Schema

    rng, names = np.random.default_rng(0), [f"x{place}" for place in range(case.columns)]
    if case.words:
        X = pd.DataFrame(rng.choice(["x", "o", "b"], (case.rows, case.columns)), columns=names)
        score = ((X == "x").to_numpy()[:, :12].sum(axis=1) > (X == "o").to_numpy()[:, :12].sum(axis=1)).astype(float)
        features = {name: Categorical(["x", "o", "b"]) for name in names}
    else:
        X = rng.standard_normal((case.rows, case.columns)).clip(-4, 4)
        score = X[:, 0] * X[:, 1] + X[:, 2] + rng.standard_normal(case.rows)
        features = {name: Numeric(-4, 4) for name in names}
    regression = case.estimator.endswith("Regressor")
    y = score.clip(-4, 4) if regression else (score > 0).astype(np.int64)
    schema = Schema(features, target=Numeric(-4, 4)) if regression else Schema(features, classes=[0, 1])
    old_name = case.estimator.replace("Consistent", "Multinomial")
    kind = getattr(privet, case.estimator, None) or getattr(privet, old_name)
    known = inspect.signature(kind).parameters
    settings = {"epsilon": 1.0, "n_rows_hint": case.rows, "random_state": 0, "n_jobs": 1} | case.settings
    return kind(schema=schema, **{key: value for key, value in settings.items() if key in known}), X, y


class Version:
    """A copy of the sources, with a process that fits with it."""

    def __init__(self, sources: Path, cache: Path) -> None:
        self.settings = {**os.environ, "PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache)}
        command = [sys.executable, __file__, "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=self.settings, **pipes)

    def seconds(self, case: str) -> list[float]:
        """Return what a fit and a prediction took."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(case, file=self.process.stdin, flush=True)
        answer: list[float] = json.loads(self.process.stdout.readline())
        return answer

    def seconds_of_import(self, code: str) -> float:
        """Return what a new process takes to import."""
        code = f"{code}; import time; print(time.process_time())"
        done = subprocess.run(
            [sys.executable, "-c", code], env=self.settings, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(what: str, before: list[float], now: list[float], of: str = "") -> dict[str, str]:
    """Return a line of the table: medians, and their ratio."""
    medians = [statistics.median(seconds) for seconds in (before, now)]
    row = {
        "what": what,
        "smaller form of": of,
        "before, ms": f"{medians[0] * 1e3:.1f}",
        "now, ms": f"{medians[1] * 1e3:.1f}",
        "now / before": f"{medians[1] / medians[0]:.2f}",
    }
    print(*row.values(), sep="  ", flush=True)
    return row


def page(rows: list[dict[str, str]], command: str) -> str:
    """Return the table as a page."""
    lines = [
        "# This version beside the one before its rooms",
        "",
        f"Made by `{command}`: milliseconds of the processor, one thread, medians of at least nine in alternation, of "
        "small ones 99. "
        f"*Before* is commit {BEFORE}, the last one before every file of the library was moved; *now* is this version, "
        "with all that has been added since. A fit includes checks, plan, encoding and charges; small ones have 2,000 "
        "records of five features. Random forests have equal vote weights here, which is what the older version knows. "
        "Lines may be of different runs (`--only`).",
        "",
        "| " + " | ".join(rows[0]) + " |",
        "|---|---|---:|---:|---:|",
    ]
    return "\n".join([*lines, *("| " + " | ".join(row.values()) + " |" for row in rows), ""])


def main() -> None:
    """Compare the versions and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the sources (src) of the other version")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some lines; all others of the table stay")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results")
    parser.add_argument("--cache", type=Path, help="a folder for machine code, kept for further runs")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve()
        return
    if asked.before is None:
        parser.error("name the sources of the other version: --before ../privet-before/src")
    wanted = [name for name in (*CASES, *IMPORTS) if not asked.only or name in asked.only]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cache = asked.cache or Path(folder)
        versions = [
            Version(sources.resolve(), cache / name) for name, sources in (("before", asked.before), ("now", NOW))
        ]
        for name in wanted:
            rows += imports(name, versions, asked.repeats) if name in IMPORTS else fits(name, versions, asked.repeats)
        for version in versions:
            version.close()
    slower = [row["what"] for row in rows if float(row["now / before"]) > SLOWER]
    print(f"slower by more than 5%: {', '.join(slower) or 'nothing'}")
    write(rows, asked.out)


def fits(name: str, versions: list[Version], repeats: int) -> list[dict[str, str]]:
    """Compare the fits and the predictions of a case."""
    for version in versions:
        version.seconds(name)
    if CASES[name].rows * CASES[name].columns <= FEW_VALUES:
        repeats *= MORE_REPEATS
    rounds = [[version.seconds(name) for version in versions] for _ in range(repeats)]
    rows = []
    for part, what in enumerate(("fit", "predict")):
        times = [[one[side][part] for one in rounds] for side in (0, 1)]
        rows.append(compare(f"{name}: {what}", *times, CASES[name].of if part == 0 else ""))
    return rows


def imports(name: str, versions: list[Version], repeats: int) -> list[dict[str, str]]:
    """Compare new processes that import."""
    rounds = [[version.seconds_of_import(IMPORTS[name]) for version in versions] for _ in range(repeats)]
    return [compare(name, *([one[side] for one in rounds] for side in (0, 1)))]


def write(rows: list[dict[str, str]], folder: Path) -> None:
    """Write the table; lines of it that were not measured this time stay as they are."""
    file = folder / "before_and_after.csv"
    lines = {row["what"]: row for row in csv.DictReader(file.read_text("utf-8").splitlines())} if file.exists() else {}
    lines |= {row["what"]: row for row in rows}
    order = [f"{name}: {part}" for name in CASES for part in ("fit", "predict")]
    kept = [lines[what] for what in (*order, *IMPORTS) if what in lines]
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, kept[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)
    command = "python benchmarks/before_and_after.py --before ../privet-before/src"
    (folder / "before_and_after.md").write_text(page(kept, command), "utf-8")


if __name__ == "__main__":
    main()

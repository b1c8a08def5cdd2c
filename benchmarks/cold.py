"""How long a first fit takes: with nothing compiled yet (cold), and with machine code from an earlier process (warm).

Each fit runs in a process of its own; times are of ``fit`` and of ``predict`` with what they import and compile.
Seconds of the processor are given beside those of the clock, since the latter depend on what else the machine does.

    python benchmarks/cold.py
    python benchmarks/cold.py --before ../privet-before/src     # another copy of the sources beside this one
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

LEARNERS = ("PrivaTreeClassifier", "BoostingClassifier")
SOURCES = Path(__file__).resolve().parents[1] / "src"

FIT = """
import json, sys, time
import numpy as np, pandas as pd
import privet
from privet import Categorical, Numeric, Schema
rng = np.random.default_rng(0)
X = pd.DataFrame({"a": rng.uniform(0, 1, 2000), "b": rng.uniform(0, 1, 2000), "c": rng.choice(list("xyz"), 2000)})
y = np.where(X["a"] + rng.normal(0, 0.1, 2000) > 0.5, "p", "q")
schema = Schema(features={"a": Numeric(0, 1), "b": Numeric(0, 1), "c": Categorical(list("xyz"))}, classes=["p", "q"])
model = getattr(privet, sys.argv[1])(epsilon=1.0, schema=schema, random_state=0)
marks = [(time.perf_counter(), time.process_time())]
model.fit(X, y)
marks.append((time.perf_counter(), time.process_time()))
model.predict(X)
marks.append((time.perf_counter(), time.process_time()))
print(json.dumps([[b - a for a, b in zip(one, two)] for one, two in zip(marks, marks[1:])]))
"""


def measure(learner: str, sources: Path, cache: Path) -> list[list[float]]:
    """Return seconds by the clock and of the processor, of fit and of predict, in a new process."""
    settings = {**os.environ, "PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIT, learner], env=settings, capture_output=True, text=True, check=True
    )
    times: list[list[float]] = json.loads(done.stdout)
    return times


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="the sources (src) of another version, measured side by side")
    parser.add_argument("--repeats", type=int, default=1, help="the least of so many runs counts")
    asked = parser.parse_args()
    versions = ([("before", asked.before)] if asked.before else []) + [("now", SOURCES)]
    print("| learner | version | cache | fit, s | fit, s of processor | predict, s | predict, s of processor |")
    print("|---|---|---|---:|---:|---:|---:|")
    for learner in LEARNERS:
        for version, sources in versions:
            runs: dict[str, list[list[list[float]]]] = {"cold": [], "warm": []}
            for _ in range(asked.repeats):
                with tempfile.TemporaryDirectory() as cache:
                    for state in ("cold", "warm"):
                        runs[state].append(measure(learner, sources, Path(cache)))
            for state, times in runs.items():
                least = [min(run[part][clock] for run in times) for part in (0, 1) for clock in (0, 1)]
                print(
                    f"| {learner} | {version} | {state} | " + " | ".join(f"{x:.1f}" for x in least) + " |", flush=True
                )


if __name__ == "__main__":
    main()

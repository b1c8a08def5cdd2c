"""What a fit would cost at 10^9 and 10^11 records on 10 to 1,000 machines: a simulation from measured constants.

    python benchmarks/large_clusters.py measure     # passes and bytes of each learner: docs/results/large_clusters.csv
    python benchmarks/large_clusters.py page        # docs/results/large_clusters.md and its picture

Passes and bytes are counted in real fits: they depend on schema and settings, and hardly on the records. Seconds per
record are those of `docs/results/scale.csv`. What is assumed about machines and network stands on the page.
"""

from __future__ import annotations

import argparse
import pickle
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import privet
from privet.estimators.registry import estimator_class
from privet.tables import Block
from privet.tables.described import Described, Job
from privet.tables.reading import MemoryTable
from privet_papers.framework.plots import common_style, save_svg

RESULTS = Path(__file__).parents[1] / "docs" / "results"
N_FEATURES = 28
# Records of the grid from which a learner has spilled, since fits to so many may keep 1 GB only: workers keep theirs.
SPILLS_FROM = {"boosting": 10_000_000}
CORES, MEMORY, NETWORK, ROUND = 8, 32e9, 1.25e9, 0.1  # of a machine: cores, bytes, bytes a second; seconds a round
ADDED_AT_ONCE = 8  # parts that one task adds up, as in `privet.tables.dask_table`
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "random decision forest": ("RandomDecisionForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "disjoint forest": ("DisjointForestClassifier", {"n_trees": 100, "max_depth": 8}),
    "PrivaTree": ("PrivaTreeClassifier", {"max_depth": 4}),
    "multinomial forest": ("MultinomialForestClassifier", {"max_depth": 4}),
    "boosting": ("BoostingClassifier", {"n_rows_hint": 1_000_000}),
}


class Watched:
    """A table that writes down how many bytes go to the workers and come back in each pass."""

    def __init__(self, table: Any, passes: list[tuple[int, int]]) -> None:
        self._table, self._passes, self.encoding = table, passes, table.encoding

    def aggregate(self, kernel: Any) -> Any:
        """Count, and write down the bytes of the kernel and of its integers."""
        total = self._table.aggregate(kernel)
        self._passes.append((len(pickle.dumps(kernel)), total.nbytes))
        return total

    def derive(self, name: str, kernel: Any) -> Watched:
        """Give each record a value; it stays where the record is."""
        return Watched(self._table.derive(name, kernel), self._passes)


class WatchedRecords(Described):
    """Random records as a table that is watched."""

    def __init__(self, n_rows: int) -> None:
        super().__init__(target="y")
        self.n_rows, self.passes = n_rows, list[tuple[int, int]]()

    def encoded(self, job: Job) -> Any:
        """Draw codes at random: what travels does not depend on them."""
        encoding, rng = job.reading.encoding, np.random.default_rng(0)
        codes = rng.integers(0, encoding.n_codes[:, None], (encoding.n_features, self.n_rows)).astype(encoding.dtype)
        target = (codes[0] > codes[1]).astype(np.int32)
        block = Block(codes, target, np.arange(self.n_rows, dtype=np.uint64), {})
        return Watched(MemoryTable(encoding, block.codes, block.target), self.passes)


def measure() -> pd.DataFrame:
    """Count passes and bytes of each learner, and take seconds per record from the grid."""
    grid = pd.read_csv(RESULTS / "scale.csv")
    schema = privet.Schema({f"x{j}": privet.Numeric(0, 1) for j in range(N_FEATURES)}, classes=[0, 1])
    rows = []
    for learner, (kind, parameters) in LEARNERS.items():
        records = WatchedRecords(20_000)
        estimator_class(kind)(schema=schema, random_state=0, **parameters).fit(records)
        mine = grid[(grid["learner"] == learner) & (grid["features"] == N_FEATURES) & (grid["cores"] == 2)]
        if "max_depth" in parameters:
            mine = mine[mine["max_depth"] == parameters["max_depth"]]
        if "n_trees" in parameters:
            mine = mine[mine["n_trees"] == parameters["n_trees"]]
        mine = mine[mine["records"] < SPILLS_FROM.get(learner, np.inf)]
        small, large = mine.sort_values("records").iloc[-2], mine.sort_values("records").iloc[-1]
        seconds = (large["cpu"] - small["cpu"]) / (large["records"] - small["records"])
        sent, back = zip(*records.passes, strict=True)
        figures = {"passes": len(back), "sent": sum(sent), "back": sum(back), "largest": max(back)}
        rows.append({"learner": learner, "seconds_per_million": round(seconds * 1e6, 4), **figures})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Cost:
    """What a fit costs: seconds, bytes that each machine sends in all passes, and bytes that the driver holds."""

    counting: float
    moving: float
    back_of_each: float
    codes_of_each: float
    driver: float

    @property
    def seconds(self) -> float:
        return self.counting + self.moving


def simulated(about: Any, n_records: float, machines: int) -> Cost:
    """Compute the cost of a fit: counting is divided among all cores; sums go up a tree, one step after the other."""
    counting = n_records * about.seconds_per_million / 1e6 / (machines * CORES)
    steps = ceil(log(machines, ADDED_AT_ONCE))
    # In each step a machine takes up to eight sums in, one after the other; kernels go out the same way.
    moving = about.passes * ROUND * (steps + 1) + (about.back + about.sent) * ADDED_AT_ONCE * steps / NETWORK
    return Cost(counting, moving, about.back, n_records * (N_FEATURES + 4) / machines, 4 * about.largest)


def page(measured: pd.DataFrame) -> str:
    """Return the text of the page."""
    head = (
        "passes | integers of a pass, on average | largest | kernels sent, all passes | processor s per million records"
    )
    lines = [f"| learner | {head} |"]
    lines.append("|---|---|---|---|---|---|")
    for row in measured.itertuples():
        mean = f"{_bytes(row.back / row.passes)} | {_bytes(row.largest)} | {_bytes(row.sent)}"
        lines.append(f"| {row.learner} | {row.passes} | {mean} | {row.seconds_per_million:.2f} |")
    head = "time | of which network | sent by each machine | codes on each | driver holds"
    costs = [f"| records | machines | learner | {head} |"]
    costs.append("|---|---|---|---|---|---|---|---|")
    for n_records, power in ((1e9, 9), (1e11, 11)):
        for machines in (10, 100, 1000):
            for row in measured.itertuples():
                cost = simulated(row, n_records, machines)
                where = "" if cost.codes_of_each <= MEMORY / 2 else " (on disk)"
                kept = "none" if row.passes == 1 else f"{_bytes(cost.codes_of_each)}{where}"
                share = f"{_time(cost.seconds)} | {_time(cost.moving)} | {_bytes(cost.back_of_each)} | {kept}"
                costs.append(f"| 10^{power} | {machines:,} | {row.learner} | {share} | {_bytes(cost.driver)} |")
    table, sizes = "\n".join(costs), "\n".join(lines)
    return f"""# Fits on large clusters: a simulation

Nobody has run these fits. They are computed from constants that were measured on one machine: `python
benchmarks/large_clusters.py measure` counts the passes and bytes of real fits (28 numeric features, two classes), and
takes the seconds per record from the [grid](scale.md); `... page` writes this page.

{sizes}

Assumed: machines with {CORES} cores as fast as those of the grid and {MEMORY / 1e9:.0f} GB, that read their own files;
a network of {NETWORK * 8 / 1e9:.0f} Gbit/s; {ROUND:g} s for each round of tasks; sums that go up a tree,
{ADDED_AT_ONCE} at a time. Not counted: starting the cluster, shared storage that is slower than local files,
stragglers, and codes that are read from disk again in each pass (marked *on disk*; counting then is about as slow as
with codes spilled on one machine). A learner of many passes keeps one byte a value on the workers.

![Time of a fit by machines](large_clusters.svg)

{table}

## Which learner to take

- What travels does not depend on the number of records.
  {_lightest(measured)}
  Rounds and network matter where counting takes seconds only: at 10^9 records on 100 machines and more.
- At 10^11 records counting dominates, and the learners differ by the factors in the first table: boosting takes about
  ten times as long as the others. Take it where that is affordable; [the gap](gap.md) says what accuracy is to be had.
  PrivaTree is the cheapest learner that chooses its splits.
- A learner of one pass (random decision and disjoint forests) needs no memory for codes and survives the loss of a
  machine with the loss of its share of one pass. Take one where codes would not fit, or where machines come and go.
- The driver needs {_bytes(4 * measured["largest"].max())} at most, however many machines there are: noise is drawn
  there, once.
"""


def _lightest(measured: pd.DataFrame) -> str:
    by_bytes = measured.sort_values("back")
    least, most = by_bytes.iloc[0], by_bytes.iloc[-1]
    return (
        f"In a whole fit each machine sends from {_bytes(least['back'])} ({least['learner']}) to "
        f"{_bytes(most['back'])} ({most['learner']}) of integers."
    )


def _bytes(number: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} B"


def _time(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds / 60:.3g} min" if seconds >= 120 else f"{seconds:.3g} s"


def picture(measured: pd.DataFrame) -> Any:
    """Draw the time of a fit by machines."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True)
    machines = [10, 20, 50, 100, 200, 500, 1000]
    for axis, n_records, power in zip(axes, (1e9, 1e11), (9, 11), strict=True):
        for row in measured.itertuples():
            seconds = [simulated(row, n_records, each).seconds for each in machines]
            axis.plot(machines, seconds, label=row.learner)
        axis.set(xscale="log", yscale="log", xlabel="machines", title=f"$10^{{{power}}}$ records")
    axes[0].set_ylabel("seconds")
    axes[1].legend(fontsize=7)
    return figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["measure", "page"])
    if parser.parse_args().command == "measure":
        measure().to_csv(RESULTS / "large_clusters.csv", index=False)
        return
    measured = pd.read_csv(RESULTS / "large_clusters.csv")
    (RESULTS / "large_clusters.md").write_text(page(measured), encoding="utf-8")
    with common_style():
        save_svg(picture(measured), RESULTS / "large_clusters.svg")


if __name__ == "__main__":
    main()

"""The page about fits from Parquet and its pictures, made of `docs/results/scale.csv` and `scale_check.csv`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from privet_papers.framework.plots import common_style, save_svg

FOREST, TREE = "random decision forest", "PrivaTree"
SETTINGS = "Forests of 100 random or disjoint trees of depth 8;\nPrivaTree and multinomial forests of depth 4"


def write_page(results: Path) -> None:
    """Write the page and its pictures."""
    checked, grid = pd.read_csv(results / "scale_check.csv", keep_default_na=False), pd.read_csv(results / "scale.csv")
    (results / "scale.md").write_text(page(checked, grid), encoding="utf-8")
    with common_style():
        save_svg(growth(grid), results / "scale.svg")
        save_svg(shapes(grid), results / "scale_trees.svg")


def page(checked: pd.DataFrame, grid: pd.DataFrame) -> str:
    """Return the text of the page."""
    return f"""# Fits from Parquet files

Measured on {checked["machine"][0]}, which many other
programs used at the same time. So seconds are those of the processor, added up over both threads, and ratios are of
these; times by the clock say little. Peak memory is that of the whole process, some 400 MB of which are
Python, NumPy, scikit-learn, PyArrow and numba with its compiled code.

## Side by side

`python benchmarks/scale.py check --folder DATA`: the tasks of a learner in turn; medians of seconds over the runs, and
the largest peak. Files are 16 of doubles that are uniformly random. The bare read keeps nothing of what it reads;
`pyarrow.parquet.read_table` keeps all of it.

{_side_by_side(checked)}

{_promises(checked)}

## What grows with what

`python benchmarks/scale.py grid --folder DATA --most 1e8`: one run each, from Parquet. {SETTINGS}; boosting with
`n_rows_hint=1_000_000`. Tables of more than eight million records are one file under sixteen names, and their fits keep
at most 1 GB of codes in memory (`memory=`); the rest is spilled.

![Processor seconds with fitted lines and peak memory by records, and seconds by features](scale.svg)

![Processor seconds by the number and depth of trees](scale_trees.svg)

Processor seconds, fitted as a fixed part and one for the records (28 features, two cores, smallest relative errors),
and ratios; the last one is of times by the clock, at the most records that were measured with one core.

{_growth_in_words(grid)}

{_in_words(grid)}

{_grid(grid)}
"""


def _side_by_side(checked: pd.DataFrame) -> str:
    lines = ["| learner | task | records x features | runs | processor seconds | by the clock | peak memory |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in checked.itertuples():
        size = f"{row.records:,} x {row.features} | {row.repeats}"
        lines.append(f"| {row.learner} | {row.what} | {size} | {row.cpu:.2f} | {row.wall:.2f} | {row.peak:.0f} MB |")
    return "\n".join(lines)


def _promises(checked: pd.DataFrame) -> str:
    def found(learner: str, what: str, value: str = "cpu") -> float:
        row = checked[(checked["what"] == what) & (checked["learner"] == learner)]
        return float(row[value].iloc[0])

    fit, bare = found(FOREST, "fit from Parquet"), found(FOREST, "bare read, two threads")
    whole, peak = found(FOREST, "read_table, two threads"), found(FOREST, "fit from Parquet", "peak")
    lines = [
        f"- The forest takes {fit / bare:.2f} times the bare read (aim 2.2), {fit / whole:.2f} times `read_table`, "
        f"with a peak of {peak:.0f} MB (aim 600)."
    ]
    for learner in (TREE, "boosting"):
        memory, read = found(learner, "fit to a frame in memory"), found(learner, "read, then fit to the frame")
        kept, spilled = found(learner, "fit from Parquet"), found(learner, "fit from Parquet, codes spilled")
        bare = found(learner, "bare read, two threads")
        lines.append(
            f"- {learner} from Parquet takes {kept / memory:.2f} times a fit to a frame that is in memory already "
            f"(aim 2), {spilled / memory:.2f} times with codes spilled (aim 4); {kept / read:.2f} and "
            f"{spilled / read:.2f} times a fit that has to read its frame first. A bare read of the files alone takes "
            f"{bare / memory:.2f} times the fit in memory."
        )
    return "\n".join(lines)


def _plain(grid: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with each learner's own settings."""
    usual = {FOREST: (100, 8), TREE: (None, 4)}
    changed = [
        row.learner in usual
        and (row.max_depth != usual[row.learner][1] or (usual[row.learner][0] or row.n_trees) != row.n_trees)
        and not (row.learner == TREE and row.max_depth == 4)
        for row in grid.itertuples()
    ]
    return grid[[not each for each in changed]]


def fitted(x: Any, y: Any) -> tuple[float, float]:
    """Fit y = fixed + slope x, both at least zero, with the smallest relative errors."""
    fixed, slope = nnls(np.column_stack([np.ones(len(x)), x]) / np.array(y)[:, None], np.ones(len(x)))[0]
    return float(fixed), float(slope)


def _in_words(grid: pd.DataFrame) -> str:
    lines = [
        f"- {row.learner}, {row.records:,} x {row.features}: {row.cpu:.0f} processor seconds, {row.wall:.0f} by the "
        f"clock, peak {row.peak / 1000:.2f} GB."
        for row in grid[grid["records"] == grid["records"].max()].itertuples()
    ]
    million = grid[(grid["records"] == 1_000_000) & (grid["features"] == 28) & (grid["learner"] == FOREST)]
    trees = million[million["max_depth"] == 8]
    fixed, slope = fitted(trees["n_trees"], trees["cpu"])
    lines.append(f"- {FOREST} of depth 8, a million records: {fixed:.2f} + {slope * 100:.2f} for 100 trees.")
    depths = million[million["n_trees"] == 100]
    fixed, slope = fitted(2.0 ** depths["max_depth"], depths["cpu"])
    lines.append(
        f"- {FOREST} of 100 trees, a million records: {fixed:.2f} + {slope * 256:.2f} for the leaves of depth 8, "
        "which is doubled by each further level."
    )
    return "\n".join(lines)


def _growth_in_words(grid: pd.DataFrame) -> str:
    head = "fixed | for a million records | 10^7 against 10^6 records | 1,000 against 100 features | 1 core against 2"
    lines = [f"| learner | {head} |", "|---|---|---|---|---|---|"]
    for learner, mine in _plain(grid).groupby("learner", sort=False):
        narrow, two = mine["features"] == 28, mine["cores"] == 2
        by_rows = mine[narrow & two].set_index("records")["cpu"]
        by_width = mine[(mine["records"] == 20_000) & two].set_index("features")["cpu"]
        fixed, slope = fitted(by_rows.index / 1e6, by_rows)
        alone = mine[narrow & ~two].sort_values("records").tail(1)
        by_cores = (
            f"{alone['wall'].iloc[0] / mine[narrow & two].set_index('records')['wall'][alone['records'].iloc[0]]:.1f}"
            if len(alone)
            else ""
        )
        rows = f"{by_rows[10**7] / by_rows[10**6]:.1f}" if 10**7 in by_rows else ""
        width = f"{by_width[1000] / by_width[100]:.1f}"
        lines.append(f"| {learner} | {fixed:.2f} | {slope:.2f} | {rows} | {width} | {by_cores} |")
    return "\n".join(lines)


def _grid(grid: pd.DataFrame) -> str:
    lines = ["| learner | records | features | trees | depth | cores | processor s | clock s | peak MB |"]
    lines.append("|---|---|---|---|---|---|---|---|---|")
    for row in grid.itertuples():
        trees, depth = ("" if pd.isna(value) else f"{value:.0f}" for value in (row.n_trees, row.max_depth))
        size = f"{row.records:,} | {row.features:,} | {trees} | {depth} | {row.cores}"
        lines.append(f"| {row.learner} | {size} | {row.cpu:.2f} | {row.wall:.2f} | {row.peak} |")
    return "\n".join(lines)


def growth(grid: pd.DataFrame) -> Any:
    """Draw seconds and memory by records, and seconds by features."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.4))
    plain = _plain(grid)
    for learner, mine in plain.groupby("learner", sort=False):
        by_rows = mine[(mine["features"] == 28) & (mine["cores"] == 2)].sort_values("records")
        (line,) = left.plot(by_rows["records"], by_rows["cpu"], "o", markersize=3, label=learner)
        fixed, slope = fitted(by_rows["records"], by_rows["cpu"])
        records = np.geomspace(by_rows["records"].min(), by_rows["records"].max())
        left.plot(records, fixed + slope * records, color=line.get_color(), linewidth=1)
        middle.plot(by_rows["records"], by_rows["peak"], label=learner)
        by_width = mine[mine["records"] == 20_000].sort_values("features")
        if len(by_width):
            right.plot(by_width["features"], by_width["cpu"], label=learner)
            right.set(xscale="log", yscale="log")
    left.set(xscale="log", yscale="log", xlabel="records (28 features)", ylabel="processor seconds")
    middle.set(xscale="log", xlabel="records (28 features)", ylabel="peak memory, MB", ylim=(0, None))
    right.set(xlabel="features (20,000 records)", ylabel="processor seconds")
    left.legend(fontsize=7)
    return figure


def shapes(grid: pd.DataFrame) -> Any:
    """Draw seconds by the number and the depth of trees."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2))
    million = grid[(grid["records"] == 1_000_000) & (grid["cores"] == 2) & (grid["features"] == 28)]
    forest, tree = million[million["learner"] == FOREST], million[million["learner"] == TREE]
    trees, depths = forest[forest["max_depth"] == 8].sort_values("n_trees"), forest[forest["n_trees"] == 100]
    left.plot(trees["n_trees"], trees["cpu"], label=f"{FOREST}, depth 8")
    left.set(xscale="log", yscale="log", xlabel="trees", ylabel="processor seconds, 1,000,000 records")
    right.plot(*depths.sort_values("max_depth")[["max_depth", "cpu"]].to_numpy().T, label=f"{FOREST}, 100 trees")
    right.plot(*tree.sort_values("max_depth")[["max_depth", "cpu"]].to_numpy().T, label=TREE)
    right.set(xlabel="depth", ylabel="processor seconds", ylim=(0, None))
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    return figure

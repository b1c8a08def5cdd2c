"""How much of R2 privacy costs one readable tree: PrivaTreeRegressor beside scikit-learn's tree of the same depth.

Run as ``python benchmarks/regression_tree.py --data FOLDER [--quick]``; it writes docs/results/regression_tree.csv and
.md. Targets are columns of data sets of the folder, predicted from all others; ``--diamonds FILE`` adds the price of
diamonds by the CSV file that plotnine ships. Bounds of features and targets are the smallest and largest values, taken
for public. The learner's constants were chosen on columns of magic, pol and bench_california, and for small data of
wine_quality_white.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from privet import BoostingRegressor, Categorical, Numeric, PrivaTreeRegressor, Schema

RESULTS = Path(__file__).parent.parent / "docs" / "results"
EPSILONS, DEPTHS, SPLITS = (0.1, 1.0, 4.0), (3, 4), 3
FITS = 4  # private trees on each split: one differs from the next by .01 to .02
MOST_ROWS = 100_000  # of larger files a sample
TUNED_ON = ("magic", "pol", "wine_quality_white", "bench_california")
SAME = {"education_num": ["education"]}  # columns that say the same as a target
COLUMNS = [
    ("covertype", "Elevation"),
    ("covertype", "Horizontal_Distance_To_Roadways"),
    ("adult", "age"),
    ("adult", "hours_per_week"),
    ("adult", "education_num"),
    ("bench_california", "MedInc"),
    ("magic", "fLength"),
    ("magic", "fDist"),
    ("pol", "f6"),
    ("wine_quality_white", "target"),
    ("abalone", "target"),
]


@dataclass(frozen=True)
class Problem:
    """A target and the features that it is predicted from."""

    name: str
    frame: pd.DataFrame
    numbers: np.ndarray
    schema: Schema

    @property
    def tuned_on(self) -> bool:
        """Whether constants were chosen with this data set in sight."""
        return self.name.startswith(TUNED_ON)

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows to train and to test on."""
        order = np.random.default_rng(number).permutation(len(self.numbers))
        return np.split(order, [int(0.8 * order.size)])

    @property
    def one_hot(self) -> np.ndarray:
        """The features as scikit-learn's trees take them."""
        return pd.get_dummies(self.frame).to_numpy(np.float64)


def of_frame(name: str, frame: pd.DataFrame, target: str) -> Problem:
    """Make a problem of a frame; a missing value is a category of its own, or the middle of a range."""
    numbers = frame.pop(target).astype(float).to_numpy()
    features, columns = dict[str, Numeric | Categorical](), {}
    for column in frame.columns:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values):
            low, high = float(values.min()), float(values.max())
            features[column] = Numeric(low, high if high > low else low + 1.0)
            columns[column] = values.astype(float).fillna((low + high) / 2)
        else:
            columns[column] = values.astype("string").fillna("(missing)").astype(object)
            features[column] = Categorical(sorted(columns[column].unique()))
    schema = Schema(features, target=Numeric(float(numbers.min()), float(numbers.max())))
    return Problem(name, pd.DataFrame(columns), numbers, schema)


def problems(folder: Path, diamonds: Path | None) -> Iterator[Problem]:
    """Every column whose file is there, and diamonds."""
    for file, target in COLUMNS:
        path = folder / f"{file}.parquet"
        if path.exists():
            name = file if target == "target" else f"{file}: {target}"
            frame = pd.read_parquet(path).drop(columns=SAME.get(target, []))
            yield of_frame(name, frame.sample(min(len(frame), MOST_ROWS), random_state=0), target)
    if diamonds is not None:
        yield of_frame("diamonds: price", pd.read_csv(diamonds), "price")


def r_squared(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the part of the variance that is explained."""
    return float(1 - ((truth - predicted) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())


def measure(problem: Problem, *, quick: bool) -> Iterator[dict[str, object]]:
    """Yield a row for each split, depth, guarantee and epsilon."""
    one_hot = problem.one_hot
    facts = {"data": problem.name, "rows": len(problem.numbers), "tuned_on": problem.tuned_on}
    for split in range(2 if quick else SPLITS):
        train, test = problem.split(split)
        hint = int(float(f"{train.size:.0e}"))
        for depth in (4,) if quick else DEPTHS:
            cart = DecisionTreeRegressor(max_depth=depth, random_state=0)
            cart.fit(one_hot[train], problem.numbers[train])
            found = r_squared(problem.numbers[test], cart.predict(one_hot[test]))
            asked = {"learner": "scikit-learn", "depth": depth, "delta": 0, "epsilon": ""}
            yield {**facts, "split": split, **asked, "r2": round(found, 4), "seconds": ""}
            for delta, epsilon in product((0.0, 1e-6), (1.0,) if quick else EPSILONS):
                tree = PrivaTreeRegressor(epsilon, delta, problem.schema, max_depth=depth, n_rows_hint=hint)
                asked = {"learner": "PrivaTree", "depth": depth, "delta": delta, "epsilon": epsilon}
                for _ in range(1 if quick else FITS):
                    yield {**facts, "split": split, **asked, **_tried(tree, problem, train, test)}
        for delta in () if quick else (0.0, 1e-6):
            boosted = BoostingRegressor(1.0, delta, problem.schema, n_rows_hint=hint)
            asked = {"learner": "Boosting", "depth": "", "delta": delta, "epsilon": 1.0}
            yield {**facts, "split": split, **asked, **_tried(boosted, problem, train, test)}


def _tried(model: Any, problem: Problem, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    began = time.perf_counter()
    model.fit(problem.frame.iloc[train], problem.numbers[train])
    took = time.perf_counter() - began
    found = r_squared(problem.numbers[test], model.predict(problem.frame.iloc[test]))
    return {"r2": round(found, 4), "seconds": round(took, 2)}


def page(rows: pd.DataFrame) -> str:
    """Return the result page."""
    means = rows.groupby(["data", "rows", "tuned_on", "learner", "depth", "delta", "epsilon"], dropna=False)[
        "r2"
    ].mean()
    means = means.reset_index().astype({"depth": str, "epsilon": str})

    def value(data: str, learner: str, depth: str, delta: float, epsilon: str) -> float | None:
        same = (means["data"] == data) & (means["learner"] == learner) & (means["depth"] == depth)
        found = means[same & (means["delta"] == delta) & (means["epsilon"] == epsilon)]["r2"]
        return None if found.empty else float(found.iloc[0])

    lines = [
        "# One readable tree for a regression target",
        "",
        f"Mean R2 on test records of {rows['split'].nunique()} splits, with {FITS} private trees on each. By",
        "`benchmarks/regression_tree.py`.",
        "*Without* is scikit-learn's `DecisionTreeRegressor` of the same depth; then what `PrivaTreeRegressor` reaches",
        "at each epsilon, pure and with delta 1e-6. An asterisk marks data sets that were in sight when its constants",
        "were chosen.",
    ]
    epsilons = sorted({e for e in means["epsilon"] if e}, key=float)
    for depth in sorted(d for d in means["depth"].unique() if d):
        heads = [f"{e}{', delta' if delta else ''}" for delta in (0, 1e-6) for e in epsilons]
        lines += ["", f"## Depth {depth}", "", f"| target | records | without | {' | '.join(heads)} |"]
        lines += [f"|---|---|---|{'---|' * len(heads)}"]
        for (data, n, tuned), _ in sorted(means.groupby(["data", "rows", "tuned_on"]), key=lambda pair: -pair[0][1]):
            cells = [value(data, "scikit-learn", depth, 0, "")]
            cells += [value(data, "PrivaTree", depth, delta, e) for delta in (0, 1e-6) for e in epsilons]
            shown = " | ".join("" if cell is None else f"{cell:.3f}" for cell in cells)
            lines.append(f"| {data}{'*' if tuned else ''} | {n:,} | {shown} |")
    lines += ["", "## Boosting at epsilon 1, for comparison", "", "| target | pure | delta 1e-6 |", "|---|---|---|"]
    for data in means["data"].unique():
        cells = [value(data, "Boosting", "", delta, "1.0") for delta in (0, 1e-6)]
        lines.append(f"| {data} | {' | '.join('' if cell is None else f'{cell:.3f}' for cell in cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the data folder")
    parser.add_argument("--diamonds", type=Path, help="diamonds.csv, as plotnine ships it")
    parser.add_argument("--quick", action="store_true", help="two splits, depth 4, epsilon 1; nothing is written")
    parser.add_argument("--only", help="one data set, by how its name begins; others stay as they are")
    options = parser.parse_args()
    file, rows = RESULTS / "regression_tree.csv", list[dict[str, object]]()
    for problem in problems(options.data, options.diamonds):
        if options.only and not problem.name.startswith(options.only):
            continue
        found = list(measure(problem, quick=options.quick))
        rows += found
        at_one = [row for row in found if row["depth"] == 4 and row["epsilon"] in ("", 1.0)]
        for learner, delta in (("scikit-learn", 0), ("PrivaTree", 0), ("PrivaTree", 1e-6)):
            chosen = [row["r2"] for row in at_one if (row["learner"], row["delta"]) == (learner, delta)]
            print(f"{problem.name}, {learner}, delta {delta}: {np.mean(chosen):.3f}", flush=True)
    if options.quick:
        return
    if options.only and file.exists():
        with file.open(newline="") as opened:
            known = [row for row in csv.DictReader(opened) if not str(row["data"]).startswith(options.only)]
        rows = known + rows
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    read = pd.read_csv(file, dtype={"depth": str, "epsilon": str}).fillna({"depth": "", "epsilon": ""})
    file.with_suffix(".md").write_text(page(read))


if __name__ == "__main__":
    main()

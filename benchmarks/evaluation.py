"""Private evaluation: whether its intervals hold, and how wide they are on Adult's test part.

    python benchmarks/evaluation.py                     # about ten minutes on one core
    python benchmarks/evaluation.py --data-sets 100     # quicker
    python benchmarks/evaluation.py --only 4            # the fifth population; the rest is as in the files
    python benchmarks/evaluation.py --only adult        # Adult's test part

Data sets are drawn from made-up populations of which the true figures are known: a model is fitted once, on records of
its own, and evaluated on each data set with fresh noise. An interval holds if it contains the figure of the population.
Written to ``docs/results``: ``evaluation.csv``, ``evaluation_adult.csv`` and ``evaluation.md``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import privet
from arena import arguments
from privet import Categorical, Numeric, Schema
from privet.datasets import load_adult
from privet.evaluation.cells import SMALLEST_SHARE

POPULATION = 400_000
FEATURES = {"a": Numeric(0, 1), "b": Numeric(0, 1), "group": Categorical(["one", "two"])}
SIZES = ((500, 1.0), (10_000, 0.1))  # records and epsilon
COMMAND = "python benchmarks/evaluation.py"


@dataclass(frozen=True)
class Population:
    """Records with answers, a model for them, and the true figures."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    model: Any
    truth: dict[str, float]


def drawn(seed: int) -> tuple[pd.DataFrame, np.random.Generator]:
    """Draw the features of a population."""
    rng = np.random.default_rng(seed)
    columns = {"a": rng.random(POPULATION), "b": rng.random(POPULATION)}
    return pd.DataFrame({**columns, "group": rng.choice(["one", "two"], POPULATION, p=[0.7, 0.3])}), rng


def class_truth(model: Any, X: pd.DataFrame, y: np.ndarray) -> dict[str, float]:
    """Return the figures of a population, without intervals."""
    shares = model.predict_proba(X)
    labels = model.classes_.tolist()
    truth = np.array([labels.index(label) for label in y.tolist()])
    guess = shares.argmax(axis=1)
    bounded = np.clip(shares, SMALLEST_SHARE, 1.0)
    areas = [roc_auc_score(truth == k, shares[:, k]) for k in range(len(labels))]
    figures = {
        "accuracy": float((guess == truth).mean()),
        "balanced accuracy": float(np.mean([(guess[truth == k] == k).mean() for k in range(len(labels))])),
        "AUC": float(areas[1] if len(labels) == 2 else np.mean(areas)),
        "log loss": float(-np.log(bounded[np.arange(len(truth)), truth]).mean()),
    }
    within = np.clip(shares[:, 1], SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    assert len(labels) > 2 or abs(figures["log loss"] - log_loss(truth, within)) < 0.01
    if "group" not in X:
        return figures
    one = (X["group"] == "one").to_numpy()
    figures["accuracy of group one"] = float((guess == truth)[one].mean())
    figures["accuracy of group one minus others"] = float((guess == truth)[one].mean() - (guess == truth)[~one].mean())
    return figures


def two_classes(kind: type, seed: int, **settings: Any) -> Population:
    """A rare class, more frequent for large a and in the smaller group."""
    X, rng = drawn(seed)
    log_odds = 5 * X["a"] - 4 + 2 * (X["b"] > 0.6) + (X["group"] == "two")
    y = np.where(rng.random(POPULATION) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
    schema = Schema(FEATURES, classes=["no", "yes"])
    model = kind(epsilon=2.0, schema=schema, random_state=0, n_rows_hint=20_000, **settings).fit(X[:20_000], y[:20_000])
    return Population(f"two classes, {kind.__name__}", X, y, model, class_truth(model, X, y))


def three_classes(seed: int) -> Population:
    """Three classes, mostly by a."""
    X, rng = drawn(seed)
    y = np.array(["low", "middle", "high"])[np.clip((3 * X["a"] + rng.normal(0, 0.5, POPULATION)).astype(int), 0, 2)]
    schema = Schema(FEATURES, classes=["low", "middle", "high"])
    model = privet.BoostingClassifier(epsilon=2.0, schema=schema, random_state=0, n_rows_hint=20_000)
    model.fit(X[:20_000], y[:20_000])
    return Population("three classes, BoostingClassifier", X, y, model, class_truth(model, X, y))


def numbers(seed: int) -> Population:
    """A target between 0 and 100, mostly by a."""
    X, rng = drawn(seed)
    y = np.clip(60 * X["a"] + 20 * (X["group"] == "two") + rng.normal(10, 8, POPULATION), 0, 100).to_numpy()
    schema = Schema(FEATURES, target=Numeric(0, 100))
    model = privet.BoostingRegressor(epsilon=2.0, schema=schema, random_state=0, n_rows_hint=20_000)
    model.fit(X[:20_000], y[:20_000])
    errors = y - model.predict(X)
    one = (X["group"] == "one").to_numpy()
    truth = {
        "root mean squared error": float((errors**2).mean() ** 0.5),
        "mean absolute error": float(np.abs(errors).mean()),
        "R²": float(1 - (errors**2).mean() / y.var()),
        "mean of the target": float(y.mean()),
        "standard deviation of the target": float(y.std()),
        "mean error of group one": float(errors[one].mean()),
        "mean error of group one minus others": float(errors[one].mean() - errors[~one].mean()),
    }
    return Population("regression, BoostingRegressor", X, y, model, truth)


POPULATIONS: tuple[Callable[[], Population], ...] = (
    lambda: two_classes(privet.BoostingClassifier, 1),
    lambda: two_classes(privet.PrivaTreeClassifier, 2),
    lambda: two_classes(privet.RandomDecisionForestClassifier, 3),
    lambda: three_classes(4),
    lambda: numbers(5),
)


def covered(population: Population, n: int, epsilon: float, data_sets: int) -> list[dict[str, object]]:
    """Return for each figure how often its interval holds, and how wide it is."""
    rng = np.random.default_rng(n)
    inside: dict[str, list[bool]] = {name: [] for name in population.truth}
    widths: dict[str, list[float]] = {name: [] for name in population.truth}
    for number in range(data_sets):
        rows = rng.integers(0, POPULATION, n)
        by = "group" if number % 2 else None  # every other data set pays for groups, too
        found = privet.evaluate(population.model, population.X.iloc[rows], population.y[rows], epsilon=epsilon, by=by)
        figures = dict(found.measures())
        for group in found.groups[:1]:
            for name in group.rates.keys() & {"accuracy", "mean error"}:
                figures[f"{name} of group one"] = group.rates[name]
                figures[f"{name} of group one minus others"] = group.gaps[name]
        for name in figures.keys() & population.truth.keys():
            inside[name].append(figures[name].low <= population.truth[name] <= figures[name].high)
            widths[name].append(figures[name].width)
    return [
        {
            "population": population.name,
            "records": n,
            "epsilon": epsilon,
            "figure": name,
            "data_sets": len(inside[name]),
            "true": population.truth[name],
            "held": float(np.mean(inside[name])),
            "mean_width": float(np.mean(widths[name])),
        }
        for name in population.truth
    ]


def on_adult(repetitions: int = 20) -> list[dict[str, object]]:
    """Return the mean width of each interval on Adult's test part at epsilon 0.1, and how long an evaluation takes."""
    adult = load_adult()
    rows = []
    kinds = (privet.BoostingClassifier, privet.PrivaTreeClassifier, privet.RandomDecisionForestClassifier)
    for kind in kinds:
        model = kind(epsilon=1.0, schema=adult.schema, n_rows_hint=30_000, random_state=0).fit(*adult.train)
        exact = class_truth(model, adult.test[0], adult.test[1].to_numpy())
        start = time.process_time()
        found = [privet.evaluate(model, *adult.test, epsilon=0.1).measures() for _ in range(repetitions)]
        seconds = (time.process_time() - start) / repetitions
        for name in found[0]:
            widths = [figures[name].width for figures in found]
            row = {"model": kind.__name__, "figure": name, "exact": exact[name], "mean_width": float(np.mean(widths))}
            rows.append({**row, "widest": float(np.max(widths)), "seconds": seconds})
    return rows


def page(coverage: pd.DataFrame, adult: pd.DataFrame) -> str:
    """Write the results down in words."""
    lowest = coverage.sort_values("held").iloc[0]
    lines = ["# Private evaluation: do the intervals hold?", "", f"Made by `{COMMAND}`.", ""]
    lines += [
        "Data sets are drawn from made-up populations whose true figures are known. A model is fitted once on records",
        "of its own, and evaluated on each data set with fresh noise. An interval should hold for 95% of the data sets",
        "or more. Every second data set is also evaluated by group, at half of the budget for all other figures.",
        "",
        f"The lowest share is {lowest.held:.1%} ({lowest.figure}, {lowest.population}, {lowest.records:,} records).",
        "With 1,000 data sets, 95% is measured to within 1.4 points, and with 500 (groups) to within 1.9.",
        "",
        "| population | records | epsilon | figure | truth | holds | mean width | data sets |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in coverage.itertuples():
        lines.append(
            f"| {row.population} | {row.records:,} | {row.epsilon:g} | {row.figure} | {row.true:.3f} | "
            f"{row.held:.1%} | {row.mean_width:.3f} | {row.data_sets} |"
        )
    lines += ["", "## Adult's test part (16,281 records) at epsilon 0.1", ""]
    lines += [
        "In points (hundredths), log loss in nats. The exact figure is printed since these records are public.",
        "",
    ]
    lines += ["| model, fitted at epsilon 1 | figure | exact | mean width | widest of 20 |", "|---|---|---|---|---|"]
    for row in adult.itertuples():
        scale, unit = (1, "") if row.figure == "log loss" else (100, " points")
        lines.append(
            f"| {row.model} | {row.figure} | {row.exact:.3f} | {row.mean_width * scale:.2f}{unit} | "
            f"{row.widest * scale:.2f}{unit} |"
        )
    lines += ["", f"An evaluation takes about {1000 * adult.seconds.mean():.0f} milliseconds of one core.", ""]
    return "\n".join(lines)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=1_000)
    parser.add_argument("--only", nargs="+", choices=[*map(str, range(len(POPULATIONS))), "adult"])
    parser.add_argument("--out", type=Path, default=arguments.ROOT / "docs" / "results")
    options = parser.parse_args(given)
    paths = options.out / "evaluation.csv", options.out / "evaluation_adult.csv"
    for number, make in enumerate(POPULATIONS):
        if options.only is None or str(number) in options.only:
            population, rows = make(), list[dict[str, object]]()
            for n, epsilon in SIZES:
                rows += covered(population, n, epsilon, options.data_sets)
            print(pd.DataFrame(rows).to_string(header=False), flush=True)
            write(merged(paths[0], pd.DataFrame(rows)), paths[0])
    if options.only is None or "adult" in options.only:
        adult = pd.DataFrame(on_adult())
        print(adult.to_string())
        write(adult, paths[1])
    (options.out / "evaluation.md").write_text(page(*(pd.read_csv(path) for path in paths)), "utf-8")
    return 0


def merged(path: Path, new: pd.DataFrame) -> pd.DataFrame:
    """Put rows of a population in the place of those that a file has of it."""
    if not path.exists():
        return new
    known = pd.read_csv(path)
    place = (
        list(known.population).index(new.population[0]) if new.population[0] in set(known.population) else len(known)
    )
    others = known[known.population != new.population[0]]
    return pd.concat([others[others.index < place], new, others[others.index >= place]], ignore_index=True)


def write(table: pd.DataFrame, path: Path) -> None:
    """Write a table of figures."""
    table.to_csv(path, index=False, float_format="%.5f", lineterminator="\n")


if __name__ == "__main__":
    sys.exit(main())

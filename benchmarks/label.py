"""Label privacy: learners under ``neighbours="label"`` beside ``add_remove``, and beside what ``label`` was before.

    python benchmarks/label.py --data FOLDER             # some ten minutes on one core
    python benchmarks/label.py --data FOLDER --only adult compas    # measure these again, keep the others
    python benchmarks/label.py --quick                   # the library's own Adult, one split; nothing is written

Until 0.2 a changed label counted as a replaced record, so that ``replace`` is what ``label`` was. Constants were chosen
on the arena's tuning sets; the sets here are others, named before anything was measured on them. Written to
``docs/results``: ``label.csv`` and ``label.md``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track
from sklearn.metrics import roc_auc_score

import privet
from arena import arguments, data
from privet.datasets import load_adult
from privet.errors import LargeDeltaWarning
from privet.schema.schema import Schema

SETS = (
    *("adult", "california", "cmc", "compas", "covertype (2)", "diabetes", "kr_vs_kp", "messidor", "mushroom"),
    *("nursery (priority)", "pendigits", "wall_following_4", "wdbc"),
)
MOST_ROWS = 10_000
LEARNERS = ("Boosting", "RandomDecisionForest", "PrivaTree")
RELATIONS = ("add_remove", "replace", "label")
EPSILONS = (0.1, 0.5, 1.0)
DELTA = 1e-6
GUARANTEES = (("pure", 0.0), ("approximate", DELTA))

Line = dict[str, object]


def measure(
    schema: Schema, train: tuple[pd.DataFrame, np.ndarray], test: tuple[pd.DataFrame, np.ndarray], seed: int
) -> Iterator[Line]:
    """Fit every learner under every relation at every epsilon, once; yield accuracy and AUC on other records."""
    n_classes = len(schema.target.categories)
    for relation in RELATIONS:
        declared = Schema(schema.features, schema.target, neighbours=relation)
        for learner in LEARNERS:
            for guarantee, delta in GUARANTEES:
                for epsilon in EPSILONS:
                    settings = {"n_rows_hint": data.hint_of(round(len(train[1]) / 0.8)), "random_state": seed}
                    model = getattr(privet, f"{learner}Classifier")(epsilon, delta, declared, **settings).fit(*train)
                    chances = np.nan_to_num(model.predict_proba(test[0]))
                    line: Line = {"learner": learner, "guarantee": guarantee, "epsilon": epsilon, "relation": relation}
                    accuracy = float(np.mean(chances.argmax(axis=1) == test[1]))
                    yield line | {"accuracy": accuracy, "auc": _auc(test[1], chances, n_classes)}


def _auc(truth: np.ndarray, chances: np.ndarray, n_classes: int) -> float:
    if n_classes == 2:
        return float(roc_auc_score(truth, chances[:, 1]))
    shares = chances / chances.sum(axis=1, keepdims=True)
    return float(roc_auc_score(truth, shares, multi_class="ovr", labels=np.arange(n_classes)))


def of_task(task: data.Task, splits: int) -> list[Line]:
    """Measure all splits of a data set; means over them."""
    problem = data.load(task, MOST_ROWS)
    assert problem is not None
    lines: list[Line] = []
    for number in range(splits):
        train, test = problem.split(number)
        records = [(problem.frame.iloc[rows], problem.labels[rows]) for rows in (train, test)]
        lines += [{"set": task.name} | line for line in measure(problem.schema, *records, number)]
    return lines


def means(lines: Sequence[Line]) -> pd.DataFrame:
    """Return one row for each data set and setting."""
    keys = ["set", "learner", "guarantee", "epsilon", "relation"]
    return pd.DataFrame(lines).groupby(keys, sort=False)[["accuracy", "auc"]].mean().reset_index()


def page(table: pd.DataFrame, splits: int) -> str:
    """Write means over all data sets, and on how many of them ``label`` is ahead."""
    names = sorted(set(table["set"]))
    text = [
        "# Label privacy",
        "",
        f"Made by `python benchmarks/label.py --data FOLDER --splits {splits}`: {', '.join(names)}, at most "
        f"{MOST_ROWS:,} records of each, {splits} splits; means over all sets in percent. `before` is what `label` was "
        "until 0.2, a changed label counted as a replaced record. *Ahead*: on how many of the "
        f"{len(names)} sets `label` is better than `add_remove`, and than `before`. delta = {DELTA:g} where the "
        "guarantee is approximate. The three guarantees at one epsilon are not the same promise: "
        "[label privacy](../how_to/label_privacy.md) says what each protects.",
        "",
        "| learner | guarantee | epsilon | measure | add_remove | before | label | ahead |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (learner, guarantee, epsilon), part in table.groupby(["learner", "guarantee", "epsilon"], sort=False):
        for name in ("accuracy", "auc"):
            scores = part.pivot_table(index="set", columns="relation", values=name)
            own, ahead = scores["label"], [int((scores["label"] > scores[other]).sum()) for other in RELATIONS[:2]]
            cells = [f"{100 * scores[relation].mean():.1f}" for relation in RELATIONS[:2]] + [f"{100 * own.mean():.1f}"]
            place = f"{learner} | {guarantee} | {epsilon:g} | {'AUC' if name == 'auc' else name}"
            text.append(f"| {place} | {' | '.join(cells)} | {ahead[0]}, {ahead[1]} |")
    return "\n".join(text) + "\n"


def quick() -> int:
    """Measure one split of the library's own Adult, and print the means."""
    adult = load_adult()
    codes = {label: code for code, label in enumerate(adult.schema.target.categories)}
    labels = adult.y.map(codes).to_numpy()
    schema = Schema(adult.schema.features, classes=[0, 1])
    train, test = slice(0, 4_000), slice(30_000, 34_000)
    lines = measure(schema, (adult.X.iloc[train], labels[train]), (adult.X.iloc[test], labels[test]), 0)
    print(page(means([{"set": "adult"} | line for line in lines]), 1))
    return 0


def main(given: Sequence[str] | None = None) -> int:
    """Measure all data sets, or some of them again."""
    if "--quick" in (sys.argv[1:] if given is None else given):
        return quick()
    parser = arguments.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="the library's own Adult, one split; nothing is written")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET")
    options = parser.parse_args(given)
    warnings.simplefilter("ignore", LargeDeltaWarning)  # of very small sets
    tasks = [task for task in data.tasks(options.data) if task.name in options.only]
    found = means([line for task in track(tasks, "data sets") for line in of_task(task, options.splits)])
    file: Path = options.out / "label.csv"
    if len(options.only) < len(SETS) and file.exists():
        before = pd.read_csv(file)
        found = pd.concat([before[~before["set"].isin(options.only)], found])
    found = found.sort_values("set", kind="stable")
    found.to_csv(file, index=False, float_format="%.4f", lineterminator="\n")
    (options.out / "label.md").write_text(page(found, options.splits), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Small data of two classes: boosting beside privet's trees, on samples of the tuning sets.

    python benchmarks/small_data.py --data FOLDER        # some ten minutes on one core

The rules of `privet.learners.boosting.outline` for small data were chosen on this. Samples are small, and in some of
them the less frequent class is thinned out, since the tuning sets as they are have classes of about the same size,
and most data sets have not. What a sample leaves over is tested on. Written to ``docs/results``: ``small_data.csv`` and
``small_data.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from rich.progress import track
from sklearn.metrics import roc_auc_score

import privet
from arena import arguments, data
from arena.data import Problem, hint_of

SETS = ("magic", "phishing_websites", "pol", "banknote", "mammographic", "heart_cleveland")
SIZES = (240, 600, 1_500, 5_000)
SHARES = (None, 0.65, 0.75, 0.85)  # of the more frequent class; None as it is
MOST_TESTED = 4_000
EPSILONS = (0.1, 0.5)
DELTA = 1e-6
LEARNERS = ("Boosting", "PrivaTree", "MultinomialForest", "RandomDecisionForest")


@dataclass(frozen=True)
class Sample:
    """So many records of a problem, from a part of it in which the more frequent class has this share."""

    problem: Problem
    pool: np.ndarray
    n_rows: int
    share: float | None

    def rows(self, repeat: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on, and rows to test on."""
        rows = np.random.default_rng([repeat, len(self.pool)]).permutation(self.pool)
        return rows[: self.n_rows], rows[self.n_rows : self.n_rows + MOST_TESTED]


def samples(folder: Path) -> Iterator[Sample]:
    """Every sample, the smallest size of each set at least."""
    for task in data.tasks(folder):
        problem = data.load(task) if task.name in SETS else None
        if problem is None:
            continue
        frequent = problem.labels == np.bincount(problem.labels).argmax()
        for share in SHARES:
            kept = np.flatnonzero(~frequent)
            if share is not None:
                n_kept = round(int(frequent.sum()) * (1 - share) / share)
                if n_kept >= len(kept):
                    continue
                kept = np.random.default_rng(0).permutation(kept)[:n_kept]
            pool = np.concatenate([np.flatnonzero(frequent), kept])
            most = int(0.8 * len(pool))
            for n_rows in SIZES:
                if n_rows <= most or n_rows == SIZES[0]:
                    yield Sample(problem, pool, min(n_rows, most), share)


def measure(sample: Sample, learner: str, epsilon: float, delta: float, repeat: int) -> tuple[float, float]:
    """Train once; accuracy and AUC."""
    train, test = sample.rows(repeat)
    problem = sample.problem
    settings = {"delta": delta, "schema": problem.schema, "n_rows_hint": hint_of(round(sample.n_rows / 0.8))}
    model = getattr(privet, f"{learner}Classifier")(epsilon, **settings, random_state=repeat)
    model.fit(problem.frame.iloc[train], problem.labels[train])
    chances = np.nan_to_num(model.predict_proba(problem.frame.iloc[test]))
    truth = problem.labels[test]
    return float(np.mean(chances.argmax(axis=1) == truth)), float(roc_auc_score(truth, chances[:, 1]))


def page(table: pd.DataFrame, repeats: int) -> str:
    """Write means and average ranks."""
    text = [
        "# Small data of two classes",
        "",
        f"Made by `python benchmarks/small_data.py --data FOLDER --repeats {repeats}`: samples of {', '.join(SETS)}, "
        f"of {', '.join(map(str, SIZES))} records, as they are and with the rarer class thinned out; means over "
        f"all samples in percent, average ranks in parentheses. delta = {DELTA:g} where the guarantee is approximate. "
        "Rules were chosen on these samples, so this is not a test of them.",
        "",
        "| guarantee | epsilon | measure | " + " | ".join(LEARNERS) + " |",
        "|---|---|---|" + "---|" * len(LEARNERS),
    ]
    keys = ["set", "rows", "share"]
    for (guarantee, epsilon), part in table.groupby(["guarantee", "epsilon"], sort=False):
        for measure_name in ("accuracy", "auc"):
            scores = part.pivot_table(index=keys, columns="learner", values=measure_name, dropna=False).dropna()
            means, ranks = 100 * scores.mean(), scores.rank(axis=1, ascending=False).mean()
            cells = [f"{means[name]:.1f} ({ranks[name]:.2f})" for name in LEARNERS]
            text.append(f"| {guarantee} | {epsilon:g} | {measure_name} | " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all samples."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=8)
    options = parser.parse_args(given)
    settings = [("pure", 0.0, epsilon) for epsilon in EPSILONS] + [("approximate", DELTA, e) for e in EPSILONS]
    lines = []
    for sample in track(list(samples(options.data)), "samples"):
        for guarantee, delta, epsilon in settings:
            for learner in LEARNERS:
                found = [measure(sample, learner, epsilon, delta, repeat) for repeat in range(options.repeats)]
                accuracy, auc = np.mean(found, axis=0)
                share = "as it is" if sample.share is None else f"{sample.share:g}"
                line = {"set": sample.problem.task.name, "rows": sample.n_rows, "share": share, "guarantee": guarantee}
                lines.append(line | {"epsilon": epsilon, "learner": learner, "accuracy": accuracy, "auc": auc})
    table = pd.DataFrame(lines)
    table.to_csv(options.out / "small_data.csv", index=False, float_format="%.4f", lineterminator="\n")
    (options.out / "small_data.md").write_text(page(table, options.repeats), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

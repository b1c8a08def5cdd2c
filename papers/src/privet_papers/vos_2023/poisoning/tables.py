"""Vos et al. (2023), Tables III and VIII: accuracy that is guaranteed whatever the poisoners do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet_papers.framework.entry import Cell, Outcome, Row, beside_paper
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB
from privet_papers.vos_2023.poisoning.cells import fold_accuracies, logistic_regression
from privet_papers.vos_2023.poisoning.entry_parts import (
    EPSILONS,
    MIXED,
    NUMERICAL,
    PRIVATREE,
    REGRESSION,
    TREE,
    retraining_cells,
)
from privet_papers.vos_2023.printed_numbers import PRINTED_TABLE_3, PRINTED_TABLE_8

SHARES = (0.001, 0.005, 0.01)
LARGE = "bench_covertype_like"


def _table_cells(names: dict[str, str], quick: bool) -> list[Cell]:
    cells = []
    for data in names:
        for epsilon in EPSILONS:
            repeats = 1 if quick or data == LARGE else 5
            settings = {"data": data, "epsilon": epsilon, "repeats": repeats}
            cells.append(Cell(fold_accuracies, {**settings, **TREE}, data=(data,)))
            retrainings = 40 if quick or data == LARGE else 500
            cells += retraining_cells(data, epsilon, retrainings, "first fold", **TREE)
            if DIFFPRIVLIB.named() is not None:
                cells.append(Cell(logistic_regression, settings, data=(data,)))
    return cells


def table_3_cells(quick: bool) -> list[Cell]:
    """Numerical data sets."""
    return _table_cells(NUMERICAL, quick)


def table_8_cells(quick: bool) -> list[Cell]:
    """Data sets with categories."""
    return _table_cells(MIXED, quick)


def _assemble_table(
    outcomes: Sequence[Outcome], names: dict[str, str], printed: dict[tuple[str, str, float], tuple[float | None, ...]]
) -> list[Row]:
    from privet.robustness import Certificates, Guarantee, paper_accuracy

    rows: list[Row] = []
    for data, name in names.items():
        of_data = [outcome for outcome in outcomes if outcome.settings["data"] == data]
        for method in (PRIVATREE, REGRESSION):
            for epsilon in EPSILONS:
                here = [outcome for outcome in of_data if outcome.settings["epsilon"] == epsilon]
                folds = [
                    o for o in here if "repeats" in o.settings and ("learner" in o.settings) == (method == PRIVATREE)
                ]
                if not folds:
                    continue
                accuracy = float(np.mean(folds[0].result["accuracies"]))
                n_records, guarantee = folds[0].result["n_records"], Guarantee.stated(epsilon)
                row: Row = {"data": name, "method": method, "epsilon": epsilon, "accuracy": accuracy}
                scores = [s for o in here if "retrainings" in o.settings for s in o.result["accuracies"]]
                certified = Certificates.from_scores(scores, guarantee, n_records, SHARES)
                for share in SHARES:
                    number = certified.at(share).n_poisoned
                    row[f"{share:.1%} formula"] = paper_accuracy(accuracy, guarantee.under(number))
                    if method == PRIVATREE:
                        row[f"{share:.1%} certified"] = certified.at(share).guaranteed
                rows.append(row)
    for place, column in enumerate(["accuracy", *(f"{share:.1%} formula" for share in SHARES)]):
        figures = {key: values[place] for key, values in printed.items() if values[place] is not None}
        rows = beside_paper(rows, figures, on=["data", "method", "epsilon"], column=column)  # type: ignore[arg-type]
    return rows


def table_3_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Lay out Table III."""
    return _assemble_table(outcomes, NUMERICAL, PRINTED_TABLE_3)


def table_8_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Lay out Table VIII."""
    return _assemble_table(outcomes, MIXED, PRINTED_TABLE_8)

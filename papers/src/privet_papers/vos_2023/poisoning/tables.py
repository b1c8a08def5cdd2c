"""Vos et al. (2023), Tables III and VIII: accuracy that is guaranteed whatever the poisoners do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet_papers.framework.entry import Cell, Outcome, Row, beside_paper
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB
from privet_papers.vos_2023.data import BY_KEY, LARGE, SMALL, file_of
from privet_papers.vos_2023.poisoning.attack_cost import accuracy_by_errors
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
N_FOLDS = 5
MEDIUM = 20_000  # records


def trainings(data: str) -> tuple[int, int, int]:
    """Return trainings a fold of the tree and of the regression, and retrainings for a certificate, by size."""
    if data in SMALL:
        return 50, 50, 500
    if data in LARGE:
        return 1, 1, 100
    benchmark = BY_KEY[data]
    return (5, 5, 500) if (benchmark.rows_here or benchmark.samples) < MEDIUM else (5, 1, 100)


def _table_cells(names: dict[str, str], quick: bool) -> list[Cell]:
    cells = []
    for data in sorted(names, key=lambda key: BY_KEY[key].rows_here or BY_KEY[key].samples):
        for epsilon in EPSILONS:
            of_tree, of_regression, retrainings = (1, 1, 40) if quick else trainings(data)
            settings = {"data": data, "epsilon": epsilon}
            cells.append(Cell(fold_accuracies, {**settings, "repeats": of_tree, **TREE}, data=file_of(data)))
            cells += retraining_cells(data, epsilon, retrainings, "first fold", **TREE)
            if DIFFPRIVLIB.named() is not None:
                cells.append(Cell(logistic_regression, {**settings, "repeats": of_regression}, data=file_of(data)))
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
                by_fold = np.reshape(folds[0].result["accuracies"], (N_FOLDS, -1)).mean(axis=1)
                accuracy = float(by_fold.mean())
                n_records, guarantee = folds[0].result["n_records"], Guarantee.stated(epsilon)
                row: Row = {"data": name, "method": method, "epsilon": epsilon, "accuracy": accuracy}
                row["s.e."] = float(by_fold.std(ddof=1) / np.sqrt(N_FOLDS))
                row["trainings"] = len(folds[0].result["accuracies"])
                scores = [s for o in here if "retrainings" in o.settings for s in o.result["accuracies"]]
                certified = Certificates.from_scores(scores, guarantee, n_records, SHARES)
                for share in SHARES:
                    number = certified.at(share).n_poisoned
                    row[f"{share:.1%} formula"] = paper_accuracy(accuracy, guarantee.under(number))
                    row[f"{share:.1%} by (12)"] = accuracy_by_errors(accuracy, guarantee.under(number))
                    if method == PRIVATREE:
                        row[f"{share:.1%} certified"] = certified.at(share).guaranteed
                rows.append(row)
    for place, column in enumerate(["accuracy", *(f"{share:.1%} formula" for share in SHARES)]):
        figures = {
            (names[data], method, epsilon): values[place]
            for (data, method, epsilon), values in printed.items()
            if values[place] is not None
        }
        rows = beside_paper(rows, figures, on=["data", "method", "epsilon"], column=column)  # type: ignore[arg-type]
    return rows


def table_3_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Lay out Table III."""
    return _assemble_table(outcomes, NUMERICAL, PRINTED_TABLE_3)


def table_8_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Lay out Table VIII."""
    return _assemble_table(outcomes, MIXED, PRINTED_TABLE_8)

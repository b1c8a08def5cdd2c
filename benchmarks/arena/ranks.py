"""Average ranks and wins: approximate against approximate, pure against pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from arena.cells import Cell
from arena.data import SPLITS


def table(cells: Iterable[Cell]) -> pd.DataFrame:
    """One row for each task, method and epsilon: means over splits, standard errors, and how many splits there are."""
    frame = pd.DataFrame([vars(cell) for cell in cells if not cell.error])
    keys = ["task", "rivals", "method", "epsilon"]
    groups = frame.groupby(keys, dropna=False)
    result = groups.size().rename("splits").to_frame()
    for measure in ("accuracy", "auc", "rmse"):
        if frame[measure].notna().any():
            result[measure] = groups[measure].mean()
            result[f"{measure}_error"] = groups[measure].sem()
    result["fit_seconds"] = groups["seconds"].median()
    return result.reset_index()


def complete(means: pd.DataFrame) -> pd.Series:
    """Say which rows are means over all splits of their method: methods may have been trained on fewer.

    Beyond the usual number there may be more on some tables.
    """
    return means.splits >= means.groupby("method").splits.transform("max").clip(upper=SPLITS)


def ranks(
    means: pd.DataFrame, rivals: str, measure: str, tasks: Collection[str], needed: Collection[str]
) -> pd.DataFrame:
    """Average rank (1 is best) and wins of each method at each epsilon, among the same rivals on every task.

    A task counts where all methods of `needed` have answered on all splits, and a method where it has answered on all
    of these tasks: what is left unfinished can neither help nor hurt anyone.
    """
    chosen = means[(means.rivals == rivals) & means.task.isin(list(tasks)) & complete(means)]
    rows = []
    for epsilon, at in chosen.groupby("epsilon"):
        scores = at.pivot_table(index="task", columns="method", values=measure)
        if not set(needed) <= set(scores.columns):
            continue
        whole = scores.dropna(subset=list(needed)).dropna(axis="columns")
        if whole.empty or whole.shape[1] < 2:
            continue
        places = whole.rank(axis=1, ascending=measure == "rmse", method="average")
        best = whole.min(axis=1) if measure == "rmse" else whole.max(axis=1)
        wins = whole.eq(best, axis=0).sum()
        rows += [
            {
                "rivals": rivals,
                "measure": measure,
                "epsilon": epsilon,
                "method": method,
                "average_rank": places[method].mean(),
                "wins": int(wins[method]),
                "mean": whole[method].mean(),
                "tasks": len(whole),
            }
            for method in whole.columns
        ]
    return pd.DataFrame(rows)

"""The arena's page: ranks, then every task, in Markdown."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pandas as pd

RULES = (
    "{splits} stratified splits, 80% to train and 20% to test; bounds, categories and classes are those of the "
    "published file, count as public and are the same for all; delta = {delta:g} for approximate guarantees, 0 for "
    "pure ones; "
    "neighbours add or remove a record; sets of more than {rows:,} rows are sampled to that; our learners are told the "
    "number of rows rounded to one digit. A method that cannot do many classes is compared on two classes only."
)


SMALL_TABLES = ", on tables with fewer than 400 records, and 20 with fewer than 2,500"


def splits_in_words(means: pd.DataFrame) -> str:
    """Return the usual number of splits, which methods have fewer, and which have more on some tables."""
    of_methods = means.groupby("method").splits.max()
    usual = int(means.splits.mode().max())
    others = [
        f"{int(number)} for {', '.join(names)}" + (SMALL_TABLES if number > usual else "")
        for number, names in of_methods[of_methods != usual].groupby(of_methods).groups.items()
    ]
    return f"{usual} ({'; '.join(others)})" if others else str(usual)


def rank_table(places: pd.DataFrame, rivals: str, measure: str) -> list[str]:
    """Methods by row, epsilons by column: average rank, and wins in parentheses; nothing where one is not finished."""
    part = places[(places.rivals == rivals) & (places.measure == measure)]
    if part.empty:
        return []
    epsilons = sorted(part.epsilon.unique())
    tasks = {int(n) for n in part.groupby("epsilon").tasks.first()}
    lines = [f"By {'AUC' if measure == 'auc' else measure}, on {'/'.join(map(str, sorted(tasks)))} sets:", ""]
    lines += _head(["method", *(f"epsilon {epsilon:g}" for epsilon in epsilons)])
    for method in part.groupby("method").average_rank.mean().sort_values().index:
        own = part[part.method == method].set_index("epsilon")
        shown = [f"{own.average_rank[e]:.2f} ({own.wins[e]})" if e in own.index else "" for e in epsilons]
        lines.append(_line([method, *shown]))
    return [*lines, ""]


def small_table(means: pd.DataFrame, signals: pd.Series, most: float) -> list[str]:
    """Methods by row: mean accuracy and AUC over all tasks and epsilons whose signal is below `most`."""
    small = means[signals < most]
    lines = _head(["method", "pure: accuracy", "AUC", "approximate: accuracy", "AUC"])
    columns = {}
    for rivals in ("pure", "approximate"):
        own = small[small.rivals == rivals]
        for measure in ("accuracy", "auc"):
            scores = own.pivot_table(index=["task", "epsilon"], columns="method", values=measure)
            columns[rivals, measure] = 100 * scores[scores.columns[scores.notna().all()]].mean()  # who did all of them
    table = pd.DataFrame(columns).sort_values(("pure", "accuracy"), ascending=False)
    for method, values in table.iterrows():
        lines.append(_line([str(method), *("" if pd.isna(value) else f"{value:.1f}" for value in values)]))
    return [*lines, ""]


def score_table(means: pd.DataFrame, rivals: str, measure: str, epsilon: float, tuning: Collection[str]) -> list[str]:
    """Tasks by row, methods by column, the ceilings last; the best private one in bold."""
    private = means[(means.rivals == rivals) & (means.epsilon == epsilon)]
    if private.empty:
        return []
    ceilings = means[(means.rivals == "none") & means.task.isin(private.task)]
    order = private.groupby("method")[measure].mean().sort_values(ascending=measure == "rmse").index
    scores = private.pivot_table(index="task", columns="method", values=measure)[order]
    spread = private.pivot_table(index="task", columns="method", values=f"{measure}_error").reindex_like(scores)
    best = scores.eq(scores.min(axis=1) if measure == "rmse" else scores.max(axis=1), axis=0)
    tops = ceilings.pivot_table(index="task", columns="method", values=measure)
    scale, digits = (1.0, 3) if measure == "rmse" else (100.0, 1)
    lines = _head(["", *order, *tops.columns])
    for task in sorted(scores.index, key=str.lower):
        cells = []
        for method in order:
            value = scores.loc[task, method]
            error = scale * spread.loc[task, method]
            text = "" if pd.isna(value) else f"{scale * value:.{digits}f} ± {error:.{digits}f}"
            cells.append(f"**{text}**" if best.loc[task, method] else text)
        cells += [f"{scale * tops.loc[task, name]:.{digits}f}" if task in tops.index else "" for name in tops.columns]
        lines.append(_line([f"{task} (tuning)" if task in tuning else task, *cells]))
    return [*lines, ""]


def _head(names: Sequence[str]) -> list[str]:
    return [_line(names), _line(["---"] * len(names))]


def _line(fields: Sequence[str]) -> str:
    return "| " + " | ".join(fields) + " |"

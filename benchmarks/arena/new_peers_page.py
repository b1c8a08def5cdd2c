"""The page of the new peers: made of tables that are in the repository, so that a test can make it again."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from arena import page as pages
from arena import picture, ranks
from arena.gradient_peers import QUANTILES_SHARE, SETTINGS, UNITS
from arena.newcomers import AIM

OURS = "Boosting"
PEERS = (*SETTINGS, "AdaSSP")
TIE = 0.0005  # accuracies that differ by less are equal
ABOUT = f"""# Peers beside trees

Made by `python benchmarks/new_peers.py --data FOLDER`; delta = 1e-6, neighbours add or remove a record, and splits,
domains and hints are those of [the whole comparison](accuracy.md), whose rows stand for everybody else here. The new
peers have as many splits as privet's quickest learners: five, twenty of tables with fewer than 2,500 records, eighty
below 400. On small sets, where splits differ by several points, a difference of one or two says nothing. {{missing}}

- **DP-GD logistic**: logistic (softmax) regression on ranks of the numbers and indicators of the categories, by noisy
  gradient descent over the whole batch with momentum. Ranks come from private quantiles: twelve dyadic levels of
  Gaussian counts, {QUANTILES_SHARE:.0%} of the budget.
- **DP-GD additive**: the same with an indicator for each of {SETTINGS["DP-GD additive"][2]} cells of nearly equal
  share in place of a rank.
- **DP-GD network**: {UNITS} hidden units on the columns of the first one.
- **AdaSSP** (Wang, 2018): ridge regression from noisy products, on the same columns; a linear model of the classes.
- **AIM** (McKenna et al., 2022) with the settings of its authors' program, on sixteen private quantile cells a number,
  and HistGradientBoosting on its synthetic records.
- Objective perturbation (Chaudhuri et al., 2011) is what diffprivlib's logistic regression does; it has a pure
  guarantee and is in [the whole comparison](accuracy.md) as "diffprivlib logistic".

The first four are written for this comparison in NumPy (`benchmarks/arena`). All their noise is Gaussian and fixed in
advance, so it is accounted exactly (Gaussian differential privacy). It is drawn as floating-point numbers, which privet
itself would not release. Settings were chosen on the tuning sets alone (`new_peers.py --tune`,
[ranks](new_peers_tuning.csv)); tables below leave these sets out.
"""


def page(results: Path) -> str:
    """Write the page from the tables of a folder."""
    published, new = (pd.read_csv(results / name) for name in ("accuracy.csv", "new_peers.csv"))
    new = new[ranks.complete(new)]
    means = pd.concat([published[~published.method.isin(set(new.method))], new], ignore_index=True)
    quick, kinds = new[new.method != AIM], _kinds(published)
    full = [name for name in PEERS if name in set(new.method)]
    text = [ABOUT.format(missing=_missing(published, quick))]
    for kind, tasks in kinds.items():
        text += _standing(means, kind, tasks, full) if tasks & set(quick.task) else []
    text += ["## Where each wins", "", *_wins(means, set().union(*kinds.values()), full)]
    text += ["## Time", "", *_times(means, full)]
    return "\n".join([*text, *_aim(means), *_numbers(results), *_published()]) + "\n"


def _missing(published: pd.DataFrame, new: pd.DataFrame) -> str:
    """Say which tasks are not measured, since they cannot count."""
    all_of = set.intersection(*(set(own.task) for _, own in new.groupby("method")))
    late = sorted(set(published[~published.used_to_fix_rules].task) - all_of)
    return f"Not measured by all of them, and not in the ranks: {', '.join(late)}." if late else ""


def _kinds(published: pd.DataFrame) -> dict[str, set[str]]:
    """Tasks that no rule was chosen on: DP-EBM has rows where there are two classes."""
    untouched = set(published[~published.used_to_fix_rules].task)
    binary = untouched & set(published[published.method == "DP-EBM"].task)
    return {"two classes": binary, "many classes": untouched - binary}


def _standing(means: pd.DataFrame, kind: str, tasks: set[str], full: list[str]) -> list[str]:
    """Ranks among all who finished, then differences from boosting."""
    text = [f"## {kind[0].upper()}{kind[1:]}: average rank (wins in parentheses)", ""]
    for measure in picture.MEASURES:
        places = ranks.ranks(means, "approximate", measure, tasks, [OURS, *full])
        if len(places):
            text += pages.rank_table(places, "approximate", measure)
    text += [f"Mean difference from {OURS} in points of accuracy / AUC; sets won, equal and lost by accuracy:", ""]
    epsilons = sorted(means.epsilon.dropna().unique())
    rows = [[name, *(_difference(means, name, epsilon, tasks) for epsilon in epsilons)] for name in full]
    return [*text, *_table(["method", *_epsilons(means)], rows), ""]


def _difference(means: pd.DataFrame, name: str, epsilon: float, tasks: set[str]) -> str:
    at = means[(means.rivals == "approximate") & (means.epsilon == epsilon) & means.task.isin(tasks)]
    accuracy, auc = (at.pivot_table(index="task", columns="method", values=value) for value in picture.MEASURES)
    if name not in accuracy:
        return ""
    more = (accuracy[name] - accuracy[OURS]).dropna()
    sets = f"{(more > TIE).sum()}-{(more.abs() <= TIE).sum()}-{(more < -TIE).sum()}"
    return f"{100 * more.mean():+.1f} / {100 * (auc[name] - auc[OURS]).mean():+.1f} ({sets})"


def _wins(means: pd.DataFrame, tasks: set[str], full: list[str]) -> list[str]:
    """Every set and epsilon where a new peer is ahead of all others by accuracy, and by how much it leads boosting."""
    known = set(means[means.method.isin(full)].task) & tasks
    private = means[(means.rivals == "approximate") & means.task.isin(known) & (means.method != AIM)]
    rows, count = [], dict.fromkeys(full, 0)
    for task, own in private.groupby("task"):
        shown = [str(task)]
        for epsilon in sorted(private.epsilon.unique()):
            scores = own[own.epsilon == epsilon].set_index("method").accuracy
            first = str(scores.idxmax())
            shown.append("")
            if first in full:
                count[first] += 1
                shown[-1] = f"{first} {100 * scores[first]:.1f} ({100 * (scores[first] - scores[OURS]):+.1f})"
        if any(shown[1:]):
            rows.append(shown)
    total = len(private[["task", "epsilon"]].drop_duplicates())
    text = [
        "Accuracy in percent where one of them is ahead of everybody else, privet's other learners and DP-EBM among",
        f"them; in parentheses the lead over {OURS}. Fewer splits are more noise, and the best of noisy figures is",
        "too good: on sets of a few hundred records a lead of several points says little.",
        "",
        f"First in so many of {total} cells: {', '.join(f'{name} {n}' for name, n in count.items())}.",
        "",
    ]
    return [*text, *_table(["set", *_epsilons(private)], rows), ""]


def _times(means: pd.DataFrame, full: list[str]) -> list[str]:
    """Seconds of processor time for one fit on each task of two classes, added up."""
    binary = set(means[means.method == "DP-EBM"].task)
    for name in full:
        binary &= set(means[means.method == name].task)
    timed = [OURS, "DP-EBM", "DP-EBM, tuned", *full]
    both = means[(means.rivals == "approximate") & means.method.isin(timed) & means.task.isin(binary)]
    seconds = both.pivot_table(index="method", columns="epsilon", values="fit_seconds", aggfunc="sum")
    seconds = seconds.sort_values(seconds.columns[-1])
    rows = [[str(method), *(f"{value:.1f}" for value in own)] for method, own in seconds.iterrows()]
    text = [
        f"Seconds of processor time for one fit on each of {len(binary)} sets of two classes, added up. New peers were",
        "timed beside other work, the others in another run.",
        "",
    ]
    return [*text, *_table(["method", *_epsilons(both)], rows), ""]


def _aim(means: pd.DataFrame) -> list[str]:
    own, text = means[means.method == AIM], [f"## {AIM}", ""]
    if own.empty:
        return [*text, f"Not measured yet: `python benchmarks/new_peers.py --data FOLDER --methods '{AIM}'`.", ""]
    ours = means[(means.method == OURS) & (means.rivals == "approximate")].set_index(["task", "epsilon"])
    rows = []
    for task, cells in own.groupby("task"):
        shown = []
        for epsilon in sorted(own.epsilon.unique()):
            row, mine = cells[cells.epsilon == epsilon], ours.loc[(task, epsilon)]
            scores = [f"{100 * each.accuracy:.1f} in {each.fit_seconds:.2f} s" for each in (*row.itertuples(), mine)]
            shown.append(" / ".join(scores) if len(row) else "")
        rows.append([str(task), *shown])
    words = f"Accuracy of AIM / {OURS} in percent, and seconds of processor time of a fit; AIM on one split."
    return [*text, words, "", *_table(["set", *_epsilons(own)], rows), ""]


def _numbers(results: Path) -> list[str]:
    new, known = (pd.read_csv(results / name) for name in ("new_peers_regression.csv", "accuracy_regression.csv"))
    if new.empty:
        return []
    text = ["## Regression: AdaSSP", ""]
    text += ["Root mean squared errors on the two problems of [this table](accuracy_regression.md):", ""]
    both = pd.concat([known[known.method.isin([OURS, "DP-EBM"])], new])
    errors = both.pivot_table(index=["task", "epsilon"], columns="method", values="rmse")
    rows = [[str(task), f"{e:g}", *(f"{value:.3f}" for value in own)] for (task, e), own in errors.iterrows()]
    return [*text, *_table(["problem", "epsilon", *map(str, errors.columns)], rows), ""]


def _published() -> list[str]:
    """Figures of papers, each from its own data set and its own splits."""
    return [
        "## As published",
        "",
        "S-BDT (Peinemann et al., arXiv 2309.12041) states R2 of 0.39 at epsilon 0.15 and 0.47 at 0.54 on Abalone;",
        "ours beside them are in [this table](boosting_regression.md). Its abstract states further what is saved over",
        "earlier boosted trees for the same utility: half of epsilon on Abalone up to 0.5, 30% on Adult up to 0.08 and",
        "on Spambase up to 0.03. These are no errors or accuracies that could be compared.",
        "",
        "DP-EBM (Nori et al., 2021) is not cited but run: its own library with its defaults, and tuned, is in the",
        "whole comparison, at the delta of its paper (1e-6), with splits of 80% and 20% as there.",
    ]


def _epsilons(means: pd.DataFrame) -> list[str]:
    return [f"epsilon {epsilon:g}" for epsilon in sorted(means.epsilon.dropna().unique())]


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(fields) + " |" for fields in [head, ["---"] * len(head), *rows]]

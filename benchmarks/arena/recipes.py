"""Recipes of boosting for numbers side by side, at several settings: mean R2 of every problem, a table and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from arena.data import Problem

R2 = Callable[[Problem, float, int, str], float]  # of a problem, at a setting, in a repeat, by a recipe


def compare(
    problems: Iterable[Problem], setting: str, values: Sequence[float], recipes: Sequence[str], r2: R2, repeats: int
) -> pd.DataFrame:
    """Return the mean R2 and its standard error for each problem, value of the setting, and recipe."""
    rows = []
    for problem, value, recipe in product(problems, values, recipes):
        found = [r2(problem, value, repeat, recipe) for repeat in range(repeats)]
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        rows.append((problem.task.name, len(problem.labels), value, recipe, np.mean(found), error))
    return pd.DataFrame(rows, columns=["problem", "rows", setting, "recipe", "r2", "standard_error"])


def write(table: pd.DataFrame, setting: str, heading: str, about: Sequence[str], file: Path) -> None:
    """Write the table as CSV, and a page: what it is about, then a section for each value of the setting."""
    table.to_csv(file.with_suffix(".csv"), index=False, float_format="%.4f", lineterminator="\n")
    shown = table.assign(r2=table.r2.map("{:.3f}".format) + " ± " + table.standard_error.map("{:.3f}".format))
    text, recipes = list(about), table.recipe.unique()
    for value, part in table.groupby(setting):
        here = shown.loc[part.index].pivot(index="problem", columns="recipe", values="r2")
        means = part.groupby("recipe").r2.mean()
        text += [
            "",
            f"## {heading} {value:g}",
            "",
            f"| problem | {' | '.join(recipes)} |",
            "|---|" + "---|" * len(recipes),
        ]
        text += [f"| {name} | {' | '.join(row[recipes])} |" for name, row in here.iterrows()]
        text += [f"| mean | {' | '.join(f'{means[recipe]:.3f}' for recipe in recipes)} |"]
    file.with_suffix(".md").write_text("\n".join(text) + "\n", "utf-8")

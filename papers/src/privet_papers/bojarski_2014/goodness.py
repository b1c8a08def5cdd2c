"""Goodness and weight of records (Bojarski et al. 2014, section 5): what the paper "tested experimentally", measured.

The goodness sigma(d) of a record is the share of all random trees in whose leaf most records have its label; its weight
w_d is the average share of its label in its leaf. Theorems 5.1 and 5.2 bound their averages by the accuracy e of the
average tree; Theorems 5.3 and 5.6 bound errors by 1 - mu, where mu is the share of records whose goodness or weight is
clearly above one half. The paper has a bound on mu; here it is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privet.trees.kernels.vote import count_labels, sum_values
from privet_papers.bojarski_2014.cells import SOURCES, counted, split_of_run
from privet_papers.bojarski_2014.data import BENCHMARKS
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

NAMES = ("banknote", "transfusion", "vote", "mammographic", "mushroom", "adult, 123 binary")
HEIGHTS = (5, 10)
TREES = 500
DELTA, K = 0.05, 40.0  # Theorem 5.3 and 5.6: a margin of delta, and of 1/K for the noise


def goodness(settings: Settings, data: DataFolder) -> Result:
    """Return the average tree's accuracy, and goodness and weight of all training records, from many trees."""
    parts = split_of_run(settings["data"], settings["seed"], data)
    counts, trees = counted(parts, settings["seed"], settings["trees"], settings["h"])
    codes, y = np.ascontiguousarray(parts.codes[:, parts.train]), parts.labels[parts.train]
    own = np.arange(len(y)), y
    majority = counts.argmax(axis=1).astype(np.uint16)
    good = count_labels(trees, codes, majority, counts.shape[1])[own] / settings["trees"]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weight = sum_values(trees, codes, shares)[own] / settings["trees"]
    found = {"n": len(y), "e": float(good.mean())}
    for name, values in (("goodness", good), ("weight", weight)):
        found[name] = float(values.mean())
        found[f"{name}, deviation"] = float(values.std())
        found[f"mu, {name}"] = float((values >= 0.5 + DELTA).mean())
        found[f"mu with noise, {name}"] = float((values >= 0.5 + DELTA + 1 / K).mean())
    return found


def _cells(quick: bool) -> list[Cell]:
    names, trees = (NAMES[:1], 50) if quick else (NAMES, TREES)
    return [
        Cell(goodness, {"data": name, "seed": 0, "h": h, "trees": trees}, BENCHMARKS[name].files)
        for name in names
        for h in HEIGHTS
    ]


def _table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, height and kind, with the bounds of the theorems beside what is measured."""
    rows: list[Row] = []
    for outcome in outcomes:
        found, e = outcome.result, outcome.result["e"]
        for kind, bound, lost in (("goodness", e, 1 - e), ("weight", e**2 + (1 - e) ** 2, 2 * e * (1 - e))):
            row: Row = {"data": outcome.settings["data"], "h": outcome.settings["h"], "of": kind}
            row |= {
                "accuracy of a tree": round(e, 4),
                "mean": round(found[kind], 4),
                "bound on the mean": round(bound, 4),
            }
            row["deviation"] = round(found[f"{kind}, deviation"], 4)
            row["1 - mu"] = round(1 - found[f"mu, {kind}"], 4)
            row["1 - mu, bound"] = round(min(1.0, lost / (0.5 - DELTA)), 4)
            row["1 - mu with noise"] = round(1 - found[f"mu with noise, {kind}"], 4)
            row["1 - mu with noise, bound"] = round(min(1.0, lost / (0.5 - DELTA - 1 / K)), 4)
            rows.append(row)
    return rows


GOODNESS_ENTRY = Entry(
    name="bojarski-goodness",
    paper="Bojarski et al. 2014, Theorems 5.1 to 5.3 and 5.6",
    title="Goodness and weight of records, measured, beside the theorems' bounds",
    cells=_cells,
    assemble=_table,
    sources=(*SOURCES, "privet_papers.bojarski_2014.cells"),
    notes=(
        f"{TREES} random trees of each height stand for the set of all of them; training records of one run (seed 0). "
        "The paper says that goodness and weight were tested experimentally and gives no figures.",
        f"'1 - mu' bounds the error of a forest by Theorem 5.3 (delta = {DELTA:g}), 'with noise' that of a private one "
        f"by Theorem 5.6 (K = {K:g}); the columns 'bound' have the theorems' own bound on 1 - mu, from the average "
        "tree alone. With measured mu the theorems say something where with bounded mu they say nothing; how likely "
        "their bounds are to hold is another question: bojarski-bounds.",
        "The mean of goodness is the accuracy of a tree, as the proof of Theorem 5.1 shows. That goodness is well "
        "concentrated around its mean, as the paper says, does not hold where one class is frequent: the deviation is "
        ".4 on transfusion and Adult, where records of the rarer class are misjudged by nearly all trees.",
    ),
)

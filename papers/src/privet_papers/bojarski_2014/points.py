"""Goodness and weight of single points: what section 5 says "was tested experimentally", measured.

The theorems speak of averages over all random trees, and of mu, the share of points that are clearly on the right side.
Both are estimated with many trees, and the bounds are computed from the mu that was measured, with delta set from the
number of trees.
"""

from __future__ import annotations

from collections.abc import Sequence

from privet_papers.bojarski_2014.cells import SOURCES, goodness_and_weight
from privet_papers.bojarski_2014.data import BENCHMARKS
from privet_papers.bojarski_2014.private_theorems import theorem_5_6
from privet_papers.bojarski_2014.theorems import theorem_5_1, theorem_5_2
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

DATA = ("banknote", "transfusion", "vote", "mammographic", "mushroom", "adult")
HEIGHTS = (4, 8, 12)
TREES, FOREST = 1001, 101  # trees to average over; trees of the forest whose error is bounded
DELTA, K = 0.1, 40  # the constants that the paper's proof of Theorem 5.7 takes


def points_cells(quick: bool) -> list[Cell]:
    """One cell for each data set and height."""
    settings = {"seed": 0, "trees": FOREST if quick else TREES, "k": FOREST, "private delta": DELTA + 1 / K}
    return [
        Cell(goodness_and_weight, {**settings, "data": name, "h": h}, BENCHMARKS[name].files)
        for name in (DATA[:2] if quick else DATA)
        for h in HEIGHTS
    ]


def points_table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, height, and goodness or weight."""
    rows: list[Row] = []
    for outcome in outcomes:
        found, h, k = outcome.result, outcome.settings["h"], outcome.settings["k"]
        n, error = found["n"], min(max(found["tree_error"], 1e-6), 0.5)
        private = theorem_5_6(n, h, k, 1000 / n, error, DELTA, K)
        for vote, least in (("MV", theorem_5_1(error)), ("TA", theorem_5_2(error))):
            of = found[vote]
            rows.append(
                {
                    "data": outcome.settings["data"],
                    "h": h,
                    "of a point": "goodness" if vote == "MV" else "weight",
                    "mean": round(of["mean"], 3),
                    "at least": round(least, 3),
                    "deviation": round(of["deviation"], 3),
                    "within .1 of the mean %": round(100 * of["near"], 1),
                    "above 1/2 %": round(100 * of["right"], 1),
                    "delta": round(found["delta"], 3),
                    "mu %": round(100 * of["mu"], 1),
                    "bound 5.3 %": round(100 * (1 - of["mu"]), 1),
                    "error %": round(100 * of["error"], 2),
                    "bound 5.6 %": round(100 * (1 - of["private mu"]), 1),
                    "probability of 5.6": float(f"{private.probability:.3g}"),
                }
            )
    return rows


POINTS = Entry(
    name="bojarski-points",
    paper="Bojarski et al. 2014, section 5 and Theorems 5.1 to 5.3 and 5.6",
    title="Goodness and weight of points, and the bounds that follow from them",
    cells=points_cells,
    assemble=points_table,
    sources=SOURCES,
    notes=(
        f"Training points. Averages over all trees are estimated with {TREES} random ones. 'At least' is what Theorem "
        "5.1 (goodness) or 5.2 (weight) says of the mean, from the error of the average tree.",
        f"Bound 5.3: for {FOREST} trees, delta = sqrt(log(n) / {FOREST}), so that it fails with probability 1 / n; mu "
        "is the measured share of points of at least 1/2 + delta. Beside it the training error of such a forest by "
        "majority voting (goodness) or threshold averaging (weight).",
        f"Bound 5.6: delta = {DELTA}, K = {K} as in the paper's proof, eta = 1000 / n, with the measured share of "
        "points of at least 1/2 + delta + 1/K for mu. Its probability is below zero everywhere: it says nothing.",
    ),
)

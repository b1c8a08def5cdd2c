"""Readings of Bai et al. (2021), Table 2, that the text leaves open: leaf sizes, distances, halves, ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privet_papers.bai_2021.cells import BREIMAN, cross_validated
from privet_papers.bai_2021.data import FILES
from privet_papers.bai_2021.printed_numbers import METHODS, TABLE_2
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

RAW = {"distance": "raw"}
# Column -> method, the settings that differ from Table 2's, and whether the paper's figure follows it.
READINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "Breiman, leaves of 5": (BREIMAN, {}),
    "Breiman, splits from 6": (BREIMAN, {"parameters": {"min_leaf": 1, "min_split": 6}}),
    "CompRF-C, scaled, halves": ("CompRF-C", {}),
    "CompRF-C, raw, halves": ("CompRF-C", {"parameters": RAW}),
    "CompRF-C, raw, all": ("CompRF-C", {"parameters": {**RAW, "halves": False}}),
    "CompRF-I, scaled": ("CompRF-I", {}),
    "CompRF-I, raw": ("CompRF-I", {"parameters": RAW}),
    "MRF, ties to the first": ("MRF", {}),
    "MRF, ties by chance": ("MRF", {"ties": "by chance"}),
}
NAMES = ("Zoo", "Hayes", "Echo", "Wine", "Vehicle", "Tic-tac-toe", "Website", "Cmc", "Yeast", "Car", "Wilt")
NEAR = 3.0  # percentage points


def _cells(quick: bool) -> list[Cell]:
    names = NAMES[:2] if quick else NAMES
    return [
        Cell(
            cross_validated,
            {"data": FILES[name], "method": method, "seed": 0, "folds": 10, "reading": reading, **changed},
            (FILES[name],),
        )
        for name in names
        for reading, (method, changed) in READINGS.items()
    ]


def _table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, the paper's figure after the readings of each method; then how many are near it."""
    found = {(o.settings["data"], o.settings["reading"]): o.result["accuracy"] for o in outcomes}
    rows: list[Row] = []
    for name, printed in TABLE_2.items():
        if all((FILES[name], reading) in found for reading in READINGS):
            row: Row = {"data": name}
            for method in dict.fromkeys(method for method, _ in READINGS.values()):
                for reading, (of, _) in READINGS.items():
                    if of == method:
                        row[reading] = round(100 * float(np.mean(found[FILES[name], reading])), 2)
                row[f"{method} (paper)"] = printed[METHODS.index(method)]
            rows.append(row)
    means: Row = {"data": "average"}
    means |= {
        name: round(float(np.mean([float(str(row[name])) for row in rows])), 2) for name in rows[0] if name != "data"
    }
    near: Row = {"data": f"within {NEAR:g} points of the paper"}
    for reading, (method, _) in READINGS.items():
        gaps = [abs(float(str(row[reading])) - float(str(row[f"{method} (paper)"]))) for row in rows]
        near[reading] = sum(gap <= NEAR for gap in gaps)
    return [*rows, means, near]


READINGS_ENTRY_NOTES = (
    "Ten folds once (seed 0), where the paper has ten times ten; eleven of the 24 sets, for time, among them most of "
    "those where CompRF-C was furthest from the paper.",
    "Breiman: 'minimum leaf size k = 5' as scikit-learn's min_samples_leaf=5, or as MRF takes it in Algorithm 1, where "
    "a node of at most five records is not split: min_samples_split=6. The latter is nearer to the paper on Car and "
    "further from it on Zoo and Tic-tac-toe.",
    "CompRF compares distances. Scaled: numbers between 0 and 1, different categories at distance one; raw: numbers as "
    "they are and categories numbered, so that the widest feature decides. On Wine only the raw distance is near the "
    "paper. Halves: structure and estimation points apart; all: every record for both, which pivots that look at no "
    "label allow. **Raw distances and all records bring CompRF-C within three points of the paper on nine of eleven "
    "sets; Table 2's is below the paper on nine sets since it halves the records, and above it elsewhere since it "
    "scales them.** Hayes and Yeast remain unexplained: the paper's 14% and 11% on Yeast are below the share of the "
    "largest class.",
    "MRF: Equation 5 breaks ties of the vote at random; Table 2 gives them to the first class.",
)


def readings_entry(paper: str, sources: tuple[str, ...]) -> Entry:
    """Return the entry."""
    return Entry(
        name="bai-readings",
        paper=f"{paper}, Table 2, what the text leaves open",
        title="Accuracy by how leaf sizes, distances and ties are read, in percent",
        cells=_cells,
        assemble=_table,
        notes=READINGS_ENTRY_NOTES,
        sources=sources,
    )

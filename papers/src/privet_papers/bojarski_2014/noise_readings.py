"""Which noise made the private figures of Bojarski et al. (2014), Table 1: two more readings of Algorithm 2.

Algorithm 2 prints noise of scale eta / k; its proof needs k / eta. A count below zero makes a leaf's shares random;
with noise of scale k / eta that is most leaves of a deep tree. Taking such counts as zero, and shares at random only
where none is left, is a reading that the text does not offer and that gives figures near the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release, drawn
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet_papers.bojarski_2014 import cells as shared
from privet_papers.bojarski_2014.data import BENCHMARKS, Split
from privet_papers.bojarski_2014.layout import best_on_validation, binomial_half_width
from privet_papers.bojarski_2014.printed import PrintedRandomDecisionForest
from privet_papers.bojarski_2014.printed_numbers import TABLE_1
from privet_papers.framework.entry import Cell, Entry, Outcome, Row, WholeProtocol

if TYPE_CHECKING:
    from privet.tables.protocol import IntArray
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

NAMES = ("banknote", "vote", "mammographic", "mushroom")  # those of the paper's Figures 1 and 2
HEIGHTS, TREES, RUNS = [3, 6, 9, 12, 15], [1, 3, 7, 13, 21], 5
SOUND, AS_PRINTED, CLAMPED = "k / eta, random shares", "eta / k, as printed", "k / eta, clamped at zero"
READINGS = (SOUND, AS_PRINTED, CLAMPED)


def readings(settings: Settings, data: DataFolder) -> Result:
    """Return validation and test error for every reading, vote, height and number of trees, in one run."""
    parts = shared.split_of_run(settings["data"], settings["seed"], data)
    rows = []
    for h in settings["h"]:
        counts, trees = shared.counted(parts, settings["seed"], max(settings["k"]), h)
        for k in settings["k"]:
            exact, first = counts[: k << h], shared.first_trees(trees, k)
            noisy = shared.noisy(exact, k, h, parts.eta)
            released = {
                SOUND: noisy,
                AS_PRINTED: _as_printed(exact, k, h, parts),
                CLAMPED: np.maximum(noisy, 0),
            }
            for reading, values in released.items():
                errors = shared.errors_by_vote(parts, first, values, "random", settings["seed"])
                rows += [[reading, vote, h, k, *errors[vote]] for vote in ("MV", "TA")]
    return {"eta": parts.eta, "tested": len(parts.test), "rows": rows}


def _as_printed(counts: IntArray, k: int, h: int, parts: Split) -> IntArray:
    terms, allowance = Terms(), Allowance.of(parts.eta)
    learner = PrintedRandomDecisionForest(k, h, "majority", "algorithm")
    plan = learner.plan(parts.encoding, terms, allowance.whole, Hints())
    return Release(Ledger(terms, allowance), drawn()).noisy(counts, plan.leaves)


def noise_cells(quick: bool) -> list[Cell]:
    """One forest for each data set and run."""
    return _over(NAMES[:1], [4, 8], [1, 21], 1) if quick else _over(NAMES, HEIGHTS, TREES, RUNS)


def _over(names: Sequence[str], heights: list[int], trees: list[int], runs: int) -> list[Cell]:
    return [
        Cell(readings, {"data": name, "seed": seed, "h": heights, "k": trees}, BENCHMARKS[name].files)
        for name in names
        for seed in range(runs)
    ]


def noise_table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, reading and vote, k and h chosen as in Table 1."""
    rows: list[Row] = []
    for name in dict.fromkeys(outcome.settings["data"] for outcome in outcomes):
        of_data = [outcome for outcome in outcomes if outcome.settings["data"] == name]
        n_tested = sum(outcome.result["tested"] for outcome in of_data)
        for reading in READINGS:
            for vote in ("MV", "TA"):
                k, h, tests = best_on_validation(of_data, reading, vote)
                error = float(np.mean(tests))
                printed = TABLE_1[BENCHMARKS[name].paper, f"dpRF{vote}"]
                row: Row = {"data": name, "noise": reading, "vote": vote, "error %": round(100 * error, 2)}
                row["+- binomial"] = round(100 * binomial_half_width(error, n_tested), 2)
                row |= {"k": k, "h": h, "runs": len(tests), "error % (paper)": printed[0]}
                rows.append({**row, "k (paper)": printed[1], "h (paper)": printed[2]})
    return rows


NOISE_ENTRY = Entry(
    name="bojarski-noise",
    paper="Bojarski et al. 2014, Table 1, private forests",
    title="Test error by how Algorithm 2's noise is read",
    cells=noise_cells,
    assemble=noise_table,
    sources=(
        *shared.SOURCES,
        *("privet_papers.bojarski_2014.cells", "privet_papers.bojarski_2014.layout"),
        *("privet_papers.bojarski_2014.printed", "privet_papers.bojarski_2014.printed_numbers"),
        "privet_papers.framework.printed",
    ),
    notes=(
        "'k / eta, random shares' is the dp of Table 1: the noise that the proof needs, and random shares where a "
        "count is negative. 'eta / k' is Algorithm 2 to the letter: next to no noise, a loss of k^2 / eta. 'clamped at "
        "zero' takes negative counts as zero; random shares are left to leaves without any count. "
        "That reading is the nearest to the paper on banknote and mushroom, where the three can be told apart.",
        "k and h are those of the smallest validation error, which leaks. The four data sets of the paper's Figures 1 "
        "and 2.",
        "'+- binomial' is the half width of the symmetrical binomial 95% interval, as in the paper.",
    ),
    whole=WholeProtocol(
        lambda: _over(NAMES, list(range(1, 16)), list(range(1, 22, 2)), 10),
        f"{RUNS} runs with h in {HEIGHTS} and k in {TREES}",
        "ten runs with 15 and 11 values",
        hours=0.2,
    ),
)

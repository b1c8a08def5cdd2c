"""Tables of Bojarski, Choromanska, Choromanski and LeCun (2014), and their claims in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from privet_papers.bojarski_2014.cells import FIXED_SHAPE, SOURCES, cart, grid, public_rule, rule_and_grid
from privet_papers.bojarski_2014.data import BENCHMARKS
from privet_papers.bojarski_2014.figures import FIGURES
from privet_papers.bojarski_2014.layout import best_on_validation, binomial_half_width
from privet_papers.bojarski_2014.noise_readings import NOISE_ENTRY
from privet_papers.bojarski_2014.points import POINTS
from privet_papers.bojarski_2014.printed_numbers import TABLE_1
from privet_papers.bojarski_2014.rpart import rpart
from privet_papers.framework.entry import Cell, Entry, Outcome, Row, WholeProtocol

PAPER = "Bojarski et al. 2014"
HEIGHTS = list(range(1, 16))
TREES = list(range(1, 22, 2))
RUNS = 10
# None of these was looked at when the constants of the rule were chosen.
UNSEEN = (
    *("breast_w", "tic_tac_toe", "compas", "messidor", "vehicle"),
    *("kr_vs_kp", "wine_quality_white", "wall_following_4", "phishing_websites", "california"),
)
N_METHODS = 9  # rows of a data set in Table 1
TEST_SHARE = 0.1
SMALL = ("banknote", "transfusion", "vote", "mammographic", "mushroom")

CHOSEN = "validation error: leaks"
RULE = "public rule"

# What "sensitive" means, of a table of errors with a row for each h and a column for each k.
SENSITIVITIES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "k and h (standard deviation of the error over the grid)": lambda errors: float(errors.std()),
    "k (largest less smallest error over k, averaged over h)": lambda errors: float(np.ptp(errors, axis=1).mean()),
}


def table_1_cells(quick: bool) -> list[Cell]:
    """One forest cell, one cell by our rule and one of CART for each data set and run."""
    names = SMALL[:2] if quick else tuple(BENCHMARKS)
    heights, trees, runs = ([4, 8, 12], [1, 5, 21], 1) if quick else (HEIGHTS, TREES, RUNS)
    cells = []
    for seed in range(runs):
        for name in names:
            files = BENCHMARKS[name].files
            cells.append(Cell(grid, {"data": name, "seed": seed, "h": heights, "k": trees}, files))
            cells.append(Cell(public_rule, {"data": name, "seed": seed}, files))
            cells.append(Cell(cart, {"data": name, "seed": seed}, files))
    return cells


def table_1(outcomes: Sequence[Outcome]) -> list[Row]:
    """Lay out Table 1, one row for each data set and method, the paper's figures beside ours."""
    rows: list[Row] = []
    for name in dict.fromkeys(outcome.settings["data"] for outcome in outcomes):
        of_data = [outcome for outcome in outcomes if outcome.settings["data"] == name]
        grids = [outcome for outcome in of_data if "h" in outcome.settings]
        carts = [outcome.result["test"] for outcome in of_data if "ccp_alpha" in outcome.result]
        rules = [outcome.result for outcome in of_data if "MV" in outcome.result]
        eta = float(grids[0].result["eta"])
        rows.append(_row(name, None, "CART", "validation error", carts, None, None))
        for method, prefix in (("n-dp", "n-dpRF"), ("dp", "dpRF"), ("dp, back-off", "dpRF, back-off, ")):
            for vote in ("MV", "TA"):
                k, h, tests = best_on_validation(grids, method, vote)
                rows.append(_row(name, None if method == "n-dp" else eta, f"{prefix}{vote}", CHOSEN, tests, k, h))
        for vote in ("MV", "TA"):
            k, h = int(rules[0]["k"]), int(rules[0]["h"])
            rows.append(_row(name, eta, f"dpRF, back-off, {vote}", RULE, [rule[vote] for rule in rules], k, h))
        rows[-N_METHODS:] = [_with_binomial(row, eta) for row in rows[-N_METHODS:]]
    return rows


def _with_binomial(row: Row, eta: float) -> Row:
    """Add the paper's kind of interval after ours; the tests of all runs are of so many records together."""
    n_tested = int(str(row["runs"])) * TEST_SHARE * 1000 / (eta * (1 - TEST_SHARE))  # eta = 1000 / n_tr
    error = float(str(row["error %"])) / 100
    extended: Row = {}
    for name, value in row.items():
        extended[name] = value
        if name == "+-":
            extended["+- binomial"] = round(100 * binomial_half_width(error, n_tested), 2)
    return extended


def _row(
    name: str, eta: float | None, method: str, chosen: str, tests: list[float], k: int | None, h: int | None
) -> Row:
    printed = TABLE_1.get((BENCHMARKS[name].paper, method)) if chosen != RULE else None
    error = float(np.mean(tests))
    half_width = 1.96 * float(np.std(tests)) / math.sqrt(len(tests))
    return {
        "data": name,
        "eta": None if eta is None else round(eta, 4),
        "method": method,
        "k and h by": chosen,
        "error %": round(100 * error, 2),
        "+-": round(100 * half_width, 2),
        "k": k,
        "h": h,
        "runs": len(tests),
        "error % (paper)": None if printed is None else printed[0],
        "k (paper)": None if printed is None else printed[1],
        "h (paper)": None if printed is None else printed[2],
    }


def claims_cells(quick: bool) -> list[Cell]:
    """Three runs over the whole grid, and the comparison of the two rules for negative counts."""
    runs = 1 if quick else 3
    heights, trees = ([4, 8, 12], [1, 5, 21]) if quick else (HEIGHTS, TREES)
    return _over_grid(SMALL[:2] if quick else SMALL, heights, trees, runs) + _two_rules(2 if quick else RUNS)


def _over_grid(names: Sequence[str], heights: list[int], trees: list[int], runs: int) -> list[Cell]:
    return [
        Cell(grid, {"data": name, "seed": seed, "h": heights, "k": trees}, BENCHMARKS[name].files)
        for name in names
        for seed in range(runs)
    ]


def _two_rules(runs: int) -> list[Cell]:
    """Compare the rules for negative counts in two shapes."""
    return [
        Cell(
            grid,
            {"data": "banknote", "seed": 100 + seed, "h": [4, 6, 8], "k": [k], "eta": eta},
            BENCHMARKS["banknote"].files,
        )
        for k, eta in ((16, 0.1), (64, 1.0))
        for seed in range(runs)
    ]


def claims(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each claim and data set: the two figures that it compares, and whether it holds."""
    rows: list[Row] = []
    over_grid = [outcome for outcome in outcomes if "eta" not in outcome.settings]
    for name in dict.fromkeys(outcome.settings["data"] for outcome in over_grid):
        of_data = [outcome for outcome in over_grid if outcome.settings["data"] == name]
        for method in ("dp", "dp, back-off"):
            errors = {vote: _by_shape(of_data, method, vote) for vote in ("MV", "TA", "PA")}
            mean = {vote: float(table.mean()) for vote, table in errors.items()}
            for vote in ("MV", "TA"):
                claim = f"{vote} errs less than PA, on average over the grid"
                rows.append(_claim(claim, name, method, vote, mean[vote], "PA", mean["PA"]))
            for what, spread in SENSITIVITIES.items():
                claim = f"MV is less sensitive to {what} than TA"
                values = {vote: spread(errors[vote]) for vote in ("MV", "TA")}
                rows.append(_claim(claim, name, method, "MV", values["MV"], "TA", values["TA"]))
    fixed = [outcome for outcome in outcomes if "eta" in outcome.settings]
    for k, eta in ((16, 0.1), (64, 1.0)):
        of_shape = [outcome for outcome in fixed if outcome.settings["k"] == [k]]
        for h in of_shape[0].settings["h"] if of_shape else ():
            by_rule = {method: _mean_error(of_shape, [method, "TA", h]) for method in ("dp", "dp, back-off")}
            claim = f"backing off errs less than random shares (k = {k}, h = {h}, eta = {eta}, TA)"
            rows.append(_claim(claim, "banknote", "", "back-off", by_rule["dp, back-off"], "random", by_rule["dp"]))
    return rows


def _mean_error(outcomes: Sequence[Outcome], beginning: list[object]) -> float:
    """Return the test error averaged over all rows that begin with method, vote and h."""
    return float(np.mean([row[5] for outcome in outcomes for row in outcome.result["rows"] if row[:3] == beginning]))


def _by_shape(outcomes: Sequence[Outcome], method: str, vote: str) -> NDArray[np.float64]:
    """Return the test errors averaged over runs, a row for each h and a column for each k."""
    found: dict[tuple[int, int], list[float]] = {}
    for outcome in outcomes:
        for row in outcome.result["rows"]:
            if row[:2] == [method, vote]:
                found.setdefault((row[2], row[3]), []).append(row[5])
    heights, trees = (sorted({shape[axis] for shape in found}) for axis in (0, 1))
    return np.array([[np.mean(found[h, k]) for k in trees] for h in heights])


def _claim(claim: str, name: str, method: str, first: str, a: float, second: str, b: float) -> Row:
    return {
        "claim": claim,
        "data": name,
        "method": method,
        "first": first,
        "first %": round(100 * a, 2),
        "second": second,
        "second %": round(100 * b, 2),
        "holds": a < b,
    }


def rule_cells(quick: bool) -> list[Cell]:
    """Budgets and runs on data sets that the rule has not seen."""
    names, budgets, runs = (UNSEEN[:2], [1.0], 1) if quick else (UNSEEN, [0.03, 0.1, 0.3, 1.0, 3.0], 3)
    return [
        Cell(
            rule_and_grid, {"data": name, "seed": seed, "eta": eta, "k": [1, 4, 16, 64], "h": [1, 3, 5, 8, 12]}, (name,)
        )
        for name in names
        for eta in budgets
        for seed in range(runs)
    ]


def rule(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set and budget."""
    found: dict[tuple[str, float], list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault((outcome.settings["data"], outcome.settings["eta"]), []).append(outcome)
    rows: list[Row] = []
    for (name, eta), runs in found.items():
        mean = {what: float(np.mean([run.result[what] for run in runs])) for what in ("rule", "fixed", "best")}
        rows.append(
            {
                "data": name,
                "n": runs[0].result["n"],
                "epsilon": eta,
                "k": runs[0].result["k"],
                "h": runs[0].result["h"],
                "error % by the rule": round(100 * mean["rule"], 1),
                "error % at k = {}, h = {}".format(*FIXED_SHAPE): round(100 * mean["fixed"], 1),
                "error % at the best of 20 shapes": round(100 * mean["best"], 1),
            }
        )
    return rows


def rpart_cells(quick: bool) -> list[Cell]:
    """One tree for each data set and run."""
    names = SMALL if quick else tuple(BENCHMARKS)
    return [
        Cell(rpart, {"data": name, "seed": seed}, BENCHMARKS[name].files)
        for name in names
        for seed in range(1 if quick else 2 if name == "covertype" else RUNS)
    ]


def rpart_table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each data set, with the binomial interval that the paper states."""
    rows: list[Row] = []
    for name in dict.fromkeys(outcome.settings["data"] for outcome in outcomes):
        found = [outcome.result for outcome in outcomes if outcome.settings["data"] == name]
        error = float(np.mean([result["error"] for result in found]))
        printed = TABLE_1.get((BENCHMARKS[name].paper, "CART"))
        rows.append(
            {
                "data": name,
                "error %": round(100 * error, 2),
                "+-": round(100 * binomial_half_width(error, sum(result["tested"] for result in found)), 2),
                "leaves": round(float(np.mean([result["leaves"] for result in found])), 1),
                "runs": len(found),
                "error % (paper)": None if printed is None else printed[0],
            }
        )
    return rows


GRID_NOTES = (
    "Runs: 90% of the records to train on, a tenth of them for validation; how the paper dealt them is not said.",
    "One forest of the largest number of trees is drawn for each height and counted once; fewer trees are its first "
    "ones. The noise is drawn anew for each number of trees, since its scale k / eta depends on it.",
    "dp is Algorithm 2 with the scale k / eta that its proof needs (printed: eta / k), and random shares where a noisy "
    "count is negative. 'back-off' is ours: negative counts are taken as zero, and a leaf where none is left takes "
    "the shares of the smallest subtree that has any.",
    "Categories are split by random sets of values. Covertype: class 2 against the rest. Adult: the training file, "
    "with its own features, and in 123 binary ones. Missing values are a value of their own.",
    "Quantum is a synthetic stand-in with as many records and features: the original is no longer offered. Its "
    "figures cannot be compared with the paper's.",
)

ENTRIES = (
    Entry(
        name="bojarski-table-1",
        paper=f"{PAPER}, Table 1",
        title="Test error of random decision forests, with and without privacy",
        cells=table_1_cells,
        assemble=table_1,
        sources=SOURCES,
        notes=(
            "k and h are chosen as the paper did, by the smallest validation error (averaged over the runs). That is "
            "not private: the choice looks at the records without being paid for. The rows 'public rule' choose "
            "nothing on the data: k = sqrt(n eta) / 4, h = log2(n eta / 4).",
            "+- is the half width of a 95% interval over the runs; '+- binomial' is the paper's kind, as if all tests "
            "of all runs were of different records.",
            "Which noise made the paper's private figures is asked on the page [bojarski-noise](bojarski-noise.md).",
            "CART is scikit-learn's with cost-complexity pruning chosen on the validation part, in place of rpart; "
            "bojarski-rpart has rpart's defaults.",
            "10 runs.",
            *GRID_NOTES,
        ),
    ),
    NOISE_ENTRY,
    Entry(
        name="bojarski-rpart",
        paper=f"{PAPER}, Table 1, rpart",
        title="Test error of a tree with rpart's defaults",
        cells=rpart_cells,
        assemble=rpart_table,
        sources=("privet_papers.bojarski_2014.data", "privet_papers.framework.data"),
        notes=(
            "scikit-learn's tree with rpart's defaults (minsplit 20, minbucket 7), pruned by misclassified records at "
            "cp = 0.01 of the root's. Table 1's CART is the stronger rival: it is pruned as is best on the validation "
            "part. +- is the half width of a binomial 95% interval, as in the paper.",
            *GRID_NOTES[3:],
        ),
    ),
    POINTS,
    Entry(
        name="bojarski-claims",
        paper=f"{PAPER}, section 6",
        title="The paper's claims on voting rules, and ours on negative counts, in numbers",
        cells=claims_cells,
        assemble=claims,
        sources=SOURCES,
        notes=GRID_NOTES[:3],
        whole=WholeProtocol(
            lambda: _over_grid(SMALL, HEIGHTS, TREES, RUNS) + _two_rules(RUNS),
            "three runs over the grid",
            "ten",
            hours=0.1,
        ),
    ),
    Entry(
        name="bojarski-public-rule",
        paper="Not in the paper",
        title="Number and height of trees by a public rule, on data sets that it has not seen",
        cells=rule_cells,
        assemble=rule,
        sources=SOURCES,
        notes=(
            "Threshold averaging with back-off, 3 runs, 81% of the records to train on, 19% to test. The rule is given "
            "the number of training records. The best shape is the best in each run on the test records themselves.",
        ),
    ),
    *FIGURES,
)

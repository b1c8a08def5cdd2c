"""Bai et al. (2021), Lemmas 3 and 4, (C.3) and (C.6): bounds of the proof of consistency beside what is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privet_papers.bai_2021.lemma_cells import few_points, lemmas_in_trees
from privet_papers.bai_2021.theorems import lemma_3, lemma_4, levels_to_halve, size_bound, too_few_points
from privet_papers.framework.entry import Cell, Entry, Outcome, Row

RATES = (0.0, 1.0, 10.0)  # B1 = B2; the paper's experiments have 10
LEVELS = (2, 4, 8)
N_PARTS, N_FEATURES = 4, 3
NODES = ((10, 0.99, 3), (400, 0.9, 150), (400, 0.5, 80), (4_000, 0.05, 60), (40_000, 0.01, 100))  # n, p, k
HALVES = {"exact": "exactly half are estimation points", "coins": "coins choose estimation points"}


def _cells(quick: bool) -> list[Cell]:
    settings = {
        **{"n_features": N_FEATURES, "n_parts": N_PARTS, "levels": list(LEVELS), "seed": 0},
        **{"n_rows": 2_000 if quick else 20_000, "n_trees": 5 if quick else 50},
    }
    grown = [Cell(lemmas_in_trees, {**settings, "rate": rate}) for rate in RATES]
    return grown + [Cell(few_points, {"n": n, "p": p, "k": k}) for n, p, k in NODES]


def _table(outcomes: Sequence[Outcome]) -> list[Row]:
    """One row for each statement and setting; sizes and rare events are at most, chances at least, their bounds."""
    rows: list[Row] = []
    for outcome in outcomes:
        settings, found = outcome.settings, outcome.result
        if "rate" in settings:
            rows += _of_trees(settings["rate"], settings["n_features"], settings["n_parts"], found)
        else:
            n, p, k = (settings[name] for name in ("n", "p", "k"))
            printed = too_few_points(n, p, k)
            for halves, bound in (("exact", printed), ("coins", too_few_points(n, p, k, halves="coins"))):
                where = f"n = {n}, p = {p:g}, k = {k}, {HALVES[halves]}"
                rows.append(_row("(C.6)", where, found[halves], printed, bound))
    return rows


def _of_trees(rate: float, n_features: int, parts: int, found: dict[str, object]) -> list[Row]:
    where = f"B1 = B2 = {rate:g}, D = {n_features}"
    features = [lemma_3(n_features, rate, version=version)[0] for version in ("printed", "derived")]
    values = [lemma_4(parts, rate, version=version) for version in ("printed", "derived")]
    nodes = int(str(found["nodes"]))
    rows = [
        _row("Lemma 3", where, found["least chosen feature"], *features, nodes=nodes),
        _row("Lemma 4", f"{where}, N = {parts}", found["inner values"], *values, nodes=nodes),
    ]
    for level, side in dict(found["largest mean side"]).items():  # type: ignore[call-overload]  # a mapping, from JSON
        bounds = [
            size_bound(int(level), n_features, rate, rate, n_parts=parts, version=version)
            for version in ("printed", "derived")
        ]
        rows.append(_row("(C.3)", f"{where}, N = {parts}, m = {level}", side, *bounds))
    return rows


def _row(statement: str, where: str, measured: object, printed: float, derived: float, *, nodes: int = 0) -> Row:
    """Compare with two bounds: from above, or, of a share of so many nodes, from below up to three standard errors."""
    value = float(str(measured))

    def kept(bound: float) -> bool:
        return value <= bound if nodes == 0 else value >= bound - 3 * math.sqrt(bound * (1 - bound) / nodes)

    return {
        "statement": statement,
        "setting": where,
        "measured": float(f"{value:.4g}"),
        "is": "at least" if nodes else "at most",
        "printed": float(f"{printed:.4g}"),
        "derived": float(f"{derived:.4g}"),
        "printed holds": kept(printed),
        "derived holds": kept(derived),
    }


ENTRIES = (
    Entry(
        name="bai-lemmas",
        paper="Bai, Li, Li, Yang, Jiang and Xia 2021, Lemmas 3 and 4, (C.3) and (C.6)",
        title="The bounds behind consistency beside what is measured",
        cells=_cells,
        assemble=_table,
        notes=(
            "Lemma 3: the share of nodes that split the least chosen feature. Lemma 4: the share of splits in the "
            "inner N - 2 of N equal parts of a node. (C.3): the mean side of a point's cell at level m, of the feature "
            "where it is largest. Of 50 trees without privacy on 20,000 uniform records of which two features matter; "
            "one run, seed 0; shares of nodes may be three standard errors below their bounds, which at B1 = 0 is the "
            "share itself. (C.6): exact binomial probabilities.",
            "'printed' has e^B where Algorithm 1 draws with weights e^(B / 2), 'derived' has those weights; "
            "`privet_papers.bai_2021.theorems` says what each supposes. The printed bounds of Lemmas 3 and 4 and (C.3) "
            "are true and weak: for ten features and the paper's B1 = B2 = 10, (C.3) asks for "
            f"{levels_to_halve(10, 10.0, 10.0, version='printed'):.0e} levels until a side is halved, derived "
            f"{levels_to_halve(10, 10.0, 10.0):.0e}. That is no objection to consistency, which is a limit.",
            "(C.6) is right if exactly half of the records are estimation points, as in the paper. If a coin decides "
            "for each record, as in our private forest, the variance is n p (1 - p / 2) / 2 and not n p (1 - p) / 2, "
            "and the printed bound can fail: the node with p = .99 shows it.",
        ),
        sources=(
            "privet.learners.multinomial_forest.honest_tree",
            "privet.learners.multinomial_forest.honest_draws",
            "privet.learners.multinomial_forest.honest_scores",
            "privet.learners.multinomial_forest.honest_growth",
        ),
    ),
)

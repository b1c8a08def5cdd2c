"""What Tajima, Wu and Houmansadr (2025) leave open: feature subsets, the noise of votes, Gaussian noise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import mean
from typing import Any

from privet_papers.framework.entry import Cell, Entry, Outcome, Row
from privet_papers.tajima_2025 import figures
from privet_papers.tajima_2025.cells import noise
from privet_papers.tajima_2025.entry_parts import DATA, LARGE, NOTES, PAPER, SMALL, SOURCES, cell, summary

DECISIVE = ("persons", "safety")


def _subsets(quick: bool) -> list[Cell]:
    fours = list(combinations(range(6), 4))
    pairs = list(combinations(fours, 2))
    return [
        cell(seed=seed, strategy="cells", n_ensembles=2, subset_features=4, subsets=[list(a), list(b)])
        for a, b in (pairs[:10] if quick else pairs)
        for seed in range(1 if quick else 2)
    ]


def _lay_out_subsets(outcomes: Sequence[Outcome]) -> list[Row]:
    names = ("buying", "maint", "doors", "persons", "lug_boot", "safety")
    decisive = {names.index(name) for name in DECISIVE}
    rows: list[Row] = []
    groups: dict[str, list[tuple[int, float]]] = {}
    for outcome in outcomes:
        first, second = outcome.settings["subsets"]
        held = sum(decisive <= set(subset) for subset in (first, second))
        key = " | ".join(",".join(names[i] for i in subset) for subset in (first, second))
        groups.setdefault(key, []).append((held, outcome.result["accuracy"]))
    for key, found in groups.items():
        scores = [score for _, score in found]
        rows.append(
            {"subsets": key, "subsets with persons and safety": found[0][0], "accuracy": round(mean(scores), 3)}
        )
    return sorted(rows, key=lambda row: (str(row["subsets with persons and safety"]), str(row["accuracy"])))


def _noise(quick: bool) -> list[Cell]:
    lines: list[tuple[str, dict[str, Any]]] = [
        ("leaves", {"strategy": "leaves", "n_trees": 128}),
        ("cells", {"strategy": "cells", "n_trees": None}),
        ("marginals", {"strategy": "marginals", "n_trees": None}),
        ("p-identity, 50 points", {"mode": "prediction", "strategy": "p-identity", "n_trees": None, "batch": 50}),
        ("queries, 50 points", {"mode": "prediction", "strategy": "queries", "n_trees": None, "batch": 50}),
    ]
    return [
        Cell(
            noise,
            {
                "data": "car",
                "line": line,
                "epsilon": 1.0,
                "mode": "training",
                "voting": "weight",
                "depth": depth,
                "repetitions": 10 if quick else 20,
                **settings,
            },
            data=("car",),
        )
        for line, settings in lines
        for depth in (1, 2, 3, 4, 5, 6)
    ]


def _lay_out_noise(outcomes: Sequence[Outcome]) -> list[Row]:
    return [
        {
            "strategy": outcome.settings["line"],
            "depth": outcome.settings["depth"],
            "expected": round(outcome.result["expected"], 4),
            "simulated": round(outcome.result["simulated"], 4),
        }
        for outcome in outcomes
    ]


def _adult(quick: bool) -> list[Cell]:
    lines: list[tuple[str, dict[str, Any]]] = [
        ("without privacy", {"epsilon": None, "strategy": "leaves"}),
        ("Gaussian", {"strategy": "gaussian", "delta": 1e-6}),
        ("leaf Laplace", {"strategy": "leaves"}),
    ]
    return [
        cell(
            "adult",
            seed=seed,
            line=line,
            **{"epsilon": epsilon, **settings, "voting": voting, "n_trees": 256, "depth": 8},
        )
        for line, settings in lines
        for epsilon in ((1.0,) if line == "without privacy" else (0.1, 1.0))
        for voting in ("weight", "balanced", "probability")
        for seed in range(1 if quick else 2)
    ]


def _tuning(quick: bool) -> list[Cell]:
    """Number and size of feature subsets from public facts, beside what the other entries use."""
    lines: list[tuple[str, dict[str, Any]]] = [
        ("all features, or q = 4 and d = 4", {}),
        ("tuned", {"n_ensembles": None, "subset_features": None, "tune": "public"}),
    ]
    cells = []
    for name in SMALL if quick else DATA:
        fixed = {"n_ensembles": 4, "subset_features": 4} if name in LARGE else {}
        cells += [
            cell(name, seed=seed, line=line, **{**fixed, "depth": 4, "strategy": "cells", **settings})
            for line, settings in lines
            for seed in range(1 if quick else 5)
        ]
    return cells


def _lay_out_tuning(outcomes: Sequence[Outcome]) -> list[Row]:
    return summary(outcomes, ["data", "line"], more=("q", "d", "h"), seconds=True)


ENTRIES = (
    Entry(
        "tajima-tuning",
        f"{PAPER}, the privacy-free search for hyper-parameters",
        "Number q and size d of feature subsets and depth h, chosen from public facts, epsilon 1",
        _tuning,
        _lay_out_tuning,
        None,
        (
            *NOTES,
            "The choice knows the schema, epsilon and the number of training records (taken as public), and weighs the "
            "noise of a vote against the records that a leaf can expect. q, d and h are means over the seeds.",
        ),
        SOURCES,
    ),
    Entry(
        "tajima-subsets",
        f"{PAPER}, table 2 of the appendix, q = 2",
        "Car with two ensembles of four features: the accuracy of every pair of subsets, epsilon 1",
        _subsets,
        _lay_out_subsets,
        figures.subsets,
        (*NOTES, "Two splits for each of the 105 pairs of different subsets."),
        SOURCES,
    ),
    Entry(
        "tajima-noise",
        f"{PAPER}, the error that strategies are chosen by",
        "Noise of a vote on Car, epsilon 1: what the plan expects, and what is measured on an empty table",
        _noise,
        _lay_out_noise,
        figures.noise,
        NOTES[:1],
        SOURCES,
    ),
    Entry(
        "tajima-adult",
        f"{PAPER}, beyond the paper",
        "Adult as 123 binary columns, 256 trees of depth 8: Gaussian noise on the leaves, delta 1e-6",
        _adult,
        lambda outcomes: summary(outcomes, ["line", "epsilon", "voting"], more=("auc", "balanced")),
        None,
        NOTES,
        SOURCES,
    ),
)

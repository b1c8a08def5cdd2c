"""What the entries of Tajima, Wu and Houmansadr (2025) have in common."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from privet_papers.framework.entry import Cell, Outcome, Row
from privet_papers.tajima_2025.cells import BINS, accuracy

PAPER = "Tajima, Wu and Houmansadr 2025"
DATA = ("car", "iris", "balance_scale", "adult", "heart_cleveland", "mushroom")
SMALL = ("car", "iris", "balance_scale")
LARGE = ("adult", "heart_cleveland", "mushroom")  # too many cells for one ensemble
# What decides the results; other learners do not.
SOURCES = (
    "privet.learners.matrix_forest",
    "privet.trees.id3_trees",
    "privet.trees.kernels.count",
    "privet.mechanisms.release",
    "privet.mechanisms.samplers",
    "privet.privacy.terms",
    "privet_papers.framework.data",
)
SECONDS = ("build", "optimise", "train", "predict")

NOTES = (
    f"80% of the records train, 20% test; a new split and forest for each seed. Numbers fall into {BINS} cells of "
    "equal width. Seconds are CPU seconds of one core; the paper's are wall time on up to 8 threads.",
    "The paper says neither how many seeds it averages nor which vote Table 2 shows; both votes are shown.",
)


def cell(name: str = "car", **settings: Any) -> Cell:
    """Return one fit: batch training on Car with 128 trees of depth 4 at epsilon 1, but for what is given."""
    base = {
        "data": name,
        "seed": 0,
        "epsilon": 1.0,
        "mode": "training",
        "strategy": "auto",
        "voting": "weight",
        "n_trees": 128,
        "depth": 4,
    }
    return Cell(accuracy, {**base, **settings}, data=(name,))


def summary(
    outcomes: Sequence[Outcome], keys: Sequence[str], *, seconds: bool = False, more: Sequence[str] = ()
) -> list[Row]:
    """Return a row for each combination of settings: mean, spread and number of the seeds' accuracies."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for outcome in outcomes:
        groups.setdefault(tuple(outcome.settings.get(key) for key in keys), []).append(outcome.result)
    rows: list[Row] = []
    for group, results in groups.items():
        found = [result["accuracy"] for result in results]
        row: Row = dict(zip(keys, group, strict=True))
        row |= {
            "accuracy": round(mean(found), 3),
            "sd": round(stdev(found), 3) if len(found) > 1 else None,
            "seeds": len(found),
        }
        row |= {name: round(mean(result[name] for result in results), 3) for name in more}
        if seconds:
            row |= {f"{phase} (s)": round(mean(result[phase] for result in results), 3) for phase in SECONDS}
        rows.append(row)
    return rows

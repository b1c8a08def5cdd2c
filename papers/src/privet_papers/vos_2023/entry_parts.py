"""What the accuracy entries of Vos et al. (2023) share: methods, sources, standard errors, what their notes say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privet_papers.framework.entry import Row
from privet_papers.framework.peers import interpreter
from privet_papers.framework.sources import default_sources
from privet_papers.vos_2023.cells import DIFFPRIVLIB, OTHERS, OURS

PAPER = "Vos, Vos, Li, Erkin and Verwer 2023"
AVERAGE = "average"
SHOWN = (*OURS, *OTHERS, DIFFPRIVLIB)
QUICK = ("breast_w", "bench_compas-two-years")

SOURCES = (
    *default_sources(),
    "privet_papers.framework.peers",
    "privet_papers.framework.smooth_sensitivity",
    "privet_papers.vos_2023.bdpt",
    "privet_papers.vos_2023.data",
    "privet_papers.vos_2023.dpgdf",
    "privet_papers.vos_2023.dpgdf_printed",
    "privet_papers.vos_2023.one_against_rest",
    "privet_papers.vos_2023.printed",
)
AS_IN_THE_PAPER = (
    "Records with a missing value are left out, categories and bounds are those of the data set as published, and the "
    "number of training records is a public hint, all as in the paper."
)
WHAT_IS_PRIVATE = (
    "Printed figures come from an algorithm that spends up to m times its epsilon (docs/learners/privatree.md); "
    "PrivaTree 2023 is that algorithm run again. PrivaTree*, PrivaTree 2023, PrivaTree repaired, BDPT and DPGDF are "
    "not private at the stated epsilon; the two of ours and DPGDF, sound, are."
)
BDPT_READINGS = (
    "BDPT merges every five neighbouring values of a numeric feature. Splitting one such group off from the rest, as "
    "the authors' code does, gives the paper's figures (distinct values are told apart on a grid of 4096 cells here); "
    "thresholds between groups are our reading, which serves it far better."
)
PEER_NOTE = (
    "DiffPrivLib is run again (0.6.6, one tree, public bounds and classes) where the environment variable "
    "PRIVET_DIFFPRIVLIB names the interpreter of an environment that has it."
)


def run_here(*methods: str) -> list[str]:
    """Return the methods that can be run: diffprivlib's needs an environment of its own."""
    return [method for method in methods if method != DIFFPRIVLIB or interpreter.DIFFPRIVLIB.named() is not None]


def mean_and_error(scores: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error, rounded.

    Examples
    --------
    >>> mean_and_error([0.5, 0.7])
    (0.6, 0.1)
    """
    error = np.std(scores, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0
    return round(float(np.mean(scores)), 4), round(float(error), 4)


def column_means(rows: Sequence[Row], name: str = AVERAGE) -> Row:
    """Return column means, where every row has a figure; else none."""
    average: Row = {"data": name}
    for column in rows[0]:
        values = [row.get(column) for row in rows]
        numbers = [value for value in values if isinstance(value, float)]
        if column != "data":
            average[column] = round(float(np.mean(numbers)), 4) if len(numbers) == len(values) else None
    return average

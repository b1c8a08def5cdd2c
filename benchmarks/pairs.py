"""The first two splits of a tree by one choice, beside one choice after the other: accuracy and AUC of boosting.

    python benchmarks/pairs.py --data FOLDER [--repeats 3]        # ten minutes on one core

On the large tables that rules are chosen on: tuning sets and made-up ones (``arena/made_up.py``), without grids
(``grids.py``). Written to ``docs/results``: ``pairs.csv`` and ``pairs.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from unittest import mock

from arena import made_up
from arena.side_by_side import SideBySide
from large import TUNED_ON, load
from privet.learners.boosting import annealing, learner

TABLES = (*TUNED_ON, *(name for name in made_up.TABLES if not name.startswith("much")))  # much ground takes long
BUDGETS = tuple(product((0.3, 1.0, 4.0), (0.0, 1e-6)))
APART, TOGETHER = WAYS = ("one after the other", "together")


@contextmanager
def planned(way: str) -> Iterator[None]:
    """Let boosting choose this way."""
    rounds = annealing.Rounds if way == TOGETHER else partial(_apart, annealing.Rounds)
    with (
        mock.patch.object(learner, "with_grids", lambda first, *_: first),
        mock.patch.object(learner, "Rounds", rounds),
    ):
        yield


def _apart(make: type[annealing.Rounds], *values: object, **named: object) -> annealing.Rounds:
    return make(*values, **{**named, "paired": False})


COMPARED = SideBySide(
    name="pairs",
    title="Two splits by one choice",
    says="where the first two splits of a tree are chosen one after the other, and what one choice of both adds",
    ways=WAYS,
    tables=TABLES,
    budgets=BUDGETS,
    planned=planned,
    load=load,
)


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, and write the page."""
    return COMPARED.run(__doc__, given)


if __name__ == "__main__":
    sys.exit(main())

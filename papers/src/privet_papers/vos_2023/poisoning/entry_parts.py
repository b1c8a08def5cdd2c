"""What the robustness entries share: settings, the paper's names, and what their notes say."""

from __future__ import annotations

from typing import Any

from privet_papers.framework.entry import Cell, Row
from privet_papers.vos_2023.data import BY_KEY, file_of
from privet_papers.vos_2023.poisoning.cells import DEPTH, retrained_accuracies
from privet_papers.vos_2023.printed_numbers import PRIVATREE as PRIVATREE
from privet_papers.vos_2023.printed_numbers import REGRESSION as REGRESSION

EPSILONS = (0.01, 0.1)
TREE: dict[str, Any] = {"learner": "PrivaTreeClassifier", "parameters": {"max_depth": DEPTH}}

# Names of results -> the paper's names; within a table they are told apart by either.
NUMERICAL = {key: benchmark.paper for key, benchmark in BY_KEY.items() if benchmark.group == "numerical"}
MIXED = {key: benchmark.paper for key, benchmark in BY_KEY.items() if benchmark.group != "numerical"}

TRUE_EPSILON = (
    "The paper's own figures rest on an epsilon that its algorithm does not have (its histograms are charged as if "
    "features held different records). Ours are for the proven PrivaTree of this library."
)
CERTIFIED = (
    "'certified' is the better of the tail certificate and of the confident infimum, with joint confidence 95% for the "
    "shares of one data set and epsilon, from retrainings on one fixed training set; 'formula' is the paper's "
    "Corollary 2 at the mean accuracy, an estimate without confidence."
)
POISONED = "Poisoned records are added or removed, one step of epsilon each; their number is rounded down."
SIZE_IS_PUBLIC = "The clean training set's size is a public hint to the learner, which no poisoner can change."
NOT_A_RELEASE = "Certificates are made by retraining on the data and are not private releases themselves."


def retraining_cells(data: str, epsilon: float, retrainings: int, split: str, **settings: Any) -> list[Cell]:
    """Return the cells of many retrainings, at most 500 each, so that a run that is stopped loses little."""
    sizes = [min(500, retrainings - start) for start in range(0, retrainings, 500)]
    return [
        Cell(
            retrained_accuracies,
            {"data": data, "epsilon": epsilon, "retrainings": size, "split": split, "part": part, **settings},
            data=file_of(data),
        )
        for part, size in enumerate(sizes)
    ]


def column(rows: list[Row], name: str) -> list[float]:
    """Return one column of numbers, for a plot."""
    return [float(row[name] or 0.0) for row in rows]

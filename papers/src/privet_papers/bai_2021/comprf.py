"""CompRF: forests that only compare distances (Haghiri, Garreau, von Luxburg 2018).

Rebuilt from the papers that cite it. A node draws two pivot records and sends every record to the nearer one. CompRF-I
draws pivots of different classes from all records; CompRF-C, which is consistent, draws them regardless of class from
structure points, and labels leaves by estimation points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.learners.multinomial_forest.honest_growth import majority_labels
from privet.mechanisms.release import Release
from privet.parameters import check_choice, check_whole
from privet.privacy.plan import PlanWithoutNoise
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Column, Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet_papers.bai_2021.consistent_rivals import FINE_BINS
from privet_papers.bai_2021.pivots import PivotTree, count_pivot_votes, grow_pivot_tree

Variant = Literal["consistent", "inconsistent"]
Distance = Literal["scaled", "raw"]


@dataclass(frozen=True, eq=False)
class PivotForest:
    """What was learned: it holds training records, as pivots, and is not private in any sense.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    points : float32 array
        The training records' coordinates.
    trees : sequence of PivotTree
        The trees.
    labels : sequence of uint16 arrays
        A label for each node of each tree; those of leaves count.
    distance : {"scaled", "raw"}
        How records become points.
    """

    encoding: Encoding
    points: NDArray[np.float32]
    trees: Sequence[PivotTree]
    labels: Sequence[NDArray[np.uint16]]
    distance: Distance = "scaled"

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return each record's share of the vote for each class."""
        x, n_numeric = coordinates(self.encoding, codes, self.distance)
        votes = np.zeros((len(x), self.encoding.n_classes), np.int64)
        for tree, labels in zip(self.trees, self.labels, strict=True):
            count_pivot_votes(x, self.points, n_numeric, tree, labels, votes)
        return votes / len(self.trees)


@dataclass(frozen=True)
class CompRF:
    """The learner: pivots, and majority labels."""

    variant: Variant = "consistent"
    n_trees: int = 100
    min_leaf: int = 5
    distance: Distance = "scaled"
    halves: bool = True
    bins: int = FINE_BINS

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PlanWithoutNoise:
        """Plan one event without noise: the whole forest."""
        return PlanWithoutNoise.of(self.n_trees, terms, share)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PlanWithoutNoise) -> PivotForest:
        """Draw pivots and follow the records down."""
        (codes, target), encoding = release.records(table, plan.forest), table.encoding
        points, n_numeric = coordinates(encoding, codes, self.distance)
        consistent = self.variant == "consistent"
        n_structure, seed = len(points) // 2 if consistent and self.halves else 0, np.uint64(derive_seed(rng))
        trees, labels = [], []
        for number in range(self.n_trees):
            tree = grow_pivot_tree(
                points,
                target,
                n_numeric,
                encoding.n_classes,
                n_structure,
                not consistent,
                self.min_leaf,
                seed,
                number,
            )
            trees.append(tree)
            labels.append(majority_labels(tree.counts, rng))
        return PivotForest(encoding, points, trees, labels, self.distance)


def coordinates(encoding: Encoding, codes: NDArray[Any], distance: Distance) -> tuple[NDArray[np.float32], int]:
    """Return records as points: numbers first, then codes of categories; and how many are numbers.

    A number stands for its cell's middle; a missing one for the middle of its range. Scaled, numbers lie between 0 and
    1. Raw, they are as they are, and the codes of categories count as numbers, too.
    """
    ordered = [j for j, column in enumerate(encoding.columns) if column.ordered]
    others = [j for j, column in enumerate(encoding.columns) if not column.ordered]
    numbers = [_cells(encoding.columns[j], distance)[codes[j]] for j in ordered]
    rows = [*numbers, *(codes[j] for j in others)]
    points = np.ascontiguousarray(np.array(rows, dtype=np.float32).T)
    return points, points.shape[1] if distance == "raw" else len(ordered)


def _cells(column: Column, distance: Distance) -> NDArray[np.float32]:
    """Return the place of each cell; the outer cells are taken to be as wide as their neighbours."""
    cuts = np.array(column.cuts)
    if len(cuts) < 2:
        places = np.arange(column.n_values, dtype=np.float64)
    else:
        outer = [2 * cuts[0] - cuts[1], *cuts, 2 * cuts[-1] - cuts[-2]]
        places = (np.array(outer[1:]) + np.array(outer[:-1])) / 2
    if distance == "scaled":
        span = places[-1] - places[0]
        places = (places - places[0]) / (span if span > 0 else 1.0)
    middle = [(places[0] + places[-1]) / 2] * (column.n_codes - column.n_values)
    return np.concatenate([places, middle]).astype(np.float32)


class CompRFClassifier(PrivateClassifier):
    """CompRF: forests that only compare distances. A rival without privacy.

    Parameters
    ----------
    epsilon : None
        There is no private form: the model holds training records.
    delta : float, default=0.0
        Not used.
    schema : Schema, optional
        The domains; read off the data without one.
    variant : {"consistent", "inconsistent"}, default="consistent"
        CompRF-C or CompRF-I.
    n_trees : int, default=100
        Number of trees.
    min_leaf : int, default=5
        Nodes with at most this many points are not split.
    distance : {"scaled", "raw"}, default="scaled"
        Numbers scaled to the range from 0 to 1, and different categories at distance one; or numbers as they are, and
        categories numbered, as Bai et al. seem to have had it.
    halves : bool, default=True
        Whether CompRF-C keeps structure and estimation points apart. Its pivots look at no label, so that it is honest
        without; Bai et al. seem to have used all records for both.
    n_rows_hint : int, optional
        Not used.
    random_state : int, RandomState, Generator or None
        Seeds everything.
    n_jobs : int, optional
        Not used.

    Notes
    -----
    *Privacy.* None, and none claimed. The fitted model cannot be written to a model file.

    What we do not know of the original is the distance: see `distance`.
    """

    def __init__(
        self,
        epsilon: None = None,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        variant: Variant = "consistent",
        n_trees: int = 100,
        min_leaf: int = 5,
        distance: Distance = "scaled",
        halves: bool = True,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.variant = variant
        self.n_trees = n_trees
        self.min_leaf = min_leaf
        self.distance = distance
        self.halves = halves
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> CompRF:
        check_choice("variant", self.variant, ("consistent", "inconsistent"))
        check_choice("distance", self.distance, ("scaled", "raw"))
        return CompRF(
            self.variant,
            check_whole("n_trees", self.n_trees, 1, 10_000),
            check_whole("min_leaf", self.min_leaf, 1, 1 << 30),
            self.distance,
            self.halves,
        )

"""Evaluating a classifier: one pass that counts, and a few releases of which everything else is made."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.estimators.learning import Hints, Model
from privet.evaluation.cells import DECISION, Merged, block_starts, score_cells
from privet.evaluation.counting import ClassCounts, ClassLayout
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray, Table

# How the budget is divided: a small part to find out which cells to put together, some for fine cells, and most for
# coarser ones. The others only where they are needed.
PLACES, FINE, COARSE, OUTCOMES, GROUPS = 1, 8, 11, 12, 20


@dataclass(frozen=True)
class ClassPlan(InSequence):
    """The events of an evaluation; a tuple is empty where there is nothing to release."""

    places: Event
    fine: Event
    coarse: Event
    outcomes: tuple[Event, ...]
    groups: tuple[Event, ...]


@dataclass(frozen=True, eq=False)
class ClassTallies:
    """What was released about a classifier.

    Attributes
    ----------
    layout : ClassLayout
        What the counts are of.
    merged : list of Merged
        For each score, which cells were put together.
    fine : list of int64 arrays of shape (2, number of fine cells)
        For each score: records of other classes and of the class, by fine cell.
    coarse : list of int64 arrays of shape (2, number of coarser cells)
        The same by coarser cell.
    outcomes : int64 array of shape (n_classes, n_classes) or None
        True by predicted class; None for two classes, where the cells say it.
    groups : int64 array of shape (n_groups, n_classes, n_classes) or None
        The same for each group.
    plan : ClassPlan
        The events, which know how large their noise is.
    """

    layout: ClassLayout
    merged: list[Merged]
    fine: list[IntArray]
    coarse: list[IntArray]
    outcomes: IntArray | None
    groups: IntArray | None
    plan: ClassPlan


@dataclass(frozen=True, eq=False)
class ClassEvaluator:
    """Counts how a classifier does. It has the form of a learner, so that the audits of learners can look at it.

    Parameters
    ----------
    model : Model
        The public model.
    group_feature : int, optional
        The place of the categorical column whose groups are compared, among the table's columns.
    weights : tuple of float, optional
        What each class's share is multiplied by before the largest wins: the objective of a classifier.

    Notes
    -----
    *Privacy.* With two classes a record adds one to one block of cells, one to one fine cell, and one to one coarser
    cell; with K > 2 classes it does so for each of K shares, so both L1 and squared L2 sensitivity are K. It adds one
    to one pair of true and predicted class (K > 2 only), and one to one pair of its group. The parts are charged in
    sequence. Which fine cells are put together is decided from released counts of the blocks. All else is
    post-processing.
    """

    model: Model
    group_feature: int | None = None
    weights: tuple[float, ...] | None = None
    bins: int = 32  # of schemas that do not set them; audits read it

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> ClassPlan:
        """Divide the budget; nothing but the number of classes and groups matters."""
        many = encoding.n_classes > 2
        n_scores = encoding.n_classes if many else 1
        whole = PLACES + FINE + COARSE + many * OUTCOMES + (self.group_feature is not None) * GROUPS

        def part(name: str, weight: int, moved: int = 1) -> Event:
            given = None if share is None else share * Fraction(weight, whole)
            return terms.noise(name, given, l1=moved, l2_squared=moved, largest=1)

        return ClassPlan(
            part("records by predicted share, blocks of cells", PLACES, n_scores),
            part("records by class and predicted share, fine cells", FINE, n_scores),
            part("records by class and predicted share, coarser cells", COARSE, n_scores),
            (part("true and predicted classes", OUTCOMES),) if many else (),
            (part("true and predicted classes in each group", GROUPS),) if self.group_feature is not None else (),
        )

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: ClassPlan) -> ClassTallies:
        """Count once, then release."""
        n_classes = table.encoding.n_classes
        n_groups = 0 if self.group_feature is None else int(table.encoding.n_codes[self.group_feature])
        n_scores = n_classes if n_classes > 2 else 1
        weights = None if self.weights is None else np.array(self.weights)
        decision = DECISION if weights is None or n_scores > 1 else float(weights[0] / weights.sum())
        layout = ClassLayout(score_cells(self.model, n_scores, decision), n_classes, n_groups)
        counts = table.aggregate(ClassCounts(self.model, layout, self.group_feature, weights))
        of_scores, outcomes, groups = layout.parts(counts)
        blocks = [block_starts(cells) for cells in layout.cells]
        crowds = [
            np.add.reduceat(exact.sum(axis=0), begin)[None] for exact, begin in zip(of_scores, blocks, strict=True)
        ]
        noisy = _split_again(release.noisy(np.concatenate(crowds, axis=1), plan.places), crowds)
        merged = [
            Merged.by(crowd[0], plan.places.deviation, cells) for crowd, cells in zip(noisy, layout.cells, strict=True)
        ]
        of_fine = [np.add.reduceat(exact, cells.fine, axis=1) for exact, cells in zip(of_scores, merged, strict=True)]
        of_coarse = [np.add.reduceat(exact, cells.coarse, axis=1) for exact, cells in zip(of_fine, merged, strict=True)]
        return ClassTallies(
            layout,
            merged,
            _split_again(release.noisy(np.concatenate(of_fine, axis=1), plan.fine), of_fine),
            _split_again(release.noisy(np.concatenate(of_coarse, axis=1), plan.coarse), of_coarse),
            release.noisy(outcomes, plan.outcomes[0]) if plan.outcomes else None,
            release.noisy(groups, plan.groups[0]) if plan.groups else None,
            plan,
        )


def _split_again(joined: IntArray, like: list[IntArray]) -> list[IntArray]:
    return np.split(joined, np.cumsum([part.shape[1] for part in like])[:-1], axis=1)

"""How a leaf's label is going to be released: the event, and what its outcomes are scored by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privet.learners.disjoint_forest.margin_law import MarginLaw, margin_event, margin_scores
from privet.privacy.events import Event
from privet.privacy.terms import Share, Terms
from privet.tables.protocol import IntArray


class LabelRule(Protocol):
    """Scores the candidates for a leaf's label; the last candidate may be to abstain."""

    def scores(self, counts: IntArray) -> IntArray:
        """Return one row of scores for each row of class counts; higher is better."""
        ...


@dataclass(frozen=True)
class ByCounts:
    """Every class is scored by its count. An empty leaf has a uniformly random label.

    *Privacy.* One record adds one to one score: range one.
    """

    def scores(self, counts: IntArray) -> IntArray:
        """Return the counts."""
        return counts

    def __str__(self) -> str:
        return "by class counts"


@dataclass(frozen=True)
class ByMargin:
    """Classes and abstaining are scored by the leaf's margin; see `privet.learners.disjoint_forest.margin_law`."""

    law: MarginLaw

    def scores(self, counts: IntArray) -> IntArray:
        """Look the margins up."""
        return margin_scores(counts, self.law.scores, abstains=self.law.abstains)

    def __str__(self) -> str:
        return "by the margin law, with abstention" if self.law.abstains else "by the margin law"


@dataclass(frozen=True)
class WithoutPrivacy:
    """For the twin without privacy: the most frequent class, and an empty leaf abstains."""

    def scores(self, counts: IntArray) -> IntArray:
        """Let abstaining beat a count of zero and nothing else."""
        return np.column_stack([2 * counts, np.ones(len(counts), np.int64)])

    def __str__(self) -> str:
        return "without noise; empty leaves abstain"


def plan_labels(
    terms: Terms, name: str, share: Share | None, n_classes: int, *, abstaining: bool, sees: str = "all records"
) -> tuple[Event, LabelRule]:
    """Plan one label for each leaf of a tree, leaves being disjoint.

    Parameters
    ----------
    terms : Terms
        What one unit may change.
    name, sees : str
        What is released, and which records it looks at.
    share : Share or None
        The budget: pure epsilon or rho; None for no privacy.
    n_classes : int
        Number of public classes.
    abstaining : bool
        Whether the margin law may be used, where it is the better one; else permute-and-flip, or the exponential
        mechanism for a share of rho.
    """
    if share is None:
        return terms.choice(name, None, sees=sees), WithoutPrivacy()
    if abstaining and share.epsilon is not None and MarginLaw.applies(share.epsilon / terms.steps, n_classes):
        event, law = margin_event(terms, f"{name}, by margin", share.epsilon, n_classes, sees)
        return event, ByMargin(law)
    return terms.choice(name, share, score_range=1, sees=sees), ByCounts()

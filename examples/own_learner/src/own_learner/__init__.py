"""A private stump: one split among all that the schema allows, and noisy class counts on both sides of it."""

from dataclasses import dataclass
from fractions import Fraction

from privet.estimators import PrivateClassifier
from privet.models.forest import Forest, LeafCounts
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.trees.candidates import Candidates
from privet.trees.greedy import GreedyGrowth
from privet.trees.scores import SCORES
from privet.trees.structure import FeatureCodes

SCORE = SCORES["mix"]


@dataclass(frozen=True)
class StumpPlan(InSequence):
    """Both events may look at every record, so their costs add up."""

    split: Event
    leaves: Event


@dataclass(frozen=True)
class Stump:
    """The learner: plan from public facts, then grow through the release."""

    bins: int = 32

    def plan(self, encoding, terms, share, hints):
        """Divide the budget in two halves; without privacy there is no share to divide."""
        half = None if share is None else share * Fraction(1, 2)
        split = terms.choice("the split", half, score_range=SCORE.range)
        return StumpPlan(split, terms.noise("class counts in the leaves", half))

    def grow(self, table, release, rng, plan):
        """Choose a split for the root, then count what is left and right of it."""
        growth = GreedyGrowth(table, Candidates.all_of(FeatureCodes.of(table.encoding), rng))
        growth.split(release.choose(growth.scores(SCORE), plan.split))
        counts = release.noisy(growth.leaf_counts, plan.leaves)
        return Forest(table.encoding, growth.finish(), LeafCounts(counts), "threshold")


class StumpClassifier(PrivateClassifier):
    """The estimator around it: scikit-learn's parameters, and nothing else."""

    def __init__(self, epsilon=1.0, delta=0.0, schema=None, *, n_rows_hint=None, random_state=None, n_jobs=None):
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self):
        return Stump()

"""Small learners on the library's own parts: a few that are right, and many with one planted bug each.

They look at two binary features and the class through one count table, and ask their questions of the release as any
learner does, so that the exact audit can enumerate them.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet import Categorical, Schema
from privet.privacy.events import Event, Mechanism, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import unproven
from privet.trees.scores import SCORES, score_of_counts

TINY = Schema({"a": Categorical([0, 1]), "b": Categorical([0, 1])}, classes=[0, 1])
FLAW = "planted"


@dataclass(frozen=True)
class CountTable:
    """Kernel: how many records there are with each (a, b, class)."""

    n_classes: int

    def __call__(self, block):
        counts = np.zeros((2, 2, self.n_classes), dtype=np.int64)
        np.add.at(counts, (block.codes[0], block.codes[1], block.target), 1)
        return counts


@dataclass(frozen=True)
class PartTable:
    """Kernel: the same for each part of the data."""

    n_parts: int
    n_classes: int

    def __call__(self, block):
        counts = np.zeros((self.n_parts, self.n_classes), dtype=np.int64)
        np.add.at(counts, (block.state["part"], block.target), 1)
        return counts


@dataclass(frozen=True)
class OneQuestion(Plan):
    """One event that the whole budget goes to."""

    question: Event

    @property
    def whole(self):
        return Sequential((self.question,))


@dataclass(frozen=True)
class TreeQuestions(Plan):
    """Splits level by level, then leaves."""

    levels: tuple[Event, ...]
    leaves: Event

    @property
    def whole(self):
        return Sequential((*self.levels, self.leaves))


@dataclass(frozen=True)
class Planted:
    """What they have in common: one question that the whole budget goes to."""

    bins: int = 2

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.choice("label", share))

    def counts(self, table):
        return table.aggregate(CountTable(table.encoding.n_classes))


def custom_law(name, probabilities):
    """Make a question whose answer has any given law: the exponential mechanism with log-probabilities as scores."""
    steps = 1 << 40
    scores = np.array([[round(math.log(p) * steps) for p in probabilities]], dtype=np.int64)
    return scores, unproven(name, Mechanism.EXPONENTIAL, Fraction(1, steps), FLAW)


@dataclass(frozen=True)
class Label(Planted):
    """Sound: the label of one leaf by permute-and-flip on class counts."""

    def grow(self, table, release, rng, plan):
        return release.choose(self.counts(table).sum(axis=(0, 1))[None, :], plan.question)


@dataclass(frozen=True)
class GreedyTree(Planted):
    """Sound: splits by permute-and-flip over both features at every node of every level, labels by permute-and-flip."""

    depth: int = 2
    score: str = "mix"

    def plan(self, encoding, terms, share, hints):
        score = SCORES[self.score]
        part = share * Fraction(1, 2)
        levels = tuple(
            terms.choice(f"splits of level {i}", part * Fraction(1, self.depth), score_range=score.range)
            for i in range(self.depth)
        )
        return TreeQuestions(levels, terms.choice("labels", part))

    def nodes_after(self, node, feature):
        """Split a node (a set of cells) by a feature."""
        cells = np.indices((2, 2))[feature]
        return [node & (cells == 0), node & (cells == 1)]

    def split_score(self, counts, node, feature):
        kind = SCORES[self.score].kind
        return sum(score_of_counts(kind, counts[child].sum(axis=0)) for child in self.nodes_after(node, feature))

    def grow(self, table, release, rng, plan):
        counts = self.counts(table)
        nodes = [np.ones((2, 2), dtype=bool)]
        for event in plan.levels:
            scores = np.array([[self.split_score(counts, node, f) for f in (0, 1)] for node in nodes])
            chosen = release.choose(scores, event)
            nodes = [child for node, f in zip(nodes, chosen, strict=True) for child in self.nodes_after(node, f)]
        return release.choose(np.array([counts[node].sum(axis=0) for node in nodes]), plan.leaves)


@dataclass(frozen=True)
class CoinForest(Planted):
    """Sound: two trees (single leaves) on data dealt by secret coins."""

    noise: bool = False

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.noise("counts", share) if self.noise else terms.choice("labels", share))

    def grow(self, table, release, rng, plan):
        dealt = release.coins(table, 2)
        counts = dealt.aggregate(PartTable(2, table.encoding.n_classes))
        return release.noisy(counts, plan.question) if self.noise else release.choose(counts, plan.question)


@dataclass(frozen=True)
class HalfTheRecordsEach(CoinForest):
    """Bug: the first half of the records to one tree, the second to the other."""

    def grow(self, table, release, rng, plan):
        dealt = table.derive("part", FirstHalf(int(self.counts(table).sum())))
        return release.choose(dealt.aggregate(PartTable(2, table.encoding.n_classes)), plan.question)


@dataclass(frozen=True)
class FirstHalf:
    n: int

    def __call__(self, block):
        return (block.rows.astype(np.int64) >= self.n // 2).astype(np.int32)


@dataclass(frozen=True)
class EqualChunks(HalfTheRecordsEach):
    """Bug: chunks of size n // 2, and the remainder dropped."""

    def grow(self, table, release, rng, plan):
        n = int(self.counts(table).sum())
        dealt = table.derive("part", Chunks(n // 2))
        return release.choose(dealt.aggregate(PartTable(3, table.encoding.n_classes))[:2], plan.question)


@dataclass(frozen=True)
class Chunks:
    size: int

    def __call__(self, block):
        return np.minimum(block.rows.astype(np.int64) // max(self.size, 1), 2).astype(np.int32)


@dataclass(frozen=True)
class SmoothLabel(Planted):
    """Bug: the exponential mechanism on {0, 1} with a rate that depends on the gap (Fletcher and Islam's rule)."""

    epsilon: float = 1.0

    def grow(self, table, release, rng, plan):
        counts = self.counts(table).sum(axis=(0, 1))
        gap = int(abs(counts[0] - counts[1]))
        minority = 0.5 if gap == 0 else 1 / (1 + math.exp(self.epsilon / 2 * math.exp(gap * self.epsilon)))
        law = (1 - minority, minority) if counts[0] >= counts[1] else (minority, 1 - minority)
        return release.choose(*custom_law("label", law))


@dataclass(frozen=True)
class PrintedScale(Planted):
    """Bug: noise of scale eta / k on the counts of k trees, as Bojarski et al. print it."""

    n_trees: int = 3

    def grow(self, table, release, rng, plan):
        counts = np.tile(self.counts(table).sum(axis=(0, 1)), (self.n_trees, 1))
        return release.noisy(counts, unproven("counts", Mechanism.LAPLACE, Fraction(1, self.n_trees), FLAW))


@dataclass(frozen=True)
class CountsInFineUnits(Planted):
    """Bug: class counts in units of 2^-32 of a record, with Gaussian noise as if a record were one unit."""

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.noise("counts", share))

    def grow(self, table, release, rng, plan):
        return release.noisy(self.counts(table).sum(axis=(0, 1)) << 32, plan.question)


@dataclass(frozen=True)
class FeaturesAsDisjoint(Planted):
    """Bug: one question for each feature, charged as if features held different records."""

    def grow(self, table, release, rng, plan):
        counts = self.counts(table)
        return release.choose(np.array([counts[0].sum(axis=0), counts[:, 0].sum(axis=0)]), plan.question)


@dataclass(frozen=True)
class PurityStop(GreedyTree):
    """Bug: a pure data set is not split."""

    def grow(self, table, release, rng, plan):
        totals = self.counts(table).sum(axis=(0, 1))
        if (totals > 0).sum() == 1:
            return release.choose(totals[None, :], plan.leaves)
        return super().grow(table, release, rng, plan)


@dataclass(frozen=True)
class SizeStop(GreedyTree):
    """Bug: fewer than two records are not split."""

    def grow(self, table, release, rng, plan):
        totals = self.counts(table).sum(axis=(0, 1))
        if totals.sum() < 2:
            return release.choose(totals[None, :], plan.leaves)
        return super().grow(table, release, rng, plan)


@dataclass(frozen=True)
class ThresholdsFromData(Planted):
    """Bug: only the cells in which there are records are candidates."""

    def grow(self, table, release, rng, plan):
        cells = self.counts(table).sum(axis=2).ravel()
        candidates = cells[cells > 0] if cells.any() else cells
        return release.choose(candidates[None, :], plan.question)


@dataclass(frozen=True)
class NoisyNGini(Planted):
    """Bug: average Gini with the sensitivity of a noisy number of records (the later repair of PrivaTree), one node."""

    epsilon: float = 0.001

    def grow(self, table, release, rng, plan):
        counts = self.counts(table)
        n = int(counts.sum())
        gains = []
        for feature in (0, 1):
            sides = np.moveaxis(counts, feature, 0).sum(axis=1)
            impurity = sum(int(c.sum()) - (int((c**2).sum()) / int(c.sum()) if c.sum() else 0) for c in sides)
            gains.append(0.5 - (0.5 if n == 0 else impurity / n))
        return release.choose(*custom_law("split", self.law(gains, n)))

    def law(self, gains, n):
        """Mix permute-and-flip's law over the noisy number of records, which is never released."""
        half = self.epsilon / 2
        alpha = math.exp(-half)
        k = np.arange(1, int(n + 40 / half), dtype=float)
        weight = (1 - alpha) / (1 + alpha) * alpha ** np.abs(k - n)
        weight[0] = alpha ** (n - 1) / (1 + alpha) if n >= 1 else 1 - alpha**2 / (1 + alpha)
        sensitivity = 1 - (k / (k + 1)) ** 2 - (1 / (k + 1)) ** 2
        # Permute-and-flip between two: the worse one wins with half its acceptance probability.
        worse = (weight * 0.5 * np.exp(-half / sensitivity / 2 * abs(gains[0] - gains[1]))).sum() / weight.sum()
        return (1 - worse, worse) if gains[0] >= gains[1] else (worse, 1 - worse)


@dataclass(frozen=True)
class UntouchedLeavesFromKey(Planted):
    """Bug: only leaves that records reached go through the mechanism; the others are recomputed from a stored key."""

    def grow(self, table, release, rng, plan):
        leaves = self.counts(table).reshape(4, -1)
        touched = leaves[leaves.sum(axis=1) > 0]
        return release.choose(touched if len(touched) else leaves[:1], plan.question)


@dataclass(frozen=True)
class UnsupportedStrategy(Planted):
    """Bug: W D + W A+ z with W = I and A = [1 1]: the difference of the answers carries no noise."""

    def plan(self, encoding, terms, share, hints):
        return OneQuestion(terms.noise("sum", share))

    def grow(self, table, release, rng, plan):
        counts = self.counts(table).sum(axis=(0, 1))
        total = counts.sum(keepdims=True)
        noise = release.noisy(total, plan.question) - total
        return counts + noise / 2

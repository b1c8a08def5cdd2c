"""PrivaTree (Vos et al. 2023) as printed, without private quantiles, and as its authors later repaired it. Not private.

*2023*: at every node a noisy histogram of every feature, charged once, as if features held different records (they hold
the same ones: up to m times the stated cost); nodes with one record or one class are not split (no finite epsilon).
*star*: the same on the data's own quantiles, not private by design. *noisy n*: public bins, one permute-and-flip over
all splits by average Gini, with the sensitivity of a noisy number of records; where noise makes that number too large,
the sensitivity is too small, and the loss does not even vanish with epsilon.

Where we differ: jointexp searches a public grid of 1024 cells for its ten. The number of records that the paper takes
as public is `n_rows_hint`; without it the leaves get half of the budget. Equation 7 comes from Proposition 4 of the
permute-and-flip paper, where scores may move either way and a label is drawn at the rate epsilon / 2. Counts move one
way only, so the rate epsilon costs no more; labels are drawn at that rate here, as the authors' code does, and Equation
7 then asks for twice the budget that its error needs.
`privet.PrivaTreeClassifier` is the sound form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.privatree.plan import label_error
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafLabels
from privet.parameters import check_whole, exact
from privet.privacy.events import Cost, Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, friendly_rate_down, friendly_scale_up, unproven
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.candidates import Candidates
from privet.trees.explicit_trees import TreeBuilder
from privet.trees.greedy import AtRoot, GreedyGrowth
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.kernels.histogram import NodeHistogram
from privet.trees.quantiles import JointQuantiles, OfFeature, counts_by_cell
from privet.trees.structure import FeatureCodes, Split, Subset, Threshold
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon
from privet_papers.vos_2023.one_against_rest import STEPS, average_gini

Version = Literal["2023", "star", "noisy n"]
FLAWS: dict[Version, str] = {
    "2023": "histograms of m features are charged once, though all hold the same records; pure nodes are not split",
    "star": "quantiles are those of the data; histograms of m features are charged once; pure nodes are not split",
    "noisy n": "the sensitivity follows a noisy number of records: too small wherever the noise is positive",
}
TEN = 10  # cells of a numeric feature
JOINTEXP = JointQuantiles(TEN - 1)
MAX_LEAF_ERROR = Fraction(1, 100)


@dataclass(frozen=True)
class PrintedPlan(InSequence):
    """Labels, quantiles, and for each level the histograms of numeric and of categorical features."""

    leaves: Event
    quantiles: tuple[OfFeature, ...]
    levels: tuple[tuple[Event, Event], ...]


@dataclass(frozen=True)
class RepairedPlan(InSequence):
    """Labels; what a node spends scales its choices, which the paper's repair makes on the way."""

    node: Fraction
    leaves: Event


@dataclass(frozen=True)
class PrintedPrivaTree:
    """The learner: Algorithm 1, or the authors' later repair of it."""

    max_depth: int = 4
    version: Version = "2023"
    stops: bool = True
    max_leaf_error: Fraction = MAX_LEAF_ERROR
    shares: tuple[Fraction, Fraction, Fraction] | None = None  # of quantiles, nodes and leaves, where these are varied

    @property
    def bins(self) -> int:
        """Ten cells for the repair, a fine grid to search quantiles on for the others."""
        return TEN if self.version == "noisy n" else 1024

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrintedPlan | RepairedPlan:
        """Equations 7 to 10, as printed."""
        epsilon, depth, flaw = pure_epsilon(share), self.max_depth, FLAWS[self.version]
        if self.shares is not None:
            quantile, nodes, leaf = (part * epsilon for part in self.shares)
            numeric, category = nodes / depth, (quantile + nodes) / depth
        else:
            leaf = epsilon / 2
            if hints.n_rows is not None:
                needed = 2**depth * 2 * label_error(encoding.n_classes) / (hints.n_rows * self.max_leaf_error)
                leaf = min(leaf, needed)
            quantile = numeric = (epsilon - leaf) / (depth + 1 if self.version == "2023" else depth)
            category = (epsilon - leaf) / depth
        labels = unproven("labels of the leaves", Mechanism.PERMUTE_AND_FLIP, friendly_rate_down(leaf), flaw)
        if self.version == "noisy n":
            return RepairedPlan(category, labels)
        quantiles: tuple[OfFeature, ...] = ()
        if self.version == "2023":
            # Each feature gets the whole budget of the quantiles, as if it were the only one.
            everyone = Share(epsilon=quantile * sum(column.ordered for column in encoding.columns))
            searches = JOINTEXP.plan(encoding, terms, everyone) if everyone.epsilon else ()
            quantiles = tuple(of._replace(event=_without_proof(of.event, flaw)) for of in searches)

        def histograms(kind: str, part: Fraction, level: int) -> Event:
            name = f"histograms of {kind} features, level {level + 1}"
            return unproven(name, Mechanism.LAPLACE, friendly_scale_up(1 / part), flaw)

        levels = tuple(
            (histograms("numeric", numeric, level), histograms("categorical", category, level))
            for level in range(depth)
        )
        return PrintedPlan(labels, quantiles, levels)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrintedPlan | RepairedPlan) -> Forest:
        """Algorithm 1, to the letter, or its repair."""
        if isinstance(plan, RepairedPlan):
            return self._grow_repaired(table, release, rng, plan)
        return self.grow_between(self.cuts(table, release, plan), table, release, plan)

    def grow_between(
        self, cuts: Mapping[int, Sequence[int]], table: Table, release: Release, plan: PrintedPlan
    ) -> Forest:
        """Algorithm 1 from line 6 on, with these cuts of numeric features."""
        encoding, domains = table.encoding, FeatureCodes.of(table.encoding)
        builder, records = TreeBuilder(domains), table.derive("node", AtRoot())
        n_codes, (starts, numeric) = tuple(domains.n_codes.tolist()), _bins(domains, cuts)
        for events in plan.levels:
            counts = records.aggregate(NodeHistogram("node", builder.n_open, encoding.n_classes, n_codes))
            classes = counts[:, : n_codes[0]].sum(axis=1)
            noisy = np.add.reduceat(counts, starts, axis=1)  # line 11
            for event, of_kind in zip(events, (numeric, ~numeric), strict=True):
                noisy[:, of_kind] = release.noisy(noisy[:, of_kind], event)
            splits = [
                None if self.stops and _is_done(here) else _best_split(domains, cuts, np.maximum(seen, 0))
                for here, seen in zip(classes, noisy, strict=True)  # lines 7 and 12
            ]
            builder.grow(splits)
            records = records.derive("node", builder.step("node"))  # line 13
            if not builder.n_open:
                break
        trees = builder.finish()
        labels = release.choose(table.aggregate(LeafClassCounts(trees, encoding.n_classes)), plan.leaves)  # line 9
        return Forest(encoding, trees, LeafLabels(labels.astype(np.uint16)))

    def cuts(self, table: Table, release: Release, plan: PrintedPlan) -> Mapping[int, Sequence[int]]:
        """Lines 3 to 5: nine cuts of each numeric feature, by jointexp; or the data's own."""
        if self.version == "2023":
            return JOINTEXP.run(table, release, plan.quantiles)
        domains, cells_of = FeatureCodes.of(table.encoding), counts_by_cell(table)
        cuts = {}
        for feature in np.flatnonzero(domains.ordered & (domains.n_cells > 1)).tolist():
            below = np.cumsum(cells_of[feature])
            tenths = np.searchsorted(below, below[-1] * np.arange(1, TEN) / TEN)
            cuts[feature] = sorted({min(int(cut), len(below) - 2) for cut in tenths})
        return cuts

    def _grow_repaired(self, table: Table, release: Release, rng: PublicRng, plan: RepairedPlan) -> Forest:
        node_epsilon = plan.node
        growth = GreedyGrowth(table, Candidates.all_of(FeatureCodes.of(table.encoding), rng))
        for level in range(self.max_depth):
            scores = average_gini(growth)
            sizes = growth.leaf_counts.sum(axis=1)
            scale = friendly_scale_up(2 / node_epsilon)
            counted = unproven(f"sizes of nodes, level {level + 1}", Mechanism.LAPLACE, scale, FLAWS["noisy n"])
            noisy_sizes = np.maximum(release.noisy(sizes, counted), 1)
            winners = []
            for row, size in zip(scores, noisy_sizes.tolist(), strict=True):
                name, rate = f"a split of level {level + 1}", repaired_rate(node_epsilon, size)
                event = unproven(name, Mechanism.PERMUTE_AND_FLIP, rate, FLAWS["noisy n"])
                winners.append(release.choose(row[np.newaxis], event))
            growth.split(np.concatenate(winners))
        labels = release.choose(growth.leaf_counts, plan.leaves)
        return Forest(table.encoding, growth.finish(), LeafLabels(labels.astype(np.uint16)))


def _without_proof(event: Event, flaw: str) -> Event:
    return replace(event, cost=Cost.unbounded(), flaw=flaw)


def repaired_rate(node_epsilon: Fraction, noisy_size: int) -> Fraction:
    """Return the rate of the repaired selection: half of the node's epsilon over twice the sensitivity at that size."""
    sensitivity = Fraction(2 * noisy_size, (noisy_size + 1) ** 2)
    return friendly_rate_down(node_epsilon / 2 / (2 * sensitivity * STEPS))


def _bins(domains: FeatureCodes, cuts: Mapping[int, Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each bin begins among all codes, and whether it is one of a numeric feature.

    A numeric feature's bins lie between its cuts (missing values are in the last); each category is a bin of its own.
    """
    starts: list[int] = []
    numeric: list[bool] = []
    begin = 0
    for feature, (n_codes, ordered) in enumerate(zip(domains.n_codes.tolist(), domains.ordered.tolist(), strict=True)):
        inside = [0, *(cut + 1 for cut in cuts.get(feature, ()))] if ordered else range(n_codes)
        starts.extend(begin + code for code in inside)
        numeric.extend(ordered for _ in inside)
        begin += n_codes
    return np.array(starts, dtype=np.int64), np.array(numeric, dtype=np.bool_)


def _is_done(classes: NDArray[np.int64]) -> bool:
    """Whether a node has one record or one class (line 7)."""
    return bool(classes.sum() <= 1 or (classes > 0).sum() <= 1)


def _best_split(domains: FeatureCodes, cuts: Mapping[int, Sequence[int]], counts: NDArray[np.int64]) -> Split | None:
    """Return the split of least Gini impurity on noisy bins; categories in the order of the last class's share."""
    best: tuple[float, Split] | None = None
    begin = 0
    for feature in range(domains.n_features):
        ordered = bool(domains.ordered[feature])
        n_bins = len(cuts.get(feature, ())) + 1 if ordered else int(domains.n_codes[feature])
        of_feature = counts[begin : begin + n_bins].astype(np.float64)
        begin += n_bins
        if n_bins < 2:
            continue
        order = np.arange(n_bins)
        if not ordered and counts.shape[1] == 2:
            order = np.argsort(of_feature[:, -1] / np.maximum(of_feature.sum(axis=1), 1), kind="stable")
        first = np.cumsum(of_feature[order], axis=0)[:-1]
        # Every feature has a noisy number of records of its own: only averages can be compared.
        impurity = (_gini(first) + _gini(of_feature.sum(axis=0) - first)) / max(of_feature.sum(), 1.0)
        at = int(impurity.argmin())
        if best is None or impurity[at] < best[0]:
            split = Threshold(feature, cuts[feature][at]) if ordered else Subset(feature, order[: at + 1].tolist())
            best = float(impurity[at]), split
    return None if best is None else best[1]


def _gini(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    total = counts.sum(axis=1)
    impurity: NDArray[np.float64] = total - (counts**2).sum(axis=1) / np.maximum(total, 1)
    return impurity


class PrivaTree2023Classifier(PrintedClassifier):
    """PrivaTree as printed in 2023: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon, delta, schema, max_depth, n_rows_hint, random_state, n_jobs
        As in `privet.PrivaTreeClassifier`; delta must be zero.
    max_leaf_error : float, default=0.01
        The paper's E_max: the expected loss of accuracy by labels that Equation 7 allows.

    Notes
    -----
    *Privacy.* None: the ledger says so, and why; `fit` warns.
    """

    _version: ClassVar[Version] = "2023"

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        max_leaf_error: float = 0.01,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.max_leaf_error = max_leaf_error
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _flaw(self) -> str:
        return FLAWS[self._version]

    def _learner(self) -> PrintedPrivaTree:
        check_whole("max_depth", self.max_depth, 1, 12)
        max_leaf_error = exact(self.max_leaf_error, "max_leaf_error")
        if not 0 < max_leaf_error <= 1:
            raise ParameterError(f"max_leaf_error must be above 0 and at most 1, got {self.max_leaf_error}")
        return PrintedPrivaTree(int(self.max_depth), self._version, max_leaf_error=max_leaf_error)


class PrivaTreeStarClassifier(PrivaTree2023Classifier):
    """PrivaTree* of the paper, on the data's own quantiles: for comparison only, nothing is guaranteed."""

    _version: ClassVar[Version] = "star"


class PrivaTreeNoisyNClassifier(PrivaTree2023Classifier):
    """PrivaTree as its authors repaired it in December 2023: for comparison only, nothing is guaranteed."""

    _version: ClassVar[Version] = "noisy n"

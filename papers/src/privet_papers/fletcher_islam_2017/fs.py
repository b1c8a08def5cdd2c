"""FS: one greedy multi-way tree (Friedman, Schuster 2010), made sound.

Rebuilt from the papers that cite it: at every node a noisy count that decides whether to go on, and a private choice of
the attribute; noisy class counts in the leaves; pruning on released counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts
from privet.parameters import check_choice, check_whole
from privet.privacy.events import Event
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.structure import FeatureCodes
from privet_papers.fletcher_islam_2017.multiway_growth import CRITERIA, Criterion, MultiwayGrowth, grow_with_noisy_stop
from privet_papers.fletcher_islam_2017.pruning import prune_by_error

CriterionName = Literal["max", "gini", "information"]
CutPoints = Literal["joint", "own"]

SEES = "the records of each node; nodes of one level are disjoint"
COARSE_GRID = 32
MOST_ROWS = 100_000  # what the information gain takes for the largest count where no hint is given


@dataclass(frozen=True)
class FSPlan(InSequence):
    """For each level the events of its counts and of its choices, those of cut points last; then the leaves."""

    criterion: Criterion
    levels: tuple[tuple[Event, ...], ...]
    leaves: Event


@dataclass(frozen=True)
class FSTree:
    """The learner: one tree, two releases at every level, noisy counts in its leaves."""

    max_depth: int = 5
    criterion: CriterionName = "max"
    prune: bool = True
    cut_points: CutPoints = "joint"
    bins: int = COARSE_GRID

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> FSPlan:
        """Give each level a part for its count, one for its choice, one for each own cut point; the leaves two.

        With s features that choose their own cut points that is (2 + s) depth + 2 parts. Costs add up along a path;
        nodes of a level see disjoint records. A path that ends early spends less.
        """
        criterion, numbers = self._criterion(encoding, hints), list[str]()
        if self.cut_points == "own":
            domains = FeatureCodes.of(encoding)
            numbers = [encoding.columns[f].name for f in domains.splittable.tolist() if domains.ordered[f]]
        part = None if share is None else share * Fraction(1, (2 + len(numbers)) * self.max_depth + 2)

        def choose(name: str) -> Event:
            return terms.choice(name, part, score_range=criterion.range, sees=SEES)

        levels = tuple(
            (
                terms.noise(f"records in the nodes of level {level + 1}", part, sees=SEES),
                choose(f"splits of level {level + 1}"),
                *(choose(f"cut points of {name!r} in level {level + 1}") for name in numbers),
            )
            for level in range(self.max_depth)
        )
        leaves = terms.noise("class counts in the leaves", None if part is None else part * 2, sees=SEES)
        return FSPlan(criterion, levels, leaves)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: FSPlan) -> Forest:
        """Grow level by level; a node that seems too small for its domain becomes a leaf."""
        encoding = table.encoding
        tree = grow_with_noisy_stop(MultiwayGrowth(table, plan.criterion), release, plan.levels)
        counts = release.noisy(table.aggregate(LeafClassCounts(tree, encoding.n_classes)), plan.leaves)
        return Forest(encoding, tree, LeafCounts(prune_by_error(tree, counts) if self.prune else counts), "threshold")

    def _criterion(self, encoding: Encoding, hints: Hints) -> Criterion:
        return Criterion.named(self.criterion, encoding.n_classes, hints.n_rows or MOST_ROWS)


class FSTreeClassifier(PrivateClassifier):
    """One greedy multi-way tree with noisy counts: a baseline of Fletcher and Islam (2017).

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy.
    delta : float, default=0.0
        Zero for pure epsilon, else Gaussian noise and the exponential mechanism under zCDP.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    max_depth : int, default=5
        The most levels of splits.
    criterion : {"max", "gini", "information"}, default="max"
        What makes a split a good one: the records in their children's largest classes, the Gini impurity, or the
        information gain. The last has a range that grows with the logarithm of `n_rows_hint`; class counts beyond the
        hint (100,000 without one) count as the hint, so that a wrong hint costs accuracy and nothing else.
    prune : bool, default=True
        Whether to prune by estimated errors of the released counts.
    cut_points : {"joint", "own"}, default="joint"
        How continuous features take part. *own*: each of them first chooses a cut point at every node and pays for it,
        as in the original. *joint*: all cuts of all features are in the one selection of a node, which is better.
    n_rows_hint : int, optional
        A public guess at the number of records.
    random_state : int, RandomState, Generator or None
        Not used: nothing in this tree is random and public.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Notes
    -----
    *Privacy.* A record is in one node of each level. Its presence changes that node's count by one, the scores of all
    candidates within the criterion's range, and one class count of one leaf. Whether a node goes on is decided by its
    released count; every open node makes its selection first, and every leaf has noisy counts, whether or not a record
    reached it. Pruning is post-processing.

    What the original left open or did otherwise: selections are by permute-and-flip (pure epsilon), which is never
    worse than the exponential mechanism; a continuous feature's cuts lie on the schema's grid. By default they take
    part in the one selection of a node, together with the weight of one discrete feature.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, Schema
    >>> from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 5000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> FSTreeClassifier(epsilon=4.0, schema=schema, max_depth=1).fit(X, y).predict([[0.02], [0.98]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 5,
        criterion: CriterionName = "max",
        prune: bool = True,
        cut_points: CutPoints = "joint",
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.criterion = criterion
        self.prune = prune
        self.cut_points = cut_points
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learner(self) -> FSTree:
        check_whole("max_depth", self.max_depth, 1, 20)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("cut_points", self.cut_points, ("joint", "own"))
        if not isinstance(self.prune, bool | np.bool_):
            raise ParameterError(f"prune must be True or False, got {self.prune!r}")
        return FSTree(int(self.max_depth), self.criterion, bool(self.prune), self.cut_points)

"""Honest forests without privacy: splits from structure points, leaves from estimation points.

The consistent forests of Denil et al. (2014), Wang et al. (2017) and Bai et al. (2021), and Breiman's with the same
parts, differ in one thing only: how a node chooses its split. `HonestRule` says how.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.learners.multinomial_forest.honest_rare import RareCodes
from privet.learners.multinomial_forest.honest_scores import CATEGORIES, ORDERED, ORDERED_MISSING
from privet.learners.multinomial_forest.honest_tree import (
    BERNOULLI,
    BEST,
    MULTINOMIAL,
    RANGE,
    Grown,
    Growth,
    LaidOutRecords,
    grow_honest_tree,
)
from privet.mechanisms.release import Release
from privet.privacy.events import Event
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.tables.protocol import IntArray, Table
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.structure import FeatureCodes, Splits, pack_sets

Choice = Literal["multinomial", "best", "range", "bernoulli"]
Points = Literal["halves", "bootstrap"]
Criterion = Literal["gini", "entropy"]
SmallChild = Literal["stop", "avoid"]

_RULES = {"multinomial": MULTINOMIAL, "best": BEST, "range": RANGE, "bernoulli": BERNOULLI}
_NO_LIMIT = 1 << 30
_RARE = 1 / 16  # all codes of a feature but one are rare if no larger share of records has them
_FEW_CODES = 16  # with more, a walk through all codes of a feature costs too much in small nodes


@dataclass(frozen=True)
class HonestRule:
    """How an honest tree grows.

    Parameters
    ----------
    choice : {"multinomial", "best", "range", "bernoulli"}, default="multinomial"
        *multinomial*: a feature by softmax of its best decrease of impurity, then a value of it by softmax of the
        decreases, each decrease brought to the range from 0 to 1 in the node (Bai et al. 2021). *best*: the best split
        of `n_features` random features (Breiman 2001). *range*: the best split of 1 + Poisson(`n_features` - 1) random
        features that lies within the range of `n_points` random structure points (Denil et al. 2014). *bernoulli*: the
        best split of `n_features` random features, but with chance `p_feature` of one random feature only, and with
        chance `p_value` a random value of each (Wang et al. 2017).
    points : {"halves", "bootstrap"}, default="halves"
        Disjoint structure and estimation points, drawn afresh for each tree; or one bootstrap sample as both.
    partition_rate : float, default=1.0
        Structure points for each estimation point.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity.
    split_above : int, default=5
        A node with more estimation points than this is split (Algorithm 1, line 3, of Bai et al.).
    min_child : int, default=1
        The fewest estimation points of a child.
    small_child : {"stop", "avoid"}, default="stop"
        A node whose choice has a smaller child becomes a leaf, as in the code of Bai et al.; or such choices are
        avoided, so that a node is a leaf only if there is no other.
    feature_rate, value_rate : float, default=10.0
        B1 and B2: 0 chooses uniformly, infinity the best (one of the best by chance).
    n_features : int or None
        How many random features a node looks at; by default the square root of how many there are.
    n_points : int, default=100
        See *range*; drawn with replacement.
    p_feature, p_value : float, default=0.05
        See *bernoulli*.
    max_depth : int or None
        The most levels of splits; by default there is no limit.
    """

    choice: Choice = "multinomial"
    points: Points = "halves"
    partition_rate: float = 1.0
    criterion: Criterion = "gini"
    split_above: int = 5
    min_child: int = 1
    small_child: SmallChild = "stop"
    feature_rate: float = 10.0
    value_rate: float = 10.0
    n_features: int | None = None
    n_points: int = 100
    p_feature: float = 0.05
    p_value: float = 0.05
    max_depth: int | None = None

    def __post_init__(self) -> None:
        if self.choice not in _RULES:
            raise ParameterError(f"choice must be one of {', '.join(_RULES)}, got {self.choice!r}")
        if not 0 < self.partition_rate < math.inf:
            raise ParameterError(f"partition_rate must be above 0 and finite, got {self.partition_rate}: pass e.g. 1.0")
        if self.split_above < 0 or self.min_child < 1:
            raise ParameterError(
                f"split_above must be at least 0 and min_child at least 1, got {self.split_above} and {self.min_child}"
            )
        for name in ("feature_rate", "value_rate"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} must be at least 0, got {getattr(self, name)}: pass e.g. 10.0")

    def looked_at(self, n_features: int) -> float:
        """Return how many features a node looks at, on average, not counting those that do not vary in it."""
        if self.choice == "multinomial":
            return float(n_features)
        return math.sqrt(n_features) if self.n_features is None else float(self.n_features)

    def growth(self, n_rows: int, n_features: int) -> Growth:
        """Return the rule as compiled code takes it."""
        rate, looked_at = self.partition_rate, self.looked_at(n_features)
        return Growth(
            _RULES[self.choice],
            self.criterion == "entropy",
            self.points == "bootstrap",
            round(n_rows * rate / (1 + rate)),
            self.split_above,
            self.min_child,
            self.small_child == "avoid",
            _NO_LIMIT if self.max_depth is None else self.max_depth,
            float(self.feature_rate) / 2,
            float(self.value_rate) / 2,
            max(round(looked_at), 1),
            max(looked_at - 1.0, 0.0),
            self.n_points,
            float(self.p_feature),
            float(self.p_value),
        )


def grow_honest_forest(
    table: Table, release: Release, event: Event, rule: HonestRule, n_trees: int, rng: PublicRng, n_jobs: int = 1
) -> tuple[ExplicitTrees, IntArray]:
    """Grow a forest on all records at once, each tree with its own structure and estimation points.

    Parameters
    ----------
    table : Table
        The records.
    release : Release
        The release of the fit; it must be one without privacy.
    event : Event
        The whole forest, as it was planned.
    rule : HonestRule
        How trees grow.
    n_trees : int
        Number of trees.
    rng : PublicRng
        Seeds the trees.
    n_jobs : int, default=1
        Number of threads; results do not depend on it.

    Returns
    -------
    ExplicitTrees
        The trees. A split of an ordered feature sends missing values where the smallest values go, as if they were
        below them all, or sends missing values one way and all others the other.
    int64 array of shape (n_leaves, n_classes)
        Class counts of the estimation points in each leaf.

    Notes
    -----
    *Privacy.* None, and none claimed: the records are taken out of the table, candidates are values that occur, and
    nodes stop where the data says so. A release with a budget is refused.
    """
    encoding, n_features = table.encoding, table.encoding.n_features
    codes, target = release.records(table, event)
    records = lay_out_records(
        encoding, codes, target, x_log_x=rule.criterion == "entropy", looked_at=rule.looked_at(n_features)
    )
    growth = rule.growth(records.target.size, n_features)
    seed = np.uint64(derive_seed(rng))
    grow = lambda tree: grow_honest_tree(records, growth, seed, tree)  # noqa: E731  # a name for one expression
    if n_jobs == 1:
        grown = list(map(grow, range(n_trees)))
    else:
        with ThreadPoolExecutor(n_jobs) as threads:
            grown = list(threads.map(grow, range(n_trees)))
    return join_grown(encoding, grown)


def majority_labels(counts: IntArray, rng: PublicRng) -> NDArray[np.uint16]:
    """Return the most frequent class of each leaf, one of equals by chance."""
    largest = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(np.where(largest, rng.random(counts.shape), -1.0).argmax(axis=1), dtype=np.uint16)


def lay_out_records(
    encoding: Encoding,
    codes: NDArray[np.uint16],
    target: NDArray[np.int32],
    *,
    x_log_x: bool = False,
    looked_at: float = 0.0,
) -> LaidOutRecords:
    """Lay records out for growing.

    Parameters
    ----------
    encoding : Encoding
        How records became codes.
    codes, target : array
        The records, as `Release.records` gives them.
    x_log_x : bool, default=False
        Whether the impurity is entropy.
    looked_at : float, default=0.0
        How many features a node looks at (`HonestRule.looked_at`). If records have fewer rare codes than that, these
        are laid out by themselves. It decides how fast trees grow, and nothing else.
    """
    codes = codes.copy()
    kinds = np.full(encoding.n_features, CATEGORIES, np.int64)
    for j, column in enumerate(encoding.columns):
        if column.ordered:
            kinds[j] = ORDERED if column.missing_code is None else ORDERED_MISSING
            if column.missing_code is not None:  # missing values come before all others
                codes[j] = np.where(codes[j] == column.missing_code, 0, codes[j] + 1)
    x = np.arange(target.size + 1 if x_log_x else 1, dtype=np.float64)
    width = encoding.n_classes + 1  # one count for each class, and one for estimation points
    common = _common_codes(codes, encoding.n_codes, looked_at)
    sizes, others = encoding.n_codes * width, common < 0
    starts = np.where(others, np.cumsum(sizes * others), np.cumsum(sizes * ~others)) - sizes  # in two histograms
    places = np.zeros((0, 0), np.uint16)
    if sizes[others].sum() <= 1 << 16:
        at = starts[others, np.newaxis] + codes[others].astype(np.int64) * width
        places = np.ascontiguousarray(at.astype(np.uint16).T)
    return LaidOutRecords(
        codes,
        _rare_codes(codes, common, starts, width),
        places,
        target,
        kinds,
        encoding.n_codes,
        starts,
        encoding.n_classes,
        x * np.log(np.maximum(x, 1.0)),
    )


def _common_codes(codes: NDArray[np.uint16], n_codes: IntArray, looked_at: float) -> NDArray[np.int32]:
    """Return the code that nearly all records have, for each feature; -1 where there is none or it does not pay."""
    common, n_rare = np.full(len(codes), -1, np.int32), 0
    for j in np.flatnonzero(n_codes <= _FEW_CODES) if looked_at > 0 else ():
        counts = np.bincount(codes[j], minlength=1)
        others = codes.shape[1] - counts.max()
        if others <= _RARE * codes.shape[1]:
            common[j] = counts.argmax()
            n_rare += others
    # A node counts all rare codes, but without this layout only the features that it looks at.
    return common if n_rare <= looked_at * codes.shape[1] else np.full_like(common, -1)


def _rare_codes(codes: NDArray[np.uint16], common: NDArray[np.int32], starts: IntArray, width: int) -> RareCodes:
    """Return each record's codes that differ from the common ones; counts of a code take `width` places."""
    features = np.flatnonzero(common >= 0)
    of_them = codes[features]
    row, which = np.nonzero((of_them != common[features, np.newaxis]).T)
    places = starts[features[which]] + of_them[which, row].astype(np.int64) * width
    begins = np.searchsorted(row, np.arange(codes.shape[1] + 1))
    return RareCodes(begins.astype(np.int64), features[which].astype(np.int32), places.astype(np.int32), common)


def join_grown(encoding: Encoding, grown: list[Grown]) -> tuple[ExplicitTrees, IntArray]:
    """Put grown trees side by side, in the encoding's own codes; return class counts of the leaves beside them."""
    domains = FeatureCodes.of(encoding)
    offsets = np.cumsum([0, *(tree.feature.size for tree in grown)]).astype(np.int64)
    feature = np.concatenate([tree.feature for tree in grown])
    cut = np.concatenate([tree.cut for tree in grown])
    inner = feature >= 0
    first = np.concatenate([tree.first_child + begin for tree, begin in zip(grown, offsets, strict=False)])
    by_category = inner & ~domains.ordered[feature]
    has_missing = inner & (domains.missing[feature] >= 0)
    missing_alone = has_missing & (cut == 0)
    own_cut = np.where(has_missing, cut - 1, cut)
    own_cut = np.where(missing_alone, domains.n_cells[feature] - 1, own_cut)
    splits = Splits(
        feature,
        np.where(inner & ~by_category, own_cut, 0).astype(np.int32),
        has_missing & ~missing_alone,
        np.where(by_category, cut, -1).astype(np.int32),
        # sets of one code each: the code of its row
        pack_sets([[code] for code in range(int(cut[by_category].max(initial=-1)) + 1)], int(domains.n_codes.max())),
    )
    leaf = np.where(inner, -1, np.cumsum(~inner) - 1).astype(np.int32)
    trees = ExplicitTrees(
        domains,
        splits,
        np.where(inner, first, 0).astype(np.int32),
        np.where(inner, 2, 0).astype(np.int32),
        leaf,
        offsets,
        np.add.reduceat((~inner).astype(np.int64), offsets[:-1]),
    )
    return trees, np.concatenate([tree.counts for tree in grown])[~inner]

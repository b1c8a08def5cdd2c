"""The matrix forest (Tajima, Wu, Houmansadr 2025): measure once, answer everything.

Random trees are drawn without looking at the data, so everything that they will ever ask is a public matrix W over
the counts of the domain's cells. What gets noise is not W but another public matrix A, chosen so that the answers W
A+ (A D + noise) are less noisy; everything after the measurement is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.learning import Hints
from privet.learners.matrix_forest.cell_counts import CellClassCounts
from privet.learners.matrix_forest.designs import NAMES, Design, Measurement, design_in_closed_form, make_design
from privet.learners.matrix_forest.domain_cells import Cells
from privet.learners.matrix_forest.leaf_values import VOTINGS, Voting, cell_votes, hard_labels, leaf_values
from privet.learners.matrix_forest.settings import Ensemble, Mode, Setting, encode_batch
from privet.learners.matrix_forest.subsets import covering_subsets, random_subsets
from privet.learners.matrix_forest.tuning import Shape, depth_from_counts, shape_from_public_facts, shapes
from privet.learners.matrix_forest.vote_tables import BatchAnswers, CellTable, LeafVotes, VoteTable
from privet.learners.matrix_forest.votes import ForestVotes
from privet.mechanisms.release import Release
from privet.parameters import check_choice, check_whole
from privet.privacy.events import Plan, Sequential
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng, derive_seed, public_rng
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.features import Domains
from privet.trees.id3_trees import draw_id3_trees
from privet.trees.kernels.count import LeafClassCounts

Tune = Literal["public", "released"]
Subsets = Literal["random", "covering"]

MOST = 50_000_000  # class counts in a forest's leaves: 400 MB


@dataclass(frozen=True, eq=False)
class MatrixForest:
    """The learner.

    ``seed`` is public and draws the forest; ``batch`` is the public batch, a frame of any kind.
    """

    mode: Mode
    strategy: str | NDArray[Any]
    n_trees: int | None
    max_depth: int
    voting: Voting
    n_ensembles: int | None = 1  # None: chosen from public facts
    subset_features: int | None = None
    subsets: Subsets | tuple[tuple[int, ...], ...] = "random"
    tune: Tune | None = None
    bins: int = 4
    seed: int = 0
    batch: Any = None

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Plan:
        """Draw the forest and choose the strategy; both are public."""
        if self.mode == "prediction" and self.batch is None:
            raise ParameterError("mode='prediction' is for a public batch: pass it as fit(X, y, batch=...)")
        if self.mode == "training" and self.batch is not None:
            raise ParameterError("mode='training' answers every point: leave out batch, or use mode='prediction'")
        batch = None if self.batch is None else encode_batch(encoding, self.batch)
        shape = self._shape(encoding, terms, share, hints)
        _check_memory(self._ensembles(encoding, shape, draw=False), encoding.n_classes)
        ensembles = self._ensembles(encoding, shape, draw=self.tune != "released")
        hard = self.mode == "aggregate" and self.voting == "hard"
        votes_suffice = hard or self.voting == "weight"
        setting = Setting(self.mode, ensembles, terms, share, batch, encoding.n_classes, hard, votes_suffice)
        design = make_design(setting, "cells" if self.tune == "released" else self.strategy)
        events = design.events()
        return Plan(events, Sequential(tuple(events.values())), {"shape": shape, "design": design})

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: Plan) -> CellTable | LeafVotes | BatchAnswers:
        """Measure once: integers, plus discrete noise; then only post-processing (Algorithm 2 and Definitions 5 and 8).

        Differs from the paper: it prints ``W D + W A+ noise``; W A+ (A D + noise) is the same only if A supports W,
        and only so does nothing but the noisy measurement reach the answer.
        """
        design, estimates = cast(Design, plan.facts["design"]), []
        for i, measurement in enumerate(design.chosen.measurements):
            # "C: fit the data via UpdateLeaves", or the counts D of the cells
            counts = self._count(table, release, design.setting, i, measurement)
            # the measurement: A C plus noise of scale |A|_1 / epsilon
            measured = measurement.strategy.measure(counts)
            noisy = [release.noisy(values, plan[f"{i}.{j}"]) for j, values in enumerate(measured)]
            # the reconstruction: A+ times what was measured
            estimates.append(measurement.strategy.estimate(noisy, measurement.variances))
        if self.tune == "released":
            design = self._deepen(design, estimates[0], table.encoding, rng)
        return self._answer(design, estimates, table.encoding)

    def _count(
        self, table: Table, release: Release, setting: Setting, place: int, measurement: Measurement
    ) -> NDArray[np.int64]:
        n_classes = table.encoding.n_classes
        if measurement.slots == "cells":
            ensemble = setting.ensembles[place]
            return table.aggregate(CellClassCounts(ensemble.features, ensemble.cells.dims, n_classes))
        trees = setting.all_trees
        if self.mode != "aggregate":
            return table.aggregate(LeafClassCounts(trees, n_classes))
        # "The training data is randomly split": by secret coins. Differs from the paper: equal parts would cost more.
        dealt = release.coins(table, trees.n_trees, "tree")
        counts = dealt.aggregate(LeafClassCounts(trees, n_classes, part="tree"))
        return hard_labels(counts) if setting.hard else counts

    def _answer(
        self, design: Design, estimates: list[NDArray[np.float64]], encoding: Encoding
    ) -> CellTable | LeafVotes | BatchAnswers:
        """Turn estimated counts into votes: post-processing."""
        setting, measurements = design.setting, design.chosen.measurements
        if design.answers_batch_only:
            assert setting.batch is not None
            parts = zip(measurements, estimates, strict=True)
            answers = np.sum([part.weight * part.batch_votes(estimate) for part, estimate in parts], axis=0)
            return BatchAnswers(encoding, setting.batch, _both_classes(answers, encoding, setting))
        if measurements[0].slots == "leaves":
            if setting.hard:
                return LeafVotes(encoding, setting.all_trees, _both_classes(estimates[0], encoding, None))
            values = leaf_values(estimates[0], self.voting, estimates[0].sum(axis=0))
            return LeafVotes(encoding, setting.all_trees, values)
        totals = sum((estimate.sum(axis=0) for estimate in estimates), np.zeros(encoding.n_classes))
        tables = [
            VoteTable(ensemble.features, setting.weight(ensemble) * cell_votes(ensemble, estimate, self.voting, totals))
            for ensemble, estimate in zip(setting.ensembles, estimates, strict=True)
        ]
        return CellTable(encoding, tuple(tables))

    def _shape(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> Shape:
        n_features = len(_splittable(encoding))
        size = self.subset_features or n_features
        if self.tune != "public":
            assert self.n_ensembles is not None
            return Shape(self.n_ensembles, size, min(self.max_depth, size, n_features))
        if hints.n_rows is None:
            raise ParameterError("tune='public' needs to know about how many records there are: pass n_rows_hint")

        closed = [self.strategy] if isinstance(self.strategy, str) and self.strategy in CLOSED_FORM else CLOSED_FORM

        def design(shape: Shape) -> Design | None:
            ensembles = self._ensembles(encoding, shape, draw=False)
            if 0 in [ensemble.n_trees for ensemble in ensembles] or _leaf_values(ensembles, encoding.n_classes) > MOST:
                return None
            setting = Setting("training", ensembles, terms, share, n_classes=encoding.n_classes)
            return design_in_closed_form(setting, closed)

        tried = shapes(n_features, self.max_depth, self.n_ensembles, self.subset_features)
        return shape_from_public_facts(design, tried, hints.n_rows)

    def _ensembles(self, encoding: Encoding, shape: Shape, *, draw: bool) -> tuple[Ensemble, ...]:
        """Draw feature subsets and, if asked, trees: a pure function of the seed."""
        rng, features, depth = public_rng(self.seed), _splittable(encoding), shape.depth
        sizes = encoding.n_codes.tolist()
        if isinstance(self.subsets, str):
            choose = random_subsets if self.subsets == "random" else covering_subsets
            subsets = choose(features, shape.n_ensembles, shape.subset_features, rng)
        else:
            subsets = list(self.subsets)
        domains, ensembles = Domains.of(encoding), []
        for place, subset in enumerate(subsets):
            cells = Cells(tuple(sizes[feature] for feature in subset))
            n_trees = None if self.n_trees is None else (self.n_trees + place) // len(subsets)
            trees = None
            if draw and n_trees is not None:
                trees = draw_id3_trees(domains, rng, n_trees, depth, subset)
            ensembles.append(Ensemble(subset, cells, depth, n_trees, trees))
        return tuple(ensembles)

    def _deepen(self, design: Design, counts: NDArray[np.float64], encoding: Encoding, rng: PublicRng) -> Design:
        """Choose the depth on the released histogram, and draw the trees only now."""
        (ensemble,), (event,) = design.setting.ensembles, design.chosen.measurements[0].events
        depth = depth_from_counts(ensemble.cells, counts, event, range(1, ensemble.depth + 1), rng)
        shape = Shape(1, ensemble.cells.n_features, depth)
        setting = replace(design.setting, ensembles=self._ensembles(encoding, shape, draw=True))
        return replace(design, setting=setting)


CLOSED_FORM = ("leaves", "gaussian", "cells")  # their noise is known without a search


def _splittable(encoding: Encoding) -> tuple[int, ...]:
    features = tuple(np.flatnonzero(encoding.n_codes > 1).tolist())
    if not features:
        raise ParameterError("no feature has more than one value, so there is nothing to split: declare more values")
    return features


def _leaf_values(ensembles: tuple[Ensemble, ...], n_classes: int) -> float:
    """Return about how many class counts the forest's leaves will have."""
    leaves = [ForestVotes(e.cells, e.depth).mean_leaves * (e.n_trees or 0) for e in ensembles]
    return sum(leaves) * n_classes


def _check_memory(ensembles: tuple[Ensemble, ...], n_classes: int) -> None:
    values = _leaf_values(ensembles, n_classes)
    if values > MOST:
        raise ParameterError(
            f"the forest would have some {values:.3g} class counts in its leaves ({values / 2**27:.3g} GB), the most "
            f"are {MOST}: use fewer or shallower trees, or fewer bins"
        )


def _both_classes(votes: NDArray[np.float64], encoding: Encoding, setting: Setting | None) -> NDArray[np.float64]:
    """Give the first of two classes the votes that the second does not get: hard votes of n trees add up to n."""
    if votes.shape[1] == encoding.n_classes:
        return votes
    n_trees = 1 if setting is None or setting.n_trees is None else setting.n_trees
    return np.concatenate([n_trees - votes, votes], axis=1)


class MatrixForestClassifier(PrivateClassifier):
    """A forest of random trees whose votes are all answered from one optimised measurement.

    Use it where features are few and have small public domains (up to some millions of combinations), where epsilon
    is small, or where the points to be predicted are known beforehand. With ``delta > 0`` it serves any number of
    features.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        The privacy budget of a fit; None for the twin without privacy.
    delta : float, default=0.0
        Zero for pure epsilon (discrete Laplace noise), else discrete Gaussian noise.
    schema : Schema, optional
        What is public. Without it domains are read off the data, and nothing is guaranteed.
    mode : {"training", "prediction", "aggregate"}, default="training"
        *training*: all records in every tree; any point can be predicted. *prediction*: the strategy is chosen for a
        public batch, ``fit(X, y, batch=Q)``; other points are answered if the strategy supports them. *aggregate*:
        every record is in one tree only, by secret coins.
    strategy : str or array, default="auto"
        What is measured: ``"leaves"`` (every leaf), ``"gaussian"`` (the same, needs delta), ``"cells"`` (every
        combination of codes), ``"marginals"`` (an optimised choice of marginals), ``"p-identity"`` (cells or leaves,
        and optimised sums), ``"queries"`` (the batch's votes), ``"per-query"`` (the same with an even split, a
        baseline); ``"auto"`` for the one with the least expected noise; or a matrix of whole numbers over the cells.
        See ``plan()``.
    n_trees : int or None, default=128
        Number of trees; None for infinitely many, which is exact and needs no trees.
    max_depth : int, default=4
        Features on every path; the most that are tried with ``tune``.
    voting : {"weight", "hard", "balanced", "probability"}, default="weight"
        Leaves add up their counts, each gives one vote, counts relative to class totals, or class shares.
    n_ensembles : int or "auto", default=1
        Number of feature subsets, each with its share of the trees and of the budget; "auto" goes with
        ``tune="public"``. et_features : int, optional
        Features in each subset; by default all.
    subsets : {"random", "covering"}, default="random"
        Random subsets, or such that pairs of features come together as often as possible.
    tune : {"public", "released"}, optional
        Choose the depth at no cost: from public facts (needs ``n_rows_hint``; ``n_ensembles="auto"`` chooses the
        feature subsets' number and size as well), or on the released noisy cells.
    bins : int, default=4
        Cells of a numeric feature, where the schema does not say.
    n_rows_hint : int, optional
        A public guess at the number of records.
    random_state : int, RandomState, Generator or None
        Seeds the forest, which is public. Noise never depends on it.
    n_jobs : int, optional
        Number of threads; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        The schema's classes.
    model_ : CellTable, LeafVotes or BatchAnswers
        The released votes.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* Neighbours as the schema says. Forest, batch and strategy are public: a batch is not protected, and
    neither is anything read off it. Released is A times the counts of cells or leaves, in integers, plus discrete
    noise for the largest column norm of A, which is computed exactly; a strategy that does not support the votes is
    refused. One record is in one cell, in one leaf of every tree, or (aggregate) in one leaf of one tree. Hard votes
    of disjoint trees: a record can move two entries of A's input, or one where only one of two classes is measured.
    Everything else is post-processing. A new batch for which the release is not enough is a new fit, and a new charge.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Categorical, MatrixForestClassifier, Schema
    >>> schema = Schema({name: Categorical([0, 1, 2]) for name in "abc"}, classes=["no", "yes"])
    >>> X = np.array([[i % 3, i // 3 % 3, i // 9 % 3] for i in range(2000)])
    >>> y = np.where(X[:, 0] + X[:, 1] > 2, "yes", "no")
    >>> forest = MatrixForestClassifier(epsilon=2.0, schema=schema, max_depth=2, random_state=0)
    >>> print(forest.plan().facts["design"])
    training: expected noise per vote (standard deviation, in records)
     * cells       0.7792
       marginals   0.7792
       leaves      8
    >>> forest.fit(X, y).predict([[0, 0, 1], [2, 2, 1]])
    array(['no', 'yes'], dtype='<U3')
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        mode: Mode = "training",
        strategy: str | NDArray[Any] = "auto",
        n_trees: int | None = 128,
        max_depth: int = 4,
        voting: Voting = "weight",
        n_ensembles: int | Literal["auto"] = 1,
        subset_features: int | None = None,
        subsets: Subsets = "random",
        tune: Tune | None = None,
        bins: int = 4,
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.mode = mode
        self.strategy = strategy
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.voting = voting
        self.n_ensembles = n_ensembles
        self.subset_features = subset_features
        self.subsets = subsets
        self.tune = tune
        self.bins = bins
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def plan(self, *, schema: Schema | None = None, n_rows_hint: int | None = None, batch: Any = None) -> Ledger:
        """Return the ledger that a fit will end with, without any data.

        Its ``facts["design"]`` shows the expected noise of a vote for each strategy that was looked at.

        Parameters
        ----------
        schema, n_rows_hint : optional
            Ask for another schema or hint than the estimator's own.
        batch : frame, optional
            The public batch that would be given to ``fit``.
        """
        self._batch = batch
        try:
            return super().plan(schema=schema, n_rows_hint=n_rows_hint)
        finally:
            del self._batch

    def fit(self, X: Any, y: Any = None, *, batch: Any = None, **unsupported: Any) -> Self:
        """Learn from private records, spending the budget.

        Parameters
        ----------
        X : pandas, polars or PyArrow frame, or NumPy array
            The features; columns in any order for a frame, in the schema's order for an array.
        y : array-like
            The labels. A record whose label is not in the schema is left out.
        batch : like X, optional
            Public points that will be predicted. They are not protected, and are needed for ``mode="prediction"``.
        """
        self._batch = batch
        try:
            fitted: Self = super().fit(X, y, **unsupported)
        finally:
            del self._batch
        return fitted

    def _learner(self) -> MatrixForest:
        check_choice("mode", self.mode, ("training", "prediction", "aggregate"))
        check_choice("voting", self.voting, VOTINGS)
        check_choice("subsets", self.subsets, ("random", "covering"))
        check_whole("max_depth", self.max_depth, 1, 40)
        automatic = isinstance(self.n_ensembles, str) and self.n_ensembles == "auto"
        if not automatic:
            check_whole("n_ensembles", self.n_ensembles, 1, 10_000)
        elif self.tune != "public" or self.subset_features is not None:
            raise ParameterError("n_ensembles='auto' goes with tune='public', and without subset_features")
        check_whole("bins", self.bins, 2, 255)
        if isinstance(self.strategy, str):
            check_choice("strategy", self.strategy, ("auto", *NAMES))
        if self.subset_features is not None:
            check_whole("subset_features", self.subset_features, 1, 10_000)
        if self.n_trees is not None:
            check_whole("n_trees", self.n_trees, 1 if automatic else int(self.n_ensembles), 100_000)
        elif self.mode == "aggregate" or self.voting not in ("weight", "balanced"):
            raise ParameterError(
                "n_trees=None has no leaves: it goes with voting='weight' or 'balanced', not 'aggregate'"
            )
        if self.tune is not None:
            check_choice("tune", self.tune, ("public", "released"))
        batch = getattr(self, "_batch", None)
        cells = isinstance(self.strategy, str) and self.strategy in ("auto", "cells")
        if self.tune == "released" and not (self.mode == "training" and self.n_ensembles == 1 and cells):
            raise ParameterError(
                "tune='released' looks at the released cells: use mode='training', one ensemble and strategy='cells'"
            )
        return MatrixForest(
            self.mode,
            self.strategy,
            self.n_trees,
            self.max_depth,
            self.voting,
            None if automatic else int(self.n_ensembles),
            self.subset_features,
            self.subsets,
            self.tune,
            self.bins,
            derive_seed(public_rng(self.random_state)),
            batch,
        )

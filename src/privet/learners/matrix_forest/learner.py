"""The matrix forest's learner: it draws the forest and chooses the strategy in public, measures once, and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.learners.matrix_forest.designs import Measurement, StrategyDesign, design_in_closed_form, make_design
from privet.learners.matrix_forest.domain_cells import CellClassCounts, DomainCells
from privet.learners.matrix_forest.leaf_values import EmptyLeaves, LeafVoting, cell_votes, hard_labels, leaf_votes
from privet.learners.matrix_forest.settings import Ensemble, Mode, Setting, encode_batch
from privet.learners.matrix_forest.subsets import covering_subsets, random_subsets
from privet.learners.matrix_forest.tuning import EnsembleShape, depth_from_counts, shape_from_public_facts, shapes
from privet.learners.matrix_forest.vote_tables import BatchAnswers, CellTable, LeafVotes, VoteTable
from privet.learners.matrix_forest.votes import ForestVotes
from privet.mechanisms.release import Release
from privet.parameters import public_rng
from privet.privacy.events import Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.tables import Table
from privet.tables.protocol import IntArray
from privet.trees.id3_trees import draw_id3_trees
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.structure import FeatureCodes

Tune = Literal["public", "released"]
Subsets = Literal["random", "covering"]

MOST_LEAF_VALUES = 50_000_000  # class counts in a forest's leaves: 400 MB


@dataclass(frozen=True, eq=False)
class MatrixForest:
    """The learner.

    ``seed`` is public and draws the forest; ``batch`` is the public batch, a frame of any kind.
    """

    mode: Mode
    strategy: str | NDArray[Any]
    n_trees: int | None
    max_depth: int
    voting: LeafVoting
    n_ensembles: int | None = 1  # None: chosen from public facts
    subset_features: int | None = None
    subsets: Subsets | tuple[tuple[int, ...], ...] = "random"
    tune: Tune | None = None
    bins: int = 4
    seed: int = 0
    batch: Any = None
    empty: EmptyLeaves = "no vote"  # of hard votes; the estimator keeps to this, the paper has the other

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether the shape is chosen from public facts."""
        return self.tune == "public"

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> MatrixForestPlan:
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
        return MatrixForestPlan(shape, make_design(setting, "cells" if self.tune == "released" else self.strategy))

    def grow(
        self, table: Table, release: Release, rng: PublicRng, plan: MatrixForestPlan
    ) -> CellTable | LeafVotes | BatchAnswers:
        """Measure once: integers, plus discrete noise; then only post-processing (Algorithm 2 and Definitions 5 and 8).

        Differs from the paper: it prints ``W D + W A+ noise``; W A+ (A D + noise) is the same only if A supports W,
        and only so does nothing but the noisy measurement reach the answer.
        """
        design, estimates = plan.design, []
        for i, measurement in enumerate(design.chosen.measurements):
            # "C: fit the data via UpdateLeaves", or the counts D of the cells
            counts = self._count(table, release, design.setting, i, measurement)
            # the measurement: A C plus noise of scale |A|_1 / epsilon
            measured = measurement.strategy.measure(counts)
            noisy = [release.noisy(values, event) for values, event in zip(measured, measurement.events, strict=True)]
            # the reconstruction: A+ times what was measured
            estimates.append(measurement.strategy.estimate(noisy, measurement.variances))
        if self.tune == "released":
            design = self._deepen(design, estimates[0], table.encoding, rng)
        return self._answer(design, estimates, table.encoding)

    def _count(
        self, table: Table, release: Release, setting: Setting, place: int, measurement: Measurement
    ) -> IntArray:
        n_classes = table.encoding.n_classes
        if measurement.slots == "cells":
            ensemble = setting.ensembles[place]
            return table.aggregate(CellClassCounts(ensemble.features, ensemble.cells.dims, n_classes))
        trees = setting.all_trees
        if self.mode != "aggregate":
            return table.aggregate(LeafClassCounts(trees, n_classes))
        # "The training data is randomly split": by secret coins. Differs from the paper: equal parts would cost more.
        divided = release.coins(table, trees.n_trees, "tree")
        counts = divided.aggregate(LeafClassCounts(trees, n_classes, part="tree"))
        return hard_labels(counts, self.empty) if setting.hard else counts

    def _answer(
        self, design: StrategyDesign, estimates: list[NDArray[np.float64]], encoding: Encoding
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
            values = leaf_votes(estimates[0], self.voting, estimates[0].sum(axis=0))
            return LeafVotes(encoding, setting.all_trees, values)
        totals = sum((estimate.sum(axis=0) for estimate in estimates), np.zeros(encoding.n_classes))
        tables = [
            VoteTable(ensemble.features, setting.weight(ensemble) * cell_votes(ensemble, estimate, self.voting, totals))
            for ensemble, estimate in zip(setting.ensembles, estimates, strict=True)
        ]
        return CellTable(encoding, tuple(tables))

    def _shape(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> EnsembleShape:
        n_features = len(_splittable(encoding))
        size = self.subset_features or n_features
        if self.tune != "public":
            assert self.n_ensembles is not None
            return EnsembleShape(self.n_ensembles, size, min(self.max_depth, size, n_features))
        if hints.n_rows is None:
            raise ParameterError("tune='public' needs to know about how many records there are: pass n_rows_hint")

        closed = [self.strategy] if isinstance(self.strategy, str) and self.strategy in CLOSED_FORM else CLOSED_FORM

        def design(shape: EnsembleShape) -> StrategyDesign | None:
            ensembles = self._ensembles(encoding, shape, draw=False)
            if (
                0 in [ensemble.n_trees for ensemble in ensembles]
                or _leaf_values(ensembles, encoding.n_classes) > MOST_LEAF_VALUES
            ):
                return None
            setting = Setting("training", ensembles, terms, share, n_classes=encoding.n_classes)
            return design_in_closed_form(setting, closed)

        tried = shapes(n_features, self.max_depth, self.n_ensembles, self.subset_features)
        return shape_from_public_facts(design, tried, hints.n_rows)

    def _ensembles(self, encoding: Encoding, shape: EnsembleShape, *, draw: bool) -> tuple[Ensemble, ...]:
        """Draw feature subsets and, if asked, trees: a pure function of the seed."""
        rng, features, depth = public_rng(self.seed), _splittable(encoding), shape.depth
        sizes = encoding.n_codes.tolist()
        if isinstance(self.subsets, str):
            choose = random_subsets if self.subsets == "random" else covering_subsets
            subsets = choose(features, shape.n_ensembles, shape.subset_features, rng)
        else:
            subsets = list(self.subsets)
        domains, ensembles = FeatureCodes.of(encoding), []
        for place, subset in enumerate(subsets):
            cells = DomainCells(tuple(sizes[feature] for feature in subset))
            n_trees = None if self.n_trees is None else (self.n_trees + place) // len(subsets)
            trees = None
            if draw and n_trees is not None:
                trees = draw_id3_trees(domains, rng, n_trees, depth, subset)
            ensembles.append(Ensemble(subset, cells, depth, n_trees, trees))
        return tuple(ensembles)

    def _deepen(
        self, design: StrategyDesign, counts: NDArray[np.float64], encoding: Encoding, rng: PublicRng
    ) -> StrategyDesign:
        """Choose the depth on the released histogram, and draw the trees only now."""
        (ensemble,), (event,) = design.setting.ensembles, design.chosen.measurements[0].events
        depth = depth_from_counts(ensemble.cells, counts, event, range(1, ensemble.depth + 1), rng)
        shape = EnsembleShape(1, ensemble.cells.n_features, depth)
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
    if values > MOST_LEAF_VALUES:
        raise ParameterError(
            f"the forest would have some {values:.3g} class counts in its leaves ({values / 2**27:.3g} GB), the most "
            f"are {MOST_LEAF_VALUES}: use fewer or shallower trees, or fewer bins"
        )


def _both_classes(votes: NDArray[np.float64], encoding: Encoding, setting: Setting | None) -> NDArray[np.float64]:
    """Give the first of two classes the votes that the second does not get: hard votes of n trees add up to n."""
    if votes.shape[1] == encoding.n_classes:
        return votes
    n_trees = 1 if setting is None or setting.n_trees is None else setting.n_trees
    return np.concatenate([n_trees - votes, votes], axis=1)


@dataclass(frozen=True, eq=False)
class MatrixForestPlan(Plan):
    """What is measured, and how noisy the votes will be.

    Attributes
    ----------
    shape : EnsembleShape
        The forest's shape.
    design : StrategyDesign
        The strategy; its ``chosen.measurements`` have the events.
    """

    shape: EnsembleShape
    design: StrategyDesign

    @property
    def whole(self) -> Sequential:
        """All groups of all measurements; their costs add up."""
        measurements = self.design.chosen.measurements
        return Sequential(tuple(event for measurement in measurements for event in measurement.events))

    @property
    def facts(self) -> dict[str, object]:
        """The shape, and the expected noise of every strategy that was looked at."""
        shape = self.shape
        said = f"n_ensembles={shape.n_ensembles}, subset_features={shape.subset_features}, depth={shape.depth}"
        return {"shape": f"Shape({said})", "design": self.design}

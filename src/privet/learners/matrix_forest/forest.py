"""The matrix forest (Tajima, Wu, Houmansadr 2025): measure once, answer everything.

Random trees are drawn without looking at the data, so everything that they will ever ask is a public matrix W over
the counts of the domain's cells. What gets noise is not W but another public matrix A, chosen so that the answers W
A+ (A D + noise) are less noisy; everything after the measurement is post-processing.
"""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.estimators.base import PrivateClassifier
from privet.estimators.objectives import Objective
from privet.learners.matrix_forest.designs import NAMES
from privet.learners.matrix_forest.leaf_values import LEAF_VOTINGS, LeafVoting
from privet.learners.matrix_forest.learner import MatrixForest, Subsets, Tune
from privet.learners.matrix_forest.settings import Mode
from privet.parameters import Auto, RowsHint, check_choice, check_whole, public_rng
from privet.privacy.ledger import Ledger
from privet.randomness.public import derive_seed
from privet.schema.schema import Schema


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
        How the trees' leaves are combined. *weight*: their class counts are added up. *hard*: each leaf gives one
        vote, for the largest count. *balanced*: counts relative to the classes' totals are added up, so that a rare
        class is not always outvoted. *probability*: class shares are added up.
    n_ensembles : int or "auto", default=1
        Number of feature subsets, each with its share of the trees and of the budget; "auto" goes with
        ``tune="public"``.
    subset_features : int, optional
        Features in each subset; by default all.
    subsets : {"random", "covering"}, default="random"
        Random subsets, or such that pairs of features come together as often as possible.
    tune : {"public", "released"}, optional
        Choose the depth at no cost: from the number of records (`n_rows_hint`; ``n_ensembles="auto"`` chooses the
        feature subsets' number and size as well), or on the released noisy cells. None: `max_depth` as it is.
    bins : int, default=4
        Cells of a numeric feature, where the schema does not say.
    objective : "accuracy" or mapping, default="accuracy"
        What `predict` is for: see `privet.estimators.objectives`. A mapping has the cost of missing a record of each
        class. It costs nothing and changes nothing of the fit. The others need what this model does not say.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records, for ``tune="public"``. None: it then buys a noisy number with a
        small part of the budget, or takes it for free where it is public (`privet.estimators.counting`).
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
    A single Gaussian measurement of cells or leaves goes by its exact delta (`privet.privacy.exact_delta`).
    Everything else is post-processing. A new batch for which the release is not enough is a new fit, and a new charge.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Categorical, MatrixForestClassifier, Schema
    >>> schema = Schema({name: Categorical([0, 1, 2]) for name in "abc"}, classes=["no", "yes"])
    >>> X = np.array([[i % 3, i // 3 % 3, i // 9 % 3] for i in range(2000)])
    >>> y = np.where(X[:, 0] + X[:, 1] > 2, "yes", "no")
    >>> forest = MatrixForestClassifier(epsilon=2.0, schema=schema, max_depth=2, random_state=0)
    >>> print(forest.plan().plan.design)
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
        voting: LeafVoting = "weight",
        n_ensembles: int | Auto = 1,
        subset_features: int | None = None,
        subsets: Subsets = "random",
        tune: Tune | None = None,
        bins: int = 4,
        objective: Objective = "accuracy",
        n_rows_hint: RowsHint = None,
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
        self.objective = objective
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def plan(self, *, schema: Schema | None = None, n_rows_hint: RowsHint = None, batch: Any = None) -> Ledger:
        """Return the ledger that a fit will end with, without any data.

        Its ``plan.design`` shows the expected noise of a vote for each strategy that was looked at.

        Parameters
        ----------
        schema, n_rows_hint : optional
            Ask for another schema or hint than the estimator's own.
        batch : frame, optional
            The public batch that would be given to ``fit``.
        """
        return self._ledger_of_plan(lambda _: self._learner(batch), schema, n_rows_hint)

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
        return self._fit(lambda _: self._learner(batch), X, y, unsupported)

    def _learner(self, batch: Any = None) -> MatrixForest:
        check_choice("mode", self.mode, ("training", "prediction", "aggregate"))
        check_choice("voting", self.voting, LEAF_VOTINGS)
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
        cells = isinstance(self.strategy, str) and self.strategy in ("auto", "cells")
        if self.tune == "released" and not (self.mode == "training" and self.n_ensembles == 1 and cells):
            raise ParameterError(
                "tune='released' looks at the released cells: use mode='training', one ensemble and strategy='cells'"
            )
        return MatrixForest(
            self.mode,
            self.strategy,
            None if self.n_trees is None else int(self.n_trees),
            int(self.max_depth),
            self.voting,
            None if automatic else int(self.n_ensembles),
            None if self.subset_features is None else int(self.subset_features),
            self.subsets,
            self.tune,
            int(self.bins),
            derive_seed(public_rng(self.random_state)),
            batch,
        )

"""The scikit-learn estimator around PrivaTree for a regression target."""

from __future__ import annotations

from typing import Any

from privet.estimators.base import PrivateRegressor
from privet.estimators.learning import Hints, Sharing
from privet.learners.privatree.plan import no_worse_pure
from privet.learners.privatree.regression import REGRESSION_BINS, PrivaTreeForRegression
from privet.learners.privatree.regression_plan import Criterion
from privet.learners.privatree.tree import FINE_BINS, RECORDS_WITHOUT_HINT, SEARCHES, GridRule
from privet.parameters import RowsHint, check_choice, check_whole
from privet.privacy.terms import Allowance, Terms
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema

CRITERIA = ("capped", "mix", "squares", "deviations")


class PrivaTreeRegressor(PrivateRegressor):
    """One readable tree for a target within a public range; splits are chosen privately among all possible splits.

    Use it where people should be able to read the model. `model_.plot()`, `model_.export_text()` and `model_.rules()`
    show what was learned. `BoostingRegressor` is more accurate.

    Parameters
    ----------
    epsilon, delta, schema, max_depth, n_trees, composition, grid, stop, random_state, n_jobs
        As for `PrivaTreeClassifier`; the schema's target is ``Numeric(low, high)``. Values beyond are clipped. Several
        trees predict their mean.
    criterion : {"capped", "mix", "squares", "deviations"}, default="capped"
        What makes a split a good one. *capped*: a small sum of squared errors, as for CART, where each record's counts
        up to a cap only (`privet.trees.capped_losses`); the more records and budget a node has and the wider they are
        spread, the higher is its cap. The others score sums of residuals (`privet.trees.scores.deviations`).
        *squares*: the sum of squared errors. *deviations*: sums of residuals far from zero on both sides, which is a
        far stronger signal. *mix*: squares for differences that are small against a threshold, deviations beyond.
    bins : int, default=511
        Number of cells of a numeric feature whose schema does not set it.
    n_rows_hint : int, "unknown" or None, default=None
        A public guess at the number of records; its order of magnitude is enough. It decides the depth, the part of
        the leaves, the threshold of "mix", and whether the target's window is looked for. Never compared with the data.
        None: a noisy number is bought with a small part of the budget, or taken for free where it is public
        (`privet.estimators.counting`). "unknown": do without.

    Attributes
    ----------
    model_ : RegressionForest
        The released tree or trees.
    privacy_ : Ledger
        What was spent, and the guarantee.

    Notes
    -----
    *Privacy.* The schema declares the neighbours. *Window*: counts of 64 equal cells of the target's range, of
    sensitivity one, tell where most values are (a twentieth of the budget, where there is enough data for it).
    *Centres*: each node of a level, but for the root where the number of records is known to be enough for the window
    to tell its centre, releases how far its records' residuals, targets less the parent's centre, held within the
    window's width, are below zero, near to it and above it. What a record adds to the three sums together is the same
    for every record, and no part is negative (`privet.learners.privatree.regression_plan.sums_event`); nodes of a level
    are disjoint. *Splits*: one selection a level. A record has a loss for each value that a child may have, from 0 to
    the cap, by a table that follows from released centre, spread, number of records and window. A child scores minus
    the least loss that one value has for all of its records, so an added record lowers every candidate's score by
    something between 0 and the cap, whatever the number of features (`privet.trees.scores.LOSSES`; for other criteria,
    `privet.trees.scores.deviations`).
    *Leaves*: as centres. Costs add up over levels and leaves. Every node is split down to the planned depth, and every
    leaf goes through the mechanism, whether or not a record reached it. With `stop`, the node's own score is one more
    candidate of the same range, plus a public constant; a leaf that stops spends what its path has left. Values of
    leaves are shrunk towards those of their parents by how noisy they are, which is post-processing, as is all else.

    Without privacy (``epsilon=None``) residuals are not held within a window, and the score is the sum of squares: it
    is CART's tree, on the schema's grid.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, PrivaTreeRegressor, Schema
    >>> schema = Schema({"x": Numeric(0, 1)}, target=Numeric(0, 10))
    >>> X = np.linspace(0, 1, 4000).reshape(-1, 1)
    >>> tree = PrivaTreeRegressor(epsilon=2.0, schema=schema, max_depth=2).fit(X, np.where(X[:, 0] > 0.5, 8.0, 2.0))
    >>> tree.privacy_.epsilon
    2.0
    >>> bool(abs(tree.predict([[0.05]])[0] - 2) < 0.5)
    True
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        n_trees: int = 1,
        composition: Sharing = "sequential",
        criterion: Criterion = "capped",
        grid: GridRule = "schema",
        stop: bool = False,
        bins: int = REGRESSION_BINS,
        n_rows_hint: RowsHint = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.max_depth = max_depth
        self.n_trees = n_trees
        self.composition = composition
        self.criterion = criterion
        self.grid = grid
        self.stop = stop
        self.bins = bins
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _stronger(self, asked: Allowance, encoding: Encoding, terms: Terms, hints: Hints) -> Allowance:
        """Stay with pure epsilon, a stronger guarantee, where it chooses splits no worse."""
        if self.grid != "schema":
            return asked
        known = Hints(hints.n_rows or RECORDS_WITHOUT_HINT)
        plan = self._learner().plan(encoding, terms, asked.whole, known)
        return asked.pure if no_worse_pure(asked, plan.last) else asked

    def _learner(self) -> PrivaTreeForRegression:
        check_whole("max_depth", self.max_depth, 1, 12)
        check_whole("n_trees", self.n_trees, 1, 10_000)
        check_choice("composition", self.composition, ("sequential", "disjoint"))
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("grid", self.grid, ("schema", *SEARCHES))
        check_whole("bins", self.bins, 2, 4096)
        return PrivaTreeForRegression(
            int(self.max_depth),
            int(self.n_trees),
            self.composition,
            self.criterion,
            self.grid,
            int(self.bins) if self.grid == "schema" else FINE_BINS,
            bool(self.stop),
        )

"""Algorithm 2 of Bojarski, Choromanska, Choromanski and LeCun (2014) with the noise as printed.

The algorithm adds g(eta / k), Laplace noise of scale eta / k; the proof in its section 5.2 uses scale k / eta. Taken
as printed the loss is k^2 / eta: 3219 for the paper's eta = .137 and k = 21. A second slip is milder: section 3.1
calls the parameter of the Laplace law its standard deviation. Noise of standard deviation k / eta has scale k /
(sqrt(2) eta), and the loss is sqrt(2) eta.

`privet.RandomDecisionForestClassifier` is the sound form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.models.forest import Forest, LeafCounts, Voting
from privet.parameters import check_choice, check_whole
from privet.privacy.events import Event, Mechanism
from privet.privacy.plan import InSequence
from privet.privacy.terms import Share, Terms, friendly_scale_up, unproven
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.tables import Table
from privet.trees.kernels.count import LeafClassCounts
from privet.trees.random_trees import RandomTrees
from privet_papers.framework.printed import PrintedClassifier, pure_epsilon

Reading = Literal["algorithm", "deviation"]

FLAWS = {
    "algorithm": "Algorithm 2 prints noise of scale eta/k, where the proof needs k/eta: the loss is k^2/eta",
    "deviation": "section 3.1 takes the Laplace law's scale for its standard deviation: the loss is sqrt(2) eta",
}
_ROOT_OF_TWO = Fraction(14142136, 10_000_000)


@dataclass(frozen=True)
class PrintedRandomForestPlan(InSequence):
    """Counts with the printed noise, of all trees at once."""

    leaves: Event


@dataclass(frozen=True)
class PrintedRandomDecisionForest:
    """The learner: k random trees, counts with the printed noise, random shares where a count is negative."""

    n_trees: int
    max_depth: int
    voting: Voting
    reading: Reading
    bins: int = 255

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> PrintedRandomForestPlan:
        """Plan noise as printed; it proves nothing."""
        k, eta = self.n_trees, pure_epsilon(share)
        scale = eta / k if self.reading == "algorithm" else k / (_ROOT_OF_TWO * eta)
        name = f"class counts in the leaves of {k} trees"
        event = unproven(name, Mechanism.LAPLACE, friendly_scale_up(scale), FLAWS[self.reading])
        return PrintedRandomForestPlan(event)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: PrintedRandomForestPlan) -> Forest:
        """Algorithm 2, to the letter."""
        encoding = table.encoding
        drawn = RandomTrees.draw(encoding, derive_seed(rng), self.n_trees, self.max_depth)
        trees = drawn.materialise_if_small()
        noisy = release.noisy(table.aggregate(LeafClassCounts(trees, encoding.n_classes)), plan.leaves)
        return Forest(encoding, trees, LeafCounts(noisy, "random", derive_seed(rng)), self.voting)


class PrintedRandomDecisionForestClassifier(PrintedClassifier):
    """Random decision forests with the noise as printed: for comparison only, nothing is guaranteed.

    Parameters
    ----------
    epsilon : float, default=1.0
        The paper's eta.
    delta : float, default=0.0
        Must be zero.
    schema : Schema, optional
        What is public.
    n_trees, max_depth : int
        The paper's k and h.
    voting : {"majority", "threshold"}, default="majority"
        As in `privet.RandomDecisionForestClassifier`.
    reading : {"algorithm", "deviation"}, default="algorithm"
        Noise of scale eta / k, as Algorithm 2 prints it, or of standard deviation k / eta, as section 3.1 says.
    n_rows_hint, random_state, n_jobs
        As in `privet.RandomDecisionForestClassifier`.

    Notes
    -----
    *Privacy.* None: the ledger says so, and why; `fit` warns.
    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 0.0,
        schema: Schema | None = None,
        *,
        n_trees: int = 21,
        max_depth: int = 11,
        voting: Literal["majority", "threshold"] = "majority",
        reading: Reading = "algorithm",
        n_rows_hint: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.voting = voting
        self.reading = reading
        self.n_rows_hint = n_rows_hint
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _flaw(self) -> str:
        return FLAWS[self._learner().reading]

    def _learner(self) -> PrintedRandomDecisionForest:
        check_choice("voting", self.voting, ("majority", "threshold"))
        check_choice("reading", self.reading, ("algorithm", "deviation"))
        check_whole("n_trees", self.n_trees, 1, 100_000)
        check_whole("max_depth", self.max_depth, 1, 40)
        return PrintedRandomDecisionForest(int(self.n_trees), int(self.max_depth), self.voting, self.reading)

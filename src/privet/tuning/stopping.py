"""A search that tries random candidates a random number of times, for the price of two or three of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from privet.errors import ParameterError
from privet.estimators.learning import Hints
from privet.mechanisms.random_stopping import PRICES, RandomStopping, StoppingLaw, best_of_trials
from privet.mechanisms.release import Release
from privet.parameters import public_rng
from privet.privacy.events import Cost, Event, Filter, Parallel, Sequential, has_mixture
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.tables.part import OnlyPart
from privet.tables.protocol import Table
from privet.tuning.fits import STATE, Field, Found, part_of
from privet.tuning.scoring import FULL, Points, Scoring, check_scoring, public_worth


@dataclass(frozen=True, eq=False)
class Scored(Found):
    """What a trial gives: a model, its candidate, and its noisy points."""

    points: int


@dataclass(frozen=True)
class TrialPlan(Plan):
    """One fit and the noisy points of its candidate, on different records."""

    fit: Plan
    points: Event

    @property
    def training(self) -> Sequential:
        """The fit."""
        whole = self.fit.whole
        return whole if isinstance(whole, Sequential) else Sequential((whole,))

    @property
    def whole(self) -> Parallel:
        """The larger of the two counts."""
        return Parallel((self.training, self.points))


@dataclass(frozen=True, eq=False)
class Trial:
    """One candidate: train it on some records, and count its points on others, with noise.

    It has the form of a learner, so that the exact audit can look at it.

    Notes
    -----
    *Privacy.* Secret coins, fresh for each trial, divide the records. The fit sees one part, the points the other,
    where a record changes them by at most `FULL`. The larger of the two costs counts, and they are equal.
    """

    field: Field
    candidate: int
    scoring: Scoring
    held_out: Fraction

    @property
    def bins(self) -> int:
        """Number of cells of numeric features whose schema does not set it."""
        return self.field.bins

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> TrialPlan:
        """Give all of the trial's budget to both."""
        fit = self.field.fits[self.field.candidates[self.candidate][0]]
        training = part_of(hints, 1 - self.held_out)
        points = terms.noise("points of a candidate", share, l1=FULL, l2_squared=FULL**2, sees="held-out records")
        return TrialPlan(fit.plan(terms, share, training), points)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: TrialPlan) -> Scored:
        """Divide the records, train, count."""
        fit = self.field.fits[self.field.candidates[self.candidate][0]]
        divided = release.coins(table, (1 - self.held_out, self.held_out), STATE)
        with release.parallel(plan.whole):
            with release.branch(plan.training):
                model = fit.grow(OnlyPart(divided, STATE, 0), release, rng, plan.fit)
            judged = self.field.judged(self.candidate, model, table.encoding)
            kernel = Points((judged,), public_worth(self.scoring, table.encoding))
            points = release.noisy(OnlyPart(divided, STATE, 1).aggregate(kernel), plan.points)
        return Scored(model, self.candidate, int(points[0]))


@dataclass(frozen=True)
class StoppingPlan(Plan):
    """All trials together, and what the winner may spend once more."""

    stopping: RandomStopping
    trials: tuple[TrialPlan, ...]
    last: Filter | None
    last_share: Share | None
    terms: Terms
    hints: Hints

    @property
    def whole(self) -> Sequential:
        """The price of all trials, and the winner's last fit."""
        return Sequential((self.stopping.filter, *(() if self.last is None else (self.last,))))

    @property
    def facts(self) -> dict[str, object]:
        """What is known of the trials before there are any."""
        stopping = self.stopping
        return {
            "candidates": len(self.trials),
            "trials on average": round(stopping.mean, 1),
            "epsilon of a trial": float(stopping.trial),
        }


@dataclass(frozen=True, eq=False)
class StoppingSearch:
    """Try random candidates a random number of times; keep the one with the most noisy points.

    Parameters
    ----------
    field, scoring, held_out, refit
        As for `privet.tuning.held_out.HeldOutSearch`.
    law : {"geometric", "logarithmic"}
        How the number of trials is drawn.
    tickets : int
        See `privet.mechanisms.random_stopping.RandomStopping`, which has the proof.

    Notes
    -----
    *Privacy.* Trials are alike: the same public seed, a candidate that is drawn anew, fresh coins and fresh noise. So
    they are independent and have one law, each private by itself; `RandomStopping` has the price of the best of them.
    Neither the number of trials nor which of them was the best is kept, nor anything of the others. The last fit
    depends on the winner, which was released; a filter holds its cost, and it adds to the trials'.
    """

    field: Field
    scoring: Scoring
    held_out: Fraction
    refit: Fraction
    law: StoppingLaw
    tickets: int

    @property
    def bins(self) -> int:
        """Number of cells of numeric features whose schema does not set it."""
        return self.field.bins

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether a candidate plans with the number of records."""
        return self.field.uses_rows(share)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> StoppingPlan:
        """Divide the budget between all trials and the last fit."""
        check_scoring(self.scoring, encoding)
        if self.scoring == "balanced_accuracy":
            raise ParameterError("scoring='balanced_accuracy' needs released sizes of classes: use method='held_out'")
        if share is None or share.epsilon is None:
            raise ParameterError(
                "random stopping is proven here for pure epsilon alone, with noise: set delta=0 and an epsilon, or use "
                "method='held_out'"
            )
        stopping = RandomStopping(self.law, self.tickets, share.epsilon * (1 - self.refit) / PRICES[self.law])
        trial = Share(epsilon=stopping.trial)
        plans = [each.plan(encoding, terms, trial, hints) for each in self._trials()]
        if any(plan.whole.cost.epsilon is None for plan in plans):
            # What a trial charges is seen by nobody, so the ledger could not say why nothing is proven.
            raise ParameterError("a learner without a proven epsilon cannot be tried; use method='held_out'")
        if any(has_mixture(plan.whole) for plan in plans):
            # Where records share coins a fit must refuse a mixture, and that check cannot see what trials charge.
            raise ParameterError(
                "a learner whose epsilon relies on secret coins cannot be tried; use method='held_out'"
            )
        last = share * self.refit
        cap = Filter("the winner's fit", Cost(last.epsilon, last.rho)) if self.refit else None
        return StoppingPlan(stopping, tuple(plans), cap, last, terms, hints)

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: StoppingPlan) -> Found:
        """Try, keep the best, train it once more."""
        seed, trials = derive_seed(rng), self._trials()

        def one_trial(release: Release, candidate: int) -> tuple[int, Found]:
            planned = plan.trials[candidate]
            scored = trials[candidate].grow(table, release, public_rng(seed), planned)
            return scored.points, scored

        found = best_of_trials(release, plan.stopping, len(trials), one_trial)
        if plan.last is None:
            return found
        fit = self.field.fits[self.field.candidates[found.winner][0]]
        with release.filter(plan.last):
            rng = public_rng(seed)
            last = fit.grow_finally(table, release, rng, plan.terms, plan.last_share, plan.hints)
        return Found(last, found.winner)

    def _trials(self) -> tuple[Trial, ...]:
        numbers = range(len(self.field.candidates))
        return tuple(Trial(self.field, number, self.scoring, self.held_out) for number in numbers)

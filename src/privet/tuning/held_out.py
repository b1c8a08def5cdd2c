"""A search that trains every candidate on some records and chooses by others, which secret coins hold out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privet.estimators.learning import Hints
from privet.mechanisms.release import Release
from privet.parameters import public_rng
from privet.privacy.events import Composition, Cost, Event, Filter, Parallel, Sequential
from privet.privacy.plan import Plan
from privet.privacy.terms import Share, Terms, times
from privet.randomness.public import PublicRng, derive_seed
from privet.schema.encoding import Encoding
from privet.tables.part import OnlyPart
from privet.tables.protocol import Table
from privet.tuning.fits import STATE, Field, Found, part_of
from privet.tuning.scoring import FULL, ClassSizes, Points, Scoring, balanced_worth, check_scoring, public_worth

SIZES_PART = Fraction(1, 10)  # of what held-out records spend, for the sizes of classes where all shall count alike


@dataclass(frozen=True)
class HeldOutPlan(Plan):
    """The fits, the choice, and what the winner may spend once more.

    Attributes
    ----------
    fits : tuple of Plan
        One for each different fit. They see the same records, so their costs add up.
    sizes : Event or None
        The sizes of classes among held-out records, where they are needed.
    choice : Event
        The choice among all candidates, by held-out records.
    last : Filter or None
        What the winner spends when it is trained on all records; None where it is published as it is.
    last_share : Share or None
        The same total, as the winner's learner is given it.
    terms : Terms
        What one unit of privacy may change.
    hints : Hints
        Public facts.
    n_candidates : int
        How many candidates there are.
    """

    fits: tuple[Plan, ...]
    sizes: Event | None
    choice: Event
    last: Filter | None
    last_share: Share | None
    terms: Terms
    hints: Hints
    n_candidates: int

    @property
    def training(self) -> Sequential:
        """All fits see the same records."""
        return Sequential(tuple(part for fit in self.fits for part in _parts(fit.whole)))

    @property
    def choosing(self) -> Sequential:
        """The choice, after the sizes of classes."""
        return Sequential((*(() if self.sizes is None else (self.sizes,)), self.choice))

    @property
    def search(self) -> Parallel:
        """Training and choosing see different records."""
        return Parallel((self.training, self.choosing))

    @property
    def whole(self) -> Sequential:
        """The search, and the winner's last fit, which sees all records."""
        return Sequential((self.search, *(() if self.last is None else (self.last,))))

    @property
    def facts(self) -> dict[str, object]:
        """How many candidates there are, and how many fits."""
        return {"candidates": self.n_candidates, "fits to choose from": len(self.fits)}


@dataclass(frozen=True, eq=False)
class HeldOutSearch:
    """Train all candidates, choose one by held-out records, train it once more on all.

    Parameters
    ----------
    field : Field
        The candidates.
    scoring : str, mapping or None
        What they are compared by.
    held_out : Fraction
        The part of the records that is held out, a multiple of 2^-64.
    refit : Fraction
        The part of the budget for the winner's last fit; 0 to publish the winner as it was trained for the choice.

    Notes
    -----
    *Privacy.* Secret coins, fresh for each search, divide the records into those that candidates are trained on and
    those that are held out. All fits see the training part, so their costs add up; they share it evenly. The choice is
    one selection whose scores a held-out record changes within an interval as long as its sensitivity
    (`privet.tuning.scoring.Points`), after the sizes of classes where these are asked for. A record is in one of the
    two parts, so the larger of the two costs counts (`privet.privacy.events.Parallel`), and both are the search's part
    of the budget. The last fit depends on the winner, which was released; a filter holds its cost, and it adds to the
    search's. Of losing candidates nothing is kept, though their fits are paid for.
    """

    field: Field
    scoring: Scoring
    held_out: Fraction
    refit: Fraction

    @property
    def bins(self) -> int:
        """Number of cells of numeric features whose schema does not set it."""
        return self.field.bins

    def uses_rows(self, encoding: Encoding, share: Share) -> bool:
        """Whether a candidate plans with the number of records."""
        return self.field.uses_rows(share)

    def plan(self, encoding: Encoding, terms: Terms, share: Share | None, hints: Hints) -> HeldOutPlan:
        """Divide the budget."""
        check_scoring(self.scoring, encoding)
        search, last = times(share, 1 - self.refit), times(share, self.refit)
        each, training = times(search, Fraction(1, len(self.field.fits))), part_of(hints, 1 - self.held_out)
        balanced = self.scoring == "balanced_accuracy"
        sees = "held-out records"
        sizes = terms.noise("sizes of classes", times(search, SIZES_PART), sees=sees) if balanced else None
        rest = times(search, 1 - SIZES_PART) if balanced else search
        return HeldOutPlan(
            fits=tuple(fit.plan(terms, each, training) for fit in self.field.fits),
            sizes=sizes,
            choice=terms.choice("choice of a candidate", rest, score_range=FULL, sees=sees),
            last=Filter("the winner's fit", _cap(last)) if self.refit else None,
            last_share=last,
            terms=terms,
            hints=hints,
            n_candidates=len(self.field.candidates),
        )

    def grow(self, table: Table, release: Release, rng: PublicRng, plan: HeldOutPlan) -> Found:
        """Divide the records, train, choose, train once more."""
        seed, field = derive_seed(rng), self.field
        divided = release.coins(table, (1 - self.held_out, self.held_out), STATE)
        training, held = OnlyPart(divided, STATE, 0), OnlyPart(divided, STATE, 1)
        with release.parallel(plan.search):
            with release.branch(plan.training):
                models = [
                    fit.grow(training, release, public_rng(seed), planned)
                    for fit, planned in zip(field.fits, plan.fits, strict=True)
                ]
            with release.branch(plan.choosing):
                worth = public_worth(self.scoring, table.encoding)
                if plan.sizes is not None:
                    worth = balanced_worth(
                        release.noisy(held.aggregate(ClassSizes(table.encoding.n_classes)), plan.sizes)
                    )
                judged = tuple(
                    field.judged(candidate, models[fit], table.encoding)
                    for candidate, (fit, _) in enumerate(field.candidates)
                )
                points = held.aggregate(Points(judged, worth))
                winner = int(release.choose(points[np.newaxis], plan.choice)[0])
        fit = field.candidates[winner][0]
        if plan.last is None:
            return Found(models[fit], winner)
        with release.filter(plan.last):
            rng = public_rng(seed)
            last = field.fits[fit].grow_finally(table, release, rng, plan.terms, plan.last_share, plan.hints)
        return Found(last, winner)


def _parts(whole: Composition) -> tuple[Composition, ...]:
    return whole.parts if isinstance(whole, Sequential) else (whole,)


def _cap(share: Share | None) -> Cost:
    return Cost.unbounded() if share is None else Cost(share.epsilon, share.rho)

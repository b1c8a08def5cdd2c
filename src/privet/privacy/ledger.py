"""The ledger of one fit: what was charged, the total, and whether it may be claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from privet.errors import BudgetError, PrivetError
from privet.privacy import keeping
from privet.privacy.conversions import zcdp_to_epsilon
from privet.privacy.events import (
    Composition,
    Cost,
    Either,
    Event,
    Filter,
    Mixture,
    Parallel,
    Sequential,
    alternatives,
    exceeds,
    readable,
)
from privet.privacy.plan import Plan
from privet.privacy.statements import stated_down, stated_up
from privet.privacy.terms import Allowance, Terms

NO_PRIVACY_ASKED = "epsilon=None: no privacy was asked for"

# Why the noise of a fit may prove nothing.
SEEDED = "the noise was seeded, so anyone who knows the seed can take it away"
STAND_IN = "the outcomes were recorded or forced for a test"


class Ledger:
    """What one fit is allowed to spend, what it spent on what, and the guarantee that follows.

    A ledger never claims what is not proven: a seeded noise source, domains read off the data, or an algorithm printed
    with a broken proof make `epsilon` infinite, and `why` says so.

    Parameters
    ----------
    terms : Terms
        Neighbour relation and unit.
    allowance : Allowance or None
        The guarantee that was asked for; None for a model without privacy.
    doubts : sequence of str
        Reasons, known from the start, why nothing can be claimed.
    planned : Cost, optional
        What was planned, where that is less than what is allowed: a budget was charged with this much only.
    fixed : Composition, optional
        All that is planned. Where its rho is above what zCDP would allow, it counts by its exact delta, which is true
        only of what is fixed in advance: then nothing else can be charged, nor in another order.
    """

    def __init__(
        self,
        terms: Terms,
        allowance: Allowance | None,
        doubts: Sequence[str] = (),
        planned: Cost | None = None,
        fixed: Composition | None = None,
    ) -> None:
        self.terms = terms
        self.allowance = allowance
        self._planned = planned
        self.plan: Plan | None = None  # of a ledger that states what a fit will spend
        self._doubts: list[str] = list(doubts)
        self._flaws: dict[str, None] = {}  # of all events that were charged, in order; a forest may charge thousands
        if allowance is None:
            self._doubts.append(NO_PRIVACY_ASKED)
        self._open: list[_Scope] = [_WholeScope()]
        self._states = False  # what is known already, so that nothing in it can depend on what was released
        self._to_come: list[Event] | None = None  # all that can still be charged, where that is fixed
        if fixed is not None and allowance is not None and allowance.rho is not None:
            self._fix(fixed, allowance.rho)

    @staticmethod
    def stating(terms: Terms, allowance: Allowance | None, whole: Composition, doubts: Sequence[str] = ()) -> Ledger:
        """Return the ledger of spending that is already known: a plan's, or one read from a file."""
        ledger = Ledger(terms, allowance, doubts)
        ledger._states = True
        for part in whole.parts if isinstance(whole, Sequential) else (whole,):
            ledger._open[0].add(part)
        ledger._flaws = {event.flaw: None for event in whole.events() if event.flaw is not None}
        if not all(keeping.holds(part, terms) for part in alternatives(whole)):
            raise BudgetError("what was charged does not keep the guarantee that is stated for all alternatives")
        ledger._refuse_overspending(whole.cost, "the plan")
        return ledger

    def charge(self, event: Event) -> None:
        """Record an event, or raise `BudgetError` and record nothing."""
        if self._to_come is not None and self._to_come[:1] != [event]:
            raise BudgetError(
                f"{event.name} is not what comes next in a plan that counts by its exact delta and is fixed for that; "
                "nothing was drawn. This is an error of the learner"
            )
        scope = self._open[-1]
        scope.add(event)
        if not isinstance(scope, _FilterScope):  # a filter's whole cap was charged when it was opened
            try:
                self._refuse_beyond_scopes(event.name)
                self._refuse_overspending(self.cost, event.name)
            except PrivetError:  # also where a mixture has no such part
                scope.take_back()
                raise
        if event.flaw is not None:
            self._flaws[event.flaw] = None
        if self._to_come is not None:
            self._to_come.pop(0)

    def doubt(self, reason: str) -> None:
        """Record a reason why nothing can be claimed any more. A doubt cannot be taken back."""
        if reason not in self._doubts:
            self._doubts.append(reason)

    @contextmanager
    def parallel(self, most: Cost | None = None) -> Iterator[None]:
        """Events and branches charged inside see disjoint records: the largest counts, and `most` is not exceeded."""
        with self._scope(_Scope(Parallel, most)):
            yield

    @contextmanager
    def mixture(self, weights: tuple[Fraction, ...]) -> Iterator[None]:
        """Events and branches charged inside are the parts of a mixture, in the order of its weights.

        Only a release may open this scope, having just tossed coins of these weights. Parts that are never charged have
        seen no records.
        """

        def close(parts: tuple[Composition, ...]) -> Mixture:
            nothing = (Sequential(()),) * (len(weights) - len(parts))
            return Mixture(weights, (*parts, *nothing))

        with self._scope(_Scope(close)):
            yield

    @contextmanager
    def filter(self, name: str, cap: Cost) -> Iterator[None]:
        """Charge all of `cap`; the budgets of events charged inside may be decided from released values.

        A charge that would exceed the cap raises `BudgetError` before anything is drawn; see
        `privet.privacy.events.Filter`.
        """
        with self._scope(_FilterScope(name, cap), name):
            yield

    @contextmanager
    def either(self, name: str, epsilon: Fraction, delta: Fraction) -> Iterator[None]:
        """Charge an epsilon and a delta that all alternatives keep; which one is charged may be decided inside.

        What is decided by must be pure noise, charged before all else. A charge that keeps the guarantee in none of the
        ways that are known raises `BudgetError` before anything is drawn; see `privet.privacy.events.Either`.
        """
        with self._scope(_Scope(lambda parts: Either(name, epsilon, delta, parts)), name):
            yield

    @contextmanager
    def fixed(self, planned: Composition) -> Iterator[None]:
        """Events charged inside are those of a plan, in its order, and no others: their exact delta may count.

        Alternatives are fixed when they are decided: by looks alone, before anything else is charged for them.
        """
        around = self._open[-1].close(None)
        if not isinstance(around, Either) or not all(map(keeping.is_look, around.parts)):
            raise BudgetError("a plan can be fixed as an alternative only, before anything but looks is charged for it")
        self._fix(planned, Fraction(0))
        try:
            yield
        finally:
            self._to_come = None

    @contextmanager
    def branch(self, most: Cost | None = None) -> Iterator[None]:
        """One branch of a parallel scope or a mixture: events charged inside add up, and do not exceed `most`."""
        with self._scope(_Scope(Sequential, most)):
            yield

    @property
    def composition(self) -> Composition:
        """All events and how they compose."""
        return self._whole()

    @property
    def cost(self) -> Cost:
        """The exact total, under both measures."""
        whole, inner = self._open[0], None
        assert isinstance(whole, _WholeScope)
        for scope in reversed(self._open[1:]):
            inner = scope.close(inner)
        return whole.spent if inner is None else whole.spent + inner.cost

    @property
    def events(self) -> tuple[Event, ...]:
        """All events, in the order in which they were charged."""
        return tuple(self._whole().events())

    @property
    def why(self) -> tuple[str, ...]:
        """Why nothing is claimed; empty if the guarantee is proven."""
        return tuple(dict.fromkeys([*self._doubts, *self._flaws]))

    @property
    def proven(self) -> bool:
        """Whether the guarantee is backed by a proof."""
        return not self._doubts and not self._flaws

    @property
    def epsilon(self) -> float:
        """The epsilon of the guarantee, never understated; infinite if nothing is proven."""
        if not self.proven or self.allowance is None:
            return float("inf")
        return readable(self._epsilon(self.cost))

    @property
    def delta(self) -> float:
        """The delta of the guarantee; 0 for pure epsilon, 1 if nothing is proven."""
        if not self.proven or self.allowance is None:
            return 1.0
        return 0.0 if self.allowance.rho is None else readable(self.allowance.delta)

    @property
    def rho(self) -> float:
        """The total in zero-concentrated privacy; infinite if nothing is proven."""
        return readable(self.cost.rho) if self.proven else float("inf")

    @property
    def beyond_rho(self) -> bool:
        """Whether the guarantee holds though zCDP would not allow as much: by exact deltas, or by alternatives."""
        allowed = None if self.allowance is None else self.allowance.rho
        return allowed is not None and self.cost.rho is not None and self.cost.rho > allowed

    def _epsilon(self, cost: Cost) -> Fraction | None:
        allowance = self.allowance
        assert allowance is not None
        if allowance.rho is None or cost.rho is None:
            return cost.epsilon
        # The whole rho was derived from (epsilon, delta) by rounding down, so it costs no more than that epsilon.
        if cost.rho == allowance.rho or (self.beyond_rho and self._keeps_otherwise(allowance)):
            return allowance.epsilon
        converted = zcdp_to_epsilon(cost.rho, allowance.delta) if cost.rho else Fraction(0)
        return converted if cost.epsilon is None else min(converted, cost.epsilon)

    def _refuse_overspending(self, cost: Cost, name: str) -> None:
        allowance = self.allowance
        if allowance is None or (cost.epsilon is None and cost.rho is None):
            return
        if self._planned is not None and exceeds(cost, self._planned):
            raise BudgetError(
                f"{name} would cost more than was planned; nothing was drawn. This is an error of the learner"
            )
        spent, allowed = (cost.epsilon, allowance.epsilon) if allowance.rho is None else (cost.rho, allowance.rho)
        if spent is None or (spent > allowed and not (allowance.rho is not None and self._keeps_otherwise(allowance))):
            measure = "epsilon" if allowance.rho is None else "rho"
            raise BudgetError(
                f"{name} would bring {measure} to {stated_up(spent)}, but only {stated_down(allowed)} is allowed; "
                f"nothing was drawn. Ask for a larger epsilon or a smaller share"
            )

    def _keeps_otherwise(self, allowance: Allowance) -> bool:
        """Whether what was charged so far keeps the guarantee, though its rho does not."""
        return keeping.keeps(self._whole(), self.terms, allowance.epsilon, allowance.delta, exact=self._is_fixed)

    @property
    def _is_fixed(self) -> bool:
        """Whether all that is charged was known in advance."""
        return self._states or self._to_come is not None

    def _fix(self, planned: Composition, allowed: Fraction) -> None:
        """Let nothing be charged but the events of a plan, if it has no scopes and more rho than is allowed."""
        parts = planned.parts if isinstance(planned, Sequential) else (planned,)
        events = [part for part in parts if isinstance(part, Event)]
        rho = planned.cost.rho
        if len(events) == len(parts) and rho is not None and rho > allowed:
            self._to_come = events

    def _refuse_beyond_scopes(self, name: str) -> None:
        """Refuse what some open scope was not planned for, even if the whole has room for it."""
        inner: Composition | None = None
        for scope in reversed(self._open[1:]):
            inner = scope.close(inner)
            if isinstance(inner, Either) and not keeping.holds(inner, self.terms, exact=self._is_fixed):
                raise BudgetError(
                    f"{name} would break the guarantee that was fixed for {inner.name}; nothing was drawn. "
                    "This is an error of the learner"
                )
            if scope.most is not None and exceeds(inner.cost, scope.most):
                raise BudgetError(
                    f"{name} would cost more than was planned for its part of the records; nothing was drawn. "
                    "This is an error of the learner"
                )

    def _whole(self) -> Composition:
        inner: Composition | None = None
        for scope in reversed(self._open):
            inner = scope.close(inner)
        assert inner is not None
        return inner

    @contextmanager
    def _scope(self, scope: _Scope, name: str = "a scope") -> Iterator[None]:
        # A scope that does not fit into those around it is refused here, before anything can be drawn inside. So
        # closing a scope never fails, and nothing that was drawn is ever missing from the ledger.
        self._open.append(scope)
        try:
            self._refuse_beyond_scopes(name)
            self._refuse_overspending(self.cost, name)
        except PrivetError:
            self._open.pop()
            raise
        try:
            yield
        finally:
            closed = self._open.pop()
            self._open[-1].add(closed.close(None))

    def table(self, *, full: bool = False) -> str:
        """Return the ledger as a text table for people.

        Parameters
        ----------
        full : bool, default=False
            Show every release with its exact noise and the records that it looks at, rather than one line a stage.

        Notes
        -----
        The noise of a stage is in records: how many of them could change a released value as much as the noise does.
        """
        from privet.privacy.text import ledger_table

        return ledger_table(self, full=full)

    def to_dict(self) -> dict[str, object]:
        """Return the ledger as plain data, as written to model files."""
        from privet.privacy.text import ledger_to_dict

        return ledger_to_dict(self)

    def _repr_html_(self) -> str:
        """Show the ledger in a notebook, one row a stage."""
        from privet.markup import card, paragraph
        from privet.privacy.text import guarantee_in_words, stage_table, strength_in_words

        strength = [paragraph(line) for line in strength_in_words(self)]
        return card(guarantee_in_words(self), *strength, stage_table(self))

    def __repr__(self) -> str:
        state = "proven" if self.proven else "no guarantee"
        guarantee = f"epsilon={stated_up(self.epsilon)}, delta={stated_up(self.delta)}"
        return f"Ledger({guarantee}, {state}, {len(self.events)} events)"


_Kind = Callable[[tuple[Composition, ...]], Composition]


class _Scope:
    """A composition that is still open; `most` is what was planned for it, where that is known."""

    def __init__(self, kind: _Kind, most: Cost | None = None) -> None:
        self.kind = kind
        self.most = most
        self.parts: list[Composition] = []

    def add(self, part: Composition) -> None:
        self.parts.append(part)

    def take_back(self) -> None:
        self.parts.pop()

    def close(self, last: Composition | None) -> Composition:
        return self.kind((*self.parts, *(() if last is None else (last,))))


class _WholeScope(_Scope):
    """All that was charged. It keeps a running total, since a forest may charge thousands of events."""

    def __init__(self) -> None:
        super().__init__(Sequential)
        self._spent = [Cost.nothing()]  # after each part

    @property
    def spent(self) -> Cost:
        return self._spent[-1]

    def add(self, part: Composition) -> None:
        super().add(part)
        self._spent.append(self.spent + part.cost)

    def take_back(self) -> None:
        super().take_back()
        self._spent.pop()


class _FilterScope(_Scope):
    """A filter that is still open. It keeps a running total."""

    def __init__(self, name: str, cap: Cost) -> None:
        super().__init__(lambda parts: Filter(name, cap, parts))
        self._name, self._cap, self._spent = name, cap, Cost.nothing()

    def add(self, part: Composition) -> None:
        spent = self._spent + part.cost
        if exceeds(spent, self._cap):
            what = part.name if isinstance(part, Event) else "a part"
            raise BudgetError(
                f"{what} would bring {self._name} beyond the total that was fixed for them; nothing was drawn"
            )
        self._spent = spent
        super().add(part)

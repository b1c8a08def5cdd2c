"""From a privacy guarantee to what a poisoner can do to the law of the trained model.

The output of a private learner has nearly the same law on poisoned data as on clean data. That is what differential
privacy says, with the poisoner's records in place of a person's. This file counts the steps between the two data sets;
`privet.robustness.bounds` turns their number into bounds on accuracy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from privet.errors import ParameterError
from privet.parameters import check_choice, check_whole, exact
from privet.privacy.events import readable
from privet.privacy.ledger import Ledger
from privet.privacy.statements import stated_up

if TYPE_CHECKING:
    from typing import Self

Change = Literal["added_or_removed", "modified", "relabelled"]
CHANGES: tuple[Change, ...] = ("added_or_removed", "modified", "relabelled")

# (relation of the guarantee, what the poisoner does to a record) -> steps between neighbours. Cases that are absent are
# not covered: under replacement the number of records is public, and nothing is said about adding or removing one.
_STEPS = {
    ("add_remove", "added_or_removed"): 1,
    ("add_remove", "modified"): 2,
    ("add_remove", "relabelled"): 2,
    ("replace", "modified"): 1,
    ("replace", "relabelled"): 1,
    ("label", "relabelled"): 1,
}
_RELATIONS = ("add_remove", "replace", "label")


@dataclass(frozen=True)
class Closeness:
    """How far poisoning can move the law P of the trained model to Q.

    For every set S of models ``Q(S) <= e^log_ratio P(S) + delta``, and the same with P and Q exchanged.

    Where `rho` is known, Rényi divergences of every order a > 1 between the two are at most ``a rho`` as well.
    """

    log_ratio: float
    delta: float = 0.0
    rho: float | None = None

    @property
    def ratio(self) -> float:
        """e^log_ratio; infinite where that is beyond a double."""
        return math.exp(self.log_ratio) if self.log_ratio < 700 else math.inf


@dataclass(frozen=True)
class Guarantee:
    """A proven (epsilon, delta) and the relation that it holds for.

    Parameters
    ----------
    epsilon, delta : Fraction
        The guarantee; see `stated` for one given as floats.
    neighbours : {"add_remove", "replace", "label"}
        What neighbours are.
    unit : str
        What is added, removed or changed between neighbours; its first word is "record" or "unit".
    rho : Fraction, optional
        The same guarantee in zero-concentrated privacy, which is far better for several poisoners than delta is.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbours: str = "add_remove"
    unit: str = "record"
    rho: Fraction | None = None

    @classmethod
    def stated(cls, epsilon: float, delta: float = 0.0, neighbours: str = "add_remove") -> Self:
        """Take a guarantee that someone else vouches for.

        Examples
        --------
        >>> Guarantee.stated(0.1).under(30).log_ratio
        3.0
        """
        e, d = exact(epsilon, "epsilon"), exact(delta, "delta")
        if e < 0 or not 0 <= d < 1:
            raise ParameterError(f"need epsilon >= 0 and 0 <= delta < 1, got epsilon={epsilon}, delta={delta}")
        check_choice("neighbours", neighbours, _RELATIONS)
        return cls(e, d, neighbours)

    @classmethod
    def of(cls, model: Any) -> Self:
        """Return the proven guarantee of a fitted privet model or of a ledger, or say why there is none."""
        ledger = model if isinstance(model, Ledger) else getattr(model, "privacy_", None)
        if not isinstance(ledger, Ledger):
            raise ParameterError(
                f"{type(model).__name__} carries no ledger: fit a privet model, or pass "
                "guarantee=Guarantee.stated(epsilon, delta, neighbours) for a learner that you vouch for"
            )
        if not ledger.proven:
            raise ParameterError(f"nothing is certified, since no privacy is proven: {'; '.join(ledger.why)}")
        terms = ledger.terms
        stated = exact(ledger.epsilon, "epsilon"), exact(ledger.delta, "delta")
        return cls(*stated, terms.neighbours, terms.protected, ledger.cost.rho)

    @property
    def noun(self) -> str:
        """What poisoners are counted in: "record" or "unit"."""
        return self.unit.partition(" ")[0]

    def counting(self, change: Change) -> str:
        """Say what counts as one poisoner if that is a unit; empty if it is a record.

        A row that is written under an id that is already in the data changes that unit. Under add/remove that is two
        steps, even if only one row of a unit takes part, since the new row may displace another one.
        """
        if self.noun == "record":
            return ""
        text = f"Poisoners are counted in units, not in rows: one {self.unit}"
        if self.neighbours != "add_remove":
            return text
        two = "A row that is written under an id which is in the data already changes that unit, which is two steps"
        steps = "the unit is removed, the changed one added"
        how = "counts as two" if change == "added_or_removed" else "is counted so here"
        return f"{text}. {two} ({steps}) and {how}"

    def steps(self, change: Change) -> int:
        """Return the number of steps between neighbours that changing one unit in this way amounts to."""
        check_choice("change", change, CHANGES)
        if (self.neighbours, change) not in _STEPS:
            covered = [known for known in CHANGES if (self.neighbours, known) in _STEPS]
            raise ParameterError(
                f"a guarantee for neighbours={self.neighbours!r} says nothing about a {self.unit} that is "
                f"{change.replace('_', ' ')}; it covers {', '.join(covered)}"
            )
        return _STEPS[self.neighbours, change]

    def under(self, n_poisoned: int, change: Change = "added_or_removed", *, group: int = 1) -> Closeness:
        """Return how close clean and poisoned training are.

        Parameters
        ----------
        n_poisoned : int
            How many poisoners there are.
        change : {"added_or_removed", "modified", "relabelled"}
            What they do. Under add/remove a modified or relabelled record is one removed and one added, which is two
            steps. So is a unit under whose id a row is written.
        group : int, default=1
            How many units each of them controls.

        Notes
        -----
        Group privacy: k steps of an (epsilon, delta) guarantee are worth k epsilon and
        delta (e^{k epsilon} - 1) / (e^epsilon - 1); k steps of rho are worth k^2 rho (Bun and Steinke 2016).
        """
        steps = (
            check_whole("n_poisoned", n_poisoned, 0, 2**53) * check_whole("group", group, 1, 2**53) * self.steps(change)
        )
        log_ratio = readable(steps * self.epsilon)
        rho = None if self.rho is None else readable(steps**2 * self.rho)
        if self.delta == 0 or steps == 0:
            return Closeness(log_ratio, rho=rho)
        if log_ratio > 700:
            return Closeness(log_ratio, 1.0, rho)
        epsilon = float(self.epsilon)
        factor = math.expm1(log_ratio) / math.expm1(epsilon) if epsilon else float(steps)
        return Closeness(log_ratio, min(1.0, float(self.delta) * factor), rho)

    def __str__(self) -> str:
        delta = f", delta = {stated_up(self.delta)}" if self.delta else ""
        return f"epsilon = {stated_up(self.epsilon)}{delta} for one {self.unit} ({self.neighbours})"

"""What a guarantee means to the people in the data, in numbers and plain words."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, log, sqrt

from privet.markup import Markup, tag
from privet.privacy.events import readable
from privet.privacy.ledger import Ledger
from privet.privacy.statements import Grade, Strength

PRIORS = (0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Meaning:
    """What an attacker gains at the most who knows everything but one person's part.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee; epsilon is infinite if there is none.
    rho : float
        The same guarantee in zero-concentrated privacy, for `odds` where delta is above zero.
    """

    epsilon: float
    delta: float
    rho: float = inf

    @classmethod
    def of(cls, ledger: Ledger) -> Meaning:
        """Read it off a ledger."""
        return cls(ledger.epsilon, ledger.delta, readable(ledger.cost.rho) if ledger.proven else inf)

    def odds(self, steps: int = 1) -> float:
        """Return how much the logarithm of an attacker's odds can change, up or down, but for `odds_fail`.

        `steps` is the number of records or units in which the cases to be told apart differ.

        Without delta it is epsilon for each step, always. With delta it is not epsilon: an (epsilon, delta) guarantee
        bounds probabilities, and lets the odds exceed e^epsilon more often than delta. (Gaussian noise of epsilon 1 and
        delta 1e-6 does so with a probability of 5e-6.) But k steps of rho are k^2 rho, and by Markov's inequality for
        the moments that rho bounds, the loss exceeds ``rho + 2 sqrt(rho ln(1 / delta))`` with a probability of at most
        delta; with one of at most delta again, it is below minus that.

        Examples
        --------
        >>> Meaning(1.0, 0.0).odds(), round(Meaning(1.0, 1e-6, rho=0.024356).odds(), 3)
        (1.0, 1.185)
        """
        if not self.delta:
            return steps * self.epsilon
        rho = steps**2 * self.rho
        return (rho + 2 * sqrt(-rho * log(self.delta))) * (1 + 1e-12)  # covers the rounding of these operations

    @property
    def odds_fail(self) -> float:
        """The probability, at the most, with which `odds` does not hold."""
        return min(1.0, 2 * self.delta)

    def posterior(self, prior: float) -> tuple[float, float]:
        """Return the least and the greatest probability that an attacker with this prior can end up with.

        It does not hold with a probability of up to `odds_fail`.

        Examples
        --------
        >>> [round(p, 3) for p in Meaning(1.0, 0.0).posterior(0.5)]
        [0.269, 0.731]
        """
        loss, odds = self.odds(), prior / (1 - prior)
        factor = exp(loss) if loss < 700 else inf
        least, most = odds / factor, odds * factor
        return least / (1 + least), 1.0 if most == inf else most / (1 + most)

    @property
    def membership_advantage(self) -> float:
        """The greatest difference between an attacker's rates of true and of false alarms, over all attacks.

        (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), which no test between two neighbouring data sets can beat.

        Examples
        --------
        >>> round(Meaning(1.0, 0.0).membership_advantage, 3)
        0.462
        """
        if self.epsilon > 50:
            return 1.0
        return min(1.0, (expm1(self.epsilon) + 2 * self.delta) / (exp(self.epsilon) + 1))

    @property
    def guessing_accuracy(self) -> float:
        """How often the best attacker is right who guesses between two equally likely neighbouring data sets."""
        return (1 + self.membership_advantage) / 2


HIDDEN = {
    "add_remove": "whether {unit} is in the data at all",
    "replace": "what {unit} says, not how many there are: the number of {noun}s counts as known",
    "label": "the label of {unit} only; all other columns count as known",
}


def hidden(ledger: Ledger) -> str:
    """Say what the guarantee hides."""
    terms = ledger.terms
    return HIDDEN[terms.neighbours].format(unit=f"a {terms.protected}", noun=terms.noun)


# What the badge says, and its look: green stands for a strong guarantee and for nothing else.
BADGES: dict[Strength, tuple[str, str]] = {
    "strong": ("Proven, strong", "badge"),
    "moderate": ("Proven, moderate", "badge fair"),
    "weak": ("Proven, but weak", "badge no"),
    "hardly any": ("Proven, but hardly any protection", "badge no"),
    "none": ("Proven, but no protection", "badge no"),
}


def badge(ledger: Ledger, n_rows: int | None = None) -> Markup:
    """Return the badge of a guarantee: whether it is proven, and what it is worth by epsilon and delta."""
    text, look = "No guarantee", "badge no"
    if ledger.proven:
        text, look = BADGES[Grade.of(ledger.epsilon, ledger.delta, n_rows).strength]
    return tag("span", text, class_=look)

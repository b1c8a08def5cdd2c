"""What a guarantee means to the people in the data, in numbers and plain words."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf

from privet.markup import Markup, tag
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
    """

    epsilon: float
    delta: float

    @classmethod
    def of(cls, ledger: Ledger) -> Meaning:
        """Read it off a ledger."""
        return cls(ledger.epsilon, ledger.delta)

    @property
    def odds_factor(self) -> float:
        """By how much an attacker's odds for or against one person's presence can change, up or down."""
        return exp(self.epsilon) if self.epsilon < 700 else inf

    def posterior(self, prior: float) -> tuple[float, float]:
        """Return the least and the greatest probability that an attacker with this prior can end up with.

        Examples
        --------
        >>> [round(p, 3) for p in Meaning(1.0, 0.0).posterior(0.5)]
        [0.269, 0.731]
        """
        odds = prior / (1 - prior)
        least, most = odds / self.odds_factor, odds * self.odds_factor
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

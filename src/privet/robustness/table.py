"""A table of certificates: what is guaranteed for how many poisoners, as text, as plain values, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from privet.errors import ParameterError
from privet.privacy.events import readable
from privet.privacy.statements import fixed_down, stated_up
from privet.robustness.bounds import TailCertificate, infimum_from_sample, paper_accuracy, tail_certificates, two_sided
from privet.robustness.guarantees import Change, Guarantee

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_A_RELEASE = (
    "Made by retraining on the private data: this certificate is not itself a private release. Keep it with the data; "
    "do not publish it with the model."
)


@dataclass(frozen=True)
class Certificate:
    """What is guaranteed against one number of poisoners.

    Attributes
    ----------
    n_poisoned : int
        How many there are.
    log_ratio, delta : float
        How far they can move the law of the model.
    tail : TailCertificate
        The certificate from how rarely clean models miss a threshold; better for many poisoners.
    infimum : float or None
        Lower confidence bound on the exact infimum of the expected score; better for few poisoners if the score varies
        much. None if delta is not zero.
    paper, two_sided : float
        The paper's formula and its two-sided form, at the mean of the retrainings: estimates, without confidence.
    """

    n_poisoned: int
    log_ratio: float
    delta: float
    tail: TailCertificate
    infimum: float | None
    paper: float
    two_sided: float

    @property
    def guaranteed(self) -> float:
        """The certified expected score: the better of the two certificates."""
        return max(self.tail.expected, self.infimum or 0.0)


@dataclass(frozen=True)
class Certificates:
    """Certificates of one learner on one data set, which all hold together with `confidence`.

    Attributes
    ----------
    subject, score : str
        What was certified, and the score in [0, 1] that is guaranteed.
    guarantee : Guarantee
        The privacy that it follows from.
    change : str
        What a poisoner does to a record, or to a unit where the guarantee is for units.
    group : int
        How many records (or units) each poisoner controls.
    n_records, n_retrainings : int
        Size of the clean training set in records (or units), and number of trainings on it.
    confidence : float
        Over the noise of the retrainings.
    clean : float
        Mean score of the retrainings.
    rows : tuple of Certificate
        One for each number of poisoners.
    """

    subject: str
    score: str
    guarantee: Guarantee
    change: Change
    group: int
    n_records: int
    n_retrainings: int
    confidence: float
    clean: float
    rows: tuple[Certificate, ...]

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        guarantee: Guarantee,
        n_records: int,
        poisoned: Sequence[int | float],
        *,
        change: Change = "added_or_removed",
        group: int = 1,
        confidence: float = 0.95,
        subject: str = "model",
        score: str = "accuracy",
    ) -> Certificates:
        """Certify from the scores of independent retrainings on the clean data.

        Parameters
        ----------
        scores : array-like
            One score in [0, 1] for each retraining.
        guarantee : Guarantee
            The learner's privacy.
        n_records : int
            Size of the clean training set: its records, or its units where the guarantee is for units.
        poisoned : sequence
            Numbers of poisoners (int), or shares of the training set (float, rounded down).
        change, group
            See `Guarantee.under`.
        confidence : float, default=0.95
            The confidence with which all certificates of the table hold together.
        subject, score : str
            Names for the reader.
        """
        if not poisoned:
            raise ParameterError("poisoned is empty: give numbers of poisoners or shares, such as (0.001, 0.01)")
        numbers = [how_many(number, n_records) for number in poisoned]
        close = [guarantee.under(number, change, group=group) for number in numbers]
        level = 1.0 - confidence
        if guarantee.delta == 0:
            level /= 2  # one half for all tails together, one for the infimum, whose band serves all lines
        tails = tail_certificates(scores, close, level)
        clean = float(np.mean(np.asarray(scores, dtype=np.float64)))
        rows = tuple(
            Certificate(
                number,
                closeness.log_ratio,
                closeness.delta,
                tail,
                None if guarantee.delta else infimum_from_sample(scores, closeness, level),
                paper_accuracy(clean, closeness),
                two_sided(clean, closeness),
            )
            for number, closeness, tail in zip(numbers, close, tails, strict=True)
        )
        return cls(
            subject, score, guarantee, change, group, n_records, np.size(np.asarray(scores)), confidence, clean, rows
        )

    def at(self, n_poisoned: int | float) -> Certificate:
        """Return the row for a number of poisoners (int) or a share of the training set (float)."""
        number = how_many(n_poisoned, self.n_records)
        for row in self.rows:
            if row.n_poisoned == number:
                return row
        raise ParameterError(f"no certificate was made for {number} poisoned: ask certify() for it")

    def __str__(self) -> str:
        """The table as text."""
        header = (
            "poisoned",
            "share",
            "c",
            "guaranteed",
            "threshold",
            "reached by",
            "infimum",
            "paper's formula",
            "two-sided",
        )
        nouns = f"{self.guarantee.noun}s"
        lines = [header, *(self._line(row) for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        body = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join(
            [
                f"Certified {self.score} of {self.subject}",
                f"privacy: {self.guarantee}; poisoners: {self.change.replace('_', ' ')}, {self.group} each",
                f"clean: {self.clean:.3f}, the mean of {self.n_retrainings} retrainings on {self.n_records} {nouns}",
                *([f"{counting}."] if (counting := self.guarantee.counting(self.change)) else []),
                "",
                *body,
                "",
                f"Guaranteed: the expected {self.score}, whatever the poisoners do; the better of the infimum and of",
                "the threshold times the share of poisoned trainings that reach it. All lines hold together with",
                f"confidence {self.confidence:g}. The last two columns are estimates.",
                NOT_A_RELEASE,
            ]
        )

    def _line(self, row: Certificate) -> tuple[str, ...]:
        return (
            str(row.n_poisoned),
            f"{row.n_poisoned / self.n_records:.2%}",
            stated_up(row.log_ratio, 3),
            fixed_down(row.guaranteed),
            fixed_down(row.tail.threshold),
            f"{fixed_down(100 * row.tail.probability, 1)}%",
            "" if row.infimum is None else fixed_down(row.infimum),
            f"{row.paper:.3f}",
            f"{row.two_sided:.3f}",
        )

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, ready for JSON."""
        return {
            "subject": self.subject,
            "score": self.score,
            "epsilon": readable(self.guarantee.epsilon),
            "delta": readable(self.guarantee.delta),
            "neighbours": self.guarantee.neighbours,
            "unit": self.guarantee.unit,
            **({"counting": counting} if (counting := self.guarantee.counting(self.change)) else {}),
            "change": self.change,
            "group": self.group,
            "n_records": self.n_records,
            "n_retrainings": self.n_retrainings,
            "confidence": self.confidence,
            "clean": self.clean,
            "certificates": [{**asdict(row), "guaranteed": row.guaranteed} for row in self.rows],
            "note": NOT_A_RELEASE,
        }

    def plot(self, target: str | Path | Axes | None = None) -> Axes:
        """Draw the certificate and the paper's formula against the share poisoned.

        Parameters
        ----------
        target : str, Path or matplotlib Axes, optional
            A file to write (its suffix gives the format), or the axes to draw on; new axes if omitted.
        """
        from privet.robustness.plots import draw_certificates, onto

        return onto(target, lambda axes: draw_certificates(axes, self))


def how_many(poisoned: int | float, n_records: int) -> int:
    """Turn a share of the training set (a float below 1) into a number of poisoners, rounded down; keep a number."""
    if isinstance(poisoned, float | np.floating):
        if not 0 <= poisoned < 1:
            raise ParameterError(f"a share must be at least 0 and below 1, got {poisoned}: give a number as an int")
        return int(float(poisoned) * n_records)
    return int(poisoned)

"""The report of an audit: the claim, the evidence against it, and a verdict that never claims too much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privet.errors import AuditError
from privet.privacy.statements import fixed_down, stated_up
from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Relation = Literal["add_remove", "replace", "label"]
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace", "label")

NOT_A_PROOF = (
    "None of these tests found a violation. That is no proof of privacy: another pair, another event or more "
    "trainings may still find one."
)

# Okabe and Ito's palette, which remains distinct for colour-blind readers.
_VERMILION, _BLUE, _BLACK = "#D55E00", "#0072B2", "#000000"


@dataclass(frozen=True)
class Claim:
    """The guarantee under audit.

    Parameters
    ----------
    epsilon, delta : float
        The stated budget; epsilon must be finite.
    relation : {"add_remove", "replace", "label"}
        What neighbours are.
    """

    epsilon: float
    delta: float
    relation: Relation

    @classmethod
    def stated(cls, epsilon: float | None, delta: float | None, relation: str | None) -> Claim:
        """Check a claim as the user stated it.

        Raises
        ------
        AuditError
            If there is no finite budget or no known relation: without them there is nothing to refute.
        """
        if epsilon is None or delta is None:
            raise AuditError(f"no budget is stated (epsilon={epsilon}, delta={delta}); an audit needs a claim to test")
        if not isfinite(epsilon) or epsilon < 0:
            raise AuditError(f"epsilon={epsilon} is not a claim that an audit could refute; state a finite one")
        if not 0 <= delta < 1:
            raise AuditError(f"delta={delta} is not in [0, 1)")
        for known in RELATIONS:
            if relation == known:
                return cls(float(epsilon), float(delta), known)
        raise AuditError(
            f"the neighbour relation is {relation!r}; state one of {', '.join(RELATIONS)}: the same algorithm has a "
            "different epsilon under each"
        )

    def __str__(self) -> str:
        delta = f", delta = {stated_up(self.delta)}" if self.delta else ""
        return f"epsilon = {stated_up(self.epsilon)}{delta} ({self.relation})"


@dataclass(frozen=True)
class Finding:
    """What one test found.

    Parameters
    ----------
    name, flaw : str
        The pair (or check) and the flaw that it is made for.
    kind : {"statistical", "exact", "ledger", "way in", "search"}
        How the evidence was obtained.
    epsilon : float
        A lower bound on epsilon: with ``confidence`` if statistical, else certain.
    refuted : bool
        Whether this evidence contradicts the claim.
    event : str
        The event, or the witness.
    projection, direction : str
        What was looked at in the model; on which data set the event is more likely.
    confidence : float or None
        Joint confidence of all statistical findings of the report; None where nothing is uncertain.
    hits, trials, other_hits, other_trials : int
        How often the event happened in the half of the trainings on which it was tested.
    """

    name: str
    flaw: str
    kind: Literal["statistical", "exact", "ledger", "way in", "search"]
    epsilon: float
    refuted: bool
    event: str
    projection: str = ""
    direction: str = ""
    confidence: float | None = None
    hits: int = 0
    trials: int = 0
    other_hits: int = 0
    other_trials: int = 0

    @property
    def verdict(self) -> str:
        """Either "refuted" or "not refuted"."""
        return "refuted" if self.refuted else "not refuted"


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit.

    Parameters
    ----------
    subject : str
        What was audited.
    claimed : Claim
        The guarantee that was tested.
    findings : sequence of Finding
        One per pair or check.
    upper : float or None
        The exact supremum of the loss over all data sets of a tiny public schema, where it was computed.
    trainings : int
        How many models were trained.
    notes : sequence of str
        What else the reader must know, such as projections that did not apply.
    """

    subject: str
    claimed: Claim
    findings: Sequence[Finding]
    upper: float | None = None
    trainings: int = 0
    notes: Sequence[str] = field(default=())

    @property
    def lower(self) -> float:
        """The largest lower bound on epsilon that was found (0 if there is none)."""
        return max((finding.epsilon for finding in self.findings), default=0.0)

    @property
    def refuted(self) -> bool:
        """Whether any evidence contradicts the claim."""
        return any(finding.refuted for finding in self.findings)

    @property
    def witness(self) -> Finding | None:
        """The finding that refutes the claim most clearly; None if none does."""
        against = [finding for finding in self.findings if finding.refuted]
        return max(against, key=lambda finding: finding.epsilon, default=None)

    @property
    def verdict(self) -> str:
        """Either "refuted" or "not refuted"; the latter is not a proof."""
        return "refuted" if self.refuted else "not refuted"

    def __str__(self) -> str:
        """The report as a text table."""
        lines = [f"Audit of {self.subject}", f"claimed: {self.claimed}", f"verdict: {self.verdict}", ""]
        header = ("pair", "lower bound", "verdict", "projection", "event", "hits")
        rows = [header, *(_row(finding) for finding in self.findings)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
        lines.extend(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        )
        lines.append("")
        confidences = [f.confidence for f in self.findings if f.confidence is not None]
        if confidences:
            lines.append(
                f"All lower bounds hold together with confidence {min(confidences):.4g} "
                f"({self.trainings} trainings; each event was chosen on other trainings than it was tested on)."
            )
        if self.upper is not None:
            lines.append(f"Exact supremum over all data sets of the tiny schema: {stated_up(self.upper)}.")
        lines.extend(self.notes)
        witness = self.witness
        if witness is None:
            lines.append(NOT_A_PROOF)
        else:
            lines.append(f"Witness: {witness.name} ({witness.flaw}): {witness.event}.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = f"{self.verdict}, lower bound {self.lower:.4g}, {len(self.findings)} findings"
        return f"<AuditReport of {self.subject}: {found}>"

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        from privet.markup import card, paragraph, table

        rows = [_row(finding) for finding in self.findings]
        header = ("pair", "lower bound", "verdict", "projection", "event", "hits")
        said = [paragraph(f"claimed: {self.claimed}; verdict: {self.verdict}")]
        notes = [paragraph(note) for note in ([*self.notes] if self.refuted else [*self.notes, NOT_A_PROOF])]
        return card(f"Audit of {self.subject}", *said, table("What was found", header, rows), *notes)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "subject": self.subject,
            "claimed": asdict(self.claimed),
            "verdict": self.verdict,
            "refuted": self.refuted,
            "lower": self.lower,
            "upper": self.upper,
            "trainings": self.trainings,
            "witness": None if self.witness is None else self.witness.name,
            "findings": [{**asdict(finding), "verdict": finding.verdict} for finding in self.findings],
            "notes": list(self.notes),
        }

    def plot(self, target: str | Path | Axes | None = None) -> Axes:
        """Draw the lower bounds against the claim.

        Parameters
        ----------
        target : str, Path or matplotlib Axes, optional
            A file to write (its suffix gives the format), or the axes to draw on; new axes if omitted.

        Returns
        -------
        matplotlib Axes
        """
        if target is not None and not isinstance(target, (str, Path)):
            _draw(target, self)
            return target
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(7.0, 1.2 + 0.36 * max(len(self.findings), 2)))
        _draw(axes, self)
        if target is not None:
            replace_figure(target, figure, bbox_inches="tight")
            pyplot.close(figure)
        return axes


def _row(finding: Finding) -> tuple[str, ...]:
    hits = ""
    if finding.trials:
        sides = f"{finding.hits}/{finding.trials}", f"{finding.other_hits}/{finding.other_trials}"
        hits = f"{sides[0]} against {sides[1]} ({finding.direction})"
    return (finding.name, fixed_down(finding.epsilon), finding.verdict, finding.projection, finding.event, hits)


def _draw(axes: Axes, report: AuditReport) -> None:
    shown = sorted(report.findings, key=lambda finding: finding.epsilon)
    finite = [finding.epsilon for finding in shown if isfinite(finding.epsilon)]
    longest = 1.15 * max([report.claimed.epsilon, *finite])
    for place, finding in enumerate(shown):
        axes.barh(
            place,
            min(finding.epsilon, longest),
            color=_VERMILION if finding.refuted else _BLUE,
            # Hatching repeats what the colour says, for print in black and white.
            hatch="//" if finding.refuted else None,
            edgecolor="white",
        )
        value = f" {fixed_down(finding.epsilon, 2)}" if isfinite(finding.epsilon) else " infinite"
        backdrop = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}  # keeps the claim's line off the number
        axes.text(min(finding.epsilon, longest), place, value, va="center", bbox=backdrop, zorder=3)
    axes.axvline(report.claimed.epsilon, color=_BLACK, linestyle="--")
    axes.text(report.claimed.epsilon, len(shown) - 0.4, " claimed", va="bottom", ha="left")
    axes.set_yticks(range(len(shown)), [finding.name for finding in shown])
    axes.set_xlim(0, 1.12 * longest if longest > 0 else 1)
    axes.set_ylim(-0.6, len(shown) + 0.1)
    axes.set_xlabel("lower bound on epsilon (hatched: above the claim)")
    axes.set_title(f"{report.subject}: {report.verdict}", loc="left", pad=12)
    axes.spines[["top", "right"]].set_visible(False)

"""What a private evaluation returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from privet.evaluation.intervals import CONFIDENCE, Interval
from privet.privacy.ledger import Ledger
from privet.schema.encoding import RangeTarget

FORMAT = "privet-private-evaluation"
MOST_CLASSES_SHOWN = 4  # with the confusion matrix and a calibration curve for each; all of it is in `to_dict`


@dataclass(frozen=True)
class CalibrationPoint:
    """Records with similar predicted shares of a class.

    Attributes
    ----------
    low, high : float
        The range of the shares.
    predicted : float
        About their mean.
    observed : Interval
        The share of these records that really are of the class.
    share : Interval
        The share of all records that are here.
    """

    low: float
    high: float
    predicted: float
    observed: Interval
    share: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "low": self.low,
            "high": self.high,
            "predicted": self.predicted,
            "observed": self.observed.to_dict(),
            "share": self.share.to_dict(),
        }


@dataclass(frozen=True)
class Shown:
    """A table to be read: its title, its header, its rows, and where columns of numbers begin."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: int


@dataclass(frozen=True)
class _Group:
    """Figures of one group of records.

    Attributes
    ----------
    name : str
        The category.
    share : Interval
        The share of all records that belong to it.
    rates : dict of str to Interval
        Figures by name.
    gaps : dict of str to Interval
        The same figures minus those of all other groups together.
    """

    name: str
    share: Interval
    rates: dict[str, Interval]
    gaps: dict[str, Interval]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "name": self.name,
            "share": self.share.to_dict(),
            "rates": {name: interval.to_dict() for name, interval in self.rates.items()},
            "gaps": {name: interval.to_dict() for name, interval in self.gaps.items()},
        }


class ClassGroup(_Group):
    """A group's accuracy and, for two classes, rates of positive predictions: of all, of true and of false ones."""


class NumberGroup(_Group):
    """A group's mean error (true minus predicted) and mean absolute error, in the target's units."""


@dataclass(frozen=True, repr=False)
class PrivateEvaluation(ABC):
    """Figures of a model on private records, with noise, and the ledger of what they cost.

    Attributes
    ----------
    privacy : Ledger
        What was spent, and the guarantee.
    records : Interval
        The number of records that took part.
    by : str or None
        The column whose groups are compared.
    """

    kind: ClassVar[str]

    privacy: Ledger
    records: Interval
    by: str | None

    @abstractmethod
    def measures(self) -> dict[str, Interval]:
        """Return the figures by name."""

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """Return all that is not a single figure, as plain data."""

    @property
    @abstractmethod
    def groups(self) -> tuple[_Group, ...]:
        """The figures of each group; empty if no column was named."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for a file. It may be published: it has the figures that were paid for, and no others."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "confidence": CONFIDENCE,
            "records": self.records.to_dict(),
            "measures": {name: interval.to_dict() for name, interval in self.measures().items()},
            **self.details(),
            "by": self.by,
            "groups": [group.to_dict() for group in self.groups],
            "privacy": self.privacy.to_dict(),
        }

    def rows(self) -> list[tuple[str, str, str]]:
        """Return name, value and interval of each figure, as text."""
        return [(name, *_texts(interval)) for name, interval in self.measures().items()]

    def group_rows(self) -> list[tuple[str, ...]]:
        """Return a line for each figure of each group: group, figure, value, interval, difference from all others."""
        lines: list[tuple[str, ...]] = []
        for group in self.groups:
            lines.append((group.name, "share of records", *_texts(group.share), ""))
            lines += [
                (group.name, name, *_texts(interval), _gap(group.gaps[name])) for name, interval in group.rates.items()
            ]
        return lines

    def tables(self) -> list[Shown]:
        """Return all that is worth reading as tables: the figures, what a subclass adds, and the groups."""
        found = [Shown("Figures", ("figure", "value", "95% interval"), self.rows(), 1)]
        if self.groups:
            header = (f"{self.by}", "figure", "value", "95% interval", "minus all others")
            found.append(Shown("By group", header, self.group_rows(), 2))
        return found

    def __str__(self) -> str:
        return "\n\n".join(_columns([shown.header, *shown.rows]) for shown in self.tables())

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        from privet.markup import card, paragraph, table
        from privet.privacy.text import guarantee_in_words

        parts = [
            table(shown.title, shown.header, shown.rows, numbers=frozenset(range(shown.numbers, len(shown.header))))
            for shown in self.tables()
        ]
        return card("Evaluation on private records", *parts, paragraph(guarantee_in_words(self.privacy)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={interval}" for name, interval in list(self.measures().items())[:2])
        return f"{type(self).__name__}({shown}, epsilon={self.privacy.epsilon:g})"


@dataclass(frozen=True, repr=False)
class PrivateClassEvaluation(PrivateEvaluation):
    """Figures of a classifier, each an `Interval`.

    Attributes
    ----------
    accuracy, balanced_accuracy : Interval
        The share of records that are predicted right; the same averaged over classes.
    auc : Interval
        The area under the ROC curve; with more than two classes, the mean of each class against the rest.
    log_loss : Interval
        The mean of minus the logarithm of the share of the true class; shares below 1/1000 count as 1/1000.
    recalls : dict of class to Interval
        For each class, the share of its records that are predicted right.
    confusion : tuple of tuples of Interval
        The share of all records that are of one class (row) and predicted as another (column).
    calibration : dict of class to tuple of CalibrationPoint
        How often records are of a class for which similar shares were predicted; of two classes, for the second.
    groups : tuple of ClassGroup
        Figures by group.
    """

    kind = "classes"

    accuracy: Interval
    balanced_accuracy: Interval
    auc: Interval
    log_loss: Interval
    recalls: dict[Any, Interval]
    confusion: tuple[tuple[Interval, ...], ...]
    calibration: dict[Any, tuple[CalibrationPoint, ...]]
    groups: tuple[ClassGroup, ...] = ()

    def measures(self) -> dict[str, Interval]:
        """Return the figures by name."""
        return {
            "accuracy": self.accuracy,
            "balanced accuracy": self.balanced_accuracy,
            "AUC": self.auc,
            "log loss": self.log_loss,
        }

    def tables(self) -> list[Shown]:
        """Return figures, confusion matrix, calibration curve and groups; of many classes the figures and groups."""
        figures, *groups = super().tables()
        if len(self.recalls) > MOST_CLASSES_SHOWN:
            return [figures, *groups]
        names = [str(label) for label in self.recalls]
        matrix = [
            (truth, *(_percent(interval) for interval in row)) for truth, row in zip(names, self.confusion, strict=True)
        ]
        confusion = Shown(
            "Confusion matrix", ("% of all records: true", *(f"predicted {name}" for name in names)), matrix, 1
        )
        header = ("share predicted for", "mean, %", "observed, %", "% of all records")
        points = [
            (
                f"{label}, {point.low:.3f} to {point.high:.3f}",
                f"{100 * point.predicted:.1f}",
                _percent(point.observed),
                _percent(point.share),
            )
            for label, curve in self.calibration.items()
            for point in curve
        ]
        return [figures, confusion, Shown("Calibration curve", header, points, 1), *groups]

    def details(self) -> dict[str, Any]:
        """Return recalls, confusion matrix and calibration, as plain data."""
        return {
            "recalls": [{"class": label, **interval.to_dict()} for label, interval in self.recalls.items()],
            "confusion": [[interval.to_dict() for interval in row] for row in self.confusion],
            "calibration": [
                {"class": label, "points": [point.to_dict() for point in points]}
                for label, points in self.calibration.items()
            ],
        }


@dataclass(frozen=True, repr=False)
class PrivateNumberEvaluation(PrivateEvaluation):
    """Figures of a regressor, each an `Interval`, in the target's units; targets beyond the declared range are clipped.

    Attributes
    ----------
    rmse, mae : Interval
        Root of the mean squared error, and mean absolute error.
    r_squared : Interval
        The part of the squared error of always guessing the mean that the model saves; an interval that begins at -1
        may go further down.
    mean, deviation : Interval
        Mean and standard deviation of the target.
    target : RangeTarget
        The declared range.
    groups : tuple of NumberGroup
        Figures by group.
    """

    kind = "number"

    rmse: Interval
    mae: Interval
    r_squared: Interval
    mean: Interval
    deviation: Interval
    target: RangeTarget
    groups: tuple[NumberGroup, ...] = ()

    def measures(self) -> dict[str, Interval]:
        """Return the figures by name."""
        return {
            "root mean squared error": self.rmse,
            "mean absolute error": self.mae,
            "R²": self.r_squared,
            "mean of the target": self.mean,
            "standard deviation of the target": self.deviation,
        }

    def details(self) -> dict[str, Any]:
        """Return the declared range of the target."""
        return {"range": [self.target.low, self.target.high]}


def _texts(interval: Interval) -> tuple[str, str]:
    """Return the value and both ends with as many digits as the interval is worth."""
    digits = max(0, min(5, 3 - _exponent(interval.width)))
    return f"{interval.value:,.{digits}f}", f"{interval.low:,.{digits}f} to {interval.high:,.{digits}f}"


def _percent(interval: Interval) -> str:
    return f"{100 * interval.value:.1f} ({100 * interval.low:.1f} to {100 * interval.high:.1f})"


def _gap(interval: Interval) -> str:
    digits = max(0, min(5, 3 - _exponent(interval.width)))
    return f"{interval.value:+,.{digits}f} ({interval.low:+,.{digits}f} to {interval.high:+,.{digits}f})"


def _exponent(width: float) -> int:
    return len(str(int(width))) if width >= 1 else 0


def _columns(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )

"""What a forecast says: a table over epsilon with a band, the smallest useful epsilon, the noise in people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privet.forecast.calibration import Calibration
from privet.forecast.noise import Noise, in_two_digits
from privet.markup import bullets, card, paragraph, table
from privet.writing import replace_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMAT = "privet-forecast"
WITHIN = 2.0  # points of loss up to which an epsilon is called useful
_DIGITS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
# Epsilons that are tried for the smallest useful one.
TRIED = (*(float(f"{digits * 10.0**power:.2g}") for power in (-2, -1, 0) for digits in _DIGITS), 10.0)
HEADER = ("epsilon", "expected loss", "likely between", "noise")

NOTHING_SPENT = "Made from public facts alone: no record was read, and nothing was spent."
LIMITS = (
    "How much your features say about the target is not known, and matters most: where the model without privacy is "
    "little better than a constant guess, there is little to lose; where it is far better, losses lie in the upper "
    "part of the band.",
    "How well the model without privacy does is not forecast, only how far a private one is likely to be below it.",
    "The number of rows and the shares of the classes are taken from you, or assumed.",
    "Columns of made-up records go together and are skewed in a way that yours may not be, and the data sets of the "
    "calibration are public ones with 240 to 15,000 training records.",
    "It is one fit's loss on fresh records. Rare groups may lose more than the average says.",
)


@dataclass(frozen=True)
class Curve:
    """Losses over the signal, which is the number of rows times epsilon; between its points they are interpolated.

    Attributes
    ----------
    signals : tuple of float
        From small to large.
    low, expected, high : tuple of float
        Losses in points.
    """

    signals: tuple[float, ...]
    low: tuple[float, ...]
    expected: tuple[float, ...]
    high: tuple[float, ...]

    def at(self, signal: float) -> tuple[float, float, float]:
        """Return expected, low and high loss at a signal; beyond the ends, those of the nearer end."""
        place, places = math.log10(signal), np.log10(self.signals)
        expected, low, high = (float(np.interp(place, places, line)) for line in (self.expected, self.low, self.high))
        return expected, low, high


@dataclass(frozen=True)
class Row:
    """The forecast at one epsilon.

    Attributes
    ----------
    epsilon : float
        What would be spent.
    expected, low, high : float
        Points of accuracy, or of R2 times 100, below the twin without privacy, and the ends of the band in which most
        losses lie; `Forecast.calibration` says how many did elsewhere. A negative loss is a gain: noise can keep a
        learner from overfitting.
    noise : Noise
        Its size in people.
    """

    epsilon: float
    expected: float
    low: float
    high: float
    noise: Noise

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The row as texts."""
        between = f"{self.low:.1f} to {self.high:.1f}"
        return (
            f"{self.epsilon:g}",
            f"{self.expected:.1f}",
            between,
            f"{in_two_digits(self.noise.people)} {self.noise.whom}",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        noise = {"what": self.noise.what, "size": self.noise.people, "whom": self.noise.whom}
        return {
            "epsilon": self.epsilon,
            "expected": self.expected,
            "low": self.low,
            "high": self.high,
            "noise": noise,
        }


@dataclass(frozen=True)
class Forecast:
    """What privacy would cost in accuracy, before anything is spent.

    Attributes
    ----------
    learner : str
        The estimator's name.
    n_rows : int
        The public guess at the number of records.
    delta : float
        As given.
    measure : str
        "accuracy", or "R2" for a regression target; losses are in points, hundredths of it.
    rows : tuple of Row
        One for each epsilon.
    curve : Curve
        Losses over the number of rows times epsilon.
    calibration : Calibration
        How losses on made-up records were translated, and how often the band held elsewhere.
    shares_given : bool
        Whether the classes' shares were given as public, and not assumed.
    doubt : str or None
        Why the schema is no public fact, if it was read off the data.
    """

    learner: str
    n_rows: int
    delta: float
    measure: str
    rows: tuple[Row, ...]
    curve: Curve
    calibration: Calibration
    shares_given: bool = False
    doubt: str | None = None

    def smallest_useful(self, within: float = WITHIN, *, surely: bool = False) -> float | None:
        """Return the smallest epsilon with an expected loss of at most so many points; None where 10 is too small.

        Parameters
        ----------
        within : float
            The loss that can be borne, in points.
        surely : bool
            Whether the upper end of the band must be that small, and not only the expected loss.
        """
        for epsilon in TRIED:
            expected, _, high = self.curve.at(self.n_rows * epsilon)
            if (high if surely else expected) <= within:
                return epsilon
        return None

    @property
    def subject(self) -> str:
        """Whom and what it is about."""
        guarantee = "pure epsilon" if self.delta == 0 else f"delta = {self.delta:g}"
        return f"{self.learner}, about {self.n_rows:,} records, {guarantee}"

    @property
    def sources(self) -> str:
        """What it was made from."""
        if self.doubt is None:
            return NOTHING_SPENT
        return f"Nothing was spent, but this was not made from public facts alone: {self.doubt}."

    @property
    def checked(self) -> str:
        """How often the band held elsewhere."""
        given = " That was with assumed shares of the classes; here they were given." if self.shares_given else ""
        return self.calibration.in_words + given

    @property
    def conclusions(self) -> list[str]:
        """What follows, in sentences."""
        useful, sure = self.smallest_useful(), self.smallest_useful(surely=True)
        first = (
            f"No epsilon up to 10 is expected to stay within {WITHIN:g} points of the model without privacy."
            if useful is None
            else f"From epsilon {useful:g} on, the loss is expected to be at most {WITHIN:g} points."
        )
        second = (
            f"No epsilon up to 10 makes that nearly certain: the band reaches higher than {WITHIN:g} points."
            if sure is None
            else f"From epsilon {sure:g} on, that is nearly certain: the whole band is below."
        )
        row = min(self.rows, key=lambda row: abs(math.log10(row.epsilon)))
        return [first, second, f"At epsilon {row.epsilon:g} {row.noise.in_words}."]

    def table(self) -> str:
        """Return the forecast as text."""
        rows = [HEADER, *(row.cells for row in self.rows)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(HEADER))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        about = f"{self.subject}: points of {self.measure} below the same learner without privacy"
        said = [*self.conclusions, "", self.sources, self.checked]
        return "\n".join([about, "", *lines, "", *said])

    def plot(self, target: str | Path | Axes | None = None) -> Axes:
        """Draw the expected loss and its band over epsilon.

        Parameters
        ----------
        target : str, Path or matplotlib Axes, optional
            A file to write, or the axes to draw on; new axes if omitted. Needs matplotlib.
        """
        from matplotlib import pyplot

        if target is not None and not isinstance(target, (str, Path)):
            self._draw(target)
            return target
        figure, axes = pyplot.subplots(figsize=(6.0, 3.6))
        self._draw(axes)
        if target is not None:
            replace_figure(target, figure, bbox_inches="tight")
            pyplot.close(figure)
        return axes

    def _draw(self, axes: Axes) -> None:
        epsilons = [row.epsilon for row in self.rows]
        lows, highs = [row.low for row in self.rows], [row.high for row in self.rows]
        axes.fill_between(epsilons, lows, highs, color="#0072B2", alpha=0.2, linewidth=0, label="likely")
        axes.plot(epsilons, [row.expected for row in self.rows], "o-", color="#0072B2", label="expected")
        axes.axhline(0, color="#000000", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlabel("epsilon")
        axes.set_ylabel(f"points of {self.measure} lost")
        axes.set_title(self.subject, loc="left", fontsize=10)
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        curve = self.curve
        return {
            "format": FORMAT,
            "learner": self.learner,
            "n_rows": self.n_rows,
            "delta": self.delta,
            "measure": self.measure,
            "rows": [row.to_dict() for row in self.rows],
            "smallest_useful_epsilon": self.smallest_useful(),
            "smallest_epsilon_surely_useful": self.smallest_useful(surely=True),
            "within_points": WITHIN,
            "curve": {
                "signals": curve.signals,
                "low": curve.low,
                "expected": curve.expected,
                "high": curve.high,
            },
            "checked": {
                "tasks": self.calibration.tasks,
                "pairs": self.calibration.pairs,
                "inside": self.calibration.inside,
            },
            "limits": list(LIMITS),
        }

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        """Show the forecast in a notebook."""
        cells: Sequence[tuple[str, ...]] = [row.cells for row in self.rows]
        caption = f"Points of {self.measure} below the same learner without privacy"
        return card(
            f"Forecast: {self.subject}",
            bullets(*self.conclusions),
            table(caption, HEADER, cells, numbers=frozenset({0, 1, 2, 3})),
            paragraph(self.sources, " ", self.checked),
        )

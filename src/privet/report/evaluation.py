"""How good a model is on records with known answers, and where that figure comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from math import floor, isfinite, log10
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError, SchemaError
from privet.estimators.files import file_content
from privet.frames.columns import read_values
from privet.markup import card, table
from privet.report.insight import plain
from privet.schema.encoding import RangeTarget

FORMAT = "privet-evaluation"
DIGITS = 3  # no figure names a number of records
GROUPS, FEWEST = 10, 20  # of the picture: how many groups, and how many records each has at least
BARS = 15  # of the picture of residuals


@dataclass(frozen=True)
class Evaluation(ABC):
    """Figures of one model on one table.

    Attributes
    ----------
    data : str
        The table's name.
    public : bool
        Whether somebody stated that its records are public.
    model_digest : str
        The digest of the model that was measured.
    """

    kind: ClassVar[str]

    data: str
    public: bool
    model_digest: str

    @abstractmethod
    def figures(self) -> list[tuple[str, str]]:
        """Return the figures with their names, as text."""

    def _repr_html_(self) -> str:
        """Show the figures in a notebook."""
        where = f"On {'public' if self.public else 'private'} records of {self.data}"
        return card("Evaluation", table(where, ["figure", "value"], self.figures(), numbers=frozenset({1})))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for a file."""
        return {"format": FORMAT, "kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class ClassEvaluation(Evaluation):
    """Figures of a classifier.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
        Share of records that are predicted right; the same averaged over classes.
    largest_class : float
        What always naming the most frequent class would reach.
    """

    kind = "classes"

    accuracy: float
    balanced_accuracy: float
    largest_class: float

    def figures(self) -> list[tuple[str, str]]:
        """Return the figures with their names, as text."""
        return [
            ("accuracy", f"{self.accuracy:.3f}"),
            ("accuracy, averaged over classes", f"{self.balanced_accuracy:.3f}"),
            ("always the most frequent class", f"{self.largest_class:.3f}"),
        ]


@dataclass(frozen=True)
class Group:
    """Records with similar predictions: the mean prediction, and quantiles of the true targets (10, 50 and 90%)."""

    predicted: float
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class RegressionEvaluation(Evaluation):
    """Figures of a regressor, in the target's units.

    Attributes
    ----------
    rmse, mae : float
        Root of the mean squared error, and mean absolute error.
    constant_rmse, constant_mae : float
        What the best constant guesses would reach: always the mean, always the median of these very records.
    r_squared : float
        The part of the squared error of always the mean that the model saves; below zero if it is worse than that.
    groups : tuple of Group
        Predicted against true targets; of public records only, and only where there are many.
    residual_width : float
        Residuals (true minus predicted) are counted in bars from minus to plus this; the outer ones have the rest.
    residual_shares : tuple of float
        The share of records in each bar; of public records only.
    """

    kind = "number"

    rmse: float
    mae: float
    constant_rmse: float
    constant_mae: float
    r_squared: float
    groups: tuple[Group, ...] = ()
    residual_width: float = 0.0
    residual_shares: tuple[float, ...] = ()

    def figures(self) -> list[tuple[str, str]]:
        """Return the figures with their names, as text."""
        return [
            ("root mean squared error", plain(self.rmse)),
            ("the same, always guessing the mean", plain(self.constant_rmse)),
            ("mean absolute error", plain(self.mae)),
            ("the same, always guessing the median", plain(self.constant_mae)),
            ("R² (1 is perfect, 0 is the mean's)", f"{self.r_squared:.3f}"),
        ]


def measure(estimator: Any, X: Any, y: Any, *, data: str, public: bool) -> Evaluation:
    """Measure a fitted estimator on records with known answers; records with an unknown one are left out.

    *Privacy.* None: the figures are exact up to rounding. They are private unless the records are public.
    """
    digest = str(file_content(estimator)["digest"])
    provenance: dict[str, Any] = {"data": data, "public": public, "model_digest": digest}
    target = estimator.model_.encoding.target
    if isinstance(target, RangeTarget):
        return _measure_regression(estimator.predict(X), _numbers(y), target, provenance)
    truth = target.encode(read_values(y))
    known = truth >= 0
    if not known.any():
        raise SchemaError("no record has a label that the model knows; check --target and the labels")
    guess = estimator.decided(estimator.predict_proba(X))[known]
    truth = truth[known]
    recalls = [float((guess[truth == label] == label).mean()) for label in np.unique(truth)]
    return ClassEvaluation(
        **provenance,
        accuracy=round(float((guess == truth).mean()), DIGITS),
        balanced_accuracy=round(float(np.mean(recalls)), DIGITS),
        largest_class=round(float(np.bincount(truth).max() / len(truth)), DIGITS),
    )


def _numbers(y: Any) -> NDArray[np.float64]:
    """Return the true targets as they are, not clipped to the model's range; NaN where there is none."""
    values = read_values(y)
    if values.kind in ("string", "date", "unsupported"):
        raise SchemaError(f"the model predicts a numeric target, but the dtype is {values.dtype}; check --target")
    numbers = values.numbers().astype(np.float64)
    return numbers if values.absent is None else np.where(values.absent, np.nan, numbers)


def _measure_regression(
    guess: NDArray[np.float64], truth: NDArray[np.float64], target: RangeTarget, provenance: dict[str, Any]
) -> RegressionEvaluation:
    known = np.isfinite(truth)
    if not known.any():
        raise SchemaError("no record has a number as its target; check --target")
    guess, truth = guess[known], truth[known]
    decimals = 1 + DIGITS - floor(log10(target.high - target.low))  # a thousandth of the range, or finer
    errors = truth - guess
    squares, spread = float((errors**2).mean()), float(truth.var())
    r_squared = 1 - squares / spread if spread > 0 else 0.0
    pictures: dict[str, Any] = {}
    if provenance["public"]:
        width = round(float(np.quantile(np.abs(errors), 0.98)), decimals)
        pictures = {
            "groups": _groups(guess, truth, decimals),
            "residual_width": width,
            "residual_shares": _shares(errors, width),
        }
    return RegressionEvaluation(
        **provenance,
        rmse=round(squares**0.5, decimals),
        mae=round(float(np.abs(errors).mean()), decimals),
        constant_rmse=round(spread**0.5, decimals),
        constant_mae=round(float(np.abs(truth - np.median(truth)).mean()), decimals),
        r_squared=round(r_squared, DIGITS),
        **pictures,
    )


def _groups(guess: NDArray[np.float64], truth: NDArray[np.float64], decimals: int) -> tuple[Group, ...]:
    """Put records with similar predictions together; equal predictions stay together."""
    number = min(GROUPS, len(guess) // FEWEST)
    borders = np.unique(np.quantile(guess, np.linspace(0, 1, number + 1)[1:-1])) if number > 1 else np.zeros(0)
    of = np.searchsorted(borders, guess, side="right")
    found = []
    for group in range(len(borders) + 1 if number else 0):
        inside = of == group
        if inside.sum() >= FEWEST:
            figures = [float(guess[inside].mean()), *np.quantile(truth[inside], [0.1, 0.5, 0.9]).tolist()]
            found.append(Group(*(round(figure, decimals) for figure in figures)))
    return tuple(found)


def _shares(errors: NDArray[np.float64], width: float) -> tuple[float, ...]:
    if width <= 0:
        return ()
    places = np.clip(np.floor((errors / width + 1) / 2 * BARS), 0, BARS - 1).astype(np.int64)
    return tuple(round(float(share), DIGITS) for share in np.bincount(places, minlength=BARS) / len(errors))


def evaluation_from_dict(content: Any) -> Evaluation:
    """Read an evaluation back, every value checked."""
    try:
        if content["format"] != FORMAT:
            raise ParameterError("not an evaluation; make one with `privet evaluate -o`")
        texts = {name: content[name] for name in ("data", "model_digest")}
        sound = all(isinstance(text, str) for text in texts.values()) and isinstance(content["public"], bool)
        provenance = {**texts, "public": content["public"]}
        of_number = content.get("kind") == "number"
        evaluation = _number_from_dict(content, provenance) if of_number else _classes_from_dict(content, provenance)
        if not sound or evaluation is None:
            raise ParameterError("a value of the evaluation is not as it must be; make it again")
        return evaluation
    except (AttributeError, KeyError, TypeError) as error:
        raise ParameterError(
            f"not an evaluation ({type(error).__name__}); make one with `privet evaluate -o`"
        ) from error


def _classes_from_dict(content: Any, provenance: dict[str, Any]) -> Evaluation | None:
    figures = {name: content[name] for name in ("accuracy", "balanced_accuracy", "largest_class")}
    sound = all(_is_finite_number(value) and 0 <= value <= 1 for value in figures.values())
    return ClassEvaluation(**provenance, **figures) if sound else None


def _number_from_dict(content: Any, provenance: dict[str, Any]) -> Evaluation | None:
    names = ("rmse", "mae", "constant_rmse", "constant_mae", "r_squared", "residual_width")
    figures = {name: content[name] for name in names}
    groups = tuple(Group(**group) for group in content["groups"])
    shares = tuple(content["residual_shares"])
    inner = [number for group in groups for number in asdict(group).values()]
    sound = all(_is_finite_number(value) for value in (*figures.values(), *shares, *inner))
    sound = sound and len(groups) <= GROUPS and len(shares) in (0, BARS)
    return RegressionEvaluation(**provenance, **figures, groups=groups, residual_shares=shares) if sound else None


def _is_finite_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)

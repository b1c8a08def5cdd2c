"""How good a model is on records with known labels, and where that figure comes from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privet.errors import ParameterError, SchemaError
from privet.model_files import file_content

FORMAT = "privet-evaluation"
DIGITS = 3  # no figure names a number of records


@dataclass(frozen=True)
class Evaluation:
    """Figures of one model on one table.

    Attributes
    ----------
    accuracy, balanced_accuracy : float
        Share of records that are predicted right; the same averaged over classes.
    largest_class : float
        What always naming the most frequent class would reach.
    data : str
        The table's name.
    public : bool
        Whether somebody stated that its records are public.
    model_digest : str
        The digest of the model that was measured.
    """

    accuracy: float
    balanced_accuracy: float
    largest_class: float
    data: str
    public: bool
    model_digest: str

    def figures(self) -> list[tuple[str, float]]:
        """Return the figures with their names."""
        return [
            ("accuracy", self.accuracy),
            ("accuracy, averaged over classes", self.balanced_accuracy),
            ("always the most frequent class", self.largest_class),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, for a file."""
        return {"format": FORMAT, **asdict(self)}


def measure(estimator: Any, X: Any, y: Any, *, data: str, public: bool) -> Evaluation:
    """Measure a fitted estimator on records with known labels; records with an unknown label are left out.

    *Privacy.* None: the figures are exact up to rounding. They are private unless the records are public.
    """
    truth = estimator.model_.encoding.encode_target(y)
    known = truth >= 0
    if not known.any():
        raise SchemaError("no record has a label that the model knows; check --target and the labels")
    guess = estimator.predict_proba(X).argmax(axis=1)[known]
    truth = truth[known]
    present = np.unique(truth)
    recalls = [float((guess[truth == label] == label).mean()) for label in present]
    return Evaluation(
        round(float((guess == truth).mean()), DIGITS),
        round(float(np.mean(recalls)), DIGITS),
        round(float(np.bincount(truth).max() / len(truth)), DIGITS),
        data,
        public,
        str(file_content(estimator)["digest"]),
    )


def evaluation_from_dict(content: Any) -> Evaluation:
    """Read an evaluation back, every value checked."""
    try:
        if content["format"] != FORMAT:
            raise ParameterError("not an evaluation; make one with `privet evaluate -o`")
        figures = [content[name] for name in ("accuracy", "balanced_accuracy", "largest_class")]
        texts = [content[name] for name in ("data", "model_digest")]
        sound = all(type(value) in (int, float) and 0 <= value <= 1 for value in figures)
        if not sound or not all(isinstance(text, str) for text in texts) or not isinstance(content["public"], bool):
            raise ParameterError("a value of the evaluation is not as it must be; make it again")
        accuracy, balanced, largest = figures
        return Evaluation(accuracy, balanced, largest, texts[0], content["public"], texts[1])
    except (KeyError, TypeError) as error:
        raise ParameterError(
            f"not an evaluation ({type(error).__name__}); make one with `privet evaluate -o`"
        ) from error

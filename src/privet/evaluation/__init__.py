"""Private evaluation: figures of a fitted model on private records, each with an interval, charged like a fit."""

from privet.evaluation.intervals import Interval
from privet.evaluation.measuring import evaluate
from privet.evaluation.results import (
    CalibrationPoint,
    ClassGroup,
    NumberGroup,
    PrivateClassEvaluation,
    PrivateEvaluation,
    PrivateNumberEvaluation,
)

__all__ = [
    "CalibrationPoint",
    "ClassGroup",
    "Interval",
    "NumberGroup",
    "PrivateClassEvaluation",
    "PrivateEvaluation",
    "PrivateNumberEvaluation",
    "evaluate",
]

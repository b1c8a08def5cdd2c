"""What a method of the arena is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from arena.data import Problem, Task


class MethodError(RuntimeError):
    """A method could not answer; the cell stays empty, and the page says how many did."""


@dataclass(frozen=True)
class Answer:
    """What a method says of the test records, a share for each class or a number, and the seconds of its fit."""

    prediction: np.ndarray
    seconds: float


class Method(Protocol):
    """A learner with its settings."""

    @property
    def name(self) -> str:
        """As tables show it."""

    @property
    def rivals(self) -> str:
        """Whom it is ranked against: "approximate", "pure", or "none" for a ceiling without privacy."""

    def can(self, problem: Problem | Task) -> bool:
        """Whether it can learn this problem, or what this task asks for, at all."""

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train on one split at one epsilon."""

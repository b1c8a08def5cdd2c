"""Noise that has a pure epsilon: Laplace and cube noise. What it loses is a distance over its scale."""

from __future__ import annotations

from fractions import Fraction

from privet.privacy.cube_law import largest_group_norm
from privet.privacy.events import Event, Mechanism
from privet.tables.protocol import IntArray

PURE_NOISE = frozenset({Mechanism.LAPLACE, Mechanism.CUBE})


def length(event: Event, moved: IntArray) -> int:
    """Return how far numbers moved, in the norm of the noise: L1, or the largest L1 norm of a group."""
    if event.groups is not None:
        return largest_group_norm(moved, event.groups)
    return sum(abs(number) for number in moved.ravel().tolist())


def pure_loss(event: Event, moved: IntArray) -> float:
    """Return the largest log-ratio of an outcome where the numbers under pure noise moved so far."""
    return float(Fraction(length(event, moved)) / event.parameter)

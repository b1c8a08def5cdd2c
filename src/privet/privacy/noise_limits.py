"""How large noise can be that is drawn exactly. A plan that asks for more is refused before anything is charged."""

from __future__ import annotations

from fractions import Fraction

from privet.errors import ParameterError

LARGEST_SCALE = 2**50


def check_can_be_drawn(name: str, scale: Fraction, n_numbers: int = 0) -> None:
    """Raise an error for noise whose scale, times one more than there are numbers of a joint draw, is too large.

    Examples
    --------
    >>> check_can_be_drawn("counts", Fraction(2**50))
    >>> check_can_be_drawn("counts", Fraction(2**50), 1)
    Traceback (most recent call last):
    privet.errors.ParameterError: counts: noise of scale 1.13e+15 is more than can be drawn; give a larger epsilon, ...
    """
    if scale * (n_numbers + 1) > LARGEST_SCALE:
        raise ParameterError(
            f"{name}: noise of scale {float(scale):.3g} is more than can be drawn; give a larger epsilon, since with "
            "this one nothing but noise would be released"
        )

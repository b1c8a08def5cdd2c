"""Whether measurements support an answer, decided exactly.

``W A+ z`` is an unbiased answer to W, and free of anything but the measurements, only if every row of W is a
combination of rows of A. With W = I and A = [1 1] the printed form ``W D + W A+ z`` releases the difference of two
counts without noise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray


def supports(strategy: NDArray[Any], workload: NDArray[Any]) -> bool:
    """Return whether the strategy's rows span every row of the workload.

    That is whether ``W A+ A = W``, in rational arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> supports(np.array([[1, 1]]), np.eye(2, dtype=int))
    False
    >>> supports(np.array([[1, 1], [1, -1]]), np.eye(2, dtype=int))
    True
    """
    basis: dict[int, list[Fraction]] = {}
    for row in strategy.tolist():
        rest = _reduce([Fraction(entry) for entry in row], basis)
        lead = next((place for place, entry in enumerate(rest) if entry), None)
        if lead is not None:
            basis[lead] = [entry / rest[lead] for entry in rest]
    rows = {tuple(row) for row in workload.tolist()}
    return not any(any(_reduce([Fraction(entry) for entry in row], basis)) for row in rows)


def _reduce(row: list[Fraction], basis: dict[int, list[Fraction]]) -> list[Fraction]:
    """Subtract what the basis rows span; each basis row starts with a one at its key."""
    for lead in sorted(basis):
        if row[lead]:
            factor = row[lead]
            row = [entry - factor * other for entry, other in zip(row, basis[lead], strict=True)]
    return row

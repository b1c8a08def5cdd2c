"""Axes for pictures of models: a feature's own grid with round numbers on it, and round numbers of any range."""

from __future__ import annotations

import math

import numpy as np

from privet.schema.encoding import Column
from privet.schema.readings import Whole

CLOSEST = 0.1  # of the axis, between two numbers on it


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """Return up to `most` round numbers within a range, evenly spaced.

    Examples
    --------
    >>> round_numbers(-1.3, 2.2)
    [-1.0, 0.0, 1.0, 2.0]
    >>> round_numbers(17, 90, 3)
    [50.0]
    """
    if not low < high:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        numbers = [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if len(numbers) <= most:
            return [round(number, 12) + 0.0 for number in numbers]
    return []


def few_digits(number: float, width: float) -> str:
    """Return a number with as many digits as tell apart a thousandth of a range of this width.

    Examples
    --------
    >>> few_digits(38.5813, 73), few_digits(241312.4, 500_000), few_digits(0.12345, 1)
    ('38.58', '241300', '0.123')
    """
    decimals = math.ceil(3 - math.log10(width))
    return f"{round(number, decimals):.{max(decimals, 0)}f}"


def grid_ticks(column: Column, most: int = 4) -> list[tuple[float, str]]:
    """Return places from 0 to 1 on a numeric feature's grid, and round numbers for them.

    The grid is the schema's own: equal steps, equal ratios, or given edges. Pictures are drawn on it, so that a step
    has the width that the schema gives it.
    """
    if len(column.cuts) <= most + 1:
        return [
            (place / column.n_values, column.cut_in_words(cut) or short(cut))
            for place, cut in enumerate(column.cuts, 1)
        ]
    if column.reading is not None and not isinstance(column.reading, Whole):  # round numbers of days mean nothing
        chosen = np.linspace(0, len(column.cuts) - 1, most + 2)[1:-1].round().astype(int).tolist()
        return [((cut + 1) / column.n_values, str(column.cut_in_words(column.cuts[cut]))) for cut in chosen]
    cuts, places = np.array(column.cuts), np.arange(1, column.n_values) / column.n_values
    middle = float(np.interp((cuts[0] + cuts[-1]) / 2, cuts, places))
    if abs(middle - 0.5) < 0.05:
        numbers = round_numbers(float(cuts[0]), float(cuts[-1]), most)
    elif cuts[0] > 0 and cuts[-1] >= 100 * cuts[0]:
        powers = range(math.ceil(math.log10(cuts[0])), math.floor(math.log10(cuts[-1])) + 1)
        numbers = [10.0**power for power in powers[:: -(-len(powers) // most)]]
    else:
        spread = np.interp(np.linspace(places[0], places[-1], most + 2)[1:-1], places, cuts)
        numbers = sorted({float(f"{number:.2g}") for number in spread.tolist()})
    inside = [number for number in numbers if cuts[0] <= number <= cuts[-1]]
    found = list[tuple[float, str]]()
    for number in inside:
        place = float(np.interp(number, cuts, places))
        if not found or place - found[-1][0] >= CLOSEST:
            found.append((place, column.cut_in_words(number) or short(number)))
    return found


def shortened(text: str, most: int) -> str:
    """Return a text with its middle left out where it is too long: beginnings alone may be alike.

    Examples
    --------
    >>> shortened("Married-spouse-absent", 15), shortened("Divorced", 15)
    ('Married-…absent', 'Divorced')
    """
    end = (most - 1) * 3 // 7
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def short(number: float) -> str:
    """Return a number in few letters.

    Examples
    --------
    >>> short(1_500_000), short(20_000), short(0.25), short(1987)
    ('1.5M', '20k', '0.25', '1987')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 10 * size or (abs(number) >= size and size > 1e3):
            return f"{number / size:.3g}{letter}"
    return f"{number:.4g}"

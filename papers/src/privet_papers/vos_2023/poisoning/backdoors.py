"""Backdoors (BadNets; Gu, Dolan-Gavitt, Garg 2017): a trigger in the corner of an image that flips its class.

The attacker copies images of one class, stamps the trigger on the copies, labels them as another class, and adds them
to the training data. The attack succeeds on a test image if the trigger alone turns the prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.parameters import RandomState, check_whole, public_rng
from privet_papers.vos_2023.poisoning.attacks import Poisoned

_PATTERN = ((1, 1), (2, 2), (1, 3), (3, 1))  # rows and columns from the bottom-right corner, without a margin


@dataclass(frozen=True)
class Trigger:
    """Pixels that are set to a value.

    Parameters
    ----------
    pixels : tuple of int
        Columns of the flattened image.
    value : float
        What they are set to.
    """

    pixels: tuple[int, ...]
    value: float

    @classmethod
    def bottom_right(cls, height: int = 28, width: int = 28, value: float = 255, *, margin: int = 1) -> Trigger:
        """Return the pattern of BadNets: four bright pixels in the bottom-right corner.

        Parameters
        ----------
        height, width : int
            Of the images.
        value : float
            What the pixels are set to.
        margin : int, default=1
            How many rows and columns lie between the pattern and the edge: one in BadNets, none in the code of Vos et
            al.

        Examples
        --------
        >>> Trigger.bottom_right().pixels
        (754, 725, 752, 698)
        """
        if min(height, width) < 3 + margin:
            least = f"{3 + margin} by {3 + margin}"
            raise ParameterError(f"images must be at least {least} for the trigger, got {height} by {width}")
        places = [(height - margin - down, width - margin - right) for down, right in _PATTERN]
        return cls(tuple(row * width + column for row, column in places), value)

    def stamp(self, images: Any) -> NDArray[Any]:
        """Return copies of the images (rows of flattened pixels) with the trigger."""
        stamped = np.array(images)
        stamped[:, list(self.pixels)] = self.value
        return stamped


def plant_backdoor(
    X: Any,
    y: Any,
    n_poisoned: int,
    trigger: Trigger,
    *,
    source: Any,
    target: Any,
    random_state: RandomState = None,
) -> Poisoned:
    """Add copies of `source` images with the trigger, labelled `target`.

    Parameters
    ----------
    X, y : array of flattened images, labels
        The clean training data.
    n_poisoned : int
        How many copies to add.
    trigger : Trigger
        What is stamped on them.
    source, target
        The class whose images are to be taken for the other.
    random_state : int, Generator or None
        Chooses the images.
    """
    images, labels = np.asarray(X), np.asarray(y)
    originals = np.flatnonzero(labels == source)
    check_whole("n_poisoned", n_poisoned, 0, len(originals))
    chosen = public_rng(random_state).choice(originals, n_poisoned, replace=False)
    return Poisoned(
        np.concatenate([images, trigger.stamp(images[chosen])]),
        np.concatenate([labels, np.full(n_poisoned, target, dtype=labels.dtype)]),
        n_poisoned,
        "added_or_removed",
    )


def attack_success_rate(model: Any, X_test: Any, y_test: Any, trigger: Trigger, *, source: Any, target: Any) -> float:
    """Return the share of `source` test images that the model takes for `target` once they carry the trigger."""
    images = np.asarray(X_test)[np.asarray(y_test) == source]
    if not len(images):
        raise ParameterError(f"no test image has the class {source!r}: give some, or another source")
    return float(np.mean(np.asarray(model.predict(trigger.stamp(images))) == target))


def resistance(X_test: Any, y_test: Any, trigger: Trigger, *, source: Any, target: Any) -> Callable[[Any], float]:
    """Return the score that `certify` bounds from below: one minus the success rate of a backdoor."""

    def score(model: Any) -> float:
        return 1.0 - attack_success_rate(model, X_test, y_test, trigger, source=source, target=target)

    return score

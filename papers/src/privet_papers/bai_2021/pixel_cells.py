"""What Figures 3 and 4 of Bai et al. (2021) compute: which pixels of an image belong to objects.

The paper's aerial images are not to be had. In their place stands the image of coins that scikit-image ships, and in
place of labels by hand the segmentation of its tutorial: watersheds of the gradient from dark and bright markers.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import NonPrivateWarning
from privet.parameters import public_rng
from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet_papers.bai_2021.cells import BREIMAN, METHODS, make

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder
    from privet_papers.framework.entry import Result, Settings

RADIUS = 24  # of the local binary pattern, as in the paper
WINDOW = 9  # pixels around each one, for Haralick's features
LEVELS = 8  # of grey
DARK, BRIGHT = 30, 150  # markers of the tutorial
SHRUNK = 3  # the picture of Figure 4 has every third pixel
NAMES = (*METHODS, BREIMAN)

Image = NDArray[np.float64]


@lru_cache(maxsize=1)
def pixels() -> tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.float64]]:
    """Return the image, the truth (object or not), and the features of each pixel on the last axis."""
    from skimage import data, feature, filters, segmentation

    grey = data.coins()
    markers = np.where(grey < DARK, 1, np.where(grey > BRIGHT, 2, 0))
    truth = segmentation.watershed(filters.sobel(grey), markers) == 2
    pattern = feature.local_binary_pattern(grey, 8, RADIUS, "uniform")
    # The image has no colours: its red, green and blue are one.
    return grey, truth, np.dstack([grey.astype(np.float64), pattern, *haralick(grey)])


def haralick(grey: NDArray[Any]) -> list[Image]:
    """Return eight features of the co-occurrence of grey levels of neighbours, in a window around each pixel.

    Angular second moment, contrast, correlation, entropy, homogeneity, mean, variance and standard deviation, of pairs
    of a pixel and the one to its right.
    """
    from scipy.ndimage import uniform_filter

    level = grey.astype(np.int64) * LEVELS // 256
    right = np.roll(level, -1, axis=1)
    moment, contrast, entropy, homogeneity = (np.zeros(grey.shape) for _ in range(4))
    mean, other_mean, square, other_square, product = (np.zeros(grey.shape) for _ in range(5))
    for i in range(LEVELS):
        for j in range(LEVELS):
            share = uniform_filter(((level == i) & (right == j)).astype(np.float64), WINDOW)
            share = np.maximum(share, 0.0)
            moment += share**2
            contrast += share * (i - j) ** 2
            entropy -= share * np.log(np.maximum(share, 1e-12))
            homogeneity += share / (1 + (i - j) ** 2)
            mean += share * i
            other_mean += share * j
            square += share * i * i
            other_square += share * j * j
            product += share * i * j
    variance = np.maximum(square - mean**2, 0.0)
    other_variance = np.maximum(other_square - other_mean**2, 0.0)
    spread = np.sqrt(variance * other_variance)
    correlation = np.where(spread > 1e-9, (product - mean * other_mean) / np.maximum(spread, 1e-9), 1.0)
    return [moment, contrast, correlation, entropy, homogeneity, mean, variance, np.sqrt(variance)]


def segment(settings: Settings, data: DataFolder) -> Result:
    """Train on pixels of the left half, test on the right: accuracy, intersection over union, and the map if asked."""
    grey, truth, features = pixels()
    half = grey.shape[1] // 2
    X, y = features[:, :half].reshape(-1, features.shape[2]), truth[:, :half].ravel()
    chosen = public_rng(settings["seed"]).permutation(len(y))[: settings["n_train"]]
    bounds = [(float(column.min()), float(column.max())) for column in features.reshape(-1, features.shape[2]).T]
    schema = Schema(
        {f"f{j}": Numeric(low, high, bins=255) for j, (low, high) in enumerate(bounds)}, classes=[False, True]
    )
    model = make(settings["method"], schema, settings["seed"], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NonPrivateWarning)
        model.fit(X[chosen], y[chosen])
    right = features[:, half:]
    predicted = np.asarray(model.predict(right.reshape(-1, right.shape[2])), dtype=bool).reshape(right.shape[:2])
    actual = truth[:, half:]
    result: Result = {
        "accuracy": float((predicted == actual).mean()),
        "iou": float((predicted & actual).sum() / (predicted | actual).sum()),
    }
    if settings.get("map"):
        shares = model.predict_proba(right.reshape(-1, right.shape[2]))[:, 1].reshape(right.shape[:2])
        # One line of text for each line of pixels, a digit for each pixel.
        panels = {"grey": grey[:, half:] / 256, "truth": actual.astype(np.float64), "share": shares}
        result["map"] = {name: _digits(panel[::SHRUNK, ::SHRUNK]) for name, panel in panels.items()}
    return result


def _digits(panel: Image) -> list[str]:
    """Return a panel of numbers from 0 to 1 as lines of digits from 0 to 9."""
    return ["".join(map(str, line)) for line in np.minimum(panel * 10, 9).astype(int).tolist()]

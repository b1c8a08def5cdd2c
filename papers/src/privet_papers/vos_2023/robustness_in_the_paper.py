"""Figures that Vos et al. (2023) print for robustness: mean accuracy, and the guarantee at 0.1, 0.5 and 1% poisoned."""

PRIVATREE, REGRESSION = "PrivaTree", "diffprivlib LR"

# Table III; (data, method, epsilon) -> accuracy and guarantees
PRINTED_TABLE_3: dict[tuple[str, str, float], tuple[float | None, ...]] = {
    ("MagicTelescope", PRIVATREE, 0.01): (0.652, 0.59, 0.384, 0.224),
    ("MagicTelescope", PRIVATREE, 0.1): (0.738, 0.271, 0.004, 0.0),
    ("MagicTelescope", REGRESSION, 0.01): (0.598, 0.541, 0.352, None),
    ("MagicTelescope", REGRESSION, 0.1): (0.662, 0.243, 0.003, 0.0),
    ("california", PRIVATREE, 0.01): (0.699, 0.595, 0.308, 0.134),
    ("california", PRIVATREE, 0.1): (0.762, 0.154, 0.0, 0.0),
    ("california", REGRESSION, 0.01): (0.509, 0.434, 0.224, None),
    ("california", REGRESSION, 0.1): (0.564, 0.114, 0.0, 0.0),
    ("covertype", PRIVATREE, 0.01): (0.729, 0.008, 0.0, 0.0),
    ("covertype", PRIVATREE, 0.1): (0.747, 0.0, 0.0, 0.0),
    ("covertype", REGRESSION, 0.01): (0.574, 0.006, 0.0, None),
    ("covertype", REGRESSION, 0.1): (0.615, 0.0, 0.0, 0.0),
    ("pol", PRIVATREE, 0.01): (0.58, 0.535, 0.389, 0.261),
    ("pol", PRIVATREE, 0.1): (0.859, 0.386, 0.016, 0.0),
    ("pol", REGRESSION, 0.01): (0.477, 0.44, 0.32, None),
    ("pol", REGRESSION, 0.1): (0.635, 0.285, 0.012, 0.0),
}

# Table VIII; None where the paper has a dash, or a figure is not legible
PRINTED_TABLE_8: dict[tuple[str, str, float], tuple[float | None, ...]] = {
    ("compas-two-years", PRIVATREE, 0.01): (0.53, 0.51, 0.44, 0.36),
    ("compas-two-years", PRIVATREE, 0.1): (0.61, 0.46, 0.09, 0.01),
    ("compas-two-years", REGRESSION, 0.01): (0.5, 0.48, 0.41, None),
    ("compas-two-years", REGRESSION, 0.1): (0.47, 0.35, 0.07, 0.01),
    ("adult", PRIVATREE, 0.01): (0.77, 0.54, 0.13, 0.02),
    ("adult", PRIVATREE, 0.1): (0.82, 0.02, 0.0, 0.0),
    ("adult", REGRESSION, 0.01): (0.58, 0.4, 0.1, None),
    ("adult", REGRESSION, 0.1): (0.76, 0.02, 0.0, 0.0),
    ("breast-w", PRIVATREE, 0.01): (0.69, 0.69, 0.68, 0.66),
    ("breast-w", PRIVATREE, 0.1): (0.89, 0.89, 0.73, 0.54),
    ("breast-w", REGRESSION, 0.01): (0.45, 0.45, 0.44, None),
    ("breast-w", REGRESSION, 0.1): (0.73, 0.73, 0.6, 0.44),
    ("diabetes", PRIVATREE, 0.01): (0.63, None, 0.61, 0.59),
    ("diabetes", PRIVATREE, 0.1): (0.66, None, 0.49, 0.36),
    ("diabetes", REGRESSION, 0.01): (0.55, None, 0.53, None),
    ("diabetes", REGRESSION, 0.1): (0.62, None, 0.46, 0.34),
    ("mushroom", PRIVATREE, 0.01): (0.87, 0.83, 0.7, 0.55),
    ("mushroom", PRIVATREE, 0.1): (0.98, 0.66, 0.11, 0.01),
    ("mushroom", REGRESSION, 0.01): (0.48, 0.46, 0.39, None),
    ("mushroom", REGRESSION, 0.1): (0.59, 0.39, 0.07, 0.01),
    ("nursery", PRIVATREE, 0.01): (1.0, 0.9, 0.6, 0.36),
    ("nursery", PRIVATREE, 0.1): (1.0, 0.37, 0.01, 0.0),
    ("nursery", REGRESSION, 0.01): (0.61, 0.55, 0.37, None),
    ("nursery", REGRESSION, 0.1): (0.95, 0.35, 0.01, 0.0),
    ("vote", PRIVATREE, 0.01): (0.57, None, 0.57, 0.57),
    ("vote", PRIVATREE, 0.1): (0.75, None, 0.75, 0.68),
    ("vote", REGRESSION, 0.01): (0.21, None, 0.21, None),
    ("vote", REGRESSION, 0.1): (0.55, None, 0.55, 0.5),
}

# Section VI.C; (epsilon, poisoned) -> clean test accuracy on MNIST 0 against 1
PRINTED_FIG_4: dict[tuple[float | None, int], float | str] = {(None, 0): 0.995, (0.1, 0): 0.987, (0.01, 0): 0.974}

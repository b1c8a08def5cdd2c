"""Numbers that Tajima, Wu and Houmansadr (2025) print in table 2 of their appendix, by our names of the methods."""

ACCURACIES_OF_TABLE_2 = {
    "without privacy, hard": 0.789,
    "batch training, hard": 0.735,
    "batch training, weight": 0.735,
    "batch training, q = 2": 0.810,
    "batch prediction, all 346 points": 0.793,
    "batch prediction, q = 2": 0.809,
    "subsample and aggregate, weight": 0.749,
    "subsample and aggregate, p-identity": 0.749,
    "subsample and aggregate, q = 2": 0.763,
    "subsample and aggregate, per query (baseline)": 0.25,
}
# By phase; wall time on up to 8 threads.
SECONDS_OF_TABLE_2: dict[str, dict[str, float | str]] = {
    "build": {
        "without privacy, hard": 17.61,
        "batch training, hard": 17.61,
        "batch training, q = 2": 17.07,
        "batch prediction, all 346 points": 17.61,
        "batch prediction, q = 2": 17.07,
        "subsample and aggregate, p-identity": 0.71,
        "subsample and aggregate, q = 2": 0.84,
    },
    "optimise": {
        "without privacy, hard": "N/A",
        "batch training, hard": 322.2,
        "batch training, q = 2": 84.97,
        "batch prediction, all 346 points": 336.6,
        "batch prediction, q = 2": 19.93,
        "subsample and aggregate, p-identity": 0.44,
        "subsample and aggregate, q = 2": 0.66,
    },
    "train": {
        "without privacy, hard": 14.97,
        "batch training, hard": 15.12,
        "batch training, q = 2": 14.96,
        "batch prediction, all 346 points": 15.20,
        "batch prediction, q = 2": 14.83,
        "subsample and aggregate, p-identity": 0.64,
        "subsample and aggregate, q = 2": 0.72,
    },
    "predict": {
        "without privacy, hard": 2.42,
        "batch training, hard": 2.40,
        "batch training, q = 2": 2.54,
        "batch prediction, all 346 points": 2.53,
        "batch prediction, q = 2": 2.63,
        "subsample and aggregate, p-identity": 0.34,
        "subsample and aggregate, q = 2": 0.50,
    },
}

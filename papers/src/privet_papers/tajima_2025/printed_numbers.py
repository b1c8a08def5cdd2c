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
SECONDS_OF_TABLE_2: dict[str, float | str] = {
    "without privacy, hard": "N/A",
    "batch training, hard": 322.2,
    "batch training, q = 2": 84.97,
    "batch prediction, all 346 points": 336.6,
    "batch prediction, q = 2": 19.93,
    "subsample and aggregate, p-identity": 0.44,
    "subsample and aggregate, q = 2": 0.66,
}

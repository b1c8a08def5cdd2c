"""The data sets of Bai et al. (2021), encoded so finely that every value has a code of its own, and their folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.schema.domains import Numeric
from privet.schema.schema import Schema

if TYPE_CHECKING:
    from privet_papers.framework.data import DataFolder, DataSet
    from privet_papers.framework.entry import Settings

N_FOLDS = 10
# The paper's name -> file
FILES = {
    "Zoo": "zoo",
    "Hayes": "hayes_roth",
    "Echo": "echocardiogram",
    "Hepatitis": "hepatitis",
    "Wine": "wine",
    "Wdbc": "wdbc",
    "Transfusion": "transfusion",
    "Vehicle": "vehicle",
    "Tic-tac-toe": "tic_tac_toe",
    "Mammo": "mammographic",
    "Messidor": "messidor",
    "Website": "phishing_website",
    "Banknote": "banknote",
    "Cmc": "cmc",
    "Yeast": "yeast",
    "Car": "car",
    "Image": "segment",
    "Chess": "kr_vs_kp",
    "Ads": "internet_ads",
    "Wilt": "wilt",
    "Wine-Quality": "wine_quality_white",
    "Phishing": "phishing_websites",
    "Nursery": "nursery",
    "Connect-4": "connect_4",
}


def load_exact(name: str, data: DataFolder) -> tuple[DataSet, Schema]:
    """Read a data set, and return a schema that cuts numbers midway between all neighbouring values.

    As in the paper, candidates are midpoints of values that occur; which ones a node chooses among depends on its own
    records. Missing values have a code of their own, below all numbers or beside all categories, as -1 has.
    """
    loaded = data.load(name)
    features = loaded.schema.features
    for column, domain in features.items():
        if isinstance(domain, Numeric):
            values = np.unique(loaded.X[column].dropna().to_numpy(np.float64))
            middles = np.unique((values[1:] + values[:-1]) / 2)
            middles = middles[(middles > domain.low) & (middles < domain.high)]
            if len(middles):
                features[column] = Numeric(domain.low, domain.high, edges=middles.tolist(), missing=domain.missing)
    return loaded, Schema(features, loaded.schema.target)


def folds_of(settings: Settings, n_rows: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the first few of ten shuffled folds, the same for all methods."""
    from sklearn.model_selection import KFold

    folds = KFold(N_FOLDS, shuffle=True, random_state=settings["seed"]).split(np.zeros(n_rows))
    return [next(folds) for _ in range(settings["folds"])]

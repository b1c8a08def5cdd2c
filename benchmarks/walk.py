"""How many files a record's way leads through: from `fit` on a frame to the model, measured with a profiler.

    python benchmarks/walk.py            # every learner
    python benchmarks/walk.py --files    # and the names of the files

A reader who wants to follow one fit has to open these. Everything is imported and compiled by a first fit, so that
only what a fit really calls is counted; compiled kernels count by the file that calls them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import privet
from privet import Categorical, Numeric, Schema

HOME = Path(privet.__file__).parent
LEARNERS = {
    "PrivaTreeClassifier": {},
    "RandomDecisionForestClassifier": {},
    "DisjointForestClassifier": {},
    "MultinomialForestClassifier": {},
    "MatrixForestClassifier": {},
    "BoostingClassifier": {"delta": 1e-6},
    "BoostingRegressor": {"delta": 1e-6},
}


def main() -> None:
    """Print the number of files for each learner."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="name the files, too")
    parser.add_argument("--quick", action="store_true", help="PrivaTree and boosting only")
    arguments = parser.parse_args()
    for name, settings in LEARNERS.items():
        if arguments.quick and name not in ("PrivaTreeClassifier", "BoostingClassifier"):
            continue
        files = sorted(walk(name, settings))
        print(f"{name:32} {len(files):3} files")
        if arguments.files:
            print("".join(f"    {file}\n" for file in files), end="")


def walk(name: str, settings: dict[str, Any]) -> set[str]:
    """Return the files of privet in which some function runs during a fit."""
    X, y, schema = people(regression=name.endswith("Regressor"))
    estimator = getattr(privet, name)(epsilon=1.0, schema=schema, n_rows_hint=len(X), random_state=0, **settings)
    estimator.fit(X, y)
    with watching() as seen:
        estimator.fit(X, y)
    return {str(Path(file).relative_to(HOME)) for file in seen if file.startswith(str(HOME))}


def people(regression: bool) -> tuple[pd.DataFrame, Any, Schema]:
    """Return records of two numeric features and a categorical one, with labels or targets."""
    rng = np.random.default_rng(0)
    age, colour = rng.uniform(0, 100, 5_000), rng.choice(["red", "green", "blue"], 5_000)
    X = pd.DataFrame({"age": age, "height": rng.uniform(1, 2, 5_000), "colour": colour})
    features = {"age": Numeric(0, 100), "height": Numeric(1, 2), "colour": Categorical(["red", "green", "blue"])}
    if regression:
        return X, age / 2, Schema(features, target=Numeric(0, 50))
    return X, np.where(age > 40, "old", "young"), Schema(features, classes=["old", "young"])


@contextmanager
def watching() -> Iterator[set[str]]:
    """Collect the files of all functions that are called inside."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)


if __name__ == "__main__":
    main()

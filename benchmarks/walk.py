"""How many files a record's way leads through: from `fit` on a frame to the model, measured with a profiler.

    python benchmarks/walk.py            # every learner
    python benchmarks/walk.py --files    # and the names of the files

A reader who wants to follow one fit has to open these. Everything is imported and compiled by a first fit, so that
only what a fit really calls is counted, compiled kernels included; the first one also lays out the schema's codes,
which it keeps (two files more: `schema/domains.py`, `schema/grids.py`).

Two figures: all files in which some function runs during a fit, which includes budgets, plan and ledger; and those of
them through which records go, that is, in which a function is handed a frame, a column, a table, a block or an array.
While another process of the same user has a budget open, a fit also looks whether that is one of its ancestors, which
is one file more (`privacy/budgets/processes.py`).
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
from privet.frames.columns import Values
from privet.tables.part import PartOf
from privet.tables.protocol import Block
from privet.tables.reading import MemoryTable

HOME = Path(privet.__file__).parent
RECORDS = (pd.DataFrame, pd.Series, np.ndarray, Values, Block, MemoryTable, PartOf)
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
    parser.add_argument("--files", action="store_true", help="name the files, too; a star: it handles records")
    parser.add_argument("--quick", action="store_true", help="PrivaTree and boosting only")
    arguments = parser.parse_args()
    for name, settings in LEARNERS.items():
        if arguments.quick and name not in ("PrivaTreeClassifier", "BoostingClassifier"):
            continue
        files, with_records = walk(name, settings)
        print(f"{name:32} {len(files):3} files, {len(with_records):3} of them handle records")
        if arguments.files:
            print("".join(f"    {'*' if file in with_records else ' '} {file}\n" for file in sorted(files)), end="")


def walk(name: str, settings: dict[str, Any]) -> tuple[set[str], set[str]]:
    """Return the files of privet in which some function runs during a fit, and those that are handed records."""
    X, y, schema = people(regression=name.endswith("Regressor"))
    estimator = getattr(privet, name)(epsilon=1.0, schema=schema, n_rows_hint=len(X), random_state=0, **settings)
    estimator.fit(X, y)
    with watching() as (seen, with_records):
        estimator.fit(X, y)
    return of_privet(seen), of_privet(with_records)


def of_privet(files: set[str]) -> set[str]:
    """Return the paths within privet of those files that belong to it."""
    return {str(Path(file).relative_to(HOME)) for file in files if file.startswith(str(HOME))}


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
def watching() -> Iterator[tuple[set[str], set[str]]]:
    """Collect the files of all functions that are called inside, and of those that are handed records."""
    seen: set[str] = set()
    with_records: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            seen.add(code.co_filename)
            handed = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(isinstance(frame.f_locals.get(argument), RECORDS) for argument in handed):
                with_records.add(code.co_filename)

    sys.setprofile(note)
    try:
        yield seen, with_records
    finally:
        sys.setprofile(None)


if __name__ == "__main__":
    main()

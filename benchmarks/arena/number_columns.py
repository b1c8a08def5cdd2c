"""Regression tasks of the data folder: a numeric column that is predicted from all others, the class among them.

No file of the folder has a number for its target, so the first numeric column with enough values takes that place. Some
can be predicted well and some hardly at all, as it happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from arena.data import MISSING, MOST_FEATURES, TARGET, Problem, Task, coded, tasks
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

FEWEST_VALUES = 20
FEWEST_ROWS = 1_000
MOST_ROWS = 20_000
CLASS = "class"


def problems(folder: Path) -> Iterator[Problem]:
    """Every data set with enough rows and a numeric column with enough values."""
    for task in tasks(folder):
        repeated = task.name.endswith("_cat")  # the rows of another file, with some columns more
        if task.positive is None and task.n_rows >= FEWEST_ROWS and not repeated:
            problem = of_task(task)
            if problem is not None:
                yield problem


def of_task(task: Task) -> Problem | None:
    """Read a data set, sampled if it is large; None where no column can be the target."""
    frame = pd.read_parquet(task.file).rename(columns={TARGET: CLASS})
    numeric = [name for name in frame.columns.drop(CLASS) if _is_numeric(frame[name])]
    able = [name for name in numeric if frame[name].nunique() >= FEWEST_VALUES]
    if not able or frame.shape[1] > MOST_FEATURES:
        return None
    if len(frame) > MOST_ROWS:
        frame = frame.iloc[np.random.default_rng(0).permutation(len(frame))[:MOST_ROWS]].reset_index(drop=True)
    target, features, columns = able[0], dict[str, Numeric | Categorical](), dict[str, pd.Series]()
    frame = frame[frame[target].notna()]
    for name in frame.columns.drop(target):
        if name in numeric:
            column = frame[name].astype(float)
            low, high = float(column.min()), float(column.max())
            features[name] = Numeric(low, high if high > low else low + 1.0)
            columns[name] = column.fillna((low + high) / 2)
        else:
            columns[name] = frame[name].astype("string").fillna(MISSING).astype(object)
            features[name] = Categorical(sorted(columns[name].unique()))
    numbers = frame[target].to_numpy(np.float64)
    schema = Schema(features, target=Numeric(float(numbers.min()), float(numbers.max())))
    whole = pd.DataFrame(columns).reset_index(drop=True)
    return Problem(task, whole, coded(whole, features), numbers, schema)


def _is_numeric(column: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column))

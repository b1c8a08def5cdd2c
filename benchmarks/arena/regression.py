"""The arena's regression part: numbers to predict, by records that are synthetic or of the data folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from arena.data import Problem, Task, coded
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

EPSILONS = (0.1, 0.5, 1.0)


def problems(folder: Path) -> Iterator[Problem]:
    """Both problems; the second only where its file is in the data folder."""
    yield abalone_shaped(folder)
    if (folder / "bench_california.parquet").exists():
        yield california(folder)


def abalone_shaped(folder: Path) -> Problem:
    """As many records, features and rings as Abalone has; sizes that follow the age with noise, drawn here.

    A shell grows towards a final length, and weights go with its cube; the rings vary between shells of one size.
    """
    rng, rows = np.random.default_rng(0), 4177
    rings = np.clip(np.round(rng.gamma(9.5, 1.05, rows)), 1, 29)
    grown = 1 - np.exp(-0.28 * rings * rng.lognormal(0, 0.18, rows))
    length = np.clip(0.66 * grown + rng.normal(0, 0.03, rows), 0.075, 0.815)
    weight = np.clip(4.1 * length**3 * rng.lognormal(0, 0.12, rows), 0.002, 2.83)
    infant = rng.random(rows) < np.clip(1.6 - 0.16 * rings, 0.05, 0.95)
    frame = pd.DataFrame(
        {
            "sex": np.where(infant, "I", np.where(rng.random(rows) < 0.54, "M", "F")),
            "length": length,
            "diameter": np.clip(0.8 * length + rng.normal(0, 0.012, rows), 0.055, 0.65),
            "height": np.clip(0.27 * length + rng.normal(0, 0.015, rows), 0, 1.13),
            "whole_weight": weight,
            "shucked_weight": np.clip(0.43 * weight * rng.lognormal(0, 0.13, rows), 0.001, 1.49),
            "viscera_weight": np.clip(0.22 * weight * rng.lognormal(0, 0.16, rows), 0.0005, 0.76),
            "shell_weight": np.clip(0.26 * weight * (rings / 9) ** 0.2 * rng.lognormal(0, 0.14, rows), 0.0015, 1.005),
        }
    )
    return _of_shells("abalone-shaped", folder, frame, rings, Numeric(1, 29))


def abalone_documented(folder: Path, seed: int = 0) -> Problem:
    """As many records and columns, of about the means, deviations and correlations that Abalone's description has.

    Drawn here. Against `abalone_shaped` the target has a long tail beside a narrow middle: some shells are far older
    than others of their size, and what a shell weighs says a little of that.
    """
    rng, rows = np.random.default_rng(seed), 4177
    grown = rng.random(rows) < 0.68
    length = np.where(grown, rng.normal(0.58, 0.068, rows), rng.normal(0.405, 0.10, rows)).clip(0.075, 0.815)
    usual = 1.2 + 15 * length
    spread = 1.45 * rng.normal(size=rows) * np.clip(length / 0.5, 0.35, 1.3)
    tail = np.where(rng.random(rows) < 0.3, rng.gamma(1.3, 3.0, rows), 0) * grown
    rings = np.clip(np.round(usual + spread + tail - 0.4), 1, 29)
    older = (rings - usual) / 3 + rng.normal(0, 0.7, rows)
    weight = 5.2 * length**3.05 * rng.lognormal(0, 0.11, rows)
    shucked = 0.43 * weight * np.exp(-0.06 * older) * rng.lognormal(0, 0.11, rows)
    viscera = 0.218 * weight * rng.lognormal(0, 0.13, rows)
    shell = 0.285 * weight * np.exp(0.07 * older) * rng.lognormal(0, 0.11, rows)
    sex = np.where(grown, np.where(rng.random(rows) < 0.54, "M", "F"), "I")
    frame = pd.DataFrame(
        {
            "sex": np.where(rng.random(rows) < 0.12, rng.choice(["F", "I", "M"], rows), sex),
            "length": length,
            "diameter": np.clip(0.8 * length - 0.012 + rng.normal(0, 0.012, rows), 0.05, 0.65),
            "height": np.clip(0.285 * length - 0.01 + 0.004 * older + rng.normal(0, 0.012, rows), 0, 1.13),
            "whole_weight": np.clip(weight, 0.002, 2.83),
            "shucked_weight": np.clip(shucked, 0.001, 1.49),
            "viscera_weight": np.clip(viscera, 0.0005, 0.76),
            "shell_weight": np.clip(shell, 0.0015, 1.005),
        }
    )
    return _of_shells(f"abalone, documented, {seed + 1}", folder, frame, rings, Numeric(0, 30))


def _of_shells(name: str, folder: Path, frame: pd.DataFrame, rings: np.ndarray, target: Numeric) -> Problem:
    ends = {"length": (0.0, 1.0), "diameter": (0.0, 0.8), "height": (0.0, 1.2), "whole_weight": (0.0, 3.0)}
    ends |= {"shucked_weight": (0.0, 1.5), "viscera_weight": (0.0, 0.8), "shell_weight": (0.0, 1.1)}
    features: dict[str, Numeric | Categorical] = {"sex": Categorical(["F", "I", "M"])}
    features |= {name: Numeric(*pair) for name, pair in ends.items()}
    schema = Schema(features, target=target)
    return Problem(Task(name, folder / name), frame, coded(frame, features), rings, schema)


def california(folder: Path) -> Problem:
    """California housing in the form that scikit-learn has: the district's median income.

    The file has the house value only as "above the median or not", so that the income is predicted from the other
    seven features and that.
    """
    file = folder / "bench_california.parquet"
    frame = pd.read_parquet(file)
    income = frame.pop("MedInc").to_numpy()
    frame["target"] = frame["target"].astype(str)
    features: dict[str, Numeric | Categorical] = {"target": Categorical(["0", "1"])}
    numbers = frame.columns.drop("target")
    features |= {name: Numeric(float(frame[name].min()), float(frame[name].max())) for name in numbers}
    frame = frame[list(features)].rename(columns={"target": "above_median"})
    features = {("above_median" if name == "target" else name): feature for name, feature in features.items()}
    schema = Schema(features, target=Numeric(float(income.min()), float(income.max())))
    return Problem(Task("california income", file), frame, coded(frame, features), income, schema)

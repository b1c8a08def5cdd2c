"""The data sets of Vos et al. (2023): which of the paper's 29 are here, under which file, and how each is read.

Table IV lists them. Five of the numerical and three of the mixed ones are in no folder that we have; three are there in
part. Mixed covertype is made of the UCI file, as the paper's benchmark made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from privet.parameters import public_rng
from privet_papers.framework.data import TARGET, DataSet, public_schema

if TYPE_CHECKING:
    import pandas as pd

    from privet_papers.framework.data import DataFolder

Group = Literal["numerical", "mixed", "UCI"]


@dataclass(frozen=True)
class Benchmark:
    """One line of Table IV, and where we have the data.

    Attributes
    ----------
    key : str
        What results call it; empty where there is no data.
    paper : str
        What the paper calls it.
    group : str
        Which part of the table it is in.
    samples, features, categorical : int
        As the paper prints them.
    majority : float
        Share of the larger class, as printed.
    rows_here : int, optional
        How many rows there are here, where these are a part of the paper's.
    tables_only : bool
        Whether it serves the paper's tables alone: no rule of ours is to be chosen on it.
    """

    key: str
    paper: str
    group: Group
    samples: int
    features: int
    categorical: int
    majority: float
    rows_here: int | None = None
    tables_only: bool = False


COVERTYPE_MIXED = "covertype_mixed"
COVERTYPE_PER_CLASS = 211_840
COVERTYPE_NUMERIC = 10
HIGGS_PART = "part_Higgs"
HIGGS = "higgs (synthetic)"
HIGGS_COLUMNS = 24
_DEFAULT = "default-of-credit-card-clients"

TABLE_4 = (
    Benchmark("", "Bioresponse", "numerical", 3434, 419, 0, 0.5),
    Benchmark("bench_Diabetes130US", "Diabetes130US", "numerical", 71_090, 7, 0, 0.5, tables_only=True),
    Benchmark(HIGGS_PART, "Higgs", "numerical", 940_160, 24, 0, 0.5, rows_here=35_298, tables_only=True),
    Benchmark("bench_MagicTelescope", "MagicTelescope", "numerical", 13_376, 10, 0, 0.5),
    Benchmark("part_MiniBooNE", "MiniBooNE", "numerical", 72_998, 50, 0, 0.5, rows_here=13_140, tables_only=True),
    Benchmark("bench_bank-marketing", "bank-marketing", "numerical", 10_578, 7, 0, 0.5, tables_only=True),
    Benchmark("bench_california", "california", "numerical", 20_634, 8, 0, 0.5),
    Benchmark("bench_covertype_like", "covertype", "numerical", 566_602, 10, 0, 0.5),
    Benchmark("", "credit", "numerical", 16_714, 10, 0, 0.5),
    Benchmark(f"bench_{_DEFAULT}", _DEFAULT, "numerical", 13_272, 20, 0, 0.5, tables_only=True),
    Benchmark("bench_electricity", "electricity", "numerical", 38_474, 7, 0, 0.5, tables_only=True),
    Benchmark("", "eye_movements", "numerical", 7608, 20, 0, 0.5),
    Benchmark("", "heloc", "numerical", 10_000, 22, 0, 0.5),
    Benchmark("", "house_16H", "numerical", 13_488, 16, 0, 0.5),
    Benchmark("part_jannis", "jannis", "numerical", 57_580, 54, 0, 0.5, rows_here=10_365),
    Benchmark("bench_pol", "pol", "numerical", 10_082, 26, 0, 0.5),
    Benchmark("", "albert", "mixed", 58_252, 31, 10, 0.5),
    Benchmark("bench_compas-two-years", "compas-two-years", "mixed", 4966, 11, 8, 0.5),
    Benchmark(COVERTYPE_MIXED, "covertype", "mixed", 423_680, 54, 44, 0.5, tables_only=True),
    Benchmark(f"bench_{_DEFAULT}_cat", _DEFAULT, "mixed", 13_272, 21, 1, 0.5, tables_only=True),
    Benchmark("bench_electricity_cat", "electricity", "mixed", 38_474, 8, 1, 0.5, tables_only=True),
    Benchmark("", "eye_movements", "mixed", 7608, 23, 3, 0.5),
    Benchmark("", "road-safety", "mixed", 111_762, 32, 3, 0.5),
    Benchmark("adult", "adult", "UCI", 45_222, 14, 8, 0.752),
    Benchmark("breast_w", "breast-w", "UCI", 683, 9, 0, 0.650),
    Benchmark("diabetes", "diabetes", "UCI", 768, 8, 0, 0.651),
    Benchmark("mushroom", "mushroom", "UCI", 5644, 22, 22, 0.618),
    Benchmark("nursery_binary", "nursery", "UCI", 12_960, 8, 8, 0.667),
    Benchmark("vote", "vote", "UCI", 232, 16, 16, 0.534),
)
BY_KEY = {benchmark.key: benchmark for benchmark in TABLE_4 if benchmark.key}
SMALL = tuple(key for key, benchmark in BY_KEY.items() if benchmark.samples < 1000)
LARGE = tuple(key for key, benchmark in BY_KEY.items() if benchmark.samples > 100_000 and benchmark.rows_here is None)
FOR_RULES = tuple(key for key, benchmark in BY_KEY.items() if not benchmark.tables_only)


def coverage(*groups: Group) -> str:
    """Return a sentence on which data sets of these parts of Table IV are here and which are missing.

    Examples
    --------
    >>> print(coverage("UCI"))
    Data: 6 of the paper's 6 sets, none missing.
    """
    wanted = [benchmark for benchmark in TABLE_4 if not groups or benchmark.group in groups]
    here = [benchmark for benchmark in wanted if benchmark.key]
    absent = [f"{benchmark.paper} ({benchmark.group})" for benchmark in wanted if not benchmark.key]
    parts = [f"{b.paper} ({b.rows_here:,} of {b.samples:,} rows)" for b in here if b.rows_here is not None]
    missing = f"no copy at hand of {', '.join(absent)}" if absent else "none missing"
    in_part = f"; in part: {', '.join(parts)}" if parts else ""
    return f"Data: {len(here)} of the paper's {len(wanted)} sets, {missing}{in_part}."


def file_of(key: str) -> tuple[str, ...]:
    """Return the file that a data set is read from, if any."""
    return {COVERTYPE_MIXED: ("covertype",), HIGGS: ()}.get(key, (key,))


def load(key: str, data: DataFolder, n_rows: int | None = None) -> DataSet:
    """Read a data set without records that miss a value, as the paper does; or make one in the shape of Higgs."""
    if key == HIGGS:
        return _shaped_like_higgs(n_rows or 1)
    if key == COVERTYPE_MIXED:
        return _mixed_covertype(data)
    found = data.load(file_of(key)[0], drop_missing=True)
    if key == HIGGS_PART:  # the benchmark's version has no b-tags
        kept = found.X[[name for name in found.X.columns if not name.endswith("b-tag")]]
        return DataSet(key, kept, found.y, public_schema(kept.assign(**{TARGET: found.y})))
    return found


def _mixed_covertype(data: DataFolder) -> DataSet:
    """Cover types 1 and 2 in equal numbers; which rows the paper drew is not known."""
    import pandas as pd

    whole = data.load(file_of(COVERTYPE_MIXED)[0])
    labels = whole.y.to_numpy()
    rng = public_rng(0)
    size = min(COVERTYPE_PER_CLASS, int((labels == 1).sum()), int((labels == 2).sum()))
    rows = np.sort(np.concatenate([rng.choice(np.flatnonzero(labels == kind), size, replace=False) for kind in (1, 2)]))
    X: pd.DataFrame = whole.X.iloc[rows].reset_index(drop=True)
    y = pd.Series((labels[rows] == 2).astype(int), name=TARGET)
    binary = tuple(X.columns[COVERTYPE_NUMERIC:])
    return DataSet(COVERTYPE_MIXED, X, y, public_schema(X.assign(**{TARGET: y}), categorical=binary))


def _shaped_like_higgs(n_rows: int) -> DataSet:
    import pandas as pd

    rng = public_rng(0)
    X = rng.standard_normal((n_rows, HIGGS_COLUMNS))
    score = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + rng.standard_normal(len(X))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(HIGGS_COLUMNS)]).assign(**{TARGET: (score > 0).astype(int)})
    return DataSet(HIGGS, frame.drop(columns=TARGET), frame[TARGET], public_schema(frame))

"""The fourteen data sets of Fletcher and Islam (2017): seven from scikit-learn's generator, seven from UCI."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet_papers.framework.data import TARGET, DataFolder, public_schema

if TYPE_CHECKING:
    import pandas as pd

    from privet.schema.schema import Schema

SYNTHETIC_ROWS = 30_000
FIRST_GENERATOR = 1  # the generator's random_state; other ones make other problems of the same shape
GENERATORS = 8


@dataclass(frozen=True)
class Benchmark:
    """A data set of the paper: where it comes from, and how many features of each kind the paper says it has."""

    name: str
    continuous: int
    discrete: int
    depth: int  # Table 4
    file: str | None = None
    n_informative: int = 0
    binary: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is read from."""
        return () if self.file is None else (self.file,)


def _synthetic(letter: str, n_informative: int, n_random: int, depth: int) -> Benchmark:
    return Benchmark(
        f"Synth{letter}", n_informative + n_random, 0, depth, n_informative=n_informative, binary=True
    )  # Table 1


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        _synthetic("A", 5, 0, 5),
        _synthetic("B", 10, 0, 8),
        _synthetic("C", 15, 0, 12),
        _synthetic("D", 10, 5, 12),
        _synthetic("E", 5, 10, 12),
        _synthetic("F", 5, 5, 8),
        _synthetic("G", 10, 10, 15),
        Benchmark("WallSensor", 4, 0, 4, "wall_following_4"),
        Benchmark("PenWritten", 16, 0, 12, "pendigits"),
        Benchmark("GammaTele", 10, 0, 8, "magic", binary=True),
        Benchmark("Adult", 6, 8, 9, "adult", binary=True),
        Benchmark("Mushroom", 0, 22, 11, "mushroom", binary=True),
        Benchmark("Claves", 0, 16, 8, "claves"),
        Benchmark("Nursery", 0, 8, 4, "nursery"),
    )
}
SYNTHETIC = tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.file is None)
BINARY = tuple(name for name, benchmark in BENCHMARKS.items() if benchmark.binary)
ADULT_TRAINING_ROWS = 30_162  # the complete records of Adult's training file, which comes first


@dataclass(frozen=True)
class Loaded:
    """Features, labels and the schema under which the domains count as public."""

    X: pd.DataFrame
    y: NDArray[Any]
    schema: Schema


def load(name: str, data: DataFolder, n_rows: int = SYNTHETIC_ROWS, generator: int = FIRST_GENERATOR) -> Loaded:
    """Return a data set of the paper; `n_rows` and `generator`, a seed, are for the synthetic ones."""
    benchmark = BENCHMARKS[name]
    if benchmark.file is None:
        return _generate(benchmark.continuous, benchmark.n_informative, n_rows, generator)
    found = data.load(benchmark.file, drop_missing=True)
    if benchmark.discrete == len(found.X.columns):
        found = data.load(benchmark.file, drop_missing=True, categorical=tuple(found.X.columns))
    kept = slice(ADULT_TRAINING_ROWS if name == "Adult" else None)
    return Loaded(found.X[kept], found.y[kept].to_numpy(), found.schema)


@lru_cache(maxsize=2)
def _generate(n_features: int, n_informative: int, n_rows: int, generator: int) -> Loaded:
    import pandas as pd
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_rows, n_features, n_informative=n_informative, n_redundant=0, n_repeated=0, random_state=generator
    )
    frame = pd.DataFrame(X, columns=[f"x{i + 1}" for i in range(n_features)])
    return Loaded(frame, y, public_schema(frame.assign(**{TARGET: y.astype(np.int64)})))

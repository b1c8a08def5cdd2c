"""The data sets of Bojarski et al. in the form in which the paper took them, with two labels, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privet.parameters import public_rng
from privet.schema.encoding import Encoding
from privet_papers.framework.data import ADULT_ROWS, TARGET, DataFolder, binary_adult, public_schema

if TYPE_CHECKING:
    import pandas as pd

QUANTUM_ROWS, QUANTUM_FEATURES = 50_000, 78
FINE_GRID = 255


@dataclass(frozen=True)
class Benchmark:
    """One data set: which file it comes from, and what the paper calls it. No file: it is made by `quantum`."""

    name: str
    file: str | None
    paper: str

    @property
    def files(self) -> tuple[str, ...]:
        """The data sets that a cell on this benchmark reads."""
        return () if self.file is None else (self.file,)


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("banknote", "banknote", "Ban_Aut"),
        Benchmark("transfusion", "transfusion", "BTSC"),
        Benchmark("vote", "vote", "CVR"),
        Benchmark("mammographic", "mammographic", "Mam_Mass"),
        Benchmark("mushroom", "mushroom", "Mushroom"),
        Benchmark("adult", "adult", "Adult"),
        Benchmark("adult, 123 binary", "adult", "Adult"),
        Benchmark("covertype", "covertype", "Covertypes"),
        Benchmark("quantum (synthetic stand-in)", None, "Quantum"),
    )
}


@dataclass(frozen=True)
class Split:
    """Codes and labels of one run: 81% to train, 9% to validate, 10% to test."""

    encoding: Encoding
    codes: NDArray[np.unsignedinteger]
    labels: NDArray[np.int32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]

    @property
    def eta(self) -> float:
        """The paper's 1000 / n_tr; n_tr is the 90% that validation was taken from, as its .137 for Mushroom shows."""
        return round(1000 / (len(self.train) + len(self.validation)), 6)


def frame(name: str, data: DataFolder) -> pd.DataFrame:
    """Return a data set as a frame with a column ``target``; those of the paper with two labels."""
    import pandas as pd

    benchmark = BENCHMARKS.get(name, Benchmark(name, name, name))
    if benchmark.file is None:
        return quantum()
    loaded = data.load(benchmark.file)
    table = pd.concat([loaded.X, loaded.y.rename(TARGET)], axis=1)
    if benchmark.file == "adult":
        table = table.iloc[:ADULT_ROWS]  # the paper's n
    if benchmark.file == "covertype":
        table = table.assign(**{TARGET: (table[TARGET] == 2).astype(int)})  # as in LIBSVM's collection, which it cites
    return binary_adult(table) if name == "adult, 123 binary" else table


def split(name: str, seed: int, data: DataFolder) -> Split:
    """Encode a benchmark and deal its records into three parts."""
    table = frame(name, data)
    encoding = public_schema(table).encoding(FINE_GRID)
    order = public_rng(seed).permutation(len(table))
    n_test = len(table) // 10
    n_validation = (len(table) - n_test) // 10
    test, validation, train = np.split(order, [n_test, n_test + n_validation])
    codes = encoding.encode(table.drop(columns=TARGET))
    return Split(encoding, codes, encoding.encode_target(table[TARGET]), train, validation, test)


def quantum() -> pd.DataFrame:
    """Return a synthetic stand-in for the KDD Cup 2004 quantum physics data, which is no longer offered.

    As many records and features as the original, two labels of about equal frequency, and a weak signal that is spread
    over a fifth of the features, with a Bayes error of about 22%; nothing else of it is like the original.
    """
    import pandas as pd

    rng = public_rng(2004)
    X = rng.standard_normal((QUANTUM_ROWS, QUANTUM_FEATURES)).clip(-4, 4)
    signal = X[:, :12].sum(axis=1) / np.sqrt(12) + X[:, 12] * X[:, 13] + X[:, 14] * X[:, 15]
    y = (signal + 1.3 * rng.standard_normal(QUANTUM_ROWS) > 0).astype(int)
    columns = {f"f{i}": X[:, i] for i in range(QUANTUM_FEATURES)}
    return pd.DataFrame({**columns, TARGET: y})

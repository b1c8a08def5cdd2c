"""Benchmark data sets: Parquet files in one folder, with the domains that the papers take as public."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import ParameterError
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
VARIABLE = "PRIVET_DATA"
ADULT_ROWS = 32_561  # of the training file of the Adult data, which comes first
DOMAINS_ARE_PUBLIC = (
    "Benchmark domains are taken as public knowledge, as the papers do: bounds, categories and classes are "
    "those of the data set as published. The stated epsilon is conditional on that."
)


@dataclass(frozen=True)
class DataSet:
    """One benchmark: features, target, and the schema under which its domains count as public."""

    name: str
    X: pd.DataFrame
    y: pd.Series
    schema: Schema


@dataclass(frozen=True)
class DataFolder:
    """A folder of files ``NAME.parquet``, each with a column ``target``.

    Parameters
    ----------
    path : Path or None
        The folder; None means that there is no data at all.
    """

    path: Path | None

    @classmethod
    def at(cls, path: Path | None) -> DataFolder:
        """Return the folder at `path`, or at the environment variable PRIVET_DATA where `path` is None."""
        if path is None and os.environ.get(VARIABLE):
            path = Path(os.environ[VARIABLE])
        if path is not None and not path.is_dir():
            raise ParameterError(f"data folder {str(path)!r} does not exist; give one with --data or {VARIABLE}")
        return cls(path)

    def file(self, name: str) -> Path | None:
        """Return the file of a data set, or None where it is absent."""
        if self.path is None:
            return None
        file = self.path / f"{name}.parquet"
        return file if file.is_file() else None

    def digest(self, name: str) -> str:
        """Return size and SHA-256 of a data set's file."""
        file = self._present(name)
        return f"{file.stat().st_size}:{_sha256(file, file.stat().st_mtime_ns)}"

    def load(self, name: str, *, drop_missing: bool = False, categorical: tuple[str, ...] = ()) -> DataSet:
        """Read a data set with its public schema.

        Parameters
        ----------
        name : str
            The stem of the file.
        drop_missing : bool
            Leave out records with a missing value, as most papers do.
        categorical : tuple of str
            Columns of numbers that are codes of categories.
        """
        file = self._present(name)
        return _load(file, file.stat().st_mtime_ns, drop_missing, categorical)

    def _present(self, name: str) -> Path:
        file = self.file(name)
        if file is None:
            raise ParameterError(f"data set {name!r} is not in the data folder; add {name}.parquet there")
        return file


def public_schema(frame: pd.DataFrame, *, categorical: tuple[str, ...] = ()) -> Schema:
    """Return the schema of a benchmark frame, its domains declared public.

    Privacy
    -------
    The domains are read off the data and declared public: benchmark domains are taken as public knowledge, as
    the papers do, and only so are results comparable. It is no way to treat data of one's own; there
    `Schema.infer` reads domains off the data and says that nothing is guaranteed.
    """
    import pandas as pd

    features: dict[str, Numeric | Categorical] = {}
    for name in frame.columns.drop(TARGET):
        column = frame[name]
        present = column.dropna()
        missing = len(present) < len(column)
        if name in categorical or not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            features[str(name)] = Categorical(_values(present), missing=missing)
        else:
            low, high = float(present.min()), float(present.max())
            # A column that never varies still needs a domain of some width.
            features[str(name)] = Numeric(low, high if high > low else low + 1.0, missing=missing)
    return Schema(features=features, target=Categorical(_values(frame[TARGET].dropna())))


def binary_adult(table: pd.DataFrame) -> pd.DataFrame:
    """Return Adult in the 123 binary features of LIBSVM's a9a.

    Quintiles of age, fnlwgt, education_num and hours_per_week (5 each), zero or not for capital gain and loss (2 each),
    and one feature for each of 99 categories; a missing category sets none.
    """
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in ("age", "fnlwgt", "education_num", "hours_per_week"):
        rank = table[name].rank(method="first", pct=True)
        for fifth in range(5):
            columns[f"{name} {fifth}"] = (rank > fifth / 5) & (rank <= (fifth + 1) / 5)
    for name in ("capital_gain", "capital_loss"):
        columns[f"{name} none"], columns[f"{name} some"] = table[name] == 0, table[name] > 0
    for name in table.columns.drop(TARGET):
        if not pd.api.types.is_numeric_dtype(table[name]):
            for value in sorted(table[name].dropna().unique()):
                columns[f"{name} {value}"] = (table[name] == value).fillna(False).astype(bool)
    return pd.DataFrame({**columns, TARGET: table[TARGET]})


def _values(column: pd.Series) -> tuple[str | int | float | bool, ...]:
    return tuple(sorted(column.unique().tolist()))


@lru_cache(maxsize=4)
def _load(file: Path, changed: int, drop_missing: bool, categorical: tuple[str, ...]) -> DataSet:
    """Read a file; `changed` (its time stamp) only keys the memory of it, as below."""
    import pandas as pd

    frame = pd.read_parquet(file)
    if TARGET not in frame.columns:
        raise ParameterError(f"{file.name} has no column {TARGET!r}; rename the column of the labels")
    if drop_missing:
        frame = frame.dropna(ignore_index=True)
    return DataSet(
        name=file.stem,
        X=frame.drop(columns=TARGET),
        y=frame[TARGET],
        schema=public_schema(frame, categorical=categorical),
    )


@lru_cache(maxsize=256)
def _sha256(file: Path, changed: int) -> str:
    """Return the digest of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

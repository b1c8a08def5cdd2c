"""Data to try things on: the Adult census data with its public schema.

Adult is by Barry Becker and Ron Kohavi (1996), UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20,
licensed under CC BY 4.0 (see ATTRIBUTION.txt beside this file).
"""

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from privet.schema.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Adult", "load_adult"]

_TARGET = "target"
_N_TRAIN = 32_561  # rows of the published training file, which come first


@dataclass(frozen=True, eq=False)
class Adult:
    """The Adult data: whether a person earns more than 50,000 dollars a year.

    Attributes
    ----------
    X : pandas.DataFrame
        48,842 records of 14 features.
    y : pandas.Series
        "<=50K" or ">50K".
    schema : Schema
        What is public, written from the published codebook.
    """

    X: "pd.DataFrame"
    y: "pd.Series[str]"
    schema: Schema

    @property
    def train(self) -> "tuple[pd.DataFrame, pd.Series[str]]":
        """The published training part: X and y of the first 32,561 records."""
        return self.X.iloc[:_N_TRAIN], self.y.iloc[:_N_TRAIN]

    @property
    def test(self) -> "tuple[pd.DataFrame, pd.Series[str]]":
        """The published test part: X and y of the other 16,281 records."""
        return self.X.iloc[_N_TRAIN:], self.y.iloc[_N_TRAIN:]

    def __repr__(self) -> str:
        return f"Adult({len(self.X):,} records, {len(self.schema.features)} features)"


def load_adult() -> Adult:
    """Load Adult, which comes with the library; needs pandas and PyArrow.

    Privacy
    -------
    These records are public. Treat them as private, to see what a learner would do.

    Examples
    --------
    >>> load_adult()
    Adult(48,842 records, 14 features)
    """
    try:
        import pandas as pd
        import pyarrow  # noqa: F401  # what pandas reads Parquet with
    except ImportError as error:
        raise ImportError(f"load_adult needs pandas and PyArrow ({error}); pip install pandas pyarrow") from error
    folder = files(__name__)
    with as_file(folder / "adult.parquet") as path:
        records = pd.read_parquet(path)
    with as_file(folder / "adult.yaml") as path:
        schema = Schema.load(path)
    return Adult(records.drop(columns=_TARGET), records[_TARGET], schema)

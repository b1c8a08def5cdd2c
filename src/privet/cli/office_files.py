"""Reading files of office and statistics programs with pandas' readers: Excel, SAS, SPSS, Stata."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privet.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    import pandas as pd

# the packages that pandas needs for each
_NEEDED = {
    ".xlsx": "openpyxl",
    ".xlsm": "openpyxl",
    ".xls": "xlrd",
    ".sav": "pyreadstat",
    ".zsav": "pyreadstat",
    ".sas7bdat": None,
    ".xpt": None,
    ".dta": None,
}
OFFICE_SUFFIXES = tuple(_NEEDED)
EXCEL_SUFFIXES = (".xlsx", ".xlsm", ".xls")


def read_office(path: Path, rows: int | None = None) -> pd.DataFrame:
    """Read a file; of an Excel file the first sheet, whose cells become text but for dates.

    An Excel file has types for cells and none for columns. Made text, a column is read value by value as the schema
    says, like that of a text file.
    """
    import pandas

    suffix = path.suffix.lower()
    package = _NEEDED[suffix]
    if package is not None and find_spec(package) is None:
        raise ParameterError(f"reading {suffix} files needs {package}; pip install 'privet[office]'")
    try:
        if suffix in EXCEL_SUFFIXES:
            frame = pandas.read_excel(path, dtype=object, keep_default_na=False, na_values=[""], nrows=rows)
            frame = frame.rename(columns=str)
            frame = frame.assign(**{name: frame[name].map(_text, na_action="ignore") for name in frame.columns})
        elif suffix in (".sav", ".zsav"):
            frame = pandas.read_spss(path)
        elif suffix == ".dta":
            frame = pandas.read_stata(path)
        else:
            frame = pandas.read_sas(path, encoding="latin-1")
    except (ParameterError, MemoryError):
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise _unreadable(path, error) from error
    except Exception as error:  # each reader has its own errors for damaged files
        raise _unreadable(path, error) from error
    return frame if rows is None else frame.head(rows)


def _unreadable(path: Path, error: Exception) -> SchemaError:
    return SchemaError(f"{path}: this is not a readable {path.suffix} file ({type(error).__name__}); repair it")


def _text(value: Any) -> Any:
    """A cell as text; dates as they are."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value

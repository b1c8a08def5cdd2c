"""Results of cells on disk, so that a run that was stopped goes on where it was."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from privet.writing import replace_text
from privet_papers.framework.entry import Cell, Result


def cell_key(cell: Cell, code: str, data: Mapping[str, str]) -> str:
    """Return the name of a cell's result: a digest of function, settings, code and the data sets it reads.

    Parameters
    ----------
    cell : Cell
        The cell.
    code : str
        The digest of the code that counts.
    data : mapping
        Digests of data sets by name; only those that the cell reads enter.
    """
    identity = {
        "function": cell.path,
        "settings": dict(cell.settings),
        "code": code,
        "data": {name: data[name] for name in cell.data},
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


class CellCache:
    """One folder of results, a small JSON file each.

    Parameters
    ----------
    folder : Path
        Made when the first result is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> Result | None:
        """Return the stored result, or None if it is not there or not whole."""
        try:
            result: Result = json.loads(self._path(key).read_text("utf-8"))["result"]
        except (FileNotFoundError, ValueError, KeyError):
            return None
        return result

    def put(self, key: str, cell: Cell, result: Result) -> Result:
        """Store a result and return it as it will be read back."""
        text = json.dumps(
            {
                "function": cell.path,
                "settings": dict(cell.settings),
                "data": list(cell.data),
                "result": result,
            },
            indent=1,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_text(self._path(key), text)  # a reader sees a whole file or none, whenever the run is stopped
        stored: Result = json.loads(text)["result"]
        return stored

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

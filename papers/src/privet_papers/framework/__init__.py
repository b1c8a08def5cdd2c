"""Every table and figure of the papers, run again: `privet reproduce NAME --data DIR`.

Each paper has a module that exports `ENTRIES`; adding its name to `MODULES` is all that it takes to be found.
"""

from difflib import get_close_matches
from importlib import import_module

from privet.errors import ParameterError
from privet_papers.framework.entry import Cell, Entry, Outcome

__all__ = ["MODULES", "Cell", "Entry", "Outcome", "entries", "find"]

MODULES: tuple[str, ...] = (
    "privet_papers.bojarski_2014.entries",
    "privet_papers.tajima_2025.entries",
    "privet_papers.fletcher_islam_2017.entries",
    "privet_papers.vos_2023.entries",
    "privet_papers.vos_2023.poisoning.entries",
    "privet_papers.bai_2021.entries",
    "privet_papers.bai_2021.private_entries",
    "privet_papers.bai_2021.pixel_entries",
)


def entries() -> dict[str, Entry]:
    """Return every known entry by its name, in the order of `MODULES`."""
    known: dict[str, Entry] = {}
    for module in MODULES:
        for entry in import_module(module).ENTRIES:
            if entry.name in known:
                raise ParameterError(f"two entries are called {entry.name!r}; rename the one in {module}")
            known[entry.name] = entry
    return known


def find(name: str) -> Entry:
    """Return the entry of that name, or say which name is near."""
    known = entries()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else "`privet reproduce` lists the names"
    raise ParameterError(f"no entry is called {name!r}; {remedy}")

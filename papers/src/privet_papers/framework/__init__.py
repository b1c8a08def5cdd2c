"""Every table and figure of the papers, run again: `privet reproduce NAME --data DIR`.

Each paper has modules that export `ENTRIES`, named in `MODULES`, and a module `claims` that says what it claims. What
of a paper has no entry is in `LEFT_OUT`, with the reason.
"""

from difflib import get_close_matches
from importlib import import_module

from privet.errors import ParameterError
from privet_papers.framework.claims import Claim
from privet_papers.framework.entry import Cell, Entry, Outcome

__all__ = ["LEFT_OUT", "MODULES", "Cell", "Entry", "Outcome", "claims", "entries", "find"]

MODULES: tuple[str, ...] = (
    "privet_papers.bojarski_2014.entries",
    "privet_papers.tajima_2025.entries",
    "privet_papers.fletcher_islam_2017.entries",
    "privet_papers.vos_2023.own_entries",
    "privet_papers.vos_2023.entries",
    "privet_papers.vos_2023.figures",
    "privet_papers.vos_2023.poisoning.entries",
    "privet_papers.bai_2021.entries",
    "privet_papers.bai_2021.private_entries",
    "privet_papers.bai_2021.pixel_entries",
    "privet_papers.bai_2021.lemma_entries",
)

PAPERS: tuple[str, ...] = ("bojarski_2014", "fletcher_islam_2017", "tajima_2025", "bai_2021", "vos_2023")
DIAGRAM = "it explains the method"
LEFT_OUT: tuple[tuple[str, str], ...] = (
    ("Fletcher and Islam 2017, Table 1", "it lists the data sets"),
    ("Fletcher and Islam 2017, Figures 1 to 3", DIAGRAM),
    ("Tajima, Wu and Houmansadr 2025, Table 1", "it lists the data sets"),
    ("Bai et al. 2021, Table 1", "it lists the data sets"),
    ("Bai et al. 2021, Figures 1 and 2", DIAGRAM),
    (
        "Bai et al. 2021, Tables 3 and 5",
        "rotation forests, MPSVM trees and HobRaF are cited without an algorithm or a setting to rebuild them from",
    ),
    ("Vos et al. 2023, Table I", "it lists the properties of earlier methods"),
)


def claims() -> list[tuple[str, str, tuple[Claim, ...]]]:
    """Return each paper's title, what holds of its privacy, and its claims, in the order of `PAPERS`."""
    modules = [import_module(f"privet_papers.{paper}.claims") for paper in PAPERS]
    return [(module.PAPER, module.PRIVACY, module.CLAIMS) for module in modules]


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

"""Plant flaws in privet one at a time, audit, and write what was found into docs/audit.md.

Run ``python benchmarks/planted_flaws.py``; ``--quick`` audits at level "quick" alone and writes nothing. Audits are
made without trainings (``pairs=[]``): these could only add to what is found.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that it runs from anywhere

from benchmarks.plants import PLANTS, PLANTS_FOR_THE_SEARCH, Plant

import privet_papers as published
from privet.audit import AuditReport, audit
from privet.datasets import load_adult
from privet.errors import UnsoundWarning

PAGE = Path(__file__).resolve().parent.parent / "docs" / "audit.md"
BEGIN, END = "<!-- planted flaws: made by benchmarks/planted_flaws.py -->", "<!-- end of planted flaws -->"


def main() -> None:
    """Audit every planted flaw and every algorithm as printed; print the tables, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help='level "quick" alone; nothing is written')
    levels = ["quick"] if parser.parse_args().quick else ["quick", "thorough"]
    warnings.simplefilter("ignore", UnsoundWarning)
    text = "\n".join([*flaws(levels), "", *printed(levels)])
    print(text)
    if "thorough" in levels:
        page = PAGE.read_text()
        start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n{text}\n{page[stop:]}")


def flaws(levels: list[str]) -> list[str]:
    """Return the table of planted flaws; the library as it is comes first."""
    rows = [_header(["planted flaw", "where"], levels)]
    sound = PLANTS[1].estimator()
    rows.append(_row(["*none: the library as it is*", ""], [audit(sound, level, pairs=[]) for level in levels]))
    return rows + [
        _row([plant.flaw, f"`{plant.place}`"], [_audited(plant, level) for level in levels])
        for plant in (*PLANTS, *PLANTS_FOR_THE_SEARCH)
    ]


def printed(levels: list[str]) -> list[str]:
    """Return the table of algorithms as printed, on Adult's schema."""
    schema = load_adult().schema
    rows = [_header(["algorithm as printed"], levels)]
    for name in sorted(published._HOME):
        estimator = getattr(published, name)(epsilon=1.0, schema=schema)
        rows.append(_row([f"`{name}`"], [audit(estimator, level, pairs=[]) for level in levels]))
    return rows


def _audited(plant: Plant, level: str) -> AuditReport:
    with plant.planted():
        return audit(plant.estimator(), level, pairs=[])  # type: ignore[arg-type]  # one of its levels


def _header(columns: list[str], levels: list[str]) -> str:
    cells = [*columns, *levels, "found by"]
    return f"| {' | '.join(cells)} |\n|{'---|' * len(cells)}"


def _row(cells: list[str], reports: list[AuditReport]) -> str:
    found = list(dict.fromkeys(f.name.split(":")[0].split(",")[0] for f in reports[-1].findings if f.refuted))
    return f"| {' | '.join([*cells, *(report.verdict for report in reports), ', '.join(found) or '-'])} |"


if __name__ == "__main__":
    main()

"""What the papers claim, and what holds: each claim is read off the results of an entry, or shown by a test.

Verdicts are computed from the CSV files of the results, so a page of claims cannot say anything else than they do.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

from privet.errors import ParameterError
from privet.writing import replace_text
from privet_papers.framework.entry import Row
from privet_papers.framework.output import table_lines, write_csv

Verdict = Literal["holds", "holds in part", "does not hold"]

NAME = "claims"
TITLE = "What the papers claim and what holds"
INTRODUCTION = (
    "Every sentence of the five papers that can be tested: in our words, with the paper's figure where it prints "
    "one, what the algorithm as printed gives here, what the sound form gives, and the verdict. Verdicts are "
    "computed from the results beside this page; each names the command that makes them, or the test that shows it. "
    "They speak of our reading of the paper on the data that we have, often with fewer runs than the paper's: the "
    "page of each entry says how many. A privacy claim that does not hold is a statement about a proof; most of the "
    "ideas live on in the sound form."
)


@dataclass(frozen=True)
class Finding:
    """What we find: with the algorithm as printed, with its sound form, and whether the claim holds."""

    printed: str
    sound: str
    verdict: Verdict


class Figures:
    """Rows of one entry's results, to be asked for means and counts."""

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        self.rows = list(rows)

    @classmethod
    def read(cls, file: Path) -> Figures:
        """Read an entry's CSV file."""
        with file.open(encoding="utf-8", newline="") as stream:
            return cls(csv.DictReader(stream))

    def where(self, **conditions: str | tuple[str, ...]) -> Figures:
        """Return the rows whose columns have these values; ``_`` may stand for a space in a column's name."""
        known = {name.replace(" ", "_"): name for row in self.rows[:1] for name in row}
        wanted = {known[name]: value if isinstance(value, tuple) else (value,) for name, value in conditions.items()}
        return Figures(row for row in self.rows if all(row[name] in values for name, values in wanted.items()))

    def without(self, column: str, *values: str) -> Figures:
        """Return the rows that have none of these values in a column."""
        return Figures(row for row in self.rows if row[column] not in values)

    def values(self, column: str) -> list[float]:
        """Return a column's numbers; rows without one are left out."""
        return [float(row[column]) for row in self.rows if row[column] not in ("", "N/A")]

    def mean(self, column: str) -> float:
        """Return the mean of a column."""
        return fmean(self.values(column))

    def pairs(self, first: str, second: str) -> list[tuple[float, float]]:
        """Return two columns, of the rows that have both."""
        return [(float(row[first]), float(row[second])) for row in self.rows if row[first] and row[second]]

    def wins(self, first: str, second: str) -> tuple[int, int]:
        """Return in how many rows the first column is larger, and of how many."""
        pairs = self.pairs(first, second)
        return sum(a > b for a, b in pairs), len(pairs)

    def by(self, key: str, column: str) -> dict[str, float]:
        """Return a column's numbers by the values of another one."""
        return {row[key]: float(row[column]) for row in self.rows if row[column]}


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper that can be tested.

    Parameters
    ----------
    where : str
        Section, table or figure.
    claim : str
        The sentence, in our words.
    paper : str
        The figure that the paper prints; empty if it prints none.
    shown_by : str
        The entry whose results decide, or the test that does.
    find : callable or Finding
        ``find(figures) -> Finding`` for an entry; for a test what it shows.
    why : str
        What a reader should know beside the figures.
    """

    where: str
    claim: str
    paper: str
    shown_by: str
    find: Callable[[Figures], Finding] | Finding
    why: str = ""

    @property
    def command(self) -> str:
        """What runs it again."""
        if self.shown_by.endswith(".py"):
            return f"python -m pytest {self.shown_by}"
        return f"privet reproduce {self.shown_by} --data DIR"

    def finding(self, results: Path) -> Finding:
        """Return what the results say, or what the test shows."""
        if isinstance(self.find, Finding):
            return self.find
        file = results / f"{self.shown_by}.csv"
        if not file.is_file():
            raise ParameterError(f"{file} is absent; make it with: {self.command}")
        return self.find(Figures.read(file))


def holds(condition: bool, *, partly: bool = False) -> Verdict:
    """Return the verdict of a condition; `partly` where it is not met but a weaker one is."""
    return "holds" if condition else "holds in part" if partly else "does not hold"


def write_claims(papers: Sequence[tuple[str, str, Sequence[Claim]]], results: Path) -> tuple[Path, ...]:
    """Write ``claims.csv`` and ``claims.md`` beside the results that they are computed from.

    Parameters
    ----------
    papers : sequence of (title, privacy verdict, claims)
        The papers in order.
    results : Path
        The folder with the entries' CSV files.
    """
    written = results / f"{NAME}.csv", results / f"{NAME}.md"
    rows, page = rows_and_page(papers, results)
    write_csv(rows, written[0])
    replace_text(written[1], page)
    return written


def rows_and_page(papers: Sequence[tuple[str, str, Sequence[Claim]]], results: Path) -> tuple[list[Row], str]:
    """Return the table and the page of all claims."""
    rows: list[Row] = []
    lines = [f"# {TITLE}", "", f"{INTRODUCTION} Made by `privet reproduce --claims --out docs/results`.", ""]
    sections: list[str] = []
    for paper, privacy, claims in papers:
        found = [(claim, claim.finding(results)) for claim in claims]
        sections += [f"## {paper}", "", f"**Privacy.** {privacy}", ""]
        own: list[Row] = [
            {
                "where": claim.where,
                "claim": f"{claim.claim}. {claim.why}" if claim.why else claim.claim,
                "paper": claim.paper,
                "as printed": finding.printed,
                "sound": finding.sound,
                "verdict": finding.verdict,
                "command": f"`{claim.command}`",
            }
            for claim, finding in found
        ]
        sections += [*table_lines(own), ""]
        rows += [{"of": paper, **row} for row in own]
    lines += [*table_lines(_counts(rows)), "", *sections]
    return rows, "\n".join(lines).rstrip() + "\n"


def _counts(rows: Sequence[Row]) -> list[Row]:
    """Return how many claims of each paper hold."""
    verdicts: tuple[Verdict, ...] = ("holds", "holds in part", "does not hold")
    counted: list[Row] = []
    for paper in [*dict.fromkeys(str(row["of"]) for row in rows), "all"]:
        of_paper = [row for row in rows if paper in ("all", row["of"])]
        counts: Row = {verdict: sum(row["verdict"] == verdict for row in of_paper) for verdict in verdicts}
        counted.append({"paper": paper, "claims": len(of_paper), **counts})
    return counted

"""Pages of results say what their CSV files say: claims, and every table."""

import csv
import re
from pathlib import Path

import pytest

from privet.errors import ParameterError
from privet_papers.framework import PAPERS, claims, entries
from privet_papers.framework.claims import Claim, Figures, Finding, holds, rows_and_page
from privet_papers.framework.data import DOMAINS_ARE_PUBLIC
from privet_papers.framework.output import markdown

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


def test_the_page_of_claims_is_what_the_results_give():
    rows, page = rows_and_page(claims(), RESULTS)
    assert (RESULTS / "claims.md").read_text(encoding="utf-8") == page
    with (RESULTS / "claims.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["verdict"] for row in csv.DictReader(stream)] == [row["verdict"] for row in rows]


def test_every_paper_has_claims_and_each_names_an_entry_or_a_test_that_exists():
    known, found = entries(), claims()
    assert len(found) == len(PAPERS)
    assert all(len(of_paper) >= 12 for _, _, of_paper in found)
    for _, _, of_paper in found:
        for claim in of_paper:
            assert claim.shown_by in known or (ROOT / claim.shown_by).is_file(), claim


def test_other_results_give_another_verdict(tmp_path):
    claim = Claim("Table 1", "a is ahead", "", "some-entry", lambda figures: _ahead(figures))
    for a, verdict in ((0.9, "holds"), (0.1, "does not hold")):
        (tmp_path / "some-entry.csv").write_text(f"a,b\n{a},0.5\n", encoding="utf-8")
        assert claim.finding(tmp_path).verdict == verdict


def _ahead(figures: Figures) -> Finding:
    wins, of = figures.wins("a", "b")
    return Finding("", "", holds(wins == of))


def test_a_claim_without_its_results_says_how_to_make_them(tmp_path):
    claim = Claim("Table 1", "a is ahead", "", "some-entry", _ahead)
    with pytest.raises(ParameterError, match="privet reproduce some-entry --data DIR"):
        claim.finding(tmp_path)


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.name)
def test_a_page_of_results_is_its_csv_file_with_the_notes_of_its_entry(entry):
    page = (RESULTS / f"{entry.name}.md").read_text(encoding="utf-8")
    with (RESULTS / f"{entry.name}.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    absent = re.findall(r"^Left out, since the data is absent: (.*)\.$", page, re.MULTILINE)
    command = re.search(r"Made by `(.*)`\.", page)
    assert command is not None
    assert command[1].startswith(f"privet reproduce {entry.name}")
    reads_data = any(cell.data for cell in entry.cells(False))
    notes = (*entry.notes, DOMAINS_ARE_PUBLIC) if reads_data else entry.notes
    assert page == markdown(entry, rows, command=command[1], notes=notes, absent=absent)

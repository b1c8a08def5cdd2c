"""Pages of results say what their CSV files say: claims, and every table."""

import csv
import re
from pathlib import Path

import pytest

from privet.errors import ParameterError
from privet_papers.framework import LEFT_OUT, PAPERS, claims, entries
from privet_papers.framework.claims import Claim, Figures, Finding, holds, rows_and_page
from privet_papers.framework.output import Origin, page_again

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


ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8}
# Tables and figures of each paper, by the first author's name.
PRINTED = {
    "Bojarski": (1, 10),
    "Fletcher": (4, 14),
    "Tajima": (2, 5),
    "Bai": (5, 6),
    "Vos": (8, 4),
}


def _named(text: str, kind: str) -> set[int]:
    """Return the numbers of the tables or figures that a text names, such as 'Figures 1 to 3' or 'Tables 3 and 5'."""
    numbers: set[int] = set()
    for first, joint, second in re.findall(rf"{kind}s? (\w+)(?:,? (to|and) (\w+))?", text, re.IGNORECASE):
        ends = [ROMAN.get(end) or int(end) for end in (first, second) if end in ROMAN or end.isdigit()]
        numbers |= set(range(ends[0], ends[-1] + 1)) if joint == "to" and len(ends) == 2 else set(ends)
    return numbers


def test_every_table_and_figure_of_the_papers_has_an_entry_or_a_reason_why_not():
    texts = [entry.paper for entry in entries().values()] + [what for what, _ in LEFT_OUT]
    for author, (n_tables, n_figures) in PRINTED.items():
        of_paper = [text for text in texts if text.startswith(author)]
        for kind, number in (("Table", n_tables), ("Figure", n_figures)):
            named = set().union(*(_named(text, kind) for text in of_paper))
            assert named >= set(range(1, number + 1)), (author, kind, sorted(named))


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
    assert Origin.read(page).command.startswith(f"privet reproduce {entry.name}")
    assert page == page_again(entry, page, RESULTS / f"{entry.name}.csv")

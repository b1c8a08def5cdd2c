"""What a report says, and what it must not say."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pytest
from matplotlib import pyplot

from privet.audit import AuditReport, Claim, Finding

CLAIM = Claim(1.0, 0.0, "add_remove")
QUIET = Finding(
    "quiet", "flaw", "statistical", 0.4, False, "outcome in {1}", "Value()", "D over D'", 0.95, 9, 10, 1, 10
)
LOUD = replace(QUIET, name="loud", epsilon=2.5, refuted=True)
REPORT = AuditReport("a learner", CLAIM, [QUIET, LOUD], trainings=40)
CLEAN = AuditReport("a learner", CLAIM, [QUIET], upper=0.9, notes=["One projection did not apply."])


def test_the_largest_bound_is_the_witness() -> None:
    assert (REPORT.lower, REPORT.refuted, REPORT.verdict) == (2.5, True, "refuted")
    assert REPORT.witness is LOUD
    assert "Witness: loud" in str(REPORT)
    assert "9/10 against 1/10" in str(REPORT)


def test_not_refuted_is_never_worded_as_a_proof() -> None:
    assert CLEAN.witness is None
    text = str(CLEAN)
    assert "not refuted" in text
    assert "no proof of privacy" in text
    assert not any(word in text for word in ("is private", "verified", "passed", "safe", "guaranteed", "satisfies"))
    assert "0.9" in text
    assert "One projection did not apply." in text


def test_a_report_is_plain_data() -> None:
    data = json.loads(json.dumps(REPORT.to_dict()))
    assert data["claimed"] == {"epsilon": 1.0, "delta": 0.0, "relation": "add_remove"}
    assert (data["verdict"], data["witness"], data["lower"]) == ("refuted", "loud", 2.5)
    assert [finding["verdict"] for finding in data["findings"]] == ["not refuted", "refuted"]


def test_an_empty_report_bounds_nothing() -> None:
    assert AuditReport("a learner", CLAIM, []).lower == 0.0


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_plot_goes_to_a_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"audit.{suffix}"
    REPORT.plot(path)
    assert path.stat().st_size > 1_000
    assert not pyplot.get_fignums()


def test_the_plot_shows_each_bound_and_the_claim_on_given_axes() -> None:
    figure, axes = pyplot.subplots()
    report = replace(REPORT, findings=[QUIET, LOUD, replace(LOUD, name="infinite", epsilon=inf)])
    assert report.plot(axes) is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["quiet", "loud", "infinite"]
    assert axes.lines[0].get_xdata()[0] == CLAIM.epsilon  # type: ignore[index]  # the claim's line
    assert any("infinite" in text.get_text() for text in axes.texts)
    pyplot.close(figure)

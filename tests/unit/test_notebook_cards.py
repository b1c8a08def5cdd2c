"""What notebooks show: estimators, ledgers, schemas and reports as cards, in the notebook's own colours."""

import re

import numpy as np
import pytest

from privet import Categorical, Numeric, PrivaTreeClassifier, Schema, evaluate
from privet.audit.report import AuditReport, Claim, Finding
from privet.datasets import load_adult
from privet.report.evaluation import measure
from tests.browser import CHROMIUM, CONTRASTS, OVERLAPPING_TEXTS, browser

pandas = pytest.importorskip("pandas")

EVIL = "<script>alert(1)</script>"
SCHEMA = Schema({"age": Numeric(0, 100), EVIL: Categorical([EVIL, "b"])}, classes=["no", "yes"])
X = pandas.DataFrame({"age": np.arange(60.0), EVIL: [EVIL, "b"] * 30})
Y = np.array(["no", "yes"] * 30)


@pytest.fixture(scope="module")
def fitted():
    return PrivaTreeClassifier(epsilon=1.0, schema=SCHEMA, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def shown(fitted):
    finding = Finding("a pair", EVIL, "exact", 9.0, True, "an event")
    return {
        "estimator": fitted,
        "not fitted": PrivaTreeClassifier(epsilon=0.5, schema=SCHEMA),
        "ledger": fitted.privacy_,
        "plan": fitted.plan(),
        "schema": SCHEMA,
        "audit": AuditReport("trainer", Claim(1.0, 0.0, "add_remove"), [finding]),
        "check": SCHEMA.check(pandas.DataFrame({"age": [500.0], EVIL: ["c"]})),
        "evaluation": measure(fitted, X, Y, data=EVIL, public=True),
        "private evaluation": evaluate(fitted, X, Y, epsilon=1.0, by=EVIL),
    }


def test_every_card_escapes_what_it_shows_and_asks_for_nothing(shown):
    for name, thing in shown.items():
        html = thing._repr_html_()
        assert "<script" not in html, name
        assert not re.search(r"\b(src|href|url)\b", html), name


def test_a_repr_fits_in_a_few_lines(shown):
    for name, thing in shown.items():
        assert len(repr(thing).splitlines()) <= 10, name
        assert len(repr(thing)) <= 500, name
    schema = load_adult().schema
    assert repr(schema).count("\n") == 0
    assert "'age': Numeric(17, 90)" in str(schema)
    assert len(repr(PrivaTreeClassifier(epsilon=1.0, schema=schema)).splitlines()) <= 3


def test_an_estimator_says_what_it_cost_and_notebooks_prefer_that(fitted):
    html = fitted._repr_mimebundle_()["text/html"]
    assert "epsilon = 1 for adding or removing one record" in html
    assert "splits" in html
    assert "leaves" in html


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")
def test_cards_read_well_in_light_and_dark_notebooks(shown, tmp_path):
    cards = "".join(thing._repr_html_() for thing in shown.values())
    with browser() as page:
        for ink, paper in (("#111", "#fff"), ("#ddd", "#111")):
            path = tmp_path / "notebook.html"
            path.write_text(f"<!DOCTYPE html><body style='color:{ink};background:{paper}'>{cards}</body>")
            page.resize(390)
            page.open(path)
            assert page.evaluate(CONTRASTS)[0][0] >= 4.5
            assert page.evaluate(OVERLAPPING_TEXTS) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 390

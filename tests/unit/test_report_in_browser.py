"""Laws of the report page in a real Chromium: it renders, asks for nothing, reads well in light and dark, prints."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from privet import Boolean, Categorical, Date, Integer, Numeric, Ordinal, RandomDecisionForestClassifier
from privet.datasets import load_adult
from privet.learners.boosting.estimators import BoostingRegressor
from privet.learners.privatree.tree import PrivaTreeClassifier
from privet.report import write_report
from privet.report.evaluation import measure
from privet.schema.schema import Schema
from tests.browser import CHROMIUM, CONTRASTS, OVERLAPPING_TEXTS, TEXTS_OUTSIDE_THEIR_BOXES, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")

SECTIONS = ["learned", "guarantee", "budget", "schema", "accuracy", "poisoning", "audit", "verify", "limits"]


def tree_on_adult():
    adult = load_adult()
    return PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, random_state=0).fit(*adult.train), None


def numbers_on_adult():
    """A regressor of the hours worked, with an evaluation: shapes with bands and categories, and pictures of errors."""
    adult = load_adult()
    features = {name: domain for name, domain in adult.schema.features.items() if name != "hours_per_week"}
    schema = Schema(features, target=adult.schema.features["hours_per_week"])
    X, test = adult.train[0], adult.test[0]
    model = BoostingRegressor(1.0, 1e-6, schema, n_rows_hint=30_000, random_state=0)
    model.fit(X.drop(columns="hours_per_week"), X["hours_per_week"])
    kept = test.drop(columns="hours_per_week")
    return model, measure(model, kept, test["hours_per_week"], data="test.csv", public=True)


def forest_of_long_names():
    """Three classes, dates, levels, whole numbers and truth values, with names that are hard to fit in."""
    names = [f"category number {number} with a long name" for number in range(30)]
    classes = ["a first class with a long name", "second", "a third class, also rather long"]
    features = {
        "a very long name of a feature that goes on": Numeric(0, 1e6, grid="log", missing=True),
        "when": Date("2010-01-01", "2030-12-31"),
        "level": Ordinal(["low", "middle", "high", "very high indeed"]),
        "member": Boolean(missing=True),
        "year": Integer(1900, 2030),
        "group": Categorical(names, other=True, missing=True),
    }
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 7_000, 3_000), unit="D")
    columns = [
        rng.lognormal(8, 2, 3_000),
        days,
        rng.choice(features["level"].categories, 3_000),
        rng.choice([True, False], 3_000),
        rng.integers(1900, 2030, 3_000),
        rng.choice(names, 3_000),
    ]
    X = pd.DataFrame(dict(zip(features, columns, strict=True)))
    y = np.array(classes)[X["member"].astype(int) + (X["year"] > 1980)]
    model = RandomDecisionForestClassifier(5.0, 0.0, Schema(features, classes=classes), n_trees=5, max_depth=5)
    return model.set_params(random_state=0).fit(X, y), None


@pytest.fixture(scope="module", params=[tree_on_adult, numbers_on_adult, forest_of_long_names])
def page(request, tmp_path_factory):
    """A page about a model on Adult, open in Chromium."""
    model, evaluation = request.param()
    path = tmp_path_factory.mktemp("report") / "model.html"
    write_report(model, path, evaluation=evaluation)
    with browser() as opened:
        opened.open(path)
        yield opened


def test_it_renders_every_section_without_a_complaint_and_without_the_network(page):
    heights = page.evaluate(f"{SECTIONS}.map(id => document.getElementById(id).getBoundingClientRect().height)")
    assert min(heights) > 60
    assert page.complaints() == []
    assert [address.partition(":")[0] for address in page.requests()] == ["file"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(page, scheme):
    page.colour_scheme(scheme)
    page.open_details()
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 200
    assert contrasts[0][0] >= 4.5, contrasts[0]
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 28)"
    assert dark == (scheme == "dark")


def test_pictures_and_regions_have_names_and_the_outline_has_no_gaps(page):
    assert page.evaluate("[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label'))")
    assert page.evaluate("[...document.querySelectorAll('[role=region]')].every(s => s.getAttribute('aria-label'))")
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"


def test_the_keyboard_reaches_the_skip_link_first_and_then_the_sections(page):
    page.evaluate("document.body.focus(); window.scrollTo(0, 0)")
    page.press_tab()
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.press_tab()
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#learned"


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_overflows_and_no_two_texts_overlap(page, width):
    page.resize(width)
    page.open_details()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TEXTS_OUTSIDE_THEIR_BOXES) == []
    assert page.evaluate(OVERLAPPING_TEXTS) == []


def test_every_answer_of_yes_comes_first_and_every_leaf_says_its_share(page):
    answers = page.evaluate(
        "[...document.querySelectorAll('.kids')].map(k => [...k.children].map(c => c.firstChild.textContent))"
    )
    assert len(answers) > 3
    assert {tuple(answer.partition(",")[0] for answer in pair) for pair in answers} == {("yes", "no")}
    leaves = page.evaluate("[...document.querySelectorAll('.leaf')].map(leaf => leaf.textContent)")
    assert len(leaves) > 7
    shares = [leaf for leaf in leaves if not any(said in leaf for said in ("% of about ", "hardly any", "+", "−"))]
    assert shares == []


def test_a_phone_shows_every_level_of_a_tree_without_scrolling_sideways(page):
    page.resize(390)
    right = page.evaluate(
        "Math.max(...[...document.querySelectorAll('.box')].map(b => b.getBoundingClientRect().right))"
    )
    assert right <= 390


def test_it_prints(page):
    assert page.pdf().startswith(b"%PDF")


def test_the_checks_of_layout_find_what_they_look_for(page):
    page.evaluate("""(() => {
      const over = document.createElement('p'), first = document.querySelector('h1').getBoundingClientRect();
      over.textContent = 'over the title';
      over.style.cssText = `position: absolute; margin: 0; left: ${first.left}px; top: ${first.top + scrollY}px`;
      document.body.append(over);
    })()""")
    overlapping = page.evaluate(OVERLAPPING_TEXTS)
    page.evaluate("document.body.lastChild.remove()")
    text = "document.querySelector('svg text')"
    place = page.evaluate(f"{text}.getAttribute('x')")
    page.evaluate(f"{text}.setAttribute('x', 2000)")
    outside = page.evaluate(TEXTS_OUTSIDE_THEIR_BOXES)
    page.evaluate(f"{text}.setAttribute('x', {place})")  # tests that come later see the page as it was
    assert any("over the title" in pair for pair in overlapping)
    assert outside != []
    assert page.evaluate(TEXTS_OUTSIDE_THEIR_BOXES) == []

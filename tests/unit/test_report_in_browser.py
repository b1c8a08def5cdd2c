"""Laws of the report page in a real Chromium: it renders, asks for nothing, reads well in light and dark, prints."""

from itertools import pairwise

import pytest

from privet.datasets import load_adult
from privet.learners.boosting.estimators import BoostingRegressor
from privet.learners.privatree.tree import PrivaTreeClassifier
from privet.report import write_report
from privet.report.evaluation import measure
from privet.schema.schema import Schema
from tests.browser import CHROMIUM, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")

SECTIONS = ["learned", "guarantee", "budget", "schema", "accuracy", "poisoning", "audit", "verify", "limits"]

# Every text with the contrast (WCAG 2.2) between its colour and what is behind it.
CONTRASTS = """
(() => {
  document.querySelectorAll('details').forEach(d => d.open = true);
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const behind = e => {
    for (let p = e; p; p = p.parentElement) {
      const c = parse(getComputedStyle(p).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const card = parse(getComputedStyle(document.querySelector('pre')).backgroundColor);
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const found = [];
  for (const e of document.body.querySelectorAll('*')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || ['title', 'desc'].includes(e.tagName.toLowerCase())) continue;
    const style = getComputedStyle(e), drawn = e.closest('svg') !== null;
    const colour = parse(drawn ? style.fill : style.color);
    const grounds = drawn ? [behind(e.closest('svg')), card] : [behind(e)];
    found.push([Math.min(...grounds.map(g => ratio(colour, g))), e.tagName + ' ' + e.textContent.slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
})()
"""


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


@pytest.fixture(scope="module", params=[tree_on_adult, numbers_on_adult])
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


def test_nothing_but_scrolling_regions_is_wider_than_a_small_screen(page):
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.call("Emulation.clearDeviceMetricsOverride")


def test_it_prints(page):
    assert page.pdf().startswith(b"%PDF")

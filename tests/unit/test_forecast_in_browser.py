"""Laws of the forecast's page in a real Chromium: its sliders say what the library says, and it reads well."""

from itertools import pairwise

import pytest

from privet.forecast import Curve, Forecast, Noise, Row
from privet.forecast.calibration import Calibration, StraightLine
from privet.report import render_forecast, write_forecast
from tests.browser import CHROMIUM, CONTRASTS, OVERLAPPING_TEXTS, TEXTS_OUTSIDE_THEIR_BOXES, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium")

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SECTIONS = ["try", "table", "unknown", "made"]


def a_forecast(n_rows=20_000, learner="PrivetClassifier"):
    """A forecast with a band that reaches below zero, and with noise from one person to thousands."""
    line = StraightLine(0.0, 1.0)
    made = Calibration("any", "two classes", (line,), (line,), 1.0, 23, 184, 160, 12.6)
    signals = (10.0, 100.0, 1_000.0, 10_000.0, 100_000.0)
    curve = Curve(signals, (1.0, -1.0, -3.0, -4.0, -4.5), (30.0, 12.0, 5.0, 1.5, 0.5), (55.0, 30.0, 12.0, 4.0, 1.8))
    rows = tuple(
        Row(epsilon, *curve.at(n_rows * epsilon), Noise("a leaf's count is off", 14 / epsilon, "people"))
        for epsilon in EPSILONS
    )
    return Forecast(learner, n_rows, 1e-6, "accuracy", rows, curve, made)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a forecast, open in Chromium."""
    path = tmp_path_factory.mktemp("forecast") / "forecast.html"
    write_forecast(a_forecast(), path)
    with browser() as opened:
        opened.open(path)
        yield opened


def turn(page, key, value):
    """Turn a slider to a value, and return all figures that the page shows then."""
    page.evaluate(
        f"(() => {{ const dial = document.getElementById('{key}'); dial.value = Math.log10({value});"
        " dial.dispatchEvent(new Event('input')); })()"
    )
    names = ["epsilon", "rows", "expected", "band", "noise", "useful", "sure"]
    texts = page.evaluate(f"{names}.map(name => document.getElementById(name + '-value').textContent)")
    return dict(zip(names, (text.replace("−", "-") for text in texts), strict=True))


def test_it_renders_every_section_without_a_complaint_and_without_the_network(page):
    heights = page.evaluate(f"{SECTIONS}.map(id => document.getElementById(id).getBoundingClientRect().height)")
    assert min(heights) > 60
    assert page.complaints() == []
    assert [address.partition(":")[0] for address in page.requests()] == ["file"]


def test_sliders_say_what_the_library_says_at_every_epsilon_and_number_of_rows(page):
    found = a_forecast()
    for rows in (1_000, 20_000, 600_000):
        turn(page, "rows", rows)
        for epsilon in EPSILONS:
            said = turn(page, "epsilon", epsilon)
            expected, low, high = found.curve.at(rows * epsilon)
            assert (said["epsilon"], said["rows"]) == (f"{epsilon:g}", f"{rows:,}")
            assert abs(float(said["expected"]) - expected) < 0.051
            ends = [float(end) for end in said["band"].split(" to ")]
            assert abs(ends[0] - low) < 0.051
            assert abs(ends[1] - high) < 0.051
            noise = float(said["noise"].replace(",", ""))
            assert abs(noise * epsilon / 14 - 1) < 0.05
        there = a_forecast(rows)
        for key, surely in (("useful", False), ("sure", True)):
            smallest = there.smallest_useful(surely=surely)
            assert said[key] == ("above 10" if smallest is None else f"{smallest:g}")
    turn(page, "rows", 20_000)
    turn(page, "epsilon", 1)


def test_the_mark_moves_along_the_line_and_the_band_moves_with_the_rows(page):
    where = "document.querySelector('#picture .dot').getAttribute('{}')"
    turn(page, "epsilon", 0.1)
    left, upper = float(page.evaluate(where.format("cx"))), float(page.evaluate(where.format("cy")))
    turn(page, "epsilon", 1)
    assert float(page.evaluate(where.format("cx"))) > left
    assert float(page.evaluate(where.format("cy"))) > upper  # a smaller loss is further down
    band = page.evaluate("document.querySelector('#picture .band').getAttribute('d')")
    turn(page, "rows", 2_000)
    assert page.evaluate("document.querySelector('#picture .band').getAttribute('d')") != band
    turn(page, "rows", 20_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(page, scheme):
    page.colour_scheme(scheme)
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 60
    assert contrasts[0][0] >= 4.5, contrasts[0]


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_overflows_and_no_two_texts_overlap(page, width):
    page.resize(width)
    page.evaluate("window.dispatchEvent(new Event('resize'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TEXTS_OUTSIDE_THEIR_BOXES) == []
    assert page.evaluate(OVERLAPPING_TEXTS) == []
    assert page.evaluate("document.getElementById('picture').getBoundingClientRect().right") <= width


def test_sliders_have_names_say_their_values_and_are_reached_by_keyboard(page):
    page.evaluate("document.body.focus(); window.scrollTo(0, 0)")
    page.press_tab()
    assert page.evaluate("document.activeElement.textContent") == "Skip to the forecast"
    page.press_tab()
    assert page.evaluate("document.activeElement.id") == "epsilon"
    assert page.evaluate("document.activeElement.labels[0].textContent").startswith("epsilon")
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "epsilon 1"
    page.press_tab()
    assert page.evaluate("document.activeElement.id") == "rows"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_a_name_cannot_become_a_script(tmp_path):
    path = tmp_path / "forecast.html"
    name = "</script><script>document.title = 'taken'</script>\"'><b id=taken>"
    path.write_text(render_forecast(a_forecast(learner=name)), "utf-8")
    with browser() as opened:
        opened.open(path)
        assert opened.evaluate("document.title") == "Privacy forecast"
        assert opened.evaluate("document.getElementById('taken')") is None
        assert opened.complaints() == []


def test_without_its_script_the_page_shows_the_forecast_for_the_given_rows(tmp_path):
    path = tmp_path / "forecast.html"
    before, tag, _ = render_forecast(a_forecast()).partition("<script>")
    assert tag
    path.write_text(before + "</body></html>", "utf-8")
    with browser() as opened:
        opened.open(path)
        assert opened.evaluate("document.getElementById('dials').hidden")
        assert opened.evaluate("document.getElementById('expected-value').textContent") == "1.2"
        assert opened.evaluate("document.querySelectorAll('#picture .band').length") == 1
        assert opened.evaluate(TEXTS_OUTSIDE_THEIR_BOXES) == []
        assert opened.evaluate(OVERLAPPING_TEXTS) == []

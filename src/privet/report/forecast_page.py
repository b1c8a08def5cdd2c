"""The page of a forecast: sliders for epsilon and the number of rows, in one file that needs no network."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import privet
from privet.forecast.noise import in_two_digits
from privet.forecast.result import HEADER, LIMITS, TRIED, WITHIN, Forecast, Row
from privet.markup import Markup, Piece, bullets, figure, join, paragraph, picture, table, tag
from privet.report.canvas import Canvas
from privet.report.document import document, section
from privet.writing import replace_text

STYLE = """
.dials { display: grid; grid-template-columns: repeat(auto-fit, minmax(17rem, 1fr)); gap: .4rem 2.5rem; }
.dials[hidden] { display: none; }
.dials label { display: flex; justify-content: space-between; align-items: baseline; font-weight: 600; }
.dials output { font-size: 1.35rem; font-variant-numeric: tabular-nums; color: var(--one); }
.dials input { width: 100%; height: 2.2rem; margin: 0; accent-color: var(--one); cursor: pointer; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .8rem;
  margin: 1rem 0 1.2rem; padding: 0; list-style: none; }
.figures li { background: var(--card); border: 1px solid var(--faint); border-radius: .6rem; padding: .7rem .9rem; }
.figures li:first-child { border-left: .35rem solid var(--one); }
.figures b { display: block; font-size: 1.4rem; line-height: 1.25; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.figures span { display: block; color: var(--muted); font-size: .88rem; line-height: 1.35; margin-top: .15rem; }
svg .mark { stroke: var(--two); stroke-width: 2.2; }
svg .dot { fill: var(--two); stroke: var(--paper); stroke-width: 2; }
"""
FEWEST_ROWS = 100
TIMES = 30  # more and fewer rows than were given can be tried


def write_forecast(forecast: Forecast, path: str | Path) -> None:
    """Write the page of a forecast; see `render_forecast`."""
    replace_text(path, render_forecast(forecast))


def render_forecast(forecast: Forecast) -> str:
    """Return the page of a forecast.

    Parameters
    ----------
    forecast : Forecast
        What is shown.

    Notes
    -----
    *Privacy.* Nothing on it was computed from records, and nothing was spent: it may be shown to anybody who may see
    the schema. Its script is allowed by its hash; without scripts the page shows the forecast for the given rows.
    """
    script = files("privet.report").joinpath("forecast_page.js").read_text("utf-8")
    parts = [
        ("try", "Try epsilon and rows", _dials(forecast)),
        ("table", f"For about {forecast.n_rows:,} records", _table(forecast)),
        ("unknown", "What this cannot know", bullets(*LIMITS)),
        ("made", "How it was made", _made(forecast)),
    ]
    body = join(
        tag("a", "Skip to the forecast", href="#forecast", class_="skip"),
        tag(
            "header",
            tag("h1", "What would privacy cost?"),
            paragraph(tag("span", "Nothing was spent", class_="badge"), " ", forecast.subject, class_="lead"),
            bullets(*forecast.conclusions),
        ),
        tag("main", *(section(*part) for part in parts), id="forecast", data_forecast=json.dumps(_facts(forecast))),
        tag("footer", paragraph(f"Made by privet {privet.__version__}. {forecast.sources}", class_="muted")),
    )
    return document("Privacy forecast", body, style=STYLE, script=script)


def _facts(forecast: Forecast) -> dict[str, Any]:
    """Return what the script works with."""
    known = forecast.to_dict()
    epsilons = [row.epsilon for row in forecast.rows]
    sizes = [max(row.noise.people, 1e-3) for row in forecast.rows]
    return {
        "curve": known["curve"],
        "epsilons": [epsilons[0], epsilons[-1]],
        "noise": {"epsilons": epsilons, "sizes": sizes},
        "tried": TRIED,
        "within": WITHIN,
    }


def _dials(forecast: Forecast) -> Markup:
    shown = min(forecast.rows, key=lambda row: abs(math.log10(row.epsilon)))
    epsilons = [math.log10(forecast.rows[0].epsilon), math.log10(forecast.rows[-1].epsilon)]
    most, fewest = math.log10(forecast.n_rows * TIMES), math.log10(max(FEWEST_ROWS, forecast.n_rows / TIMES))
    dials = tag(
        "div",
        _dial("epsilon", "epsilon", epsilons[0], epsilons[1], math.log10(shown.epsilon), f"{shown.epsilon:g}"),
        _dial("rows", "records", fewest, max(most, fewest), math.log10(forecast.n_rows), f"{forecast.n_rows:,}"),
        class_="dials",
        id="dials",
        hidden="hidden",
    )
    return join(dials, _figures(forecast, shown), _picture(forecast))


def _dial(key: str, name: str, low: float, high: float, value: float, words: str) -> Markup:
    ends = {"min": f"{low:.4f}", "max": f"{high:.4f}", "step": "any", "value": f"{value:.6f}"}
    label = tag("label", tag("span", name), tag("output", words, id=f"{key}-value", for_=key), for_=key)
    return tag("div", label, tag("input", type="range", id=key, aria_valuetext=f"{name} {words}", **ends))


def _figures(forecast: Forecast, row: Row) -> Markup:
    useful, sure = forecast.smallest_useful(), forecast.smallest_useful(surely=True)

    def card(key: str, value: str, meaning: Piece) -> Markup:
        return tag("li", tag("b", value, id=f"{key}-value"), tag("span", meaning))

    return tag(
        "ul",
        card("expected", _points(row.expected), f"points of {forecast.measure} expected to be lost to privacy"),
        card("band", f"{_points(row.low)} to {_points(row.high)}", "points: the loss is likely between these"),
        card("noise", in_two_digits(row.noise.people), f"{row.noise.whom}: {row.noise.what} by about so many"),
        card("useful", _epsilon(useful), f"smallest useful epsilon: at most {WITHIN:g} points are expected to be lost"),
        card("sure", _epsilon(sure), f"smallest epsilon at which the whole band is within {WITHIN:g} points"),
        class_="figures",
        aria_live="polite",
    )


def _picture(forecast: Forecast) -> Markup:
    """Return the picture for the given rows, which the script redraws."""
    row = forecast.rows[0]
    spoken = (
        f"From {_points(row.expected)} points at epsilon {row.epsilon:g} to {_points(forecast.rows[-1].expected)} at "
        f"{forecast.rows[-1].epsilon:g}; the table below has all figures."
    )
    drawn = picture("Expected loss over epsilon, with its band", spoken, 680, 300, *_lines(forecast))
    caption = (
        f"Points of {forecast.measure} below the same learner without privacy: expected (line), and where it "
        "is likely to lie (band)."
    )
    return figure(Markup(drawn.replace("<svg ", '<svg id="picture" ', 1)), caption)


def _lines(forecast: Forecast) -> list[Markup]:
    rows = forecast.rows
    low, high = min(0.0, *(row.low for row in rows)), max(5.0, *(row.high for row in rows))
    places = [math.log10(row.epsilon) for row in rows]
    canvas = Canvas((places[0], places[-1]), (low, high), 680, 300, 44, 14, 14, 46)
    upper, lower, middle = (
        [(place, getattr(row, name)) for place, row in zip(places, rows, strict=True)]
        for name in ("high", "low", "expected")
    )
    ticks = [(place, f"{row.epsilon:g}") for place, row in zip(places, rows, strict=True)]
    return [
        *canvas.rows(6),
        *canvas.ticks(ticks),
        canvas.area(upper, lower, "band"),
        canvas.line(middle, "line l1"),
    ]


def _table(forecast: Forecast) -> Markup:
    caption = f"Points of {forecast.measure} below the same learner without privacy"
    return table(caption, HEADER, [row.cells for row in forecast.rows], numbers=frozenset({1, 2, 3}))


def _made(forecast: Forecast) -> Markup:
    return join(
        paragraph(forecast.sources),
        paragraph(
            "The learner was run on made-up records that were drawn from the schema: a weak signal, classes that are "
            "clusters, and a strong signal of pairs of features. What it lost there was translated into what it is "
            "likely to lose on real records, by lines that were fitted on public data sets. Losses depend on epsilon "
            "and rows through their product, so one curve serves both sliders; the noise in people is that of a plan "
            "for the number of records given."
        ),
        paragraph(forecast.checked),
    )


def _points(loss: float) -> str:
    return f"{loss + 0.0:.1f}".replace("-0.0", "0.0").replace("-", "−")


def _epsilon(epsilon: float | None) -> str:
    return "above 10" if epsilon is None else f"{epsilon:g}"

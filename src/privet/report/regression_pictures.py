"""Pictures of how far a regressor's predictions are from the truth, on public records."""

from __future__ import annotations

from privet.markup import Markup, figure, table, tag
from privet.report.canvas import Canvas
from privet.report.evaluation import RegressionEvaluation
from privet.report.insight import plain

_SIZE = {"width": 430, "height": 300, "left": 58, "bottom": 46}


def predicted_against_true(evaluation: RegressionEvaluation) -> Markup | None:
    """Draw groups of similar predictions against the true targets; None where there are too few records."""
    groups = evaluation.groups
    if len(groups) < 2:
        return None
    low = min(min(group.low, group.predicted) for group in groups)
    high = max(max(group.high, group.predicted) for group in groups)
    if not low < high:
        return None
    canvas = Canvas((low, high), (low, high), **_SIZE)
    upper, lower = ([(g.predicted, getattr(g, end)) for g in groups] for end in ("high", "low"))
    middle = [(group.predicted, group.middle) for group in groups]
    parts = [
        *canvas.rows(5),
        *canvas.columns(5),
        canvas.area(upper, lower, "band"),
        canvas.line([(low, low), (high, high)], "line l2"),
        canvas.line(middle, "line l1"),
        *(tag("circle", cx=f"{canvas.at(x):.1f}", cy=f"{canvas.up(y):.1f}", r=3.4, class_="d1") for x, y in middle),
        tag("text", "predicted", x=f"{canvas.at((low + high) / 2):.1f}", y=canvas.height - 8, class_="middle muted"),
        tag("text", "true", x=canvas.left + 6, y=canvas.top + 12, class_="muted"),
    ]
    picture = canvas.svg("Predicted against true targets", "The same numbers follow in a table.", *parts)
    caption = (
        "True targets by what was predicted: their median (line) and where four of five lie (band), for groups of "
        "similar predictions. On the dashed line predictions are right."
    )
    rows = [[plain(g.predicted), plain(g.low), plain(g.middle), plain(g.high)] for g in groups]
    header = ["predicted, mean of the group", "true: one in ten is below", "median", "one in ten is above"]
    numbers = table("Predicted against true targets", header, rows, numbers=frozenset({1, 2, 3}))
    return tag("div", figure(picture, caption), tag("details", tag("summary", "numbers"), numbers))


def residuals(evaluation: RegressionEvaluation) -> Markup | None:
    """Draw how often predictions are off by how much."""
    shares, width = evaluation.residual_shares, evaluation.residual_width
    if not shares or width <= 0:
        return None
    most = 1.05 * max(shares)
    canvas = Canvas((-width, width), (0.0, 100 * most), **_SIZE)
    step = 2 * width / len(shares)
    parts = [*canvas.rows(4), *canvas.columns(5)]
    for place, share in enumerate(shares):
        left, right, top = (
            canvas.at(-width + place * step),
            canvas.at(-width + (place + 1) * step),
            canvas.up(100 * share),
        )
        size = {"width": f"{right - left - 1.5:.1f}", "height": f"{canvas.up(0) - top:.1f}"}
        parts.append(tag("rect", x=f"{left + 0.75:.1f}", y=f"{top:.1f}", **size, class_="f1"))
    parts.append(
        tag("text", "true minus predicted", x=f"{canvas.at(0):.1f}", y=canvas.height - 8, class_="middle muted")
    )
    parts.append(tag("text", "% of records", x=canvas.left + 6, y=canvas.top + 12, class_="muted"))
    picture = canvas.svg("Residuals", "The same numbers follow in a table.", *parts)
    caption = "How many records are off by how much; the outermost bars also hold all that is beyond."
    rows = [
        [f"{plain(-width + place * step, 3)} to {plain(-width + (place + 1) * step, 3)}", f"{share:.1%}"]
        for place, share in enumerate(shares)
    ]
    numbers = table("Residuals", ["true minus predicted", "share of records"], rows, numbers=frozenset({1}))
    return tag("div", figure(picture, caption), tag("details", tag("summary", "numbers"), numbers))

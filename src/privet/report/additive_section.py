"""What an additive model learned: what each feature adds, how much of that may be noise, and what is not shown."""

from __future__ import annotations

from collections.abc import Sequence

from privet.errors import ParameterError
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.shape_drawing import COVERAGE, REACH, export_tree, most_telling
from privet.learners.boosting.shapes import Shape, Shapes, shapes_of
from privet.models.axes import grid_ticks, shortened
from privet.report.canvas import Canvas, stairs
from privet.report.charts import LINES, bars, legend
from privet.report.insight import plain
from privet.report.markup import Markup, figure, join, paragraph, table, tag

SHAPES, BARS, CATEGORIES = 9, 12, 8
_ROW, _LETTERS = 20, 18  # pixels of a category's row, and letters of its name
_MISSING = 1.12  # where missing values stand, right of the grid that ends at 1


def learned(model: Additive) -> Markup:
    """Say what the model learned, from released values alone."""
    whole = shapes_of(model)
    shown = whole.acting[:SHAPES]
    if not shown:
        return paragraph("The model says the same of every record: noise outweighed all that there was to learn.")
    limits = _limits(shown)
    items = [(shape.column.name, shape.importance, f"{shape.importance:.1%}") for shape in whole.acting]
    idle = [shape.column.name for shape in whole.shapes if shape.importance == 0]
    return join(
        paragraph(
            f"The model is a sum, {_parts(model)}. Everything here is read off its released values. No record was "
            "looked at, so nothing here costs privacy, and nothing here says how frequent a value is."
        ),
        tag("h3", "Which features matter"),
        figure(bars("Importance of the features", items[:BARS]), _caption_of_bars(whole)),
        paragraph(f"Without influence: {', '.join(idle)}.", class_="note") if idle else None,
        tag("h3", "What each feature adds"),
        paragraph(
            f"How much each value adds to {_what(whole)}, on average over all other features, each of whose steps "
            f"counts the same. {_bands(whole)} is where the noise alone would leave {COVERAGE:.0%} of repetitions, "
            f"given the same splits. All pictures have one scale.{_left_out(whole)}"
        ),
        paragraph(_not_shown(whole), class_="note"),
        tag("div", *(_shape(shape, whole, limits) for shape in shown), class_="small"),
        _one_tree(model),
    )


def _parts(model: Additive) -> str:
    """Say what the sum is made of."""
    tables = "a table for each feature" if model.tables.any() else "a common start"
    if model.trees is None:
        return tables
    return f"{tables}, and {model.trees.n_trees} small trees of {model.trees.depth} levels"


def _what(whole: Shapes) -> str:
    if whole.unit == "units of the target":
        return "the predicted number, in its own units"
    return f"the log-odds of {whole.scores[0]}" if len(whole.scores) == 1 else "the log-odds of each class"


def _bands(whole: Shapes) -> str:
    return (
        "The band, or bar, around it" if len(whole.scores) == 1 else "A bar around it, or what the tables call noise,"
    )


def _left_out(whole: Shapes) -> str:
    return f" The first {LINES} of {len(whole.scores)} classes are shown." if len(whole.scores) > LINES else ""


def _caption_of_bars(whole: Shapes) -> str:
    return (
        "Importance: how far a feature moves the score, as a part of all such moves; "
        f"{whole.from_trees:.0%} of it comes from trees, in which features can act together, the rest from tables."
    )


def _not_shown(whole: Shapes) -> str:
    if whole.beyond < 0.005:
        return "Next to nothing is left for combinations of features: the pictures below are nearly the whole model."
    return (
        f"Not in these pictures: about {whole.beyond:.0%} of the score's variance over made-up records, which lies in "
        "combinations of features and in holding sums within bounds. A single prediction is taken apart exactly by "
        "model_.contributions in Python."
    )


def _one_tree(model: Additive) -> Markup | None:
    if model.trees is None:
        return None
    try:
        text = export_tree(model, 0)
    except ParameterError:  # too large to be read
        return None
    summary = tag("summary", f"The first of {model.trees.n_trees} trees, with what its leaves add to the score")
    return tag("details", summary, tag("pre", text))


def _limits(shown: Sequence[Shape]) -> tuple[float, float]:
    low = min(0.0, *(float((shape.values - REACH * shape.noise).min()) for shape in shown))
    high = max(0.0, *(float((shape.values + REACH * shape.noise).max()) for shape in shown))
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _shape(shape: Shape, whole: Shapes, limits: tuple[float, float]) -> Markup:
    name, scores = shape.column.name, whole.scores[:LINES]
    title = f"{name}: what it adds to {_what(whole)}"
    picture = (_steps if shape.column.ordered else _categories)(title, shape, scores, limits)
    header = [name, *(part for score in scores for part in (_heading(whole, score), "noise ±"))]
    rows = [
        [
            label,
            *(text for k in range(len(scores)) for text in (_signed(values[k]), plain(REACH * float(noise[k]), 2))),
        ]
        for label, values, noise in zip(shape.labels, shape.values, shape.noise, strict=True)
    ]
    numbers = table(f"{name}: what each value adds", header, rows, numbers=frozenset(range(1, 2 * LINES + 1)))
    caption = f"{name}: {shape.importance:.0%} of all importance"
    return tag("div", figure(picture, caption), tag("details", tag("summary", "numbers"), numbers))


def _heading(whole: Shapes, score: str) -> str:
    return "adds" if len(whole.scores) == 1 else f"adds to {score}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{plain(abs(float(value)), 3)}"


def _steps(title: str, shape: Shape, scores: Sequence[str], limits: tuple[float, float]) -> Markup:
    """Draw the steps of a numeric feature on the schema's grid; missing values stand apart at the right."""
    column, present = shape.column, shape.n_present
    extra = len(shape.ends) > present
    canvas = Canvas((0.0, _MISSING + 0.06 if extra else 1.0), limits, top=12 + 18 * (len(scores) > 1))
    edges = [0.0, *((end + 1) / column.n_values for end in shape.ends[:present])]
    parts = [*canvas.rows(), *canvas.ticks(_without_crowding(grid_ticks(column), extra))]
    for number in range(1, len(scores) + 1):
        values, reach = shape.values[:, number - 1], REACH * shape.noise[:, number - 1]
        if len(scores) == 1:
            upper, lower = (stairs(edges, (values + side * reach)[:present].tolist()) for side in (1, -1))
            parts.append(canvas.area(upper, lower, "band"))
        parts.append(canvas.line(stairs(edges, values[:present].tolist()), f"line l{number}"))
        if extra:
            at = canvas.at(_MISSING + 0.02 * (number - 1))
            y, half = canvas.up(float(values[-1])), canvas.up(float(values[-1] - reach[-1]))
            top = canvas.up(float(values[-1] + reach[-1]))
            parts.append(_whisker(f"{at:.1f}", f"{at:.1f}", f"{top:.1f}", f"{half:.1f}", number))
            parts.append(tag("circle", cx=f"{at:.1f}", cy=f"{y:.1f}", r=3, class_=f"d{number}"))
    if extra:
        parts += canvas.ticks([(_MISSING, shape.labels[-1])])
    if len(scores) > 1:
        parts += legend(scores, canvas.left, canvas.width - canvas.right)
    return canvas.svg(title, _spoken(shape, scores), *parts)


def _categories(title: str, shape: Shape, scores: Sequence[str], limits: tuple[float, float]) -> Markup:
    """Draw the categories that add or take most, a row each, in the schema's order."""
    shown = most_telling(shape, CATEGORIES)
    top = 6 + 18 * (len(scores) > 1)
    left = len(shape.labels) - len(shown)
    height = top + _ROW * (len(shown) + (left > 0)) + 28
    canvas = Canvas(limits, (0.0, 1.0), height=height, left=140, top=top)
    parts = canvas.columns()
    for row, step in enumerate(shown):
        middle = top + _ROW * (row + 0.5)
        name = shortened(shape.labels[step], _LETTERS)
        parts.append(tag("text", name, x=canvas.left - 6, y=f"{middle + 4:.1f}", class_="end"))
        for number in range(1, len(scores) + 1):
            value, reach = float(shape.values[step, number - 1]), REACH * float(shape.noise[step, number - 1])
            y = f"{middle + 3 * (number - (len(scores) + 1) / 2):.1f}"
            parts.append(_whisker(f"{canvas.at(value - reach):.1f}", f"{canvas.at(value + reach):.1f}", y, y, number))
            parts.append(tag("circle", cx=f"{canvas.at(value):.1f}", cy=y, r=2.8, class_=f"d{number}"))
    if left:
        y = f"{top + _ROW * (len(shown) + 0.5) + 4:.1f}"
        parts.append(tag("text", f"{left} more add less", x=canvas.left - 6, y=y, class_="end muted"))
    if len(scores) > 1:
        parts += legend(scores, 6, canvas.width - canvas.right)
    return canvas.svg(title, _spoken(shape, scores), *parts)


def _whisker(x1: str, x2: str, y1: str, y2: str, number: int) -> Markup:
    return tag("line", x1=x1, x2=x2, y1=y1, y2=y2, class_=f"whisker w{number}")


def _without_crowding(ticks: list[tuple[float, str]], extra: bool) -> list[tuple[float, str]]:
    """Leave out numbers that the word "missing" would run into."""
    return [(place, label) for place, label in ticks if not extra or place < 0.84]


def _spoken(shape: Shape, scores: Sequence[str]) -> str:
    """Return in words what a picture shows: the steps that add and take most."""
    said = []
    for number, score in enumerate(scores):
        values = shape.values[:, number]
        most, least = int(values.argmax()), int(values.argmin())
        of = "" if len(scores) == 1 else f"{score}: "
        said.append(
            f"{of}{shape.labels[most]} adds most ({_signed(values[most])}), {shape.labels[least]} least "
            f"({_signed(values[least])})"
        )
    return f"{'; '.join(said)}. All numbers follow in a table."

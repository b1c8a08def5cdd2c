"""What an additive model learned: what each feature adds, how much of that may be noise, and what is not shown."""

from __future__ import annotations

from collections.abc import Sequence

from privet.learners.boosting.additive import Additive
from privet.learners.boosting.gradients import SCORE_BITS
from privet.learners.boosting.shape_drawing import COVERAGE, REACH, values_within_reach
from privet.learners.boosting.shapes import Shape, Shapes, scale_of, shapes_of
from privet.markup import Markup, figure, join, paragraph, table, tag
from privet.models.reading import Leaf, root
from privet.report.charts import LINES, bars
from privet.report.insight import plain
from privet.report.shape_pictures import DrawnShape, shape_picture
from privet.report.trees import one_tree

SHAPES, BARS = 9, 12


def learned(model: Additive) -> Markup:
    """Say what the model learned, from released values alone."""
    whole = shapes_of(model)
    shown = whole.acting[:SHAPES]
    if not shown:
        return paragraph("The model says the same of every record: noise outweighed all that there was to learn.")
    limits = _axis_with_zero(shown)
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
        *_one_tree(model),
    )


def _parts(model: Additive) -> str:
    """Say what the sum is made of."""
    tables = "a table for each feature" if model.tables.any() else "a common start"
    if model.trees is None:
        return tables
    return f"{tables}, and {model.trees.n_trees} small trees of {model.trees.depth} levels"


def _what(whole: Shapes) -> str:
    if whole.unit == "units of the target":
        return "the predicted target, in its own units"
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


def _one_tree(model: Additive) -> list[Markup]:
    if model.trees is None:
        return []
    scale, unit, names = scale_of(model)

    def says(leaf: int) -> Leaf:
        values = scale * model.values[leaf].astype(float) * 2.0**-SCORE_BITS
        if len(names) == 1:
            return Leaf(_signed(values[0]), class_number=int(values[0] > 0))
        best = int(abs(values).argmax())
        return Leaf(f"{_signed(values[best])} for {names[best]}", class_number=best)

    said = f"Each leaf adds to the score, in {unit}"
    said += "." if len(names) == 1 else "; shown is the class that it adds most to or takes most from."
    return one_tree(f"The first of {model.trees.n_trees} trees", root(model.encoding, model.trees, 0, says), said)


def _axis_with_zero(shown: Sequence[Shape]) -> tuple[float, float]:
    low, high = values_within_reach(shown)
    low, high = min(0.0, low), max(0.0, high)
    room = 0.04 * (high - low) or 1.0
    return low - room, high + room


def _shape(shape: Shape, whole: Shapes, limits: tuple[float, float]) -> Markup:
    name, scores = shape.column.name, whole.scores[:LINES]
    title = f"{name}: what it adds to {_what(whole)}"
    shown = slice(0, len(scores))
    reach = REACH * shape.noise[:, shown]
    drawn = DrawnShape(shape.column, shape.ends, shape.labels, shape.values[:, shown], reach, scores)
    picture = shape_picture(title, _spoken(shape, scores), drawn, limits)
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
    return tag(
        "div",
        figure(picture, caption),
        tag("details", tag("summary", "steps" if shape.column.ordered else "numbers"), numbers),
    )


def _heading(whole: Shapes, score: str) -> str:
    return "adds" if len(whole.scores) == 1 else f"adds to {score}"


def _signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{plain(abs(float(value)), 3)}"


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

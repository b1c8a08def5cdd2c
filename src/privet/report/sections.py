"""The sections of the page: what was learned, what is guaranteed, where the budget went, what is public."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from privet.errors import ParameterError
from privet.learners.boosting.additive import Additive
from privet.markup import Markup, bullets, figure, join, paragraph, table, tag
from privet.models.forest import Forest, LeafLabels
from privet.models.regression_forest import RegressionForest
from privet.privacy.certificate import noise_status
from privet.privacy.events import Event, readable
from privet.privacy.ledger import Ledger
from privet.privacy.stages import stages
from privet.privacy.statements import Grade, delta_in_words, odds_in_words, percent_down, percent_up, stated_up
from privet.privacy.terms import Terms
from privet.privacy.text import cost_in_words, guarantee_in_words, is_pure, noise_in_words, shares
from privet.report import additive_section
from privet.report.charts import LINES, bars
from privet.report.insight import VoteCurve, importances, plain, shape, step_labels
from privet.report.shape_pictures import DrawnShape, shape_picture
from privet.report.trees import forest_tree, one_tree
from privet.report.words import PRIORS, Meaning, badge, hidden
from privet.schema.category_domains import Boolean, DatePart, Hashed, Ordinal
from privet.schema.domains import Categorical, Domain
from privet.schema.encoding import Encoding
from privet.schema.schema import Schema
from privet.schema.whole_domains import Date, Integer
from privet.tables.protocol import Floats

SHAPES = 6
BARS = 12


def learned(model: Any) -> Markup:
    """What the model learned: a tree, importances, shapes."""
    if isinstance(model, Additive):
        return additive_section.learned(model)
    try:
        moved = importances(model)
    except ParameterError:
        return paragraph("This model answers for the points of one public batch only; there is no rule to be shown.")
    order = [int(i) for i in np.argsort(-moved, kind="stable")]
    names = [model.encoding.columns[i].name for i in order]
    acting = [(name, float(moved[i]), f"{moved[i]:.1%}") for name, i in zip(names, order, strict=True) if moved[i] > 0]
    idle = [name for name, i in zip(names, order, strict=True) if moved[i] == 0]
    chart = bars("Importance of the features", acting[:BARS])
    shapes = [_shape(model, feature) for feature in order[:SHAPES] if moved[feature] > 0]
    what = "How far the prediction moves, as a part of the target's range, on average, when one feature"
    what = what if isinstance(model, RegressionForest) else "How much of the vote moves, on average, when one feature"
    return join(
        paragraph(
            "Everything here is read off the released model, by asking it about made-up inputs: every feature drawn "
            "uniformly from its public range or list. No record was looked at, so nothing here costs privacy, and "
            "nothing here says how frequent a value is."
        ),
        *_tree(model),
        tag("h3", "Which features matter"),
        figure(chart, f"{what} alone is drawn anew.") if acting else None,
        paragraph(f"Without influence: {', '.join(idle)}.", class_="note") if idle else None,
        tag("h3", "How the most important features act"),
        tag("div", *shapes, class_="small"),
    )


def _tree(model: Any) -> list[Markup]:
    if not isinstance(model, Forest | RegressionForest):
        return []
    try:
        root = forest_tree(model, 0)
    except ParameterError:  # random trees that are too large to be written down
        return []
    n_trees = model.structure.n_trees
    return one_tree("The tree" if n_trees == 1 else f"The first of {n_trees} trees", root, _what_leaves_say(model))


def _what_leaves_say(model: Forest | RegressionForest) -> str:
    if isinstance(model, RegressionForest):
        return "A leaf says which number it predicts, and about how many records it has; both are noisy, as released."
    if isinstance(model.leaves, LeafLabels):
        return "Only labels were released of the leaves."
    return (
        "A leaf says how large a share of its records has the class that it names, and about how many there are; "
        "both are noisy, as released."
    )


def _shape(model: Any, feature: int) -> Markup:
    curve, encoding = shape(model, feature), model.encoding
    if isinstance(model, RegressionForest):
        low, high = model.target.low, model.target.high
        return _steps(
            encoding, curve, low + curve.votes * (high - low), ["prediction"], "prediction", plain, (low, high)
        )
    classes: Any = getattr(encoding.target, "classes", ())
    # One line says all about two classes.
    shown = [len(classes) - 1] if len(classes) == 2 else list(range(min(len(classes), LINES)))
    names = [str(classes[k]) for k in shown]
    what = f"share of the vote {f'for {names[0]}' if len(shown) == 1 else 'for each class'}"
    return _steps(encoding, curve, curve.votes[:, shown], names, what, "{:.0%}".format, (0.0, 1.0))


def _steps(
    encoding: Encoding,
    curve: VoteCurve,
    values: Floats,
    names: list[str],
    what: str,
    number: Callable[[float], str],
    limits: tuple[float, float],
) -> Markup:
    """Draw what a model says along a feature, and list it."""
    column, ends = encoding.columns[curve.feature], curve.ends.tolist()
    labels = tuple(step_labels(column, ends))
    drawn = DrawnShape(column, tuple(ends), labels, values, None, names, number)
    title = f"{column.name}: {what}"
    spoken = "; ".join(
        f"{name}: from {number(low)} to {number(high)}"
        for name, low, high in zip(names, values.min(axis=0), values.max(axis=0), strict=True)
    )
    exact = number if number is plain else "{:.1%}".format
    rows = [[label, *map(exact, said)] for label, said in zip(labels, values.tolist(), strict=True)]
    listed = "prediction" if number is plain else "share of the vote"
    numbers = table(f"{column.name}: {listed}", [column.name, *names], rows, numbers=frozenset(range(1, LINES + 1)))
    return tag(
        "div",
        figure(shape_picture(title, f"{spoken}. All steps follow in a table.", drawn, limits), title),
        tag("details", tag("summary", "steps" if column.ordered else "numbers"), numbers),
    )


def guarantee(ledger: Ledger, n_rows: int | None = None) -> Markup:
    """What an attacker can and cannot learn; `n_rows` is the public number of records, if there is one."""
    if not ledger.proven:
        return join(
            paragraph(badge(ledger)),
            paragraph("Nothing is proven about this model. Treat it like the records themselves. The reasons:"),
            bullets(*ledger.why),
        )
    meaning = Meaning.of(ledger)
    delta = (
        f" With delta, {delta_in_words(ledger.delta)}: enough to disclose a whole record so often. It "
        "must be far below one in the number of people."
        if ledger.delta
        else ""
    )
    rows: list[list[Any]] = []
    for prior in PRIORS:
        low, high = meaning.posterior(prior)
        rows.append([f"{prior:.0%}", f"{percent_down(low)} to {percent_up(high)}"])
    return join(
        paragraph(badge(ledger, n_rows), " ", tag("strong", guarantee_in_words(ledger)), "."),
        paragraph(f"This is {Grade.of(ledger.epsilon, ledger.delta, n_rows)}.{delta}"),
        paragraph(
            f"Hidden is {hidden(ledger)}. Whoever sees the model, its file and this page, with any computing power and "
            f"any other knowledge, can change their odds about that {odds_in_words(meaning.odds())}, "
            f"up or down{_but_for(meaning)}."
        ),
        table(f"What an attacker believes before and after{_but_for(meaning)}", ["before", "after, at the most"], rows),
        _contents(ledger, meaning),
        paragraph(
            "An attacker who must guess between two equally likely cases, and who knows everything else, is right with "
            f"a probability of at most {percent_up(meaning.guessing_accuracy)} instead of 50%: a membership advantage "
            f"of at most {percent_up(meaning.membership_advantage)} (0% is blind guessing, 100% is certainty)."
        ),
        paragraph(
            "What is not hidden: facts about many people. If the model says that long schooling goes with a high "
            "income, it says so about everyone with long schooling, whether or not they were in the data."
        ),
    )


def _contents(ledger: Ledger, meaning: Meaning) -> Markup | None:
    """Say what follows for what records say, where the guarantee is about their presence."""
    if ledger.terms.neighbours != "add_remove":
        return None
    return paragraph(
        "This is about being in the data. What somebody's records say, given that they are in it, is two such steps "
        "away (one version removed, another added): odds about that can change "
        f"{odds_in_words(meaning.odds(2))}{_but_for(meaning)}."
    )


def _but_for(meaning: Meaning) -> str:
    return f", but for a probability of up to {stated_up(meaning.odds_fail, 3)}" if meaning.delta else ""


def budget(ledger: Ledger) -> Markup:
    """Where the budget went."""
    events, pure, found = _grouped(ledger), is_pure(ledger), stages(ledger)
    measure = "epsilon" if pure else "rho (zero-concentrated privacy)"
    drawn = [(stage, share, stage.paid(pure=pure)) for stage, share in zip(found, shares(ledger), strict=True)]
    beside = [(stage.name, readable(paid), share or cost_in_words(paid)) for stage, share, paid in drawn]
    chart = [item for item in beside if math.isfinite(item[1])]

    def cost(event: Event) -> Fraction | None:
        return event.cost.epsilon if pure else event.cost.rho

    rows = [
        [
            event.name,
            str(event.mechanism),
            noise_in_words(event),
            stated_up(event.sensitivity, 9),
            "no bound" if cost(event) is None else cost_in_words(cost(event)),
            event.sees + (f" ({number} times, on disjoint records)" if number > 1 else ""),
        ]
        for event, number in events
    ]
    caption = f"What was released, by which mechanism, at which cost in {measure}"
    header = ["released", "mechanism", "noise parameter", "sensitivity", "cost", "looks at"]
    by_stage = [
        [stage.name, str(len(stage.events)), stage.mechanisms, stage.noise, cost_in_words(paid)]
        for stage, _, paid in drawn
    ]
    stage_header = ["stage", "releases", "mechanism", "noise", "cost"]
    return join(
        paragraph("Total: ", tag("strong", guarantee_in_words(ledger)), "."),
        figure(bars(f"Cost in {measure}", chart), f"Cost of each stage in {measure}.") if chart else None,
        table(f"The stages, and what each costs in {measure}", stage_header, by_stage, numbers=frozenset({1, 4})),
        paragraph(
            "Noise is given in records: how many of them could change a released value as much as the noise does. For "
            "a selection it is the lead that makes a choice e times, about 2.7 times, as likely.",
            class_="note",
        ),
        tag(
            "details",
            tag("summary", "every release"),
            table(caption, header, rows, numbers=frozenset({2, 3, 4})),
        ),
        paragraph(
            "Releases that look at the same records add up; of releases that look at disjoint records the largest "
            "counts, and even less where fresh secret coins divide the records (a mixture). The noise parameter is "
            "the scale of Laplace and cube noise, the variance of Gaussian noise, or the rate of a selection; the "
            "sensitivity "
            f"is what one added or removed record can change{_of_a_unit(ledger)}. Noise source: "
            f"{noise_status(ledger)}.",
            class_="note",
        ),
    )


def _of_a_unit(ledger: Ledger) -> str:
    """Say how the sensitivity of records is that of units."""
    terms = ledger.terms
    return "" if terms.unit_column is None else f"; the noise is for all of a unit, up to {terms.max_rows} at a time"


def _grouped(ledger: Ledger) -> list[tuple[Event, int]]:
    """Put equal events together: a forest on disjoint records has one for each tree."""
    counted: dict[Event, int] = {}
    for event in ledger.events:
        counted[event] = counted.get(event, 0) + 1
    return list(counted.items())


def public_schema(schema: Schema) -> Markup:
    """What is taken for public."""
    rows = [[name, *_domain(domain)] for name, domain in schema.features.items()]
    rows.append(["(to predict)", *_domain(schema.target)])
    warning = (
        paragraph(tag("span", "Read off the data", class_="badge no"), f" {schema.inferred}: nothing is guaranteed.")
        if schema.inferred
        else None
    )
    unit = f"one {Terms.of(schema).protected}"
    return join(
        paragraph(
            "Bounds and categories below are taken for public knowledge: whoever wrote the schema vouches that they "
            "were not looked up in the records. Values outside are clipped or mapped, one record at a time."
        ),
        warning,
        table("Features and what they can be", ["name", "kind", "public domain", "missing"], rows),
        tag(
            "dl",
            *(tag("dt", "neighbours"), tag("dd", schema.neighbours)),
            *(tag("dt", "unit of privacy"), tag("dd", unit)),
            *(tag("dt", "digest"), tag("dd", tag("code", schema.digest()))),
        ),
    )


def _domain(domain: Domain) -> list[Any]:
    missing = "has its own code" if domain.missing else "not expected"
    if isinstance(domain, Hashed):
        return ["hashed", f"anything, in {domain.buckets:,} buckets by a public hash", missing]
    if isinstance(domain, DatePart):
        return ["part of a date", f"the {domain.part} of {domain.of}", missing]
    if isinstance(domain, Categorical):
        names = [str(category) for category in domain.categories]
        text = ", ".join(names[:8]) + (f", … ({len(names)} in all)" if len(names) > 8 else "")
        kind = {Ordinal: "ordered categories", Boolean: "yes or no"}.get(type(domain), "categorical")
        return [kind, text + (", or other" if domain.other else ""), missing]
    grid = f", own cut points ({len(domain.edges)})" if domain.edges else (", log grid" if domain.grid == "log" else "")
    if isinstance(domain, Date | Integer):
        words = domain.column("", 2).cut_in_words
        kind = "date" if isinstance(domain, Date) else "whole number"
        return [kind, f"{words(domain.low)} to {words(domain.high)}{grid}", missing]
    return ["numeric", f"{plain(domain.low)} to {plain(domain.high)}{grid}", missing]

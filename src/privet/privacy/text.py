"""A ledger in words: the table that people read, and the plain data that is written to files."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privet.errors import ModelFileError
from privet.markup import Markup, table
from privet.privacy.events import (
    Composition,
    Cost,
    Either,
    Event,
    Filter,
    Mechanism,
    Mixture,
    Parallel,
    Sequential,
    has_alternatives,
)
from privet.privacy.stages import stages
from privet.privacy.statements import Grade, delta_in_words, stated_down, stated_up
from privet.privacy.terms import Allowance, Terms

if TYPE_CHECKING:
    from privet.privacy.ledger import Ledger

# A guarantee covers what an estimator is given. What was done to the records before is not in its ledger.
SCOPE = "for what reached this estimator"

CHANGES = {
    "add_remove": "adding or removing {unit}",
    "replace": "replacing {unit}",
    "label": "changing the label of {unit}",
}


_MOST_NESTING = 20  # of compositions in a file


def guarantee_in_words(ledger: Ledger) -> str:
    """Say in one sentence what is guaranteed, or that nothing is and why."""
    if not ledger.proven:
        return "no guarantee: " + "; ".join(ledger.why)
    change = CHANGES[ledger.terms.neighbours].format(unit=f"one {ledger.terms.protected}")
    delta = f", delta = {stated_up(ledger.delta)}" if ledger.delta else ""
    return f"epsilon = {stated_up(ledger.epsilon)}{delta} for {change}, {SCOPE}"


def strength_in_words(ledger: Ledger) -> list[str]:
    """Say how strong the guarantee is, and what its delta means; an empty list if there is no guarantee."""
    if not ledger.proven:
        return []
    strength = f"strength: {Grade.of(ledger.epsilon, ledger.delta)}"
    return [strength, f"delta: {delta_in_words(ledger.delta)}"] if ledger.delta else [strength]


def guarantee_as_data(ledger: Ledger) -> dict[str, object]:
    """Return the guarantee in numbers and its strength, for programs."""
    strength = Grade.of(ledger.epsilon, ledger.delta).strength
    return {"epsilon": ledger.epsilon, "delta": ledger.delta, "strength": strength}


def ledger_table(ledger: Ledger, *, full: bool = False) -> str:
    """Lay the ledger out as text: a line for each stage, or in `full` for each release."""
    lines = _full_lines(ledger) if full else _stage_lines(ledger)
    facts = [f"{name}: {fact}" for name, fact in (() if ledger.plan is None else ledger.plan.facts.items())]
    return "\n".join([*lines, "", "total: " + guarantee_in_words(ledger), *strength_in_words(ledger), *facts])


def _full_lines(ledger: Ledger) -> list[str]:
    header = ("released", "mechanism", "noise", "epsilon", "rho", "looks at")
    rows = [header, *(_row(event) for event in ledger.events), *map(_scope_row, _scopes(ledger.composition))]
    return _laid_out(rows)


def stage_table(ledger: Ledger) -> Markup:
    """Return the stages as a table of a page."""
    header, *rows = _stage_rows(ledger)
    return table("What was spent on what; noise is in records", header, rows, numbers=frozenset({1, 4, 5}))


def _stage_lines(ledger: Ledger) -> list[str]:
    return _laid_out(_stage_rows(ledger))


def _stage_rows(ledger: Ledger) -> list[tuple[str, ...]]:
    pure = is_pure(ledger)
    rows: list[tuple[str, ...]] = [("stage", "releases", "mechanism", "noise", "epsilon" if pure else "rho", "share")]
    for stage, share in zip(stages(ledger), shares(ledger), strict=True):
        cost = cost_in_words(stage.paid(pure=pure))
        rows.append((stage.name, str(len(stage.events) or ""), stage.mechanisms, stage.noise, cost, share))
    return rows


def is_pure(ledger: Ledger) -> bool:
    """Whether costs add up in epsilon; else they do in rho.

    Where a count decides, a plan states the epsilon of what follows; a fit may have taken the pure alternative.
    """
    if ledger.allowance is None or ledger.allowance.rho is None:
        return True
    return has_alternatives(ledger.composition) and all(stage.cost.epsilon is not None for stage in stages(ledger))


def shares(ledger: Ledger) -> list[str]:
    """Return each stage's part of the total, as texts; empty where stages see different records and do not add up."""
    pure = is_pure(ledger)
    paid, whole = [stage.paid(pure=pure) for stage in stages(ledger)], ledger.cost.epsilon if pure else ledger.cost.rho
    known = [cost for cost in paid if cost is not None]
    if has_alternatives(ledger.composition):  # its rho is that of the alternative that has most, taken or not
        whole = sum(known, Fraction(0))
    if not whole or len(known) < len(paid) or sum(known) != whole:
        return [""] * len(paid)
    return [f"{float(cost / whole):.0%}" for cost in known]


def _laid_out(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def noise_in_words(event: Event) -> str:
    """Name the parameter of an event's noise, rounded towards less noise."""
    if event.mechanism in (Mechanism.NOTHING, Mechanism.FEATURES_ONLY):
        return "none"
    if event.mechanism in (Mechanism.PERMUTE_AND_FLIP, Mechanism.EXPONENTIAL):
        return f"rate {stated_up(event.parameter)}"
    symbol = "variance" if event.mechanism is Mechanism.GAUSSIAN else "scale"
    return f"{symbol} {stated_down(event.parameter)}"


def cost_in_words(cost: Fraction | None) -> str:
    """Return a cost for a table, rounded up; a dash where it has no bound."""
    return "-" if cost is None else stated_up(cost)


def _row(event: Event) -> tuple[str, ...]:
    costs = cost_in_words(event.cost.epsilon), cost_in_words(event.cost.rho)
    return (event.name, str(event.mechanism), noise_in_words(event), *costs, event.sees)


def _scopes(part: Composition) -> Iterator[Filter | Either]:
    if isinstance(part, Filter | Either):
        yield part
    for child in () if isinstance(part, Event) else part.parts:
        yield from _scopes(child)


def _scope_row(part: Filter | Either) -> tuple[str, ...]:
    if isinstance(part, Either):
        costs = cost_in_words(part.epsilon), cost_in_words(part.cost.rho)
        return (part.name, f"pure, or delta {stated_up(part.delta)}", "as was decided", *costs, "all records")
    costs = cost_in_words(part.cap.epsilon), cost_in_words(part.cap.rho)
    return (f"all {part.name} together", "filter", "as they adapt", *costs, "all records")


def ledger_to_dict(ledger: Ledger) -> dict[str, object]:
    """Return everything that is needed to state and to recompute the guarantee."""
    allowance, terms = ledger.allowance, ledger.terms
    return {
        "guarantee": guarantee_in_words(ledger),
        "proven": ledger.proven,
        "why": list(ledger.why),
        "neighbours": terms.neighbours,
        "max_rows": terms.max_rows,
        **({} if terms.unit_column is None else {"unit_column": terms.unit_column}),
        "epsilon": None if allowance is None else str(allowance.epsilon),
        "delta": None if allowance is None else str(allowance.delta),
        "spent": _composition_to_dict(ledger.composition),
    }


def _composition_to_dict(part: Composition) -> dict[str, object]:
    if isinstance(part, Event):
        return part.to_dict()
    parts = [_composition_to_dict(child) for child in part.parts]
    if isinstance(part, Mixture):
        return {"mixture": parts, "weights": [str(weight) for weight in part.weights]}
    if isinstance(part, Filter):
        return {"filter": parts, "name": part.name, "epsilon": _text(part.cap.epsilon), "rho": _text(part.cap.rho)}
    if isinstance(part, Either):
        return {"either": parts, "name": part.name, "epsilon": str(part.epsilon), "delta": str(part.delta)}
    return {"sequential" if isinstance(part, Sequential) else "parallel": parts}


def _text(x: Fraction | None) -> str | None:
    return None if x is None else str(x)


def ledger_from_dict(data: Any) -> Ledger:
    """Read a ledger back. A file's statements are only data: they are as trustworthy as whoever wrote the file."""
    from privet.privacy.ledger import NO_PRIVACY_ASKED, Ledger

    try:
        allowance = None
        if data["epsilon"] is not None:
            allowance = Allowance.of(Fraction(data["epsilon"]), Fraction(data["delta"]))
        whole = _composition_from_dict(data["spent"])
        flaws = {event.flaw for event in whole.events()}
        doubts = [str(reason) for reason in data["why"] if reason not in flaws | {NO_PRIVACY_ASKED}]
        column = data.get("unit_column")
        terms = Terms(str(data["neighbours"]), int(data["max_rows"]), None if column is None else str(column))
        return Ledger.stating(terms, allowance, whole, doubts)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ModelFileError(
            f"privacy: not a ledger ({type(error).__name__}); the file is damaged, save it again"
        ) from error


def _composition_from_dict(data: Any, depth: int = 0) -> Composition:
    if depth > _MOST_NESTING:
        raise ValueError("nested too deeply")
    if "sequential" in data:
        return Sequential(tuple(_composition_from_dict(child, depth + 1) for child in data["sequential"]))
    if "parallel" in data:
        return Parallel(tuple(_composition_from_dict(child, depth + 1) for child in data["parallel"]))
    if "mixture" in data:
        parts = tuple(_composition_from_dict(child, depth + 1) for child in data["mixture"])
        return Mixture(tuple(Fraction(weight) for weight in data["weights"]), parts)
    if "either" in data:
        parts = tuple(_composition_from_dict(child, depth + 1) for child in data["either"])
        return Either(str(data["name"]), Fraction(data["epsilon"]), Fraction(data["delta"]), parts)
    epsilon, rho = (None if data[key] is None else Fraction(data[key]) for key in ("epsilon", "rho"))
    if (epsilon or 0) < 0 or (rho or 0) < 0 or int(data.get("numbers", 0)) < 0:
        raise ValueError(f"a release cannot cost less than nothing: {str(data.get('name'))!r:.60}")
    if "filter" in data:
        parts = tuple(_composition_from_dict(child, depth + 1) for child in data["filter"])
        return Filter(str(data["name"]), Cost(epsilon, rho), parts)
    return Event(
        str(data["name"]),
        Mechanism(data["mechanism"]),
        Fraction(data["parameter"]),
        Fraction(data["sensitivity"]),
        Cost(epsilon, rho),
        str(data["sees"]),
        None if data["flaw"] is None else str(data["flaw"]),
        Fraction(data["largest"]) if "largest" in data else None,
        int(data["numbers"]) if "numbers" in data else None,
        _groups(data["groups"]) if "groups" in data else None,
    )


def _groups(data: Any) -> tuple[int, ...]:
    if not isinstance(data, list) or any(type(size) is not int for size in data):
        raise ValueError("groups of cube noise are a list of whole numbers")
    return tuple(data)

"""`audit`: everything that could refute an estimator's claim, in one report."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from sklearn.base import clone

from privet.audit.canaries import canaries
from privet.audit.enumeration import Subject
from privet.audit.exact import ExactResult, exact_audit
from privet.audit.ledger_audit import ledger_audit
from privet.audit.neighbour_pair import NeighbourPair
from privet.audit.neighbours import NEIGHBOUR_PAIRS
from privet.audit.projections import Predictions
from privet.audit.report import AuditReport, Claim, Finding, Relation
from privet.audit.search import search
from privet.audit.statistical import statistical_audit
from privet.audit.way_in.watching import without_unit
from privet.audit.way_in.whole_way import QUICK, THOROUGH, WayInEffort, way_in_audit
from privet.errors import AuditError, PrivetError, UnsoundWarning
from privet.estimators.base import PrivateEstimator
from privet.estimators.counting import CountedFirst, buys_count
from privet.parameters import check_choice
from privet.privacy import budgets
from privet.privacy.statements import stated_down, stated_up
from privet.privacy.terms import Allowance
from privet.progress import now
from privet.schema.domains import Categorical, Domain, Numeric
from privet.schema.schema import Schema, Unit

Level = Literal["quick", "thorough"]


@dataclass(frozen=True)
class Effort:
    """How much work a level means."""

    shapes: tuple[tuple[int, int, int], ...]  # trees, depth and records of the exact audit; the first feasible is used
    trainings: int  # for each pair
    pairs: int  # canaries and named pairs for the statistical audit
    replays: int  # canaries for the ledger audit
    steps: tuple[int, ...] = (90, 30)  # of the search: for records, for units, for records with a numeric feature
    way_in: WayInEffort = QUICK


SMALL_SHAPES = ((2, 1, 2), (1, 1, 2))
EFFORTS = {
    "quick": Effort(SMALL_SHAPES, 270, 2, 2),
    "thorough": Effort(
        ((2, 2, 3), (1, 2, 4), (2, 2, 2), *SMALL_SHAPES), 7_500, 1_000, 1_000, steps=(600, 300, 300), way_in=THOROUGH
    ),
}

# Models that are trained thousands of times have few small trees; a claim does not depend on their number.
LIMITS_OF_TRAINED_TREES = {"n_trees": 2, "max_depth": 3}


def audit(
    estimator: Any,
    level: Level = "quick",
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    relation: str | None = None,
    pairs: Sequence[NeighbourPair] | None = None,
    python: str | Path | None = None,
    n_jobs: int | None = -1,
    verbose: bool = False,
) -> AuditReport:
    """Try to refute an estimator's privacy claim.

    Parameters
    ----------
    estimator : estimator, callable or "file.py:function"
        A privet estimator states its own claim. It is audited exactly (on a tiny schema, with few small trees), by a
        search for neighbours with a large loss, on the whole way from a frame to its learner (units, encoding, blocks,
        coins, draws, budgets), by its ledger, and by training it many times on neighbouring data sets. Anything else is
        given as a function ``train(X, y)`` that returns a fresh model. For it only the last is possible, and the claim
        must be stated.
    level : {"quick", "thorough"}
        Seconds or minutes of work.
    epsilon, delta, relation : optional
        The claim, for anything but a privet estimator.
    pairs : sequence of NeighbourPair, optional
        Your own pairs for training; by default the named ones and canaries for the schema.
    python : path, optional
        Train in another environment's interpreter; needs "file.py:function".
    n_jobs : int, optional
        Processes for the trainings.
    verbose : bool
        Show progress.

    Returns
    -------
    AuditReport
        *Not refuted* is not a proof.

    Examples
    --------
    >>> from privet import Numeric, RandomDecisionForestClassifier, Schema
    >>> from privet.audit import audit
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=[0, 1])
    >>> report = audit(RandomDecisionForestClassifier(epsilon=1.0, schema=schema, n_trees=2, max_depth=2), n_jobs=1)
    >>> report.refuted, round(report.upper, 6)
    (False, 1.0)
    """
    effort = EFFORTS[check_choice("level", level, tuple(EFFORTS))]
    if budgets.in_force():
        raise AuditError(
            "an audit trains many times on made-up records, and a budget in force would be charged for all of that; "
            "run it outside of privet.budget(...) blocks, and without PRIVET_BUDGET"
        )
    if isinstance(estimator, PrivateEstimator):
        return _audit_of_ours(_without_account(estimator), effort, pairs, n_jobs, verbose)
    claim = Claim.stated(epsilon, delta, relation)
    chosen = named_pairs(claim.relation) if pairs is None else list(pairs)
    return statistical_audit(
        estimator,
        chosen,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        python=python,
        max_trainings=effort.trainings * len(chosen),
        n_jobs=n_jobs,
        verbose=verbose,
    )


def _without_account(estimator: PrivateEstimator) -> PrivateEstimator:
    """Return a twin that is not charged to the account of its schema: nobody's records are used."""
    if estimator.schema is None or estimator.schema.budget is None:
        return estimator
    twin: PrivateEstimator = clone(estimator)
    twin.set_params(schema=estimator.schema.charged_to(None))
    return twin


def _audit_of_ours(
    estimator: PrivateEstimator,
    effort: Effort,
    pairs: Sequence[NeighbourPair] | None,
    n_jobs: int | None,
    verbose: bool,
) -> AuditReport:
    if estimator.schema is None:
        raise AuditError("the estimator has no schema, so it claims nothing that could be refuted; pass schema=...")
    claim = Claim.stated(estimator.epsilon, estimator.delta, estimator.schema.neighbours)
    notes: list[str] = []
    findings: list[Finding] = []
    upper = None

    now("exact law on a tiny schema")
    exact = _exact_part(estimator, effort, notes)
    if exact is not None:
        findings.append(_exact_finding(exact, f"exact law, {exact.data_sets} data sets", "exact"))
        upper = exact.loss if exact.measure == "epsilon" else None
    now("search for neighbours that lose most")
    searched, growths = _search_part(estimator, effort, notes)
    findings += searched
    now("the way in: reading, units, coins")
    findings += way_in_audit(estimator, effort.way_in, notes)
    if pairs is None and estimator.schema.unit is not None:
        notes.append("Replayed and trained on single records, without the unit: a unit's rows are for the search.")
        estimator = without_unit(estimator)
    schema = estimator.schema
    assert schema is not None
    own = list(pairs) if pairs is not None else _canaries(schema, notes)
    now("the ledger against replayed fits")
    findings += ledger_audit(estimator, own[: effort.replays])
    named = [] if isinstance(schema.target, Numeric) else named_pairs(claim.relation)  # they have classes
    trained = own if pairs is not None else [*own, *named][: effort.pairs]
    statistical, trainings = _statistical_part(estimator, claim, trained, effort, n_jobs, verbose, notes)
    findings += statistical
    return AuditReport(type(estimator).__name__, claim, findings, upper, trainings + growths, notes)


def named_pairs(relation: Relation) -> list[NeighbourPair]:
    """Return the named pairs under a relation whose flaw shows in predictions, which every classifier makes."""
    found = []
    for make in NEIGHBOUR_PAIRS.values():
        pair = make()
        views = tuple(view for view in pair.projections if isinstance(view, Predictions))
        if pair.relation == relation and views:
            found.append(replace(pair, projections=views))
    return found


def tiny_schema(neighbours: Relation = "add_remove", target: Domain | None = None) -> Schema:
    """Return the schema of the exact audit: two binary features, and two classes or a regression target."""
    features = {"a": Categorical((0, 1)), "b": Categorical((0, 1))}
    tiny = Numeric(0, 1) if isinstance(target, Numeric) else Categorical((0, 1))
    return Schema(features, tiny, neighbours=neighbours)


def tiny_subject(estimator: PrivateEstimator, *, n_trees: int = 2, max_depth: int = 2) -> Subject:
    """Return an estimator's learner on the tiny schema, with no more trees and depth than asked for."""
    assert estimator.schema is not None
    small = smaller(estimator, {"n_trees": n_trees, "max_depth": max_depth})
    schema = tiny_schema(estimator.schema.neighbours, estimator.schema.target)
    if small.random_state is None:
        small.set_params(random_state=0)  # what is public must be the same in all growths for them to be compared
    learner, allowance = small._learner(), Allowance.of(estimator.epsilon, estimator.delta)
    # Whether a count comes first is asked of the estimator itself: one whose depth is limited may not need it.
    whole = estimator._learner()
    if estimator.n_rows_hint is None and buys_count(whole, schema.encoding(whole.bins), allowance.whole):
        learner = CountedFirst(small._learner_for, learner.bins, small._stronger)
    return Subject(learner, schema, allowance)


def smaller(estimator: PrivateEstimator, limits: Mapping[str, int]) -> Any:
    """Return a copy of an estimator with no more trees and depth than the limits; "auto" becomes the limit."""
    if hasattr(estimator, "_limited"):  # it chooses by itself, and limits what it chooses
        return estimator._limited(limits)
    small = clone(estimator)
    for name, value in small.get_params(deep=False).items():
        if name in limits:
            small.set_params(**{name: min(value, limits[name]) if isinstance(value, int) else limits[name]})
    return small


def _exact_part(estimator: PrivateEstimator, effort: Effort, notes: list[str]) -> ExactResult | None:
    """Audit the largest of a few small shapes whose outcomes can be enumerated."""
    problem = ""
    for n_trees, max_depth, records in effort.shapes:
        try:
            return exact_audit(tiny_subject(estimator, n_trees=n_trees, max_depth=max_depth), records)
        except AuditError as error:
            problem = str(error)
    notes.append(f"No exact audit: {problem}.")
    return None


def _exact_finding(exact: ExactResult, name: str, kind: Literal["exact", "search"]) -> Finding:
    where = "no data set" if exact.witness is None else str(exact.witness)
    return Finding(
        name=name,
        flaw=f"the loss in {exact.measure} is above the claim",
        kind=kind,
        epsilon=exact.loss if exact.measure == "epsilon" else (math.inf if exact.refuted else 0.0),
        refuted=exact.refuted,
        event=f"{exact.measure} {stated_down(exact.loss)} of {stated_up(exact.claimed)} at {where}",
    )


def _search_part(estimator: PrivateEstimator, effort: Effort, notes: list[str]) -> tuple[list[Finding], int]:
    """Search on the tiny schema, for single records and for units; then on a numeric feature, if there is time."""
    assert estimator.schema is not None
    small = tiny_subject(estimator)
    unit = Unit("unit", 2 if estimator.schema.unit is None else estimator.schema.unit.max_rows)
    tiny, number = small.schema, {"x": Numeric(0, 1, bins=4)}
    places = {
        "records": tiny,
        f"units of {unit.max_rows} rows": Schema(tiny.features, tiny.target, neighbours=tiny.neighbours, unit=unit),
        "records with a number": Schema(number, tiny.target, neighbours=tiny.neighbours),
    }
    findings, growths = [], 0
    for (name, schema), steps in zip(places.items(), effort.steps, strict=False):
        try:
            found = search(replace(small, schema=schema), steps)
        except AuditError as error:
            notes.append(f"No search among {name}: {error}.")
            continue
        findings.append(_exact_finding(found, f"search, {found.data_sets} pairs of {name}", "search"))
        growths += 2 * found.data_sets
    return findings, growths


def _canaries(schema: Schema, notes: list[str]) -> list[NeighbourPair]:
    try:
        return canaries(schema)
    except AuditError as error:
        notes.append(f"No canaries: {error}.")
        return []


def _statistical_part(
    estimator: PrivateEstimator,
    claim: Claim,
    pairs: Sequence[NeighbourPair],
    effort: Effort,
    n_jobs: int | None,
    verbose: bool,
    notes: list[str],
) -> tuple[list[Finding], int]:
    """Train on each pair under its own schema; the error probability is shared out over the pairs."""
    findings: list[Finding] = []
    trainings = 0
    for pair in pairs:
        try:
            report = statistical_audit(
                trainer(estimator, pair.schema),
                [pair],
                epsilon=claim.epsilon,
                delta=claim.delta,
                relation=claim.relation,
                confidence=1 - 0.05 / len(pairs),
                max_trainings=effort.trainings,
                n_jobs=n_jobs,
                verbose=verbose,
            )
        except AuditError as error:
            notes.append(f"{pair.name}: nothing could be concluded by training: {error}.")
            continue
        findings += report.findings
        trainings += report.trainings
    return findings, trainings


@dataclass(frozen=True)
class Trainer:
    """Train an estimator afresh; a plain object, so that it can travel to worker processes."""

    estimator: Any

    def __call__(self, X: Any, y: Any) -> Any:
        """Return a fitted copy of the estimator."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnsoundWarning)
            return clone(self.estimator).fit(X, y)


def trainer(estimator: PrivateEstimator, schema: Schema | None) -> Callable[[Any, Any], Any]:
    """Return a function that trains `estimator` on data of another schema."""
    small = smaller(estimator, LIMITS_OF_TRAINED_TREES).set_params(schema=schema or estimator.schema)
    try:
        small.plan()
    except PrivetError as error:
        raise AuditError(f"the estimator cannot be used on this pair: {error}") from error
    return Trainer(small)

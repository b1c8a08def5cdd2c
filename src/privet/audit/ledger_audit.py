"""The audit of the ledger: what was charged is what was drawn, and the model is a function of what was drawn.

These checks are certain: a single failure refutes the claim, whatever epsilon is.
"""

from __future__ import annotations

import math
import pickle
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from privet.audit.neighbour_pair import NeighbourPair
from privet.audit.report import Finding
from privet.errors import AuditError, UnsoundWarning
from privet.estimators.files import file_text
from privet.mechanisms.release import Coins, drawn, outcomes_from
from privet.mechanisms.replay import Forced, Recording, ReplayError
from privet.privacy.events import Composition, Cost, Event, Mixture


def ledger_audit(estimator: Any, pairs: Sequence[NeighbourPair]) -> list[Finding]:
    """Check charges, plan and replay of a privet estimator on pairs of data sets that fit its schema.

    Raises
    ------
    AuditError
        If the same records are encoded differently a second time: then no comparison of two fits means anything.
    """
    findings = []
    for pair in pairs:
        _check_encoder(estimator, pair)
        recording = Recording(drawn())
        with outcomes_from(recording):
            fitted = _fit(estimator, pair.D)
        findings += [_charges(pair, fitted, recording), _replay(pair, estimator, recording)]
    return findings


def _check_encoder(estimator: Any, pair: NeighbourPair) -> None:
    encoding = estimator.schema.encoding()
    for X, y in (pair.D, pair.D_prime):
        first, second = ((encoding.encode(X), encoding.encode_target(y)) for _ in range(2))
        if not all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)):
            raise AuditError(
                f"{pair.name}: the same records got different codes a second time, so two fits cannot be compared; "
                "make the encoding deterministic"
            )


def _charges(pair: NeighbourPair, fitted: Any, recording: Recording) -> Finding:
    """What was charged is what was drawn, and no more than was planned."""
    asked = [question for question, _ in recording.transcript if isinstance(question, Event)]
    problem = ""
    if asked != list(fitted.privacy_.events):
        problem = "the ledger's events are not the mechanisms that were used"
    elif not _adds_up(fitted.privacy_.cost, fitted.plan().cost, pure=fitted.privacy_.allowance.rho is None):
        problem = "the ledger does not add up to the plan"
    elif not _coins_cover(_mixtures(fitted.privacy_.composition), recording):
        problem = "a mixture is charged whose coins were not tossed for it"
    elif not _coins_are_fresh(recording):
        problem = "two uses of secret coins have one key"
    return _finding(pair, "charges", "something is drawn without a charge", problem)


def _adds_up(spent: Cost, planned: Cost, *, pure: bool) -> bool:
    """Whether what was spent is what was planned, in the measure of the claim, and no more in the other one.

    Where a tree may stop early, a plan states the most that any run costs; runs that cost the same epsilon may differ
    in rho.
    """
    pairs = ((spent.epsilon, planned.epsilon), (spent.rho, planned.rho))
    claimed, other = pairs if pure else reversed(pairs)
    return claimed[1] in (None, claimed[0]) and (other[1] is None or (other[0] is not None and other[0] <= other[1]))


def _mixtures(part: Composition) -> Iterator[tuple[Fraction, ...]]:
    """Yield the weights of every mixture of a composition."""
    if isinstance(part, Event):
        return
    if isinstance(part, Mixture):
        yield part.weights
    for child in part.parts:
        yield from _mixtures(child)


def _coins_cover(mixtures: Iterable[tuple[Fraction, ...]], recording: Recording) -> bool:
    """Whether coins of the right weights were tossed afresh for every mixture."""
    tossed = Counter(question for question, _ in recording.transcript if isinstance(question, tuple))
    return Counter(mixtures) <= tossed


def _coins_are_fresh(recording: Recording) -> bool:
    """Whether no two uses of secret coins have one key."""
    keys = [coins.key for _, coins in recording.transcript if isinstance(coins, Coins)]
    return len(set(keys)) == len(keys)


def _replay(pair: NeighbourPair, estimator: Any, recording: Recording) -> Finding:
    """With the same outcomes forced, neighbouring data sets give the same bytes."""
    problem = ""
    try:
        if _traces(estimator, pair.D, recording) != _traces(estimator, pair.D_prime, recording):
            problem = "with equal released values, the model, its repr, file or pickle differs"
    except ReplayError as error:
        problem = str(error)
    return _finding(pair, "replay", "something of the data is in the model without noise", problem)


def _traces(estimator: Any, data: Any, recording: Recording) -> tuple[str, bytes, str]:
    forced = Forced(recording.transcript)
    with outcomes_from(forced):
        twin = _fit(estimator, data)
    forced.finish()
    return file_text(twin), pickle.dumps(twin), repr(vars(twin))


def _fit(estimator: Any, data: Any) -> Any:
    twin = clone(estimator)
    if twin.random_state is None:
        twin.set_params(random_state=0)  # what is public must be the same in both fits for their bytes to be compared
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnsoundWarning)
        return twin.fit(*data)


def _finding(pair: NeighbourPair, check: Literal["charges", "replay"], flaw: str, problem: str) -> Finding:
    return Finding(
        name=f"{check}: {pair.name}",
        flaw=flaw,
        kind="ledger",
        epsilon=math.inf if problem else 0.0,
        refuted=bool(problem),
        event=problem or "no difference",
    )

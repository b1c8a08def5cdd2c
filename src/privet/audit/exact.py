"""The exact audit: the law of a learner's output on every tiny data set, computed with the production code.

The probability of a run's outcomes is a product of known laws, summed over secret coins, which are never released. The
laws are compared for every multiset of up to a few records and every neighbour. The largest absolute log-ratio is the
true privacy loss on these data sets, which is compared with the claim.

The model is a function of the outcomes (the replay law checks that), so it is enough to look at the outcomes. Two kinds
of questions need no enumeration: the last selection of a run (its rows are independent, so their worst cases add up),
and additive noise (its worst log-ratio is the distance moved over the scale).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Literal

import numpy as np

from privet.audit.at_delta import epsilon_at_delta, squared_length
from privet.audit.enumeration import CodeDataSet, CodeRecord, NoisyValues, Path, Seen, Subject
from privet.audit.pure_noise import PURE_NOISE, pure_loss
from privet.errors import AuditError
from privet.privacy.events import Mechanism
from privet.privacy.terms import Terms
from privet.schema.encoding import ClassTarget

if TYPE_CHECKING:
    from privet.tables.protocol import IntArray


UNKNOWN = -1  # the code of a label that is not in the schema
Measure = Literal["epsilon", "rho", "epsilon at delta"]


@dataclass(frozen=True)
class Witness:
    """A pair of neighbouring data sets at which the loss is attained."""

    data: CodeDataSet
    neighbour: CodeDataSet
    outcome: str

    def __str__(self) -> str:
        return f"{list(self.data)} against {list(self.neighbour)}, at {self.outcome}"


@dataclass(frozen=True)
class ExactResult:
    """The largest loss over all neighbours looked at, and where it is attained.

    Attributes
    ----------
    loss : float
        For a pure claim the supremum of the absolute log-ratio. For a claim with delta > 0 the largest sum of zCDP
        losses along a run: squared distance over twice the variance for Gaussian noise, an eighth of the squared range
        of log-ratios for a selection. Where a count decides between the two, an epsilon at the claimed delta
        (`privet.audit.at_delta`).
    claimed : float
        What it is compared with: epsilon, or rho.
    measure : {"epsilon", "rho", "epsilon at delta"}
        Which of them.
    witness : Witness or None
        Where it is attained.
    data_sets : int
        How many data sets were looked at.
    """

    loss: float
    claimed: float
    measure: Measure
    witness: Witness | None
    data_sets: int

    @property
    def refuted(self) -> bool:
        """Whether the loss is above the claim by more than rounding errors of doubles."""
        return self.loss > self.claimed * (1 + 1e-9) + 1e-9


def exact_audit(subject: Subject, max_records: int = 4) -> ExactResult:
    """Compute the largest loss over all data sets of up to `max_records` records and all their neighbours.

    Parameters
    ----------
    subject : Subject
        The learner, on a schema with few cells, and its claim.
    max_records : int
        The size of the larger data set of a pair.
    """
    cells = cells_of(subject)
    law = {data: _by_outcome(subject.paths(data)) for data in _data_sets(cells, max_records)}
    compare = _comparison(subject)
    worst, witness = 0.0, None
    for data, neighbour in _pairs(cells, max_records, subject.schema.neighbours):
        loss, outcome = divergence(law[data], law[neighbour], compare)
        if loss > worst:
            worst, witness = loss, Witness(data, neighbour, outcome)
    return ExactResult(worst, *claim_of(subject), witness, len(law))


def claim_of(subject: Subject) -> tuple[float, Measure]:
    """Return what a loss is compared with, and how it is measured."""
    rho = subject.claimed_rho
    if rho is not None:
        return float(rho), "rho"
    return float(subject.allowance.epsilon), "epsilon at delta" if subject.decides else "epsilon"


Law = dict[Seen, list[Path]]
Compare = Callable[[list[Path], list[Path]], float]


def _comparison(subject: Subject) -> Compare:
    if subject.claimed_rho is not None:
        return _concentrated_loss
    if not subject.decides:
        return _worst_ratio

    def compare(paths: list[Path], others: list[Path]) -> float:
        if len({path.pure for path in paths + others}) > 1:
            return math.inf  # anyone who sees the ledger can tell the two apart
        if paths[0].pure:
            return _worst_ratio(paths, others)
        return _loss_at_delta(paths, others, subject.allowance.delta, subject.allowance.epsilon)

    return compare


def divergence(law: Law, other: Law, compare: Compare) -> tuple[float, str]:
    """Return the largest loss between two laws over all outcomes, and the outcome; infinite if supports differ."""
    worst, where = 0.0, ""
    for seen in law.keys() | other.keys():
        if seen not in law or seen not in other:
            return math.inf, _in_words(seen)
        loss = compare(law[seen], other[seen])
        if loss > worst:
            worst, where = loss, _in_words(seen)
    return worst, where


def _worst_ratio(paths: list[Path], others: list[Path]) -> float:
    """Return the largest absolute log-ratio given the forced outcomes: over last selections and additive noise."""
    if len(paths) == 1 and len(others) == 1:
        return _worst_of_two(paths[0], others[0])
    return _worst_of_mixtures(paths, others)


def _worst_of_two(a: Path, b: Path) -> float:
    ratio = a.log_probability - b.log_probability
    up = down = 0.0
    if (a.last is None) != (b.last is None) or len(a.noises) != len(b.noises):
        return math.inf
    if a.last is not None and b.last is not None:
        if a.last[0] != b.last[0] or a.last[1].shape != b.last[1].shape:
            return math.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(a.last[1]) - np.log(b.last[1])
        logs = np.where(np.isnan(logs), 0.0, logs)  # impossible under both
        up, down = float(logs.max(axis=1).sum()), float(logs.min(axis=1).sum())
    for noise, other in zip(a.noises, b.noises, strict=True):
        moved = _noise_loss(noise, other)
        up, down = up + moved, down - moved
    return max(ratio + up, -(ratio + down))


def _noise_loss(noise: NoisyValues, other: NoisyValues) -> float:
    if noise.event != other.event or noise.values.shape != other.values.shape:
        return math.inf
    if noise.event.mechanism in PURE_NOISE:
        return pure_loss(noise.event, noise.values - other.values)
    return 0.0 if (noise.values == other.values).all() else math.inf  # Gaussian noise has no pure bound


def _concentrated_loss(paths: list[Path], others: list[Path]) -> float:
    """Return the sum of the zCDP losses of all questions along a run."""
    if len(paths) > 1 or len(others) > 1:
        raise AuditError("an exact audit of secret coins needs a pure claim; audit it with delta=0")
    a, b = paths[0], others[0]
    if len(a.laws) != len(b.laws) or len(a.noises) != len(b.noises):
        return math.inf
    total = sum(width**2 for width in _ranges(a, b)) / 8
    for noise, moved in zip(a.noises, b.noises, strict=True):
        if noise.event != moved.event or noise.values.shape != moved.values.shape:
            return math.inf
        distance = squared_length(noise.values - moved.values)
        if noise.event.mechanism in PURE_NOISE:
            total += _noise_loss(noise, moved) ** 2 / 2
        else:
            total += distance / (2 * float(noise.event.parameter))
    return total


def _ranges(a: Path, b: Path) -> list[float]:
    """Return how wide the log-ratios of each row of each selection are; infinitely where supports differ."""
    found: list[float] = []
    for law, other in zip(a.laws, b.laws, strict=True):
        if law.shape != other.shape or ((law > 0) != (other > 0)).any():
            return [math.inf]
        logs = np.log(law, where=law > 0, out=np.zeros_like(law)) - np.log(
            other, where=other > 0, out=np.zeros_like(law)
        )
        found += (logs.max(axis=1) - logs.min(axis=1)).tolist()
    return found


def _loss_at_delta(paths: list[Path], others: list[Path], delta: Fraction, claimed: Fraction) -> float:
    """Return the epsilon at delta of a run that did not take the pure alternative."""
    if len(paths) > 1 or len(others) > 1:
        raise AuditError("an exact audit of secret coins needs a pure claim; audit it with delta=0")
    a, b = paths[0], others[0]
    if len(a.laws) != len(b.laws) or len(a.noises) != len(b.noises):
        return math.inf
    ranges = [width for width in _ranges(a, b) if width]
    noises = list(zip(a.noises, b.noises, strict=True))
    if math.inf in ranges or any(x.event != y.event or x.values.shape != y.values.shape for x, y in noises):
        return math.inf
    return epsilon_at_delta([(x.event, x.values - y.values) for x, y in noises], ranges, delta, claimed)


def _worst_of_mixtures(paths: list[Path], others: list[Path]) -> float:
    """Compare two mixtures over secret coins, outcome by outcome.

    The log-ratio of two mixtures of Laplace laws is constant in each coordinate beyond the smallest and the largest
    value measured, so it is enough to look at the integers between them.
    """
    worst = 0.0
    for outcome in _joint_outcomes(paths + others):
        a, b = (sum(_likelihood(path, outcome) for path in side) for side in (paths, others))
        if a == 0.0 and b == 0.0:
            continue
        if a == 0.0 or b == 0.0:
            return math.inf
        worst = max(worst, abs(math.log(a) - math.log(b)))
    return worst


def _joint_outcomes(paths: list[Path]) -> Iterator[tuple[tuple[int, ...], list[IntArray]]]:
    """Yield every outcome of the last selection together with every grid point of the noisy values that can matter."""
    shapes = {None if path.last is None else path.last[1].shape for path in paths}
    if len(shapes) > 1 or len({len(path.noises) for path in paths}) > 1:
        raise AuditError("the learner's questions depend on its coins; audit it with the coins as released outcomes")
    shape = shapes.pop()
    selections = product(*(range(shape[1]) for _ in range(shape[0]))) if shape else iter([()])
    grids, touched = [], []
    for i in range(len(paths[0].noises)):
        values = np.stack([path.noises[i].values for path in paths])
        low, high = values.min(axis=0), values.max(axis=0)
        moving = np.argwhere(low != high)
        touched.append(moving)
        grids.append([range(low[tuple(at)], high[tuple(at)] + 1) for at in moving])
    points = list(product(*(product(*grid) for grid in grids)))
    for selection in selections:
        for point in points:
            noisy = []
            for i, moving in enumerate(touched):
                values = paths[0].noises[i].values.copy()
                for at, value in zip(moving, point[i], strict=True):
                    values[tuple(at)] = value
                noisy.append(values)
            yield selection, noisy


def _likelihood(path: Path, outcome: tuple[tuple[int, ...], list[IntArray]]) -> float:
    """Return the likelihood of an outcome up to factors that are the same for all paths."""
    selection, noisy = outcome
    value = math.exp(path.log_probability)
    if path.last is not None:
        value *= float(np.prod([path.last[1][row, winner] for row, winner in enumerate(selection)]))
    for noise, at in zip(path.noises, noisy, strict=True):
        distance = int(np.abs(noise.values - at).sum())
        if noise.event.mechanism is Mechanism.LAPLACE:
            value *= math.exp(-distance / float(noise.event.parameter))
        elif noise.event.mechanism is Mechanism.CUBE:
            # Mixtures of these laws go on changing beyond all values measured.
            raise AuditError("an exact audit of cube noise under secret coins is not possible; audit it by search")
        elif distance:
            raise AuditError("Gaussian noise under secret coins has no closed form; audit it with delta=0")
    return value


def _by_outcome(paths: list[Path]) -> Law:
    law: Law = {}
    for path in paths:
        law.setdefault(path.seen, []).append(path)
    return law


def cells_of(subject: Subject) -> list[CodeRecord]:
    """Return all records of the schema; a regression target is at either end of its range, where it moves most."""
    encoding = subject.encoding
    target = encoding.target
    ends = [*range(encoding.n_classes)] if isinstance(target, ClassTarget) else [0, target.levels - 1]
    if Terms.of(subject.schema).features_are_public:
        ends = [UNKNOWN, *ends]  # a label may also become one that the schema does not know
    values = [*(range(size) for size in encoding.n_codes.tolist()), ends]
    size = math.prod(map(len, values))
    if size > 64:
        raise AuditError(f"the schema has {size} cells; an exact audit needs at most 64, see tiny_schema()")
    return list(product(*values))


def _data_sets(cells: list[CodeRecord], max_records: int) -> Iterator[CodeDataSet]:
    for n in range(max_records + 1):
        yield from combinations_with_replacement(cells, n)


def _pairs(cells: list[CodeRecord], max_records: int, neighbours: str) -> Iterator[tuple[CodeDataSet, CodeDataSet]]:
    for data in _data_sets(cells, max_records - 1):
        for cell in cells:
            grown = tuple(sorted((*data, cell)))
            if neighbours == "add_remove":
                yield data, grown
            else:
                for changed in cells:
                    if changed > cell and (neighbours == "replace" or changed[:-1] == cell[:-1]):
                        yield grown, tuple(sorted((*data, changed)))


def _in_words(seen: Seen) -> str:
    return "; ".join(f"{name} = {list(outcome)}" for name, outcome in seen) or "the released values"

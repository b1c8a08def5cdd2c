"""The exact loss of one pair of data sets along one run: two growths, one of them with the other's answers.

Enumerating all runs is only possible for a few records. Here one run is followed: its answers are chosen on one data
set and forced on the neighbour, and the law of every answer is known on both sides. The log-ratio of the two
probabilities of these very answers is a lower bound on the loss. It is exact, for data sets of any size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from privet.audit.at_delta import epsilon_at_delta, squared_length
from privet.audit.enumeration import CodeDataSet, Subject
from privet.audit.pure_noise import PURE_NOISE, length, pure_loss
from privet.errors import AuditError
from privet.mechanisms.joint_exponential import scores_of_cuts
from privet.mechanisms.release import Coins
from privet.parameters import public_rng
from privet.privacy import laws
from privet.privacy.events import Event, Mechanism
from privet.randomness.public import PublicRng
from privet.tables.protocol import IntArray

MOST_TUPLES = 5_000  # of cuts, whose law is computed
LEAST_PROBABILITY = 1e-300  # smaller probabilities are raised to this, so that no logarithm is infinite


class DifferentQuestionsError(Exception):
    """The neighbour led to another question, so anyone who sees the ledger can distinguish the two."""


@dataclass(frozen=True)
class Asked:
    """One question, what it measured, and its answer: probabilities of a selection, or integers under noise."""

    event: Event
    measured: NDArray[np.float64] | IntArray
    answer: IntArray

    @property
    def is_noise(self) -> bool:
        """Whether noise was added; else something was chosen."""
        return self.event.mechanism in PURE_NOISE or self.event.mechanism is Mechanism.GAUSSIAN

    @property
    def is_free(self) -> bool:
        """Whether it was released as it is, since it looks at features that are public."""
        return self.event.mechanism is Mechanism.FEATURES_ONLY


class Followed:
    """Answers for one run: chosen by a public generator, or those of an earlier run."""

    def __init__(self, rng: PublicRng, earlier: Sequence[Asked] | None = None) -> None:
        self._rng = rng
        self._earlier = earlier
        self.asked: list[Asked] = []

    def noisy(self, values: IntArray, event: Event) -> IntArray:
        """Answer with the values themselves or, to see what follows from that, with values far off."""
        far = 8 * math.ceil(_width(event)) + 8
        shift = int(self._rng.choice([0, far, -far, 8 * far]))
        return self._keep(event, values.copy(), values + shift)

    def choose(self, scores: IntArray, event: Event) -> IntArray:
        """Answer by the law or, to see rare answers too, with any that is possible."""
        _refuse_nothing(event)
        law = laws.permute_and_flip if event.mechanism is Mechanism.PERMUTE_AND_FLIP else laws.exponential_mechanism
        measured = np.array([law(row, event.parameter) for row in scores]).reshape(scores.shape)
        return self._keep(event, measured, self._pick(measured))

    def cuts(self, below: IntArray, n_cuts: int, event: Event) -> IntArray:
        """Answer with one of all tuples of cuts."""
        _refuse_nothing(event)
        if math.comb(below.size - 2 + n_cuts, n_cuts) > MOST_TUPLES:
            raise AuditError("there are too many tuples of cuts for an exact loss")
        tuples = list(combinations_with_replacement(range(below.size - 1), n_cuts))
        measured = laws.exponential_mechanism(scores_of_cuts(below, tuples), event.parameter).reshape(1, -1)
        return np.array(tuples[int(self._keep(event, measured, self._pick(measured))[0])], dtype=np.int64)

    def features(self, values: IntArray, event: Event) -> IntArray:
        """Answer with the values, which have no noise."""
        return self._keep(event, values.copy(), values)

    def coins(self, weights: tuple[Fraction, ...]) -> Coins:
        """Refuse: secret outcomes would have to be summed over."""
        raise AuditError("secret coins are summed over, which one run cannot do")

    def _pick(self, law: NDArray[np.float64]) -> IntArray:
        likely = self._rng.random() < 0.5
        weights = law if likely else (law > LEAST_PROBABILITY).astype(np.float64)
        return np.array([self._rng.choice(len(row), p=row / row.sum()) for row in weights], dtype=np.int64)

    def _keep(self, event: Event, measured: NDArray[np.float64] | IntArray, answer: IntArray) -> IntArray:
        if self._earlier is not None:
            place = len(self.asked)
            if place >= len(self._earlier):
                raise DifferentQuestionsError(event.name)
            before = self._earlier[place]
            if before.event != event or before.measured.shape != measured.shape:
                raise DifferentQuestionsError(event.name)
            answer = before.answer
        self.asked.append(Asked(event, measured, answer))
        return answer.copy()


def loss_along_a_run(subject: Subject, data: CodeDataSet, neighbour: CodeDataSet, seed: int) -> tuple[float, str]:
    """Return a lower bound on the loss between two data sets, in the measure of the claim, and where it is attained.

    Parameters
    ----------
    subject : Subject
        The learner and its claim; with delta > 0 the losses are those of zCDP, added up along the run, or an epsilon at
        delta where a count decides.
    data, neighbour : CodeDataSet
        The answers are chosen on the first.
    seed : int
        Of the public choice of answers.

    Raises
    ------
    AuditError
        If the learner divides its records by secret coins, or a law is too large to be written down.
    """
    first = Followed(public_rng(seed))
    pure = subject.run(data, first)
    second = Followed(public_rng(seed), first.asked)
    try:
        subject.run(neighbour, second)
    except DifferentQuestionsError as different:
        return math.inf, f"the question {different} that only one of them leads to"
    if len(second.asked) != len(first.asked):
        return math.inf, "a question that only one of them leads to"
    pairs = list(zip(first.asked, second.asked, strict=True))
    for a, b in pairs:
        if a.is_free and not np.array_equal(a.measured, b.measured):
            return math.inf, f"{a.event.name}, which is released as it is"
    pairs = [(a, b) for a, b in pairs if not a.is_free]
    where = ", ".join(dict.fromkeys(asked.event.name for asked in first.asked))
    if subject.decides and not pure:
        return _at_delta(pairs, subject), where
    if subject.allowance.rho is not None and not subject.decides:
        return sum(_concentrated(a, b) for a, b in pairs), where
    return _pure(pairs), where


def _pure(pairs: Sequence[tuple[Asked, Asked]]) -> float:
    """Return the log-ratio of the answers. No question depends on the last answer, so its worst case counts."""
    total = sum(_log_ratio(a, b) for a, b in pairs[:-1])
    if not pairs:
        return 0.0
    a, b = pairs[-1]
    if a.is_noise:
        most = _noise_moved(a, b)
        return max(total + most, -total + most)
    ratios = _logs(a.measured) - _logs(b.measured)
    return max(total + float(ratios.max(axis=1).sum()), -(total + float(ratios.min(axis=1).sum())))


def _log_ratio(a: Asked, b: Asked) -> float:
    if a.event.mechanism in PURE_NOISE:
        own, others = (length(a.event, np.asarray(a.answer - x.measured, dtype=np.int64)) for x in (a, b))
        return float(Fraction(others - own) / a.event.parameter)
    if a.is_noise:
        return _noise_moved(a, b)
    rows = np.arange(len(a.answer))
    return float((_logs(a.measured)[rows, a.answer] - _logs(b.measured)[rows, a.answer]).sum())


def _noise_moved(a: Asked, b: Asked) -> float:
    moved = np.asarray(a.measured - b.measured, dtype=np.int64)
    if a.event.mechanism in PURE_NOISE:
        return pure_loss(a.event, moved)
    return math.inf if moved.any() else 0.0  # Gaussian noise has no pure bound


def _logs(law: NDArray[np.float64] | IntArray) -> NDArray[np.float64]:
    """Logarithms of a law. What is next to impossible on both sides then has the same logarithm on both."""
    return np.log(np.maximum(law, LEAST_PROBABILITY))


def _concentrated(a: Asked, b: Asked) -> float:
    if a.event.mechanism is Mechanism.GAUSSIAN:
        return float(squared_length(np.asarray(a.measured - b.measured)) / (2 * a.event.parameter))
    if a.event.mechanism in PURE_NOISE:
        return _noise_moved(a, b) ** 2 / 2
    ratios = _logs(a.measured) - _logs(b.measured)
    return float(((ratios.max(axis=1) - ratios.min(axis=1)) ** 2).sum()) / 8


def _at_delta(pairs: Sequence[tuple[Asked, Asked]], subject: Subject) -> float:
    noises = [(a.event, np.asarray(a.measured - b.measured, dtype=np.int64)) for a, b in pairs if a.is_noise]
    ratios = [_logs(a.measured) - _logs(b.measured) for a, b in pairs if not a.is_noise]
    ranges = [width for ratio in ratios for width in (ratio.max(axis=1) - ratio.min(axis=1)).tolist() if width]
    return epsilon_at_delta(noises, ranges, subject.allowance.delta, subject.allowance.epsilon)


def _width(event: Event) -> float:
    _refuse_nothing(event)
    return float(event.parameter) if event.mechanism is Mechanism.LAPLACE else event.deviation


def _refuse_nothing(event: Event) -> None:
    if event.mechanism is Mechanism.NOTHING:
        raise AuditError("a model without privacy (epsilon=None) has no law to audit; set epsilon")

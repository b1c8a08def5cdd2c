"""Draws follow their laws, and every pair of draws is independent: within a call, between calls and from fit to fit.

Every single draw of a sampler can have the right law and yet all be revealed: noise that repeats itself, or comes with
its own negative, cancels in a difference or sum of two released values. So pairs are tested. Each answer to a fixed
sequence of questions is turned into bits whose probabilities are known exactly. Over many releases, two bits must both
be set as often as the product of their probabilities says.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from privet.audit.report import Finding
from privet.audit.way_in.coins_audit import FALSE_ALARM, fresh_release, unlikely
from privet.audit.way_in.watching import finding
from privet.mechanisms.joint_exponential import scores_of_cuts
from privet.mechanisms.release import Release
from privet.privacy import laws
from privet.privacy.cube_law import DiscreteCube
from privet.privacy.events import Event
from privet.privacy.terms import Terms
from privet.tables.protocol import IntArray

Bits = NDArray[np.bool_]
Chances = NDArray[np.float64]

FLAW = "draws have not their law, or depend on one another"
TERMS = Terms()
LAPLACE = TERMS.laplace("noise", Fraction(1, 3))
GAUSSIAN = TERMS.gaussian("noise", Fraction(1, 18))
CUBE = TERMS.cube("noise", Fraction(1, 3), groups=(1, 2))
FLIP = TERMS.permute_and_flip("choices", Fraction(1, 2))
EXPONENTIAL = TERMS.exponential("choices", Fraction(1, 8))
# Equal rows side by side, and rows that differ; few rows and many, since small requests are served by another engine.
SCORES = np.array([[0, 1, 0], [0, 1, 0], [4, 4, 4], [0, 1, 0], [2, 3, 2], [4, 4, 4]] * 3, dtype=np.int64)
BELOW = np.array([1, 2, 4, 4, 7, 8], dtype=np.int64)
N_CUTS = 2
MANY, FEW = 24, 4


@dataclass(frozen=True)
class NoiseDraws:
    """A number of independent draws of noise, requested in one call; of cube noise, in as many calls."""

    name: str
    event: Event
    size: int

    def ask(self, release: Release) -> IntArray:
        """Draw them. Numbers under one draw of cube noise depend on one another, so only the first of each is taken."""
        if self.event is CUBE:
            zeros = np.zeros((self.size, 3), dtype=np.int64)
            return np.array([release.noisy(each, CUBE)[0] for each in zeros], dtype=np.int64)
        return release.noisy(np.zeros(self.size, dtype=np.int64), self.event)

    @property
    def middle(self) -> int:
        """A size that about half of all draws exceed."""
        return {LAPLACE: 2, GAUSSIAN: 1, CUBE: 4}[self.event]

    @property
    def chances(self) -> tuple[float, float]:
        """The exact probabilities that a draw is positive, and that its size exceeds the middle one."""
        if self.event is CUBE:
            law = DiscreteCube(CUBE.parameter, CUBE.groups or ())
            sizes = law.pmf_of_one(np.arange(self.middle + 1))
            return (1 - float(sizes[0])) / 2, 1 - float(2 * sizes.sum() - sizes[0])
        of_numbers = laws.DiscreteLaplace if self.event is LAPLACE else laws.DiscreteGaussian
        own = of_numbers(self.event.parameter)
        return 1 - float(own.cdf(0)), 2 * (1 - float(own.cdf(self.middle)))


@dataclass(frozen=True)
class Questions:
    """What every release is asked. Another engine, which is slow to call, serves `small` requests."""

    noises: tuple[NoiseDraws, ...]
    rows: tuple[int, ...]  # of a selection

    @staticmethod
    def of(*, small: bool) -> Questions:
        """Return the questions, with or without small requests."""
        noises = [NoiseDraws("Laplace noise", LAPLACE, MANY), NoiseDraws("Laplace noise again", LAPLACE, MANY)]
        noises += [NoiseDraws("Gaussian noise", GAUSSIAN, MANY), NoiseDraws("cube noise", CUBE, FEW)]
        if small:
            noises += [NoiseDraws("few draws of Laplace noise", LAPLACE, FEW)]
            noises += [NoiseDraws("few draws of Gaussian noise", GAUSSIAN, FEW)]
        return Questions(tuple(noises), (len(SCORES), 1) if small else (len(SCORES),))

    def ask(self, release: Release) -> Bits:
        """Put all questions to one release."""
        bits: list[Bits] = []
        for noise in self.noises:
            drawn = noise.ask(release)
            bits += [drawn > 0, np.abs(drawn) > noise.middle]
        for event in (FLIP, EXPONENTIAL):
            bits += [release.choose(SCORES[:rows], event) == 1 for rows in self.rows]
        bits.append(release.cuts(BELOW, N_CUTS, EXPONENTIAL)[:1] > 1)
        return np.concatenate(bits)

    def chances(self) -> tuple[list[str], Chances]:
        """Return the name and the exact probability of every bit."""
        names: list[str] = []
        chances: list[float] = []
        for noise in self.noises:
            names += [noise.name] * (2 * noise.size)
            positive, large = noise.chances
            chances += [positive] * noise.size + [large] * noise.size
        for event, law_of in ((FLIP, laws.permute_and_flip), (EXPONENTIAL, laws.exponential_mechanism)):
            for rows in self.rows:
                names += [f"a selection of {rows} rows, {event.mechanism}"] * rows
                chances += [float(law_of(row, event.parameter)[1]) for row in SCORES[:rows]]
        return [*names, "cuts"], np.array([*chances, _chance_of_cuts()])

    def different_draws(self) -> Bits:
        """Mark pairs of bits, each once, that come from different draws: the bits of one draw are not independent."""
        of_noise = [[(place, draw) for draw in range(noise.size)] * 2 for place, noise in enumerate(self.noises)]
        draws = [draw for several in of_noise for draw in several]
        draws += [(len(self.noises), place) for place in range(2 * sum(self.rows) + 1)]
        number = np.array([place * MANY**2 + draw for place, draw in draws])
        return np.triu(number[:, np.newaxis] != number[np.newaxis, :], k=1)


def draws_audit(releases: int, *, small: bool) -> list[Finding]:
    """Ask many releases the same questions and test all single draws and all pairs.

    Parameters
    ----------
    releases : int
        How many. A few hundred find draws that determine one another; thousands find weaker dependence.
    small : bool
        Whether to ask for a few draws at a time as well.
    """
    questions = Questions.of(small=small)
    names, chances = questions.chances()
    bits = np.array([questions.ask(fresh_release()) for _ in range(releases)])
    pairs = questions.different_draws()
    fine = f"{int(pairs.sum()):,} pairs, {releases:,} times; false alarms at most {FALSE_ALARM:g}"
    return [finding("draws: independent", FLAW, _problem(bits, names, chances, pairs), fine)]


def _chance_of_cuts() -> float:
    tuples = list(combinations_with_replacement(range(BELOW.size - 1), N_CUTS))
    law = laws.exponential_mechanism(scores_of_cuts(BELOW, tuples), EXPONENTIAL.parameter)
    return float(sum(chance for chance, cuts in zip(law, tuples, strict=True) if cuts[0] > 1))


def _problem(bits: Bits, names: list[str], chances: Chances, pairs: Bits) -> str:
    """Test single bits, pairs in one release, and pairs of a release and the next; a third of the level for each."""
    trials, n = bits.shape
    ones = bits.astype(np.float64)  # sums of up to 2^53 ones are exact, and products of matrices are fast
    level = FALSE_ALARM / 3
    single = unlikely(ones.sum(axis=0), trials, chances, level / n)
    if single.any():
        return f"{names[int(single.argmax())]}: a draw is not of its law"
    expected = np.outer(chances, chances)
    together = unlikely((ones.T @ ones)[pairs], trials, expected[pairs], level / int(pairs.sum()))
    if together.any():
        a, b = (int(place[together.argmax()]) for place in np.nonzero(pairs))
        return f"{names[a]} and {names[b]}: two draws of one release depend on one another"
    # Overlapping pairs of neighbouring releases would not be independent, so every release is used in one pair only.
    even = 2 * (trials // 2)
    later = unlikely(ones[:even:2].T @ ones[1:even:2], trials // 2, expected, level / n**2)
    if later.any():
        a, b = (int(place) for place in np.unravel_index(int(later.argmax()), later.shape))
        return f"{names[a]} and {names[b]}: draws of two releases depend on one another"
    return ""

"""Lower bounds on what a poisoned model scores, from how close its law is to that of the clean one.

P is the law of the trained model on the clean data, Q on the poisoned data, and f a score in [0, 1]: the accuracy on a
fixed test set, or one minus the success rate of a backdoor with a fixed trigger. All bounds hold for every Q that is
as close to P as `Closeness` says, whatever the poisoner knows and however clever they are.

The paper's Corollaries 2 and 3 only use the mean of f under P. The other bounds use more of its law and are far better:
all that a poisoner can do is make rare bad models more frequent by a factor, so what counts is how rare bad models are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privet.errors import ParameterError
from privet.privacy.laws import clopper_pearson_upper
from privet.robustness.guarantees import Closeness

LEAST_RETRAININGS = 20


def paper_accuracy(clean: float, closeness: Closeness) -> float:
    """Corollary 2 of Vos et al. (2023): ``E_Q f >= e^-c E_P f``, here with the delta of group privacy.

    Examples
    --------
    >>> round(paper_accuracy(0.77, Closeness(3.0)), 3)
    0.038
    """
    _check_score(clean)
    return max(0.0, (clean - closeness.delta) / closeness.ratio)


def paper_attack_success(clean: float, closeness: Closeness) -> float:
    """Corollary 3: an upper bound on the expected success rate of a backdoor, whose rate on clean data is `clean`.

    Examples
    --------
    >>> round(paper_attack_success(0.02, Closeness(1.0)), 3)
    0.639
    """
    return 1.0 - paper_accuracy(1.0 - clean, closeness)


def two_sided(clean: float, closeness: Closeness) -> float:
    """The better of the two bounds that the mean alone gives: the paper's, and the same for errors.

    ``E_Q f >= max(e^-c E_P f, 1 - e^c (1 - E_P f))``. The second follows from ``E_Q (1 - f) <= e^c E_P (1 - f)`` and
    wins for small c. Where rho is known, the second also has the bound of `_inflated_by_rho`, which holds for means.
    """
    return max(paper_accuracy(clean, closeness), 1.0 - float(_inflated(1.0 - clean, closeness)))


def infimum(values: ArrayLike, closeness: Closeness, probabilities: ArrayLike | None = None) -> float:
    """The exact infimum of ``E_Q f`` when the law of f under P is known.

    Parameters
    ----------
    values : array-like
        What f can be.
    closeness : Closeness
        Pure: with a delta no closed form is known here, and the call is refused.
    probabilities : array-like, optional
        How likely each value is under P; equal by default. With a sample instead of the law the result is an estimate,
        not a certificate; see `infimum_from_sample`.

    Notes
    -----
    Among all Q with ``e^-c <= dQ/dP <= e^c`` the worst has ``dQ/dP = e^c`` on the lowest mass ``1 / (1 + e^c)`` of f
    and ``e^-c`` on the rest.
    """
    if closeness.delta:
        raise ParameterError(
            "the exact infimum is known for pure epsilon alone; two_sided and tail_certificate hold with delta too"
        )
    f, p = _law(values, probabilities)
    order = np.argsort(f, kind="stable")
    order = order[p[order] > 0]
    f, p = f[order], p[order]
    lowest = 1.0 / (1.0 + closeness.ratio)
    before = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    raised = np.clip(lowest - before, 0.0, p)
    # With an infinite ratio all of Q may sit on the lowest value.
    weighted = raised * closeness.ratio if math.isfinite(closeness.ratio) else np.eye(1, len(f)).ravel()
    return float(np.dot(f, weighted + (p - raised) / closeness.ratio))


def infimum_from_sample(scores: ArrayLike, closeness: Closeness, level: float = 0.05) -> float:
    """A lower confidence bound on the exact infimum, from scores of independent retrainings.

    The inequality of Dvoretzky, Kiefer and Wolfowitz bounds the whole law of f from below at once, so one `level`
    serves any number of values of `closeness`. It costs sqrt(log(1 / level) / 2 n) of mass, which the poisoner may then
    inflate. So it is good for small c; for large c see `tail_certificate`.
    """
    if not 0 < level <= 0.5:
        raise ParameterError(f"level must be above 0 and at most 0.5, got {level}: a usual value is 0.05")
    f, p = _law(scores, None)
    moved = min(1.0, math.sqrt(-math.log(level) / (2 * len(f))))
    order = np.argsort(f, kind="stable")
    kept = np.clip(1.0 - moved - np.arange(len(f)) / len(f), 0.0, p)
    return infimum(np.append(f[order], 0.0), closeness, np.append(kept, moved))


@dataclass(frozen=True)
class TailCertificate:
    """What holds for a poisoned model, with confidence ``1 - level``.

    Attributes
    ----------
    threshold : float
        A score that clean models rarely miss.
    clean_risk : float
        Upper confidence bound on how often they do.
    probability : float
        A poisoned model reaches the threshold with at least this probability.
    expected : float
        A poisoned model's expected score is at least this.
    level : float
        The probability that the retrainings were so unlucky that this threshold's risk is wrong.
    """

    threshold: float
    clean_risk: float
    probability: float
    expected: float
    level: float


def tail_certificate(scores: ArrayLike, closeness: Closeness, level: float = 0.05) -> TailCertificate:
    """Certify from scores of independent retrainings on the clean data.

    Parameters
    ----------
    scores : array-like
        One score in [0, 1] for each retraining, in the order in which they were trained.
    closeness : Closeness
        What poisoning can do.
    level : float, default=0.05
        How often the certificate may be wrong, over the noise of the retrainings. For several certificates that are
        published together see `tail_certificates`.

    Notes
    -----
    A threshold v is chosen on the first half; on the second an exact binomial (Clopper and Pearson) bound q on
    ``P(f < v)`` is taken. Then ``Q(f < v) <= e^c q + delta``, so ``E_Q f >= v (1 - e^c q - delta)``; where rho is
    known, also ``Q(f < v) <= exp(-(sqrt(ln 1/q) - sqrt(rho))^2)`` for ``ln 1/q >= rho``, and the smaller one counts.
    Choosing and testing on the same scores would be wrong far more often than `level` says.
    """
    return tail_certificates(scores, [closeness], level)[0]


def tail_certificates(
    scores: ArrayLike, closenesses: Sequence[Closeness], level: float = 0.05
) -> tuple[TailCertificate, ...]:
    """Certify against several attacks at once; all certificates hold together, except with probability `level`.

    Bonferroni over thresholds: attacks for which the first half chooses the same threshold share the same bound q, so
    the level is divided by the number of different thresholds, not by the number of attacks.
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level}: a usual value is 0.05")
    f, _ = _law(scores, None)
    if len(f) < LEAST_RETRAININGS:
        raise ParameterError(f"{len(f)} retrainings certify nothing: give {LEAST_RETRAININGS} or more, better 1000")
    first, second = np.sort(f[: len(f) // 2]), f[len(f) // 2 :]
    thresholds = [_foreseen_best(first, closeness, level / len(closenesses)) for closeness in closenesses]
    each = level / len(set(thresholds))
    certificates = []
    for closeness, threshold in zip(closenesses, thresholds, strict=True):
        risk = float(clopper_pearson_upper(np.count_nonzero(second < threshold), len(second), each))
        probability = max(0.0, 1.0 - float(_inflated(risk, closeness)))
        certificates.append(TailCertificate(threshold, risk, probability, threshold * probability, each))
    return tuple(certificates)


def _foreseen_best(first: NDArray[np.float64], closeness: Closeness, level: float) -> float:
    """The threshold that would give the best certificate on the scores from which it is chosen."""
    candidates = np.unique(first)
    missed = np.searchsorted(first, candidates, side="left")
    risks = clopper_pearson_upper(missed, len(first), level)
    return float(candidates[np.argmax(candidates * (1.0 - _inflated(risks, closeness)))])


def _inflated(risk: ArrayLike, closeness: Closeness) -> NDArray[np.float64]:
    """The largest probability under Q of what has probability `risk` under P."""
    p = np.asarray(risk, dtype=np.float64)
    raised = np.multiply(p, closeness.ratio, where=p > 0, out=np.zeros_like(p))
    bound = np.asarray(raised + closeness.delta)
    return bound if closeness.rho is None else np.minimum(bound, _inflated_by_rho(p, closeness.rho))


def _inflated_by_rho(p: NDArray[np.float64], rho: float) -> NDArray[np.float64]:
    """Return the same by Rényi divergences: ``exp(-(sqrt(ln 1/p) - sqrt(rho))^2)`` where ``ln 1/p >= rho``, else one.

    Let h be a function of the model with values in [0, 1], such as the indicator of a set. For every order a > 1
    Hölder's inequality gives ``E_Q h <= (E_P (dQ/dP)^a)^(1/a) (E_P h^(a/(a-1)))^((a-1)/a)``. The first factor is at
    most ``e^((a-1) rho)``, and h to a power above one is at most h. So ``ln E_Q h <= (a - 1) (rho - L / a)`` with
    ``L = ln 1 / E_P h``; at the best order, ``a = sqrt(L / rho)``, this is ``-(sqrt(L) - sqrt(rho))^2``. The result is
    rounded up by more than the errors of doubles.
    """
    with np.errstate(divide="ignore"):
        surprise = np.sqrt(-np.log(p))
    gap = np.maximum(surprise - math.sqrt(rho), 0.0)
    return np.minimum(1.0, np.exp(-np.square(gap)) * (1 + 1e-9))


def _law(values: ArrayLike, probabilities: ArrayLike | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    f = np.asarray(values, dtype=np.float64).ravel()
    if not len(f):
        raise ParameterError("no scores were given: retrain at least once")
    if not ((f >= 0) & (f <= 1)).all():
        raise ParameterError("scores must be between 0 and 1: give an accuracy, or one minus an attack's success rate")
    if probabilities is None:
        return f, np.full(len(f), 1.0 / len(f))
    p = np.asarray(probabilities, dtype=np.float64).ravel()
    if p.shape != f.shape or (p < 0).any() or not math.isclose(p.sum(), 1.0, abs_tol=1e-9):
        raise ParameterError("probabilities must be as many as values, not negative, and add up to 1")
    return f, p


def _check_score(score: float) -> None:
    if not 0 <= score <= 1:
        raise ParameterError(f"a score must be between 0 and 1, got {score}")

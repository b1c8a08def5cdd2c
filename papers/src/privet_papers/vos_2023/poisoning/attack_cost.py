"""Theorem 4 of Vos et al. (2023), which is of Ma, Zhu and Hsu (2019): what poisoning can do to an expected cost.

The paper states two inequalities and uses the first. The second bounds errors in place of accuracies: a model that is
wrong twice in a hundred times is wrong at most 2 e^(x epsilon) times in a hundred after x poisoned records. It
guarantees more wherever x epsilon is small and the model good.
"""

from __future__ import annotations

from privet.robustness.guarantees import Closeness


def least_expected_cost(clean: float, closeness: Closeness) -> float:
    """Return a lower bound on the expected cost after poisoning, from the clean one.

    Equation 11 where costs are never negative: ``J >= e^(-x epsilon) J(clean)``. Equation 12 where they are never
    positive: ``J >= e^(x epsilon) J(clean)``. Both follow from ``Q <= e^(x epsilon) P`` and the same with P and Q
    exchanged, where P and Q are the laws of the clean and of the poisoned model.

    Parameters
    ----------
    clean : float
        The expected cost on clean data. Its sign is taken for the sign of all costs.
    closeness : Closeness
        What poisoning can do; pure, as in the paper.

    Examples
    --------
    >>> from privet.robustness import Guarantee
    >>> ten = Guarantee.stated(0.01).under(10)
    >>> round(least_expected_cost(0.98, ten), 3), round(least_expected_cost(-0.02, ten), 3)
    (0.887, -0.022)
    """
    return clean / closeness.ratio if clean >= 0 else clean * closeness.ratio


def accuracy_by_errors(accuracy: float, closeness: Closeness) -> float:
    """Return the accuracy that Equation 12 guarantees: the cost of an attacker is minus the error rate.

    Examples
    --------
    >>> from privet.robustness import Guarantee
    >>> round(accuracy_by_errors(0.98, Guarantee.stated(0.01).under(10)), 3)
    0.978
    """
    if accuracy == 1.0:
        return 1.0
    return max(0.0, 1.0 + least_expected_cost(accuracy - 1.0, closeness))

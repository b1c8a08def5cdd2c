"""Certify a learner: retrain it many times on the clean data, and bound what poisoning can do to its score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from privet.errors import ParameterError
from privet.parameters import check_whole
from privet.robustness.guarantees import Change, Guarantee
from privet.robustness.table import Certificates
from privet.tables.units import n_units

ScoreModel = Callable[[Any], float]


def certify(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    poisoned: Sequence[int | float] = (0.001, 0.005, 0.01),
    change: Change = "added_or_removed",
    group: int = 1,
    score: ScoreModel | None = None,
    score_name: str = "accuracy",
    guarantee: Guarantee | None = None,
    n_retrainings: int = 1000,
    confidence: float = 0.95,
) -> Certificates:
    """Guarantee a learner's score against poisoned training data.

    Parameters
    ----------
    estimator : estimator
        Any privet estimator, or another learner with a stated `guarantee`. It is cloned; its ``random_state`` should be
        the one that will be deployed.
    X, y : training data
        The clean data of the model that will be deployed.
    X_test, y_test : test data, optional
        What the accuracy is measured on. It is fixed: poisoners do not reach it.
    poisoned : sequence, default=(0.001, 0.005, 0.01)
        Numbers of poisoners (int) or shares of the training set (float).
    change : {"added_or_removed", "modified", "relabelled"}
        What a poisoner does to a record. Where the schema declares a unit, poisoners are counted in units, and a row
        that is written under an id that is already in the data modifies that unit.
    group : int, default=1
        How many records (or units) each poisoner controls.
    score : callable, optional
        ``score(fitted) -> float in [0, 1]`` instead of the accuracy, for instance one minus the success rate of a
        backdoor on fixed images with a fixed trigger.
    score_name : str
        Its name, for the reader.
    guarantee : Guarantee, optional
        By default the one that the fitted model's ledger proves; a learner without a proof is refused.
    n_retrainings : int, default=1000
        More retrainings certify against more poisoners: about e^c times 100 are needed for c = poisoners x epsilon.
    confidence : float, default=0.95
        The confidence with which all certificates hold together, over the noise of the retrainings.

    Returns
    -------
    Certificates
        A table with ``str()``, ``to_dict()`` and ``plot()``.

    Notes
    -----
    *Privacy.* The table is made by retraining on the private data and is not itself a private release: keep it with
    the data. Under a budget (`privet.budget`) every retraining is charged.

    Examples
    --------
    >>> import numpy as np
    >>> from privet import Numeric, RandomDecisionForestClassifier, Schema
    >>> from privet.robustness import certify
    >>> schema = Schema({"x": Numeric(0, 1)}, classes=["low", "high"])
    >>> X = np.linspace(0, 1, 2000).reshape(-1, 1)
    >>> y = np.where(X[:, 0] > 0.5, "high", "low")
    >>> forest = RandomDecisionForestClassifier(epsilon=0.1, schema=schema, max_depth=4, random_state=0)
    >>> table = certify(forest, X, y, X[::10], y[::10], poisoned=[5], n_retrainings=60)
    >>> table.at(5).log_ratio, table.at(5).guaranteed > table.at(5).paper
    (0.5, True)
    """
    check_whole("n_retrainings", n_retrainings, 1, 10**9)
    if score is None and is_regressor(estimator):
        raise ParameterError(
            f"{type(estimator).__name__} predicts a numeric target, which has no accuracy; pass score=, such as the "
            "share of the test records whose prediction is within a tolerance"
        )
    score = accuracy_on(X_test, y_test) if score is None else score
    # One more training than requested, so that a model that cannot be certified raises an error before hours of work.
    guarantee = Guarantee.of(clone(estimator).fit(X, y)) if guarantee is None else guarantee
    guarantee.steps(change)
    unit = getattr(getattr(estimator, "schema", None), "unit", None)
    return Certificates.from_scores(
        retraining_scores(estimator, X, y, score, n_retrainings),
        guarantee,
        len(y) if guarantee.noun == "record" or unit is None else n_units(X, unit.column),
        poisoned,
        change=change,
        group=group,
        confidence=confidence,
        subject=type(estimator).__name__,
        score=score_name,
    )


def retraining_scores(estimator: Any, X: Any, y: Any, score: ScoreModel, n_retrainings: int) -> NDArray[np.float64]:
    """Train `n_retrainings` clones on the same data and return the score of each."""
    return np.array([score(clone(estimator).fit(X, y)) for _ in range(n_retrainings)])


def accuracy_on(X_test: Any, y_test: Any) -> ScoreModel:
    """Return the function that measures a fitted model's accuracy on a fixed test set."""
    if X_test is None or y_test is None:
        raise ParameterError("certify() needs a fixed test set: pass X_test and y_test, or a score of your own")
    expected = np.asarray(y_test)

    def accuracy(model: Any) -> float:
        return float(np.mean(np.asarray(model.predict(X_test)) == expected))

    return accuracy

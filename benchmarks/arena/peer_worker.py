"""Trains other libraries' learners; run by the interpreter of their own environment, where privet is not needed.

It reads one request a line from standard input, as JSON: the library's learner and its settings, a file of arrays
(see `peers.arrays`), the split, and where to write the answer. It answers each with a line: the seconds of the fit. The
learner "memory" answers with the most bytes that this process has had.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np


def dp_ebm(data: Any, train: Any, test: Any, settings: dict[str, Any]) -> tuple[Any, float]:
    """interpret's private boosting; bounds given, categories told apart by name."""
    from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

    nominal = data["sizes"] > 0
    X = data["codes"].astype(object)
    for place in np.flatnonzero(nominal):
        X[:, place] = [f"c{int(code)}" for code in data["codes"][:, place]]
    bounds = {place: (float(data["low"][place]), float(data["high"][place])) for place in np.flatnonzero(~nominal)}
    common = {
        "feature_names": [f"x{place}" for place in range(X.shape[1])],
        "feature_types": ["nominal" if is_nominal else "continuous" for is_nominal in nominal],
        "privacy_bounds": {f"x{place}": ends for place, ends in bounds.items()},
        "n_jobs": 1,
    }
    y = data["labels"]
    if "target" in data:
        low, high = (float(end) for end in data["target"])
        model = DPExplainableBoostingRegressor(**common, privacy_target_min=low, privacy_target_max=high, **settings)
    else:
        model = DPExplainableBoostingClassifier(**common, **settings)
    start = time.process_time()
    model.fit(X[train], y[train])
    seconds = time.process_time() - start
    return (model.predict(X[test]) if "target" in data else model.predict_proba(X[test])), seconds


def diffprivlib(data: Any, train: Any, test: Any, settings: dict[str, Any]) -> tuple[Any, float]:
    """IBM's learners: numbers scaled to [0, 1] by their public bounds, categories as indicator columns."""
    from diffprivlib import BudgetAccountant
    from diffprivlib.models import GaussianNB, LogisticRegression, RandomForestClassifier
    from diffprivlib.models.forest import DecisionTreeClassifier

    settings = {**settings, "accountant": BudgetAccountant()}
    kind, n_classes = settings.pop("kind"), int(data["labels"].max()) + 1
    columns = []
    for place, size in enumerate(data["sizes"]):
        column = data["codes"][:, place]
        if size:
            columns.append(np.eye(size)[column.astype(np.int64)])
        else:
            columns.append(((column - data["low"][place]) / (data["high"][place] - data["low"][place]))[:, None])
    X, y = np.hstack(columns), data["labels"]
    bounds = (np.zeros(X.shape[1]), np.ones(X.shape[1]))
    classes = list(range(n_classes))
    if kind == "logistic":  # one number or one indicator for each feature, each at most 1
        model = LogisticRegression(data_norm=float(np.sqrt(len(data["sizes"]))), **settings)
    elif kind == "bayes":
        model = GaussianNB(bounds=bounds, **settings)
    elif kind == "tree":
        model = DecisionTreeClassifier(bounds=bounds, classes=classes, **settings)
    else:
        model = RandomForestClassifier(bounds=bounds, classes=classes, **settings)
    start = time.process_time()
    model.fit(X[train], y[train])
    seconds = time.process_time() - start
    return model.predict_proba(X[test]), seconds


def aim(data: Any, train: Any, test: Any, settings: dict[str, Any]) -> tuple[Any, float]:
    """Gradient boosting on synthetic records by AIM; the time is that of both."""
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from arena.aim import predictions

    start = time.process_time()
    found = predictions(data, train, test, **settings)
    return found, time.process_time() - start


LEARNERS = {"dp_ebm": dp_ebm, "diffprivlib": diffprivlib, "aim": aim}


def main(answers: TextIO) -> None:
    """Answer requests until there are no more."""
    warnings.simplefilter("ignore")
    loaded: tuple[str, Any] = ("", None)
    for line in sys.stdin:
        request = json.loads(line)
        if request["learner"] == "memory":
            unit = 1 if sys.platform == "darwin" else 1024
            print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit), file=answers, flush=True)
            continue
        if loaded[0] != request["arrays"]:
            loaded = (request["arrays"], dict(np.load(request["arrays"])))
        data, split = loaded[1], request["split"]
        train, test = data[f"train{split}"], data[f"test{split}"]
        try:
            answer, seconds = LEARNERS[request["learner"]](data, train, test, request["settings"])
        except Exception as error:  # the peer's own failure is part of the comparison, whatever it is
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}), file=answers, flush=True)
        else:
            np.save(request["answer"], answer)
            print(json.dumps({"seconds": seconds}), file=answers, flush=True)


if __name__ == "__main__":
    out, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not mix with the answers
    main(out)

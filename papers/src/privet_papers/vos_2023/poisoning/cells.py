"""Cells of Vos et al. (2023), sections VI.B and VI.C: accuracies of retrainings, with and without poisoned records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet_papers.framework.data import DataFolder, DataSet
from privet_papers.framework.entry import Result, Settings
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB, REGRESSION_SCRIPT, run_script
from privet_papers.vos_2023.cells import numbers_and_tests
from privet_papers.vos_2023.data import load

DEPTH = 4
# Adult without missing values, in the order in which it was published: 30,162 training records, then 15,060 to test.
ADULT_TRAIN = 30_162
MNIST_TRAIN = 11_200

Split = tuple[Any, NDArray[Any], Any, NDArray[Any]]


def fold_accuracies(settings: Settings, data: DataFolder) -> Result:
    """Test accuracies in 5-fold cross-validation, `repeats` trainings a fold."""
    benchmark = load(settings["data"], data)
    accuracies, sizes = [], []
    for fold in range(5):
        X, y, X_test, y_test = _fold(benchmark, fold)
        sizes.append(len(y))
        accuracies += _accuracies(settings, benchmark.schema, (X, y, X_test, y_test), settings["repeats"])
    return {"accuracies": accuracies, "n_records": int(np.mean(sizes))}


def retrained_accuracies(settings: Settings, data: DataFolder) -> Result:
    """Test accuracies of many retrainings on one fixed training set: what the tail certificate is made of."""
    benchmark = load(settings["data"], data)
    split = _fixed_split(benchmark, settings["split"])
    accuracies = _accuracies(settings, benchmark.schema, split, settings["retrainings"])
    return {"accuracies": accuracies, "n_records": len(split[1])}


def logistic_regression(settings: Settings, data: DataFolder) -> Result:
    """Test accuracies of diffprivlib's private logistic regression, in its own environment."""
    benchmark = load(settings["data"], data)
    folds = [_fold_rows(benchmark, fold) for fold in range(5)]
    arrays = numbers_and_tests(benchmark, [test for _, test in folds])
    accuracies = run_script(
        DIFFPRIVLIB.interpreter(), REGRESSION_SCRIPT, arrays, settings["epsilon"], settings["repeats"]
    )
    return {"accuracies": accuracies, "n_records": int(np.mean([len(train) for train, _ in folds]))}


def dpa_certificates(settings: Settings, data: DataFolder) -> Result:
    """Certified accuracy of a DPA ensemble for each share of poisoned records."""
    from privet.robustness.table import how_many
    from privet_papers.vos_2023.poisoning.dpa import DPAClassifier, certified_changes

    benchmark = load(settings["data"], data)
    X, y, X_test, y_test = _fixed_split(benchmark, settings["split"])
    ensemble = DPAClassifier(settings["parts"], DEPTH, benchmark.schema).fit(X, y)
    votes = ensemble.votes(X_test)
    right = ensemble.classes_[votes.argmax(axis=1)] == y_test
    bears = certified_changes(votes)
    numbers = [how_many(float(share), len(y)) for share in settings["shares"]]
    return {"certified": [float(np.mean(right & (bears >= number))) for number in numbers]}


def backdoor(settings: Settings, data: DataFolder) -> Result:
    """Clean accuracy and attack success rate on one split of MNIST for each number of poisoned images."""
    from privet_papers.vos_2023.poisoning.backdoors import Trigger, attack_success_rate, plant_backdoor

    X, y, X_test, y_test = _mnist(data, settings["split"])
    trigger = Trigger.bottom_right()
    accuracy, success = [], []
    for number in settings["poisoned"]:
        poisoned = plant_backdoor(X, y, number, trigger, source=0, target=1, random_state=settings["split"])
        model = _image_model(settings["epsilon"]).fit(poisoned.X, poisoned.y)
        accuracy.append(float(np.mean(model.predict(X_test) == y_test)))
        success.append(attack_success_rate(model, X_test, y_test, trigger, source=0, target=1))
    return {"accuracy": accuracy, "success": success}


def few_images(settings: Settings, data: DataFolder) -> Result:
    """Attack success on one split of MNIST against a plain tree; whether it asks for a pixel of the trigger."""
    from privet_papers.vos_2023.poisoning.backdoors import Trigger, attack_success_rate, plant_backdoor

    X, y, X_test, y_test = _mnist(data, settings["split"])
    trigger = Trigger.bottom_right(margin=settings["margin"])
    success, asked = [], []
    for number in settings["poisoned"]:
        poisoned = plant_backdoor(X, y, number, trigger, source=0, target=1, random_state=settings["split"])
        tree = _image_model(None).fit(poisoned.X, poisoned.y)
        success.append(attack_success_rate(tree, X_test, y_test, trigger, source=0, target=1))
        asked.append(bool(np.isin(trigger.pixels, tree.tree_.feature).any()))
    return {"success": success, "asked": asked}


def retrained_resistance(settings: Settings, data: DataFolder) -> Result:
    """One minus the attack success rate, of many retrainings on the clean images of one split."""
    from privet.robustness import retraining_scores
    from privet_papers.vos_2023.poisoning.backdoors import Trigger, resistance

    X, y, X_test, y_test = _mnist(data, 0)
    score = resistance(X_test, y_test, Trigger.bottom_right(), source=0, target=1)
    scores = retraining_scores(_image_model(settings["epsilon"]), X, y, score, settings["retrainings"])
    return {"scores": scores.tolist(), "n_records": len(y)}


def _accuracies(settings: Settings, schema: Schema, split: Split, n_retrainings: int) -> list[float]:
    from privet.estimators.registry import estimator_class
    from privet.robustness import retraining_scores
    from privet.robustness.certify import accuracy_on

    X, y, X_test, y_test = split
    learner = estimator_class(settings["learner"])(
        # The size of the published training set is taken as public, as the benchmark's domains are.
        epsilon=settings["epsilon"],
        schema=schema,
        n_rows_hint=len(y),
        random_state=0,
        **settings.get("parameters", {}),
    )
    return [float(score) for score in retraining_scores(learner, X, y, accuracy_on(X_test, y_test), n_retrainings)]


def _fixed_split(benchmark: DataSet, kind: str) -> Split:
    """Adult's published split, or the first of five folds."""
    if kind == "published" and benchmark.name == "adult":
        rows = np.arange(len(benchmark.y))
        return _parts(benchmark, rows[:ADULT_TRAIN], rows[ADULT_TRAIN:])
    return _fold(benchmark, 0)


def _fold(benchmark: DataSet, fold: int) -> Split:
    return _parts(benchmark, *_fold_rows(benchmark, fold))


def _fold_rows(benchmark: DataSet, fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    from sklearn.model_selection import StratifiedKFold

    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(benchmark.X, benchmark.y))
    train, test = splits[fold]
    return train, test


def _parts(benchmark: DataSet, train: NDArray[np.intp], test: NDArray[np.intp]) -> Split:
    X, y = benchmark.X, benchmark.y.to_numpy()
    return X.iloc[train], y[train], X.iloc[test], y[test]


def _mnist(data: DataFolder, split: int) -> Split:
    from sklearn.model_selection import train_test_split

    benchmark = data.load("mnist_0_vs_1")
    images, labels = benchmark.X.to_numpy(dtype=np.uint8), benchmark.y.to_numpy()
    X, X_test, y, y_test = train_test_split(images, labels, train_size=MNIST_TRAIN, random_state=split, stratify=labels)
    return X, y, X_test, y_test


def _image_model(epsilon: float | None) -> Any:
    """PrivaTree, or scikit-learn's plain tree where epsilon is None."""
    if epsilon is None:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    from privet import PrivaTreeClassifier

    # A pixel is a byte: that is public without looking at any image.
    schema = Schema({f"pixel {i}": Numeric(0, 255) for i in range(28 * 28)}, classes=[0, 1])
    return PrivaTreeClassifier(epsilon=epsilon, schema=schema, max_depth=DEPTH, n_rows_hint=MNIST_TRAIN, random_state=0)

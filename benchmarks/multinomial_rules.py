"""What the private multinomial forest's defaults are worth: accuracy with one of them changed at a time.

    python benchmarks/multinomial_rules.py --data DIR [--folds N] [--out FILE]

Six data sets, all but one (banknote) not among the paper's, at epsilon 0.1, 0.5 and 1; means over data sets and folds.
The number of training records is a public hint. PrivaTree with labels in its leaves, up to six levels, for comparison.
"""

from __future__ import annotations

import argparse
import csv
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from privet.estimators.learning import Hints, Learner
from privet.learners.multinomial_forest.private import MultinomialForest
from privet.learners.privatree.tree import PrivaTree
from privet.mechanisms.release import open_release, secret_key
from privet.parameters import public_rng
from privet.privacy.ledger import Ledger
from privet.privacy.terms import Allowance, Terms
from privet.tables.reading import encode_table
from privet_papers.framework.data import DataFolder, DataSet

HERE = Path(__file__).resolve().parent
NAMES = (
    "diabetes",
    "breast_w",
    "banknote",
    "wall_following_4",
    "compas",
    "magic",
)
EPSILONS = (0.1, 0.5, 1.0)
LEARNERS: dict[str, Learner[Any]] = {
    "defaults": MultinomialForest(),
    "4 trees": MultinomialForest(4),
    "4 trees on disjoint records": MultinomialForest(4, composition="disjoint"),
    "16 trees": MultinomialForest(16),
    "depth 3": MultinomialForest(max_depth=3),
    "depth 5": MultinomialForest(max_depth=5),
    "depth 7": MultinomialForest(max_depth=7),
    "labels' part 0.3": MultinomialForest(label_part=Fraction(3, 10)),
    "labels' part 1": MultinomialForest(label_part=Fraction(1)),
    "half as many structure points": MultinomialForest(partition_rate=Fraction(1, 2)),
    "twice as many structure points": MultinomialForest(partition_rate=Fraction(2)),
    "two stages": MultinomialForest(stages="two"),
    "Gini": MultinomialForest(criterion="gini"),
    "errors": MultinomialForest(criterion="errors"),
    "gamma 0.1": MultinomialForest(gamma=Fraction(1, 10)),
    "PrivaTree": PrivaTree(6, leaves="labels"),
}


def accuracy(learner: Learner[Any], data: DataSet, epsilon: float, folds: int) -> float:
    """Return the mean accuracy over the first of ten folds."""
    encoding, terms, allowance = data.schema.encoding(learner.bins), Terms.of(data.schema), Allowance.of(epsilon)
    scores = []
    splits = KFold(10, shuffle=True, random_state=0).split(data.X)
    for seed, (train, test) in zip(range(folds), splits, strict=False):
        plan = learner.plan(encoding, terms, allowance.whole, Hints(len(train)))
        table = encode_table(data.schema, encoding, data.X.iloc[train], data.y.iloc[train], secret_key, 1)
        model = learner.grow(table, open_release(Ledger(terms, allowance)), public_rng(seed), plan)
        predicted = model.votes(encoding.encode(data.X.iloc[test])).argmax(axis=1)
        scores.append((predicted == encoding.encode_target(data.y.iloc[test])).mean())
    return float(np.mean(scores))


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "multinomial_rules.csv")
    arguments = parser.parse_args()
    folder, found = DataFolder.at(arguments.data), np.zeros((len(LEARNERS), len(EPSILONS), len(NAMES)))
    for place, name in enumerate(NAMES):
        data = folder.load(name)
        for row, learner in enumerate(LEARNERS.values()):
            for column, epsilon in enumerate(EPSILONS):
                found[row, column, place] = 100 * accuracy(learner, data, epsilon, arguments.folds)
        print(f"{name}: {found[0, :, place].round(1)} with the defaults", flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["setting", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS), "mean"])
        for setting, of_setting in zip(LEARNERS, found, strict=True):
            means = [*of_setting.mean(axis=1), of_setting.mean()]
            writer.writerow([setting, *(f"{mean:.1f}" for mean in means)])


if __name__ == "__main__":
    main()

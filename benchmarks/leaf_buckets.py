"""What it costs that the leaves of huge trees share buckets: accuracy by the number of buckets.

    python benchmarks/leaf_buckets.py --data DIR [--folds N] [--out FILE]

Adult and Mushroom, whose trees have hundreds of thousands to millions of leaves, and SynthG, at epsilon 1. The same
trees and folds for every number of buckets; the difference to the largest number is given with its standard error.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from privet import DisjointForestClassifier
from privet_papers.fletcher_islam_2017.data import load
from privet_papers.framework.data import DataFolder

HERE = Path(__file__).resolve().parent
BUCKETS = (1_024, 4_096, 16_384, 65_536, 131_072)
NAMES = ("SynthG", "Adult", "Mushroom")


def accuracies(name: str, data: DataFolder, folds: int) -> dict[int, np.ndarray]:
    """Return the accuracy in each fold, by number of buckets."""
    loaded = load(name, data)
    found: dict[int, list[float]] = {buckets: [] for buckets in BUCKETS}
    splits = StratifiedKFold(10, shuffle=True, random_state=0).split(loaded.X, loaded.y)
    for seed, (train, test) in zip(range(folds), splits, strict=False):
        for buckets in BUCKETS:
            forest = DisjointForestClassifier(1.0, schema=loaded.schema, max_leaves=buckets, random_state=seed)
            forest.fit(loaded.X.iloc[train], loaded.y[train])
            found[buckets].append(forest.score(loaded.X.iloc[test], loaded.y[test]))
    return {buckets: np.array(scores) for buckets, scores in found.items()}


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "results" / "leaf_buckets.csv")
    arguments = parser.parse_args()
    rows = []
    for name in NAMES:
        found = accuracies(name, DataFolder.at(arguments.data), arguments.folds)
        for buckets, scores in found.items():
            difference = scores - found[BUCKETS[-1]]
            rows.append(
                {
                    "data": name,
                    "buckets": buckets,
                    "accuracy": f"{scores.mean():.4f}",
                    "against the most": f"{difference.mean():.4f}",
                    "standard error": f"{difference.std(ddof=1) / np.sqrt(len(difference)):.4f}",
                }
            )
            print("  ".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with arguments.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()

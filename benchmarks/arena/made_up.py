"""Made-up tables of 20,000 to 500,000 records, for rules that are not to be chosen on the arena's own large tables.

What large tables have: places whose neighbourhood counts, long tails, categories that go together, and effects that
only combinations of features have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from arena.data import Problem, Task, coded
from privet.schema.domains import Categorical, Numeric
from privet.schema.schema import Schema

Random = np.random.Generator


def places(rng: Random, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return houses in and around 25 towns, each of them worth more or less; two classes."""
    towns, size = rng.uniform(0, 1, (25, 2)), rng.dirichlet(np.full(25, 0.5))
    at = towns[rng.choice(25, n, p=size)] + rng.normal(0, 0.03, (n, 2)) * rng.gamma(2, 1, (n, 1))
    near = np.exp(-((at[:, np.newaxis] - towns) ** 2).sum(axis=2) / 0.0032) @ rng.normal(size=25)
    income = np.exp(rng.normal(0, 0.5, n) + 0.3 * near)
    rooms = np.exp(rng.normal(1.5, 0.3, n)) * income**0.2
    frame = {
        "east": at[:, 0],
        "north": at[:, 1],
        "income": income,
        "rooms": rooms,
        "bedrooms": rooms / 5 * np.exp(rng.normal(0, 0.1, n)),
        "people": np.exp(rng.normal(7, 0.8, n)),
        "in each": np.exp(0.3 * rng.standard_t(3, n) + 1),
        "age": rng.integers(1, 53, n).astype(float),
    }
    near, wealth = near / near.std(), np.log(income)
    odds = 1.5 * wealth + 1.2 * near - 0.8 * np.log(frame["in each"]) + 0.3 * np.sin(frame["age"] / 8)
    return pd.DataFrame(frame), _two_classes(rng, 6 * (odds + 0.3 * wealth * near), 0.5)


def people(rng: Random, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return people with few numbers, most of them zero or with long tails, and seven categories; two classes."""
    frame = {
        "age": rng.gamma(6, 6, n).clip(17, 90).round(),
        "hours": (40 + rng.standard_t(3, n) * 8).clip(1, 99).round(),
        "gain": np.where(rng.random(n) < 0.08, np.exp(rng.normal(8, 1, n)), 0).round(),
        "loss": np.where(rng.random(n) < 0.05, rng.normal(1800, 400, n), 0).clip(0).round(),
        "weight": np.exp(rng.normal(12, 0.6, n)).round(),
    }
    table, standing, effects = pd.DataFrame(frame), rng.normal(size=n), []
    for place, k in enumerate((9, 16, 7, 14, 6, 5, 41)):
        drawn = np.log(rng.dirichlet(np.full(k, 0.8)) + 1e-3) + 0.8 * np.outer(standing, rng.normal(size=k))
        code = (drawn + rng.gumbel(size=(n, k))).argmax(axis=1)
        table[f"c{place}"] = np.array([f"v{j:02d}" for j in range(k)], object)[code]
        effects.append(rng.normal(0, 0.8, k)[code])
    odds = sum(effects) + 2 * np.exp(-(((table.age - 48) / 14) ** 2)) + 0.04 * (table.hours - 40).clip(-20, 20)
    odds = odds + 3 * (table.gain > 4000) + 1.2 * (table.loss > 1700) + effects[0] * effects[2]
    return table, _two_classes(rng, 1.6 * (odds + 0.6 * effects[1] * (table.age > 35)).to_numpy(), 0.25)


def board(rng: Random, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return positions on 40 squares, where several in one neighbourhood count together; three classes."""
    d = 40
    filled = np.linspace(-1.2, 1.2, d) + rng.normal(size=(n, 4)) @ rng.normal(0, 0.6, (4, d))
    square = np.where(rng.random((n, d)) < 1 / (1 + np.exp(-filled)), rng.integers(1, 3, (n, d)), 0)
    alone = sum(rng.normal(0, 0.5, 3)[square[:, j]] for j in range(d))
    together = np.zeros(n)
    for _ in range(60):
        chosen = rng.integers(d - 4) + rng.choice(5, rng.integers(2, 5), replace=False)
        side = rng.integers(1, 3)
        together += (3 - 2 * side) * rng.uniform(1, 2) * (square[:, chosen] == side).all(axis=1)
    score = 1.2 * alone / alone.std() + 1.8 * together / together.std() + rng.normal(0, 0.7, n)
    frame = {f"s{j}": np.array(["empty", "first", "second"], object)[square[:, j]] for j in range(d)}
    return pd.DataFrame(frame), np.digitize(score, np.quantile(score, [0.25, 0.35]))


def ground(rng: Random, n: int, n_classes: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return ten numbers and two categories; lines, waves and deep random trees decide among seven classes."""
    z = rng.normal(size=(n, 5))
    x = z @ rng.normal(0, 0.6, (5, 10)) + rng.normal(size=(n, 10))
    x[:, 3], x[:, 4], x[:, 7] = np.exp(x[:, 3]), np.exp(0.7 * x[:, 4]), np.abs(x[:, 7])
    area = (z[:, 0] > 0) * 2 + (z[:, 1] > 0.5)
    soil = (z @ rng.normal(size=(5, 30)) + rng.gumbel(0, 1.5, (n, 30))).argmax(axis=1)
    scores = 2 * np.log([0.36, 0.48, 0.06, 0.01, 0.02, 0.03, 0.04]) + 0.8 * rng.normal(size=(30, 7))[soil]
    for k in range(7):
        line = x[:, :3] @ rng.normal(size=3)
        scores[:, k] += 2.5 * line / line.std() + 2 * random_trees(rng, np.c_[x, area]) + np.sin(2 * x[:, k])
    label = (1.5 * scores + rng.gumbel(size=(n, 7))).argmax(axis=1)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(10)])
    frame["area"] = np.array(list("abcd"), object)[area]
    frame["soil"] = np.array([f"k{j:02d}" for j in range(30)], object)[soil]
    return frame, (label == np.bincount(label).argmax()).astype(np.int64) if n_classes == 2 else label


def rules(rng: Random, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return eight features of two to five categories, which count alone and by twos and threes; two classes."""
    sizes = (3, 5, 4, 4, 3, 2, 3, 3)
    code = [rng.integers(k, size=n) for k in sizes]
    score = sum(rng.normal(size=k)[values] for k, values in zip(sizes, code, strict=True))
    for _ in range(6):
        i, j = rng.choice(len(sizes), 2, replace=False)
        score = score + rng.normal(0, 1.2, (sizes[i], sizes[j]))[code[i], code[j]]
    i, j, k = rng.choice(len(sizes), 3, replace=False)
    score = score + 2 * ((code[i] == 0) & (code[j] == 1) & (code[k] == 0)) + rng.normal(0, 0.3, n)
    frame = {f"f{j}": np.array([f"v{value}" for value in range(5)], object)[values] for j, values in enumerate(code)}
    return pd.DataFrame(frame), (score > np.median(score)).astype(np.int64)


def random_trees(rng: Random, x: np.ndarray) -> np.ndarray:
    """Return the sum of twelve trees of depth five with random splits and leaves, with mean zero and deviation one."""
    total = np.zeros(len(x))
    for _ in range(12):
        node = np.zeros(len(x), np.int64)
        for level in range(5):
            feature = rng.integers(x.shape[1], size=2**level)
            cut = np.array([np.quantile(x[:2000, j], rng.uniform(0.15, 0.85)) for j in feature])
            node = 2 * node + (x[np.arange(len(x)), feature[node]] > cut[node])
        total += rng.normal(size=32)[node]
    centred: np.ndarray = (total - total.mean()) / total.std()
    return centred


def _two_classes(rng: Random, odds: np.ndarray, share: float) -> np.ndarray:
    drawn: np.ndarray = rng.random(len(odds)) < 1 / (1 + np.exp(np.quantile(odds, 1 - share) - odds))
    return drawn.astype(np.int64)


TABLES: dict[str, tuple[Callable[[Random, int], tuple[pd.DataFrame, np.ndarray]], int]] = {
    "places": (places, 20_000),
    "people": (people, 50_000),
    "board": (board, 60_000),
    "rules": (rules, 12_500),
    "ground, 2 classes": (partial(ground, n_classes=2), 40_000),
    "ground, 7 classes": (partial(ground, n_classes=7), 40_000),
    "more ground, 2 classes": (partial(ground, n_classes=2), 200_000),
    "more ground, 7 classes": (partial(ground, n_classes=7), 200_000),
    "much ground, 2 classes": (partial(ground, n_classes=2), 500_000),
    "much ground, 7 classes": (partial(ground, n_classes=7), 500_000),
}


@lru_cache(maxsize=2)
def problem(name: str) -> Problem:
    """Make a table by its name."""
    make, n_rows = TABLES[name]
    return of_frame(name, *make(np.random.default_rng([n_rows, len(name)]), n_rows))


def of_frame(name: str, frame: pd.DataFrame, labels: np.ndarray) -> Problem:
    """Return a problem; bounds, categories and classes are those of the table and count as public."""
    features: dict[str, Numeric | Categorical] = {
        str(column): Numeric(float(values.min()), float(values.max()))
        if pd.api.types.is_numeric_dtype(values)
        else Categorical(sorted(values.unique()))
        for column, values in frame.items()
    }
    schema = Schema(features, classes=list(range(int(labels.max()) + 1)))
    return Problem(Task(name, Path(name)), frame, coded(frame, features), labels, schema)

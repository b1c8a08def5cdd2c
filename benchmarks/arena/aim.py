"""AIM (McKenna et al., 2022) on private quantile cells, and gradient boosting on the synthetic records that it makes.

Runs in an environment of its own with `mbi`, by the same authors, which fits graphical models to noisy marginals. The
mechanism itself is not in that package; it is written here from the paper's Algorithm 4 with the settings of the
authors' program: all pairs of columns (the class among them) of at most 10,000 cells, 16 rounds for each column at
first, a tenth of each round for the selection, models of at most 80 megabytes, 1000 steps of mirror descent a round. A
tenth of rho goes to quantiles beforehand, since AIM takes discrete columns only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from arena.rank_map import Columns, distributions, ranks

QUANTILES_SHARE, CELLS = 0.1, 16
MOST_CELLS, MOST_MEGABYTES, ROUNDS_A_COLUMN, STEPS = 10_000, 80.0, 16, 1000
NOISE_SHARE = 0.9  # of a round, the rest for its selection
CLASS = "class"
Clique = tuple[str, ...]


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return delta at `epsilon` of rho-zCDP, by the conversion of Canonne, Kamath and Steinke (2020)."""

    def logarithm(step: float) -> float:
        order = 1 + math.exp(step)
        return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)

    return math.exp(min(0.0, minimize_scalar(logarithm, bounds=(-7.0, 12.0), method="bounded").fun))


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho that is (epsilon, delta)-private by that conversion."""
    return float(brentq(lambda rho: zcdp_delta(rho, epsilon) - delta, 1e-9, epsilon + 1, xtol=1e-12))


def weights_of(sizes: Mapping[str, int]) -> dict[Clique, float]:
    """Return the candidates, every column and every pair that is not too large, by how much the pairs ask of them."""
    pairs = [pair for pair in itertools.combinations(sizes, 2) if sizes[pair[0]] * sizes[pair[1]] <= MOST_CELLS]
    found: dict[Clique, float] = {(name,): float(sum(name in pair for pair in pairs)) for name in sizes}
    for pair in pairs:
        found[pair] = sum(found[name,] for name in pair)  # a pair shares two columns with itself, one with neighbours
    return found


def synthesize(
    table: Mapping[str, np.ndarray], sizes: Mapping[str, int], rho: float, rng: np.random.Generator, rows: int
) -> dict[str, np.ndarray]:
    """Return so many synthetic records for a table of codes, spending `rho`."""
    from mbi import Dataset, Domain, LinearMeasurement, estimation, junction_tree

    domain = Domain(list(sizes), list(sizes.values()))
    data = Dataset({name: np.asarray(column, np.int64) for name, column in table.items()}, domain)
    weights = weights_of(sizes)
    answers = {clique: np.asarray(data.project(clique).datavector()) for clique in weights}
    rounds = ROUNDS_A_COLUMN * len(sizes)
    noise = math.sqrt(rounds / (2 * NOISE_SHARE * rho))
    selection = math.sqrt(8 * (1 - NOISE_SHARE) * rho / rounds)
    measured: list[Any] = []

    def measure(clique: Clique, deviation: float) -> None:
        noisy = answers[clique] + deviation * rng.normal(size=answers[clique].shape)
        measured.append(LinearMeasurement(noisy, clique, deviation))

    def fitted(model: Any) -> Any:
        return estimation.MirrorDescent().estimate(domain, list(measured), iters=STEPS, warm_start=model)

    for name in sizes:
        measure((name,), noise)
    spent = len(sizes) / (2 * noise**2)
    model, ended = fitted(None), False
    while not ended:
        if rho - spent < 2 * (1 / (2 * noise**2) + selection**2 / 8):  # all that is left for a last round
            noise = math.sqrt(1 / (2 * NOISE_SHARE * (rho - spent)))
            selection = math.sqrt(8 * (1 - NOISE_SHARE) * (rho - spent))
            ended = True
        spent += 1 / (2 * noise**2) + selection**2 / 8
        held = [tuple(clique) for clique in model.cliques]
        small = [
            clique
            for clique in weights
            if any(set(clique) <= set(known) for known in held)
            or junction_tree.hypothetical_model_size(domain, [*held, clique]) <= MOST_MEGABYTES * spent / rho
        ]
        clique = _worst(small, weights, answers, model, noise, selection, rng)
        before = np.asarray(model.project(clique).datavector())
        measure(clique, noise)
        model = fitted(model)
        moved = np.abs(np.asarray(model.project(clique).datavector()) - before).sum()
        if moved <= noise * math.sqrt(2 / math.pi) * before.size:  # noise hides what there is to learn
            noise, selection = noise / 2, selection * 2
    made = model.synthetic_data(rows=rows)
    return {name: np.asarray(made.data[name]) for name in sizes}


def _worst(
    small: Sequence[Clique],
    weights: Mapping[Clique, float],
    answers: Mapping[Clique, np.ndarray],
    model: Any,
    noise: float,
    epsilon: float,
    rng: np.random.Generator,
) -> Clique:
    """Choose a marginal that the model gets wrong by more than noise would, by the exponential mechanism."""
    scores = []
    for clique in small:
        error = np.abs(answers[clique] - np.asarray(model.project(clique).datavector())).sum()
        scores.append(weights[clique] * (error - noise * math.sqrt(2 / math.pi) * answers[clique].size))
    most = max(weights[clique] for clique in small)  # what a record moves a score by
    return small[int(np.argmax(epsilon * np.array(scores) / (2 * most) + rng.gumbel(size=len(small))))]


def predictions(data: Mapping[str, Any], train: Any, test: Any, epsilon: float, delta: float, seed: int) -> Any:
    """Return the chances of each class for the test records, from boosting on synthetic records."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng, rho = np.random.default_rng([seed, round(1000 * epsilon)]), rho_of(epsilon, delta)
    columns = Columns(data["codes"], data["low"], data["high"], data["sizes"])
    fine, numbers, hint = columns.fine(), data["sizes"] == 0, int(data["hint"])
    codes, sizes = data["codes"].astype(np.int64), np.where(numbers, CELLS, data["sizes"])
    if numbers.any():
        part, rho = QUANTILES_SHARE * rho, (1 - QUANTILES_SHARE) * rho
        rank = ranks(fine, distributions(fine[train], math.sqrt(2 * part), hint, rng))
        codes[:, numbers] = np.minimum(rank * CELLS, CELLS - 1).astype(np.int64)
    n_classes = int(data["labels"].max()) + 1
    table = {f"x{place}": codes[train, place] for place in range(codes.shape[1])} | {CLASS: data["labels"][train]}
    domain = {f"x{place}": int(size) for place, size in enumerate(sizes)} | {CLASS: n_classes}
    made = synthesize(table, domain, rho, rng, hint)
    labels, shares = made.pop(CLASS), np.zeros((len(test), n_classes))
    present = np.unique(labels)
    if len(present) == 1:
        shares[:, present[0]] = 1
        return shares
    model = HistGradientBoostingClassifier(categorical_features=~numbers & (sizes <= 255), random_state=seed)
    model.fit(np.stack(list(made.values()), axis=1), labels)
    shares[:, model.classes_] = model.predict_proba(codes[test])
    return shares

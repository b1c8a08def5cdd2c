"""Entries of Fletcher and Islam: all of them exist, and comparisons are paired and averaged as they say."""

import numpy as np
import pytest

from privet.learners.disjoint_forest.depth import fletcher_depth
from privet.trees.random_trees import RandomTrees, with_own_leaves
from privet_papers.fletcher_islam_2017.cells import cross_validated, estimated_leaves, flipped, leaf_facts
from privet_papers.fletcher_islam_2017.data import BENCHMARKS, SYNTHETIC, load
from privet_papers.fletcher_islam_2017.layout import averaged, compared
from privet_papers.framework import entries
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Outcome

NOWHERE = DataFolder(None)


def test_every_table_and_figure_has_an_entry():
    wanted = {f"fletcher-table-{n}" for n in (2, 3, 4)} | {f"fletcher-fig-{n}" for n in range(4, 15)}
    assert wanted <= set(entries())
    for name in wanted:
        assert entries()[name].cells(True)


def test_the_depths_of_the_benchmarks_are_those_of_table_4():
    for benchmark in BENCHMARKS.values():
        assert fletcher_depth(benchmark.continuous, benchmark.discrete) == benchmark.depth


def test_synthetic_sets_have_the_features_of_table_1():
    for name in SYNTHETIC:
        loaded = load(name, NOWHERE, 500)
        assert loaded.X.shape == (500, BENCHMARKS[name].continuous)
        assert len(loaded.schema.features) == BENCHMARKS[name].continuous


def outcome(data, variant, scores, epsilon=1.0):
    return Outcome({"data": data, "variant": variant, "epsilon": epsilon}, {"accuracy": scores})


def test_comparisons_are_paired_by_fold():
    rows = compared(
        [
            outcome("a", "ref", [0.5, 0.6]),
            outcome("a", "new", [0.6, 0.8]),
            outcome("b", "ref", [0.1, 0.1]),
            outcome("b", "new", [0.1, 0.3]),
        ],
        "accuracy",
        "ref",
    )
    found = {(row["data"], row["variant"]): row for row in rows}
    assert found["a", "new"]["against reference"] == pytest.approx(0.15)
    assert found["a", "new"]["standard error"] == pytest.approx(0.05)
    assert found["average", "new"]["against reference"] == pytest.approx(0.125)
    assert found["average", "new"]["standard error"] == pytest.approx(0.075)
    assert "against reference" not in found["average", "ref"]


def test_averages_are_over_seeds():
    outcomes = [Outcome({"n": 1, "seed": seed}, {"x": value}) for seed, value in enumerate([1.0, 3.0])]
    assert averaged(outcomes, ["n"], ["x"]) == [{"n": 1, "x": 2.0, "x, deviation": pytest.approx(np.sqrt(2))}]


def test_the_estimated_number_of_leaves_is_right_on_average():
    loaded = load("SynthA", NOWHERE, 200)
    trees = RandomTrees.draw(loaded.schema.encoding(4), 3, 1, 9, "multiway", 1 << 20)
    exact = with_own_leaves(trees).n_leaves
    assert exact < 2**9  # cells run out, so paths differ and the estimate is not trivial
    assert estimated_leaves(trees, 0, np.random.default_rng(0), 3000) == pytest.approx(exact, rel=0.1)


def test_flipped_labels_are_those_of_the_laws():
    counts = np.array([[1, 0], [1, 0], [0, 3]])
    found = flipped(counts, np.array([1.0, 1.0, 3.0]), 1.0)
    assert found["permute-and-flip"] == pytest.approx((np.exp(-1) + np.exp(-3) / 2) / 3)
    assert found["printed"] == pytest.approx((2 / (1 + np.exp(np.e / 2)) + 1 / (1 + np.exp(np.exp(3) / 2))) / 3)
    assert found["margin law"] + found["margin law, silent"] < found["permute-and-flip"] * 2


def test_cells_run_on_a_synthetic_set():
    settings = {"data": "SynthA", "n_trees": 3, "composition": "disjoint", "epsilon": 1.0, "seed": 0}
    assert 0 < leaf_facts(settings, NOWHERE)["empty"] < 1
    for method in ("sound", "printed"):
        settings = {"data": "SynthA", "method": method, "epsilon": 1.0, "seed": 0, "folds": 1}
        scores = cross_validated({**settings, "parameters": {"n_trees": 10}}, NOWHERE)
        assert 0.6 < scores["accuracy"][0] < 0.9
        assert set(scores) == {"accuracy", "auc", "f1"}

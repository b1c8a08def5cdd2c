"""The entries of Bojarski et al. on a small made-up data set: what they lay out, and that it can be told apart."""

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from privet_papers.bojarski_2014 import entries as bojarski
from privet_papers.bojarski_2014 import figures as bojarski_figures
from privet_papers.bojarski_2014.cells import cart, goodness_and_weight, grid, public_rule, tree_quality
from privet_papers.bojarski_2014.data import binary_adult, split
from privet_papers.bojarski_2014.noise_readings import AS_PRINTED, CLAMPED, NOISE_ENTRY, SOUND, readings
from privet_papers.bojarski_2014.printed_numbers import TABLE_1
from privet_papers.bojarski_2014.theorems import theorem_5_1, theorem_5_2
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Outcome


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((600, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=(X[:, 0] > 0.5).astype(int))
    frame.to_parquet(tmp_path / "banknote.parquet")
    return DataFolder(tmp_path)


SETTINGS = {"data": "banknote", "seed": 0, "h": [1, 4], "k": [1, 9]}


def test_a_run_deals_every_record_once_and_takes_the_papers_budget(folder):
    parts = split("banknote", 3, folder)
    dealt = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(dealt) == list(range(600))
    assert (len(parts.test), len(parts.validation)) == (60, 54)
    assert parts.eta == pytest.approx(1000 / 540, abs=1e-6)


def test_a_grid_has_every_method_vote_and_shape_and_noise_costs_accuracy(folder):
    result = grid({**SETTINGS, "eta": 0.02}, folder)
    assert len(result["rows"]) == 3 * 3 * 2 * 2
    error = {tuple(row[:4]): row[5] for row in result["rows"]}
    assert error["n-dp", "TA", 4, 9] < 0.2 < error["dp", "TA", 4, 9]


def test_table_1_puts_the_papers_figures_beside_ours_and_marks_what_leaks(folder):
    cells = [(grid, SETTINGS), (public_rule, {"data": "banknote", "seed": 0}), (cart, {"data": "banknote", "seed": 0})]
    outcomes = [Outcome(settings, function(settings, folder)) for function, settings in cells]
    rows = bojarski.table_1(outcomes)
    assert [row["method"] for row in rows[:3]] == ["CART", "n-dpRFMV", "n-dpRFTA"]
    assert {row["method"]: row["error % (paper)"] for row in rows[:5]}["dpRFTA"] == 5.22
    assert [row["k and h by"] for row in rows].count(bojarski.CHOSEN) == 6
    by_rule = [row for row in rows if row["k and h by"] == bojarski.RULE]
    assert {(row["k"], row["h"], row["error % (paper)"]) for row in by_rule} == {(8, 8, None)}


def test_table_1_has_the_papers_binomial_intervals(folder):
    cells = [(grid, SETTINGS), (public_rule, {"data": "banknote", "seed": 0}), (cart, {"data": "banknote", "seed": 0})]
    outcomes = [Outcome(settings, function(settings, folder)) for function, settings in cells]
    row = bojarski.table_1(outcomes)[1]
    error = row["error %"] / 100
    assert row["+- binomial"] == pytest.approx(196 * np.sqrt(error * (1 - error) / 60), abs=0.01)  # one run, 60 tested


def test_noise_as_printed_costs_nothing_and_clamped_counts_cost_less_than_random_shares(folder):
    result = readings({**SETTINGS, "h": [6], "k": [9]}, folder)
    error = {row[0]: row[5] for row in result["rows"] if row[1] == "TA"}
    assert error[AS_PRINTED] < 0.2  # eta / k: noise below one record
    assert error[AS_PRINTED] <= error[CLAMPED] < error[SOUND]
    rows = NOISE_ENTRY.assemble([Outcome({"data": "banknote"}, result)])
    assert [(row["noise"], row["vote"]) for row in rows[2:4]] == [(AS_PRINTED, "MV"), (AS_PRINTED, "TA")]
    assert rows[2]["error % (paper)"] == 5.44


def test_the_best_shape_is_that_of_the_smallest_mean_validation_error():
    runs = [
        {"rows": [["dp", "MV", 2, 1, 0.1, 0.5], ["dp", "MV", 3, 1, 0.4, 0.2]]},
        {"rows": [["dp", "MV", 2, 1, 0.5, 0.6], ["dp", "MV", 3, 1, 0.1, 0.1], ["dp", "TA", 9, 9, 0.0, 0.0]]},
    ]
    found = bojarski.best_on_validation([Outcome({}, run) for run in runs], "dp", "MV")
    assert found == (1, 3, [0.2, 0.1])


def test_every_entry_of_the_paper_is_there_and_its_cells_differ():
    names = [entry.name for entry in bojarski.ENTRIES]
    assert {"bojarski-table-1", *(f"bojarski-fig-{number}" for number in range(1, 11))} <= set(names)
    for entry in bojarski.ENTRIES:
        for quick in (True, False):
            cells = [(cell.path, str(sorted(cell.settings.items()))) for cell in entry.cells(quick)]
            assert len(set(cells)) == len(cells) > 0


def test_the_paper_printed_five_methods_on_eight_data_sets():
    assert len(TABLE_1) == 40


def test_figures_draw_from_their_rows(folder):
    settings = {**SETTINGS, "h": [5, 10], "k": [1, 5]}
    rows = bojarski_figures.by_shape([Outcome(settings, grid(settings, folder))])
    assert {row["method"] for row in rows} == {"dp", "dp, back-off"}
    assert len(bojarski_figures.plot_shapes(rows).axes) == 4
    assert len(bojarski_figures.plot_budgets(rows).axes) == 1 + 3, "over budgets, and over k for each vote"


def test_measured_errors_stay_below_the_bound_of_theorem_5_4(folder):
    settings = {"data": "banknote", "seed": 0, "h": 6, "k": [1, 201]}
    rows = bojarski_figures.bounds([Outcome(settings, tree_quality(settings, folder))])
    assert rows[0]["delta"] is rows[0]["bound MV %"] is None, "one tree is too few"
    assert rows[-1]["delta"] == pytest.approx(math.sqrt(math.log(486) / 201), abs=1e-3)
    assert rows[-1]["MV %"] <= rows[-1]["bound MV %"]
    assert rows[-1]["TA %"] <= rows[-1]["bound TA %"]
    assert all(row["probability of the private bound (5.7)"] < 0 for row in rows)
    assert len(bojarski_figures.plot_bounds(rows).axes) == 1


def test_the_table_of_the_public_rule_is_that_of_the_committed_results():
    root = Path(__file__).parents[2] / "docs"
    with (root / "results" / "bojarski-public-rule.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["epsilon"] in ("0.1", "1")]
    errors = [name for name in rows[0] if name.startswith("error %")]
    wanted = [[row["data"], *(float(row[name]) for name in ("n", "epsilon", "k", "h", *errors))] for row in rows]
    page = (root / "learners" / "random_decision_forest.md").read_text(encoding="utf-8")
    table = page.split("| by the rule | k = 10, h = 8 | best of 20 |\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert [[name, *map(float, numbers)] for name, *numbers in shown[:-1]] == wanted
    assert [float(cell) for cell in shown[-1][5:]] == pytest.approx(
        [round(float(np.mean([float(row[name]) for row in rows])), 1) for name in errors]
    )


def test_binary_adult_has_five_fifths_two_halves_and_one_feature_for_each_category():
    frame = pd.DataFrame(
        {
            **{name: np.arange(10) for name in ("age", "fnlwgt", "education_num", "hours_per_week")},
            "capital_gain": [0] * 8 + [5, 9],
            "capital_loss": 0,
            "sex": pd.Categorical(["m", "f", None, "f", "m"] * 2),
            "target": ["no"] * 10,
        }
    )
    binary = binary_adult(frame).drop(columns="target")
    assert binary.shape == (10, 4 * 5 + 2 * 2 + 2)
    assert binary.filter(like="age ").to_numpy().sum(axis=1).tolist() == [1] * 10
    assert binary.filter(like="sex").to_numpy().sum() == 8


def test_goodness_and_weight_are_at_least_what_theorems_5_1_and_5_2_say(folder):
    """Theorem 5.1 is an equality; 5.2 is Jensen's inequality. Both speak of the very trees that are averaged over."""
    settings = {"data": "banknote", "seed": 0, "h": 4, "trees": 31, "k": 11, "private delta": 0.125}
    found = goodness_and_weight(settings, folder)
    error = found["tree_error"]
    assert found["MV"]["mean"] == pytest.approx(theorem_5_1(error), abs=1e-9)
    assert found["TA"]["mean"] >= theorem_5_2(error) - 1e-9
    assert found["delta"] == pytest.approx(math.sqrt(math.log(found["n"]) / 11))

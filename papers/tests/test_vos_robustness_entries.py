"""The robustness entries: cells run on small stand-ins of the data, and rows stand beside the paper's figures."""

import numpy as np
import pandas as pd
import pytest

from privet.estimators.registry import estimator_names
from privet.robustness import Guarantee, paper_accuracy, paper_attack_success
from privet_papers.framework import find
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Outcome
from privet_papers.framework.plots import common_style
from privet_papers.vos_2023.poisoning import cells as vos_robustness_cells
from privet_papers.vos_2023.poisoning.attack_cost import least_expected_cost
from privet_papers.vos_2023.poisoning.entry_parts import MIXED, NUMERICAL, TREE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.random((200, 2))
    table = pd.DataFrame({"a": x[:, 0], "b": np.where(x[:, 1] > 0.5, "u", "v"), "target": (x[:, 0] > 0.4).astype(int)})
    table.to_parquet(tmp_path / "diabetes.parquet")
    labels = rng.integers(0, 2, 240)
    images = (rng.random((240, 784)) * (60 + 120 * labels[:, None])).astype(np.uint8)
    pd.DataFrame(images, columns=[f"p{i}" for i in range(784)]).assign(target=labels).to_parquet(
        tmp_path / "mnist_0_vs_1.parquet"
    )
    monkeypatch.setattr(vos_robustness_cells, "MNIST_TRAIN", 200)
    return DataFolder.at(tmp_path)


def test_cells_of_tables_give_an_accuracy_for_each_training(folder):
    settings = {"data": "diabetes", "epsilon": 1.0, "repeats": 2, **TREE}
    result = vos_robustness_cells.fold_accuracies(settings, folder)
    assert len(result["accuracies"]) == 10
    assert result["n_records"] == 160
    settings = {"data": "diabetes", "epsilon": 1.0, "retrainings": 3, "split": "first fold", **TREE}
    result = vos_robustness_cells.retrained_accuracies(settings, folder)
    assert len(result["accuracies"]) == 3
    assert all(0 <= accuracy <= 1 for accuracy in result["accuracies"])


def test_cells_of_figures_give_a_number_for_each_attack(folder):
    settings = {"data": "diabetes", "parts": 9, "shares": [0.0, 0.02], "split": "published"}
    certified = vos_robustness_cells.dpa_certificates(settings, folder)["certified"]
    assert certified[0] >= certified[1]
    for epsilon in (None, 1.0):
        result = vos_robustness_cells.backdoor({"epsilon": epsilon, "split": 1, "poisoned": [0, 4]}, folder)
        assert len(result["accuracy"]) == len(result["success"]) == 2
    assert len(vos_robustness_cells.retrained_resistance({"epsilon": 1.0, "retrainings": 2}, folder)["scores"]) == 2


@pytest.mark.parametrize("name", ["vos-table-3", "vos-table-8", "vos-fig-3", "vos-fig-4", "robustness-learners"])
def test_settings_are_told_apart_and_quick_ones_are_fewer(name):
    entry = find(name)
    full, quick = entry.cells(False), entry.cells(True)
    assert len({str(sorted(cell.settings.items(), key=str)) + cell.path for cell in full}) == len(full)
    assert len(quick) <= len(full)


@pytest.mark.parametrize(("name", "names"), [("vos-table-3", NUMERICAL), ("vos-table-8", MIXED)])
def test_tables_show_the_papers_figures_beside_ours(name, names):
    entry = find(name)
    rng = np.random.default_rng(1)
    outcomes = []
    for cell in entry.cells(True):
        n = cell.settings.get("retrainings", 5)
        outcomes.append(Outcome(cell.settings, {"accuracies": list(rng.uniform(0.7, 0.8, n)), "n_records": 10_000}))
    rows = entry.assemble(outcomes)
    assert [row["data"] for row in rows[::2]] == list(names.values())
    assert rows[0]["s.e."] > 0
    for row in rows:
        close = Guarantee.stated(row["epsilon"]).under(10)
        assert row["0.1% formula"] == pytest.approx(paper_accuracy(row["accuracy"], close))
        assert row["0.1% by (12)"] == pytest.approx(1 - np.exp(10 * row["epsilon"]) * (1 - row["accuracy"]))
        assert 0 <= row["1.0% certified"] <= row["0.1% certified"] < row["accuracy"]
    printed = {row["data"]: row["accuracy (paper)"] for row in rows if row["epsilon"] == 0.01}
    assert printed.get("california", 0.699) == 0.699
    assert printed.get("adult", 0.77) == 0.77


def test_equations_11_and_12_hold_for_every_law_that_is_close_and_are_tight():
    """Costs on three models; all laws Q within a factor of the clean law P, and the worst of them."""
    rng = np.random.default_rng(2)
    close = Guarantee.stated(0.1).under(5)
    for sign in (1, -1):
        for _ in range(200):
            p, factor = rng.dirichlet(np.ones(3)), np.exp(rng.uniform(-0.25, 0.25, 3))
            q = p * factor / (p * factor).sum()  # q / p is within e^-.5 and e^.5
            cost = sign * rng.random(3)
            assert q @ cost >= least_expected_cost(float(p @ cost), close) - 1e-12
        # all of the cost is on one model, whose probability moves by the whole factor
        few = 0.1
        moved = few / close.ratio if sign > 0 else few * close.ratio
        assert sign * moved == pytest.approx(least_expected_cost(sign * few, close))


def test_few_images_are_counted_for_both_places_of_the_trigger(folder):
    settings = {"margin": 0, "split": 0, "poisoned": [1, 4]}
    result = vos_robustness_cells.few_images(settings, folder)
    assert len(result["success"]) == len(result["asked"]) == 2
    entry = find("vos-fig-4-few")
    outcomes = [
        Outcome(cell.settings, {"success": [0.1 + cell.settings["split"], 1.0], "asked": [False, True]})
        for cell in entry.cells(True)
    ]
    first, second, *_ = entry.assemble(outcomes)
    assert (first["margin"], first["poisoned"], first["asked"]) == (1, 1, 0.0)
    assert first["attack success"] == pytest.approx(0.6)
    assert (second["attack success"], second["asked"], second["runs"]) == (1.0, 1.0, 2)


def test_figure_3_draws_formula_certificate_and_dpa():
    entry = find("vos-fig-3")
    outcomes = []
    for cell in entry.cells(True):
        if "parts" in cell.settings:
            outcomes.append(Outcome(cell.settings, {"certified": [0.8] * len(cell.settings["shares"])}))
        else:
            scores = [0.75] * cell.settings["retrainings"]
            outcomes.append(Outcome(cell.settings, {"accuracies": scores, "n_records": 30_162}))
    rows = entry.assemble(outcomes)
    at = {(row["data"], row["epsilon"], row["share"]): row for row in rows}
    assert at["adult", 0.01, 0.01]["poisoned"] == 301
    assert at["adult", 0.01, 0.01]["formula"] == pytest.approx(0.75 * np.exp(-3.01))
    assert at["adult", None, 0.01]["certified"] == 0.8
    with common_style():
        figure = entry.plot(rows)
    assert [axes.get_title() for axes in figure.axes] == ["adult", "compas-two-years"]


def test_figure_4_has_both_bounds_and_the_papers_clean_accuracy():
    entry = find("vos-fig-4")
    outcomes = []
    for cell in entry.cells(True):
        if "split" in cell.settings:
            numbers = cell.settings["poisoned"]
            rates = [0.02 + 0.001 * number for number in numbers]
            outcomes.append(Outcome(cell.settings, {"accuracy": [0.98] * len(numbers), "success": rates}))
        else:
            outcomes.append(Outcome(cell.settings, {"scores": [0.97] * 20, "n_records": 11_200}))
    rows = entry.assemble(outcomes)
    last = rows[-1]
    assert (last["epsilon"], last["poisoned"]) == (0.1, 112)
    assert last["bound by formula"] == pytest.approx(paper_attack_success(0.02, Guarantee.stated(0.1).under(112)))
    assert last["certified bound"] >= last["attack success"]
    assert {row["accuracy (paper)"] for row in rows if row["poisoned"] == 0} == {0.995, 0.974, 0.987}
    with common_style():
        assert len(entry.plot(rows).axes[0].lines) == 7


def test_the_picture_of_learners_has_a_line_for_each():

    entry = find("robustness-learners")
    outcomes = [
        Outcome(cell.settings, {"accuracies": [0.8] * cell.settings["retrainings"], "n_records": 30_162})
        for cell in entry.cells(True)
    ]
    rows = entry.assemble(outcomes)
    classifiers = estimator_names("Classifier")
    assert {f"{row['learner']}Classifier" for row in rows} == set(classifiers)
    with common_style():
        assert len(entry.plot(rows).axes[0].lines) == len(classifiers)

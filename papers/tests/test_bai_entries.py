"""The entries of Bai et al.: layout, marks, ranks, and cells that run."""

import numpy as np
import pandas as pd
import pytest

from privet_papers.bai_2021.cells import BREIMAN, METHODS, _ties_by_chance, cross_validated
from privet_papers.bai_2021.data import FILES, load_exact
from privet_papers.bai_2021.entries import GRIDS, RATES, average_ranks, wilcoxon_mark
from privet_papers.bai_2021.pixel_cells import NAMES, haralick
from privet_papers.bai_2021.printed_numbers import MARKS, TABLE_2, TABLE_4
from privet_papers.bai_2021.printed_numbers import METHODS as COLUMNS
from privet_papers.bai_2021.private_cells import MODELS, excess_error, private_accuracy, share_of_ones
from privet_papers.framework import find
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Outcome


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 1, 300).round(2), "c": rng.choice(["a", "b", "d"], 300)})
    frame["target"] = np.where((frame["x"] > 0.5) ^ (frame["c"] == "a"), "yes", "no")
    frame.loc[:4, "x"] = np.nan
    frame.to_parquet(tmp_path / "small.parquet")
    return DataFolder.at(tmp_path)


@pytest.mark.parametrize("method", [*METHODS, BREIMAN])
def test_every_method_learns_on_mixed_features_with_missing_values(folder, method):
    settings = {"data": "small", "method": method, "seed": 0, "folds": 2}
    settings["parameters"] = {} if method == BREIMAN else {"n_trees": 20}
    scores = cross_validated(settings, folder)["accuracy"]
    assert len(scores) == 2
    assert np.mean(scores) > 0.75


def test_every_value_has_a_code_of_its_own(folder):
    loaded, schema = load_exact("small", folder)
    codes = schema.encoding().encode(loaded.X)
    assert len(np.unique(codes[0])) == loaded.X["x"].nunique() + 1


def outcome(name, method, scores, **settings):
    return Outcome({"data": FILES[name], "method": method, **settings}, {"accuracy": scores})


def test_table_2_has_means_marks_ranks_and_the_printed_figures():
    rng = np.random.default_rng(0)
    outcomes = []
    for name in ("Zoo", "Car"):
        for place, method in enumerate(COLUMNS):
            outcomes.append(outcome(name, method, (0.5 + 0.05 * place + rng.normal(0, 0.001, 20)).tolist()))
    zoo, car, mean, ranks = find("bai-table-2").assemble(outcomes)
    assert zoo["folds"] == 20
    assert zoo["MRF"] == pytest.approx(65.0, abs=0.2)
    assert zoo["MRF - paper"] == pytest.approx(zoo["MRF"] - 90.64, abs=0.02)
    assert zoo["MRF against Breiman"] == "worse"
    assert car["MRF against Breiman (paper)"] == "worse"
    assert car["Breiman+M (paper)"] == 97.47
    assert mean["MRF"] == pytest.approx((zoo["MRF"] + car["MRF"]) / 2, abs=0.02)
    assert [ranks[method] for method in COLUMNS] == [8, 7, 6, 5, 4, 3, 2, 1]
    assert ranks["MRF (paper)"] == 2.75


def test_wilcoxon_marks_need_more_than_chance():
    rng = np.random.default_rng(0)
    scores = rng.normal(80, 3, 50)
    assert wilcoxon_mark(scores + 1, scores) == 1
    assert wilcoxon_mark(scores, scores + 1) == -1
    assert wilcoxon_mark(scores, scores) == 0
    assert wilcoxon_mark(scores, scores + rng.permutation([1.0, -1.0] * 25)) == 0


def test_equal_figures_share_their_rank():
    assert average_ranks([{"a": 1, "b": 2, "c": 2}], ["a", "b", "c"]) == [3, 1.5, 1.5]


def test_printed_figures_are_complete():
    assert set(TABLE_2) == set(FILES)
    assert all(len(figures) == len(COLUMNS) for figures in (*TABLE_2.values(), *TABLE_4.values()))
    assert (list(MARKS.values()).count(1), list(MARKS.values()).count(-1)) == (11, 7)
    assert set(TABLE_4) <= set(TABLE_2)


def test_the_tuned_table_takes_the_best_of_the_grid():
    outcomes = [
        outcome("Hayes", method, [0.5 + 0.01 * place], parameters=parameters)
        for method in COLUMNS
        for place, parameters in enumerate(GRIDS[method])
    ]
    (row,) = find("bai-table-4").assemble(outcomes)
    assert row["MRF"] == 57.0
    assert row["MRF, chosen"] == "min_leaf=5, feature_rate=20, value_rate=20"
    assert row["MRF (paper)"] == 82.28


def test_the_figure_of_rates_has_a_panel_for_each_data_set_and_a_line_for_each_b1():
    outcomes = [
        outcome(name, "MRF", [0.8], parameters={"feature_rate": b1, "value_rate": b2})
        for name in ("Hayes", "Car")
        for b1 in RATES
        for b2 in RATES
    ]
    entry = find("bai-fig-6")
    figure = entry.plot(entry.assemble(outcomes))
    assert [len(axes.lines) for axes in figure.axes] == [len(RATES)] * 2


@pytest.mark.parametrize("method", MODELS)
def test_every_private_method_runs(folder, method):
    settings = {"data": "small", "method": method, "epsilon": 1.0, "n_trees": 2, "seed": 0, "folds": 1}
    (score,) = private_accuracy(settings, folder)["accuracy"]
    assert 0 <= score <= 1


def test_the_excess_error_falls_with_records_and_is_never_below_zero():
    few, many = (
        excess_error({"n_rows": n, "epsilon": None, "gamma": 0.0, "n_trees": 5, "seed": 0}, DataFolder(None))
        for n in (100, 6_000)
    )
    private = excess_error({"n_rows": 6_000, "epsilon": 1.0, "gamma": 0.2, "n_trees": 1, "seed": 0}, DataFolder(None))
    assert few["excess"] > 1.5 * many["excess"] > 0
    assert private["excess"] > many["excess"]
    assert few["bayes"] == pytest.approx(many["bayes"], abs=0.01)
    assert 0 < share_of_ones(np.random.default_rng(0).random((100, 3))).mean() < 1


def test_the_consistency_table_has_a_column_for_each_setting_and_falls_in_the_figure():
    outcomes = [
        Outcome({"n_rows": n, "epsilon": epsilon, "gamma": gamma, "seed": 0}, {"excess": 1 / n, "bayes": 0.2})
        for n in (100, 1000)
        for epsilon, gamma in ((None, 0.0), (1.0, 0.2))
    ]
    entry = find("bai-consistency")
    rows = entry.assemble(outcomes)
    assert rows[0] == {
        "records": 100,
        "Bayes risk, %": 20.0,
        "excess, without privacy": 1.0,
        "excess, epsilon 1, gamma 0.2": 1.0,
    }
    assert len(entry.plot(rows).axes[0].lines) == 2


def test_figure_5_has_a_row_for_each_epsilon_and_number_of_trees():
    outcomes = [
        outcome("Car", method, [0.5, 0.7], epsilon=epsilon, n_trees=n_trees)
        for epsilon in (0.1, 0.5, 1.0)
        for n_trees in (1, 64)
        for method in MODELS
    ]
    entry = find("bai-fig-5")
    rows = entry.assemble(outcomes)
    assert len(rows) == 6
    assert rows[0]["MRF, sound"] == 60.0
    assert [len(axes.lines) for axes in entry.plot(rows).axes] == [len(MODELS)] * 3


def test_haralick_features_of_an_even_image_and_of_stripes():
    even = haralick(np.full((20, 20), 100, np.uint8))
    np.testing.assert_allclose([feature[10, 10] for feature in even], [1, 0, 1, 0, 1, 3, 0, 0], atol=1e-9)
    stripes = haralick(np.tile(np.array([0, 255], np.uint8), (20, 10)))
    moment, contrast, correlation, *_ = (feature[10, 10] for feature in stripes)
    assert moment == pytest.approx(0.5, abs=0.01)
    assert contrast == pytest.approx(49)
    assert correlation == pytest.approx(-1)


def test_pixel_tables_average_over_seeds_and_the_map_is_a_picture_of_three_panels():
    outcomes = [
        Outcome({"method": method, "seed": seed}, {"accuracy": 0.9 + 0.02 * seed, "iou": 0.8})
        for method in NAMES
        for seed in range(2)
    ]
    entry = find("bai-fig-3")
    rows = entry.assemble(outcomes)
    assert rows[0]["pixel accuracy"] == pytest.approx(91)
    assert rows[0]["pixel accuracy, s.d."] == pytest.approx(1)
    assert len(entry.plot(rows).axes) == 2
    entry = find("bai-fig-4")
    panels = {"grey": ["019", "900"], "truth": ["009", "900"], "share": ["008", "700"]}
    rows = entry.assemble([Outcome({}, {"map": panels})])
    assert rows[1] == {"grey": "900", "truth": "900", "share": "700"}
    assert entry.plot(rows).axes[2].images[0].get_array().tolist() == [[0, 0, 8], [7, 0, 0]]


class _TwoVoters:
    """Stands for a forest whose vote is tied on every record but the first."""

    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        votes = np.tile([0.5, 0.5, 0.0], (len(X), 1))
        votes[0] = [0.2, 0.3, 0.5]
        return votes


def test_ties_are_broken_by_chance_among_the_classes_of_most_votes():
    predicted = _ties_by_chance(_TwoVoters(), np.zeros((401, 1)), 0)
    assert predicted[0] == "c"
    assert set(predicted[1:]) == {"a", "b"}
    assert 140 < (predicted == "a").sum() < 260


def test_readings_stand_beside_the_papers_figure_and_are_counted_where_they_are_near():
    entry = find("bai-readings")
    outcomes = [Outcome(cell.settings, {"accuracy": [0.9]}) for cell in entry.cells(True)]
    zoo, hayes, average, near = entry.assemble(outcomes)
    assert (zoo["data"], hayes["data"], average["MRF, ties by chance"]) == ("Zoo", "Hayes", 90.0)
    assert zoo["CompRF-C (paper)"] == 87.69
    assert near["MRF, ties by chance"] == 1  # 90.64 on Zoo
    assert near["CompRF-I, raw"] == 0  # 93.39 and 46.04

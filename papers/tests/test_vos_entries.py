"""The entries of Vos et al.: layout, averages, and cells that run."""

import numpy as np
import pandas as pd
import pytest

from privet.errors import ParameterError
from privet_papers.framework import find
from privet_papers.framework.data import DataFolder
from privet_papers.framework.entry import Outcome
from privet_papers.vos_2023.cells import (
    DIFFPRIVLIB,
    OTHERS,
    STOP,
    TREE,
    budget_shares,
    cross_validated,
    printed_shares,
    times,
)
from privet_papers.vos_2023.data import BY_KEY, COVERTYPE_MIXED, FOR_RULES, HIGGS, HIGGS_PART, TABLE_4, coverage, load
from privet_papers.vos_2023.printed_numbers import CORRECTED, METHODS, PRINTED, PRINTED_TABLE_3, PRINTED_TABLE_8


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 1, 400), "c": rng.choice(["a", "b", "d"], 400)})
    frame["target"] = np.where((frame["x"] > 0.5) ^ (frame["c"] == "a"), "yes", "no")
    frame.to_parquet(tmp_path / "small.parquet")
    return DataFolder.at(tmp_path)


@pytest.mark.parametrize("method", [TREE, "ours", "ours, counts", STOP, *OTHERS])
def test_every_method_runs_on_mixed_features(folder, method):
    result = cross_validated({"data": "small", "method": method, "epsilon": 5.0, "seed": 0}, folder)
    assert len(result["accuracy"]) == 5
    assert all(0 <= score <= 1 for score in result["accuracy"])


def test_ours_is_better_than_guessing_where_the_tree_is(folder):
    settings = {"data": "small", "epsilon": 5.0, "seed": 0}
    tree, ours = (
        np.mean(cross_validated({**settings, "method": method}, folder)["accuracy"]) for method in (TREE, "ours")
    )
    assert tree > 0.95
    assert ours > 0.85


def test_more_for_the_leaves_and_nothing_else_is_worse(folder):
    settings = {"data": "small", "epsilon": 2.0, "repetitions": 20}
    few, all_of_it = (
        np.mean(budget_shares({**settings, "leaves": part}, folder)["accuracy"]) for part in ("1/4", "999/1000")
    )
    assert few > all_of_it + 0.1


def test_the_printed_budget_is_divided_three_ways(folder):
    settings = {"data": "small", "epsilon": 2.0, "repetitions": 10, "quantiles": "1/4"}
    few, all_but_quantiles = printed_shares({**settings, "leaves": ["1/4", "749/1000"]}, folder)["accuracy"]
    assert len(few) == len(all_but_quantiles) == 10
    assert np.mean(few) > np.mean(all_but_quantiles) + 0.1


def test_a_table_has_the_printed_and_the_corrected_figures_standard_errors_and_averages():
    entry = find("vos-table-7")
    outcomes = [
        Outcome({"data": name, "method": method, "epsilon": 1.0, "seed": 0}, {"accuracy": [0.5, 0.7]})
        for name in ("vote", "adult", "part_jannis")
        for method in ("ours", TREE)
    ]
    jannis, adult, vote, average, whole = entry.assemble(outcomes)
    assert jannis["data"] == "part_jannis"
    assert adult["ours"] == pytest.approx(0.6)
    assert adult["ours, s.e."] == pytest.approx(0.1)
    assert adult["tree, s.e."] == pytest.approx(0.1)
    assert adult["PrivaTree (paper)"] == 0.823
    assert adult["PrivaTree (corrected)"] == 0.822
    assert vote["PrivaTree (paper)"] == 0.944
    assert average["PrivaTree (paper)"] == pytest.approx((0.716 + 0.823 + 0.944) / 3, abs=1e-4)
    assert whole["PrivaTree (paper)"] == pytest.approx(0.8835)  # of jannis we have a part
    assert average["BDPT"] is None


def test_the_tables_cover_21_of_29_data_sets_and_rules_are_chosen_on_no_others_than_before():
    assert len(TABLE_4) == 29
    assert len(BY_KEY) == 21
    assert coverage("numerical").startswith("Data: 11 of the paper's 16 sets, no copy at hand of Bioresponse")
    assert coverage("mixed", "UCI").startswith("Data: 10 of the paper's 13 sets")
    assert len(FOR_RULES) == 12
    used = {cell.settings["data"] for cell in find("privatree-stop").cells(False)}
    assert used < set(FOR_RULES)


def test_mixed_covertype_has_two_balanced_classes_and_binary_columns_as_categories(tmp_path):
    rng = np.random.default_rng(0)
    numeric = {f"n{i}": rng.normal(size=300) for i in range(10)}
    binary = {f"b{i}": rng.integers(0, 2, 300) for i in range(44)}
    frame = pd.DataFrame({**numeric, **binary, "target": rng.choice([1, 2, 3], 300, p=[0.2, 0.5, 0.3])})
    frame.to_parquet(tmp_path / "covertype.parquet")
    loaded = load(COVERTYPE_MIXED, DataFolder.at(tmp_path))
    ones = int((frame["target"] == 1).sum())
    assert loaded.y.value_counts().to_dict() == {0: ones, 1: ones}
    assert [column.ordered for column in loaded.schema.encoding(4).columns] == [True] * 10 + [False] * 44


def test_higgs_is_read_without_b_tags(tmp_path):
    frame = pd.DataFrame({"jet1pt": [0.0, 1.0], "jet1b-tag": [1.0, 0.0], "target": [0, 1]})
    frame.to_parquet(tmp_path / f"{HIGGS_PART}.parquet")
    assert list(load(HIGGS_PART, DataFolder.at(tmp_path)).X.columns) == ["jet1pt"]


def test_table_4_lists_what_is_missing_with_the_papers_figures():
    outcome = Outcome({"data": "vote"}, {"shape": [232, 16], "categorical": 16, "majority": 0.5345})
    rows = find("vos-table-4").assemble([outcome])
    vote, credit = rows[-1], next(row for row in rows if row["data"] == "credit")
    assert (vote["samples"], vote["samples (paper)"], vote["majority share"]) == (232, 232, 0.534)
    assert (credit["status"], credit["samples"], credit["samples (paper)"]) == ("missing", None, 16_714)


def test_printed_figures_are_complete():
    assert set(PRINTED) == {(name, epsilon) for name in BY_KEY for epsilon in (0.01, 0.1, 1.0)}
    assert len(PRINTED_TABLE_3) == 11 * 4
    assert len(PRINTED_TABLE_8) == 10 * 4
    assert all(len(figures) == len(METHODS) for figures in PRINTED.values())
    assert all(figures[-1] is not None for figures in PRINTED.values())
    assert len(CORRECTED) == 2 * len(BY_KEY)


def test_times_are_ratios_to_the_tree_and_higgs_is_synthetic(folder):
    assert load(HIGGS, folder, 50).X.shape == (50, 24)
    settings = {"data": HIGGS, "n_rows": 50, "epsilon": 1.0, "seed": 0}
    outcomes = [
        Outcome({**settings, "method": method}, times({**settings, "method": method}, folder))
        for method in (TREE, "ours")
    ]
    (row,) = find("vos-table-5").assemble(outcomes)
    assert row["ours / tree"] > 0
    assert row["BDPT / tree"] is None


def test_figures_have_a_panel_for_each_data_set():
    outcomes = [
        Outcome({"data": name, "method": method, "epsilon": epsilon, "seed": 0}, {"accuracy": [0.5, 0.6]})
        for name in ("adult", "bench_compas-two-years")
        for method in (TREE, "ours")
        for epsilon in (0.1, 1.0)
    ]
    entry = find("vos-fig-1")
    rows = entry.assemble(outcomes)
    assert [(row["data"], row["method"], row["epsilon"], row["runs"]) for row in rows[:3]] == [
        ("bench_compas-two-years", TREE, None, 4),
        ("bench_compas-two-years", "ours", 0.1, 2),
        ("bench_compas-two-years", "ours", 1.0, 2),
    ]
    assert len(entry.plot(rows).axes) == 2


def test_figure_2_shows_ours_and_the_printed_division():
    shares = [
        Outcome({"data": "vote", "leaves": "3/20"}, {"accuracy": [0.8, 0.9]}),
        Outcome({"data": "vote", "quantiles": "2/10", "leaves": ["1/10", "3/10"]}, {"accuracy": [[0.5], [0.7]]}),
    ]
    entry = find("vos-fig-2")
    ours, first, second = entry.assemble(shares)
    assert (ours["quantiles"], ours["nodes"], ours["leaves"], ours["s.e."]) == (0.0, 0.85, 0.15, 0.05)
    assert (first["quantiles"], first["nodes"], first["leaves"]) == (0.2, 0.7, 0.1)
    assert second["accuracy"] == 0.7
    assert len(entry.plot([ours, first, second]).axes) == 1


def test_diffprivlib_is_run_in_the_environment_that_is_named_and_only_then(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("PRIVET_DIFFPRIVLIB", raising=False)
    assert not any(cell.settings["method"] == DIFFPRIVLIB for cell in find("vos-table-2").cells(True))
    peer = tmp_path / "python"
    peer.write_text('#!/bin/sh\necho \'{"accuracy": [0.25], "seconds": [2.0]}\'\n')
    peer.chmod(0o755)
    monkeypatch.setenv("PRIVET_DIFFPRIVLIB", str(peer))
    assert any(cell.settings["method"] == DIFFPRIVLIB for cell in find("vos-table-2").cells(True))
    settings = {"data": "small", "method": DIFFPRIVLIB, "epsilon": 1.0, "seed": 0}
    assert cross_validated(settings, folder) == {"accuracy": [0.25]}
    assert times(settings, folder) == {"seconds": 2.0}
    peer.write_text("#!/bin/sh\necho no such module >&2\nexit 1\n")
    with pytest.raises(ParameterError, match="no such module"):
        cross_validated(settings, folder)


def test_stopping_is_compared_epsilon_by_epsilon():
    outcomes = [
        Outcome({"data": name, "method": method, "epsilon": 0.1, "seed": 0}, {"accuracy": [share, share]})
        for name, share in (("adult", 0.8), ("vote", 0.6))
        for method in ("ours", STOP)
    ]
    *_, average = find("privatree-stop").assemble(outcomes)
    assert average == {"data": "average", "epsilon": 0.1, "ours": 0.7, STOP: 0.7}

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
    HIGGS,
    OTHERS,
    STOP,
    TREE,
    budget_shares,
    cross_validated,
    load,
    times,
)
from privet_papers.vos_2023.printed_numbers import CORRECTED, METHODS, PRINTED


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
        budget_shares({**settings, "leaf_part": part}, folder)["accuracy"] for part in ("1/4", "999/1000")
    )
    assert few > all_of_it + 0.1


def test_a_table_has_the_printed_and_the_corrected_figures_and_an_average_over_all_rows():
    entry = find("vos-table-7")
    outcomes = [
        Outcome({"data": name, "method": method, "epsilon": 1.0, "seed": 0}, {"accuracy": [0.5, 0.7]})
        for name in ("adult", "vote")
        for method in ("ours", TREE)
    ]
    adult, vote, average = entry.assemble(outcomes)
    assert adult["ours"] == pytest.approx(0.6)
    assert adult["PrivaTree (paper)"] == 0.823
    assert adult["PrivaTree (corrected)"] == 0.822
    assert vote["PrivaTree (paper)"] == 0.944
    assert average["PrivaTree (paper)"] == pytest.approx(0.8835)
    assert average["BDPT"] is None


def test_printed_figures_are_complete():
    assert len(PRINTED) == 36
    assert all(len(figures) == len(METHODS) for figures in PRINTED.values())
    assert all(figures[-1] is not None for figures in PRINTED.values())
    assert len(CORRECTED) == 24


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
        Outcome({"data": name, "method": "ours", "epsilon": epsilon, "seed": 0}, {"accuracy": [0.5]})
        for name in ("adult", "bench_compas-two-years")
        for epsilon in (0.1, 1.0)
    ]
    entry = find("vos-fig-1")
    assert len(entry.plot(entry.assemble(outcomes)).axes) == 2
    shares = [Outcome({"data": "vote", "leaf_part": "3/20"}, {"accuracy": 0.8})]
    entry = find("vos-fig-2")
    assert entry.assemble(shares)[0]["leaf_part"] == pytest.approx(0.15)
    assert len(entry.plot(entry.assemble(shares)).axes) == 1


def test_diffprivlib_is_run_in_the_environment_that_is_named_and_only_then(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("PRIVET_DIFFPRIVLIB", raising=False)
    assert not any(cell.settings["method"] == DIFFPRIVLIB for cell in find("vos-table-2").cells(True))
    peer = tmp_path / "python"
    peer.write_text('#!/bin/sh\necho \'{"accuracy": 0.25, "seconds": 2.0}\'\n')
    peer.chmod(0o755)
    monkeypatch.setenv("PRIVET_DIFFPRIVLIB", str(peer))
    assert any(cell.settings["method"] == DIFFPRIVLIB for cell in find("vos-table-2").cells(True))
    settings = {"data": "small", "method": DIFFPRIVLIB, "epsilon": 1.0, "seed": 0}
    assert cross_validated(settings, folder) == {"accuracy": [0.25] * 5}
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

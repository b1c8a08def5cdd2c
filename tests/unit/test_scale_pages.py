"""The pages about scale say what their tables of results say."""

import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield
    for name in ("clusters", "scale_page", "large_clusters"):
        sys.modules.pop(name, None)


def test_the_page_of_the_grid_is_made_of_its_results():
    import scale_page

    checked = pd.read_csv(RESULTS / "scale_check.csv", keep_default_na=False)
    grid = pd.read_csv(RESULTS / "scale.csv")
    assert (RESULTS / "scale.md").read_text(encoding="utf-8") == scale_page.page(checked, grid)


def test_the_page_of_the_simulation_is_made_of_its_constants():
    import large_clusters

    measured = pd.read_csv(RESULTS / "large_clusters.csv")
    assert (RESULTS / "large_clusters.md").read_text(encoding="utf-8") == large_clusters.page(measured)


def test_the_page_of_the_clusters_is_made_of_its_results():
    pytest.importorskip("psutil", reason="the benchmark of clusters finds processes with psutil")
    import clusters

    taken, killed = (pd.read_csv(RESULTS / f"clusters_{what}.csv") for what in ("times", "kills"))
    assert (RESULTS / "clusters.md").read_text(encoding="utf-8") == clusters.page(taken, killed)
    assert killed["identical"].all()
    assert killed["charged_once"].all()


def test_a_cost_of_a_fixed_part_and_one_for_the_records_is_found_again():
    import scale_page

    records = pd.Series([1e4, 1e5, 1e6])
    assert scale_page.fitted(records, 0.25 + 3e-6 * records) == pytest.approx((0.25, 3e-6))


def test_ten_times_the_machines_count_ten_times_as_fast_and_move_more():
    import large_clusters

    about = next(pd.read_csv(RESULTS / "large_clusters.csv").itertuples())
    few, many = (large_clusters.simulated(about, 1e11, machines) for machines in (100, 1000))
    assert few.counting == pytest.approx(10 * many.counting)
    assert few.moving < many.moving
    assert few.driver == many.driver


def test_what_travels_does_not_depend_on_the_number_of_records():
    import large_clusters
    import privet

    schema = privet.Schema({"a": privet.Numeric(0, 1), "b": privet.Numeric(0, 1)}, classes=[0, 1])
    seen = []
    for n_rows in (100, 3000):
        records = large_clusters.WatchedRecords(n_rows)
        privet.RandomDecisionForestClassifier(schema=schema, n_trees=3, max_depth=2, random_state=0).fit(records)
        seen.append(records.passes)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1

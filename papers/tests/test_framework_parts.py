"""Laws of the parts of the reproduce room: entries, sources, data, style and output."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

import privet_papers.framework
from privet.errors import ParameterError
from privet_papers.framework import entries, find
from privet_papers.framework.data import DataFolder, public_schema
from privet_papers.framework.entry import Cell, Entry, Outcome, Result, Row, Settings, beside_paper
from privet_papers.framework.output import as_text, write_csv
from privet_papers.framework.plots import common_style
from privet_papers.framework.runner import prepare
from privet_papers.framework.sources import code_digest, default_sources


def nothing(settings: Settings, data: DataFolder) -> Result:
    return {}


def no_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    return []


def entry_of(cells: list[Cell]) -> Entry:
    return Entry("x", "Nobody 2026", "Nothing", lambda quick: cells, no_rows, sources=())


def test_every_shipped_entry_has_a_name_of_its_own_and_cells() -> None:
    for name, entry in entries().items():
        assert name == entry.name
        assert entry.cells(True)
        assert len(entry.cells(True)) <= len(entry.cells(False))


def test_unknown_name_suggests_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(privet_papers.framework, "entries", lambda: {"bojarski-table-1": None})
    with pytest.raises(ParameterError, match="did you mean 'bojarski-table-1'"):
        find("bojarsky-table-1")
    with pytest.raises(ParameterError, match="`privet reproduce` lists the names"):
        find("zzz")


def test_two_entries_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from privet_papers.framework import Entry\nENTRIES = (Entry('same', 'p', 't', list, list),)\n"
    for module in ("twin_one", "twin_two"):
        (tmp_path / f"{module}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(privet_papers.framework, "MODULES", ("twin_one", "twin_two"))
    with pytest.raises(ParameterError, match="two entries are called 'same'; rename the one in twin_two"):
        entries()


def test_cell_function_must_be_found_by_other_processes() -> None:
    with pytest.raises(ParameterError, match="top level"):
        Cell(lambda settings, data: {}, {})


@pytest.mark.parametrize("value", [(1, 2), object(), {3: 4}])
def test_settings_that_json_would_change_are_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="JSON"):
        Cell(nothing, {"value": value})


def test_equal_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy_cell.py").write_text("def nothing(settings, data):\n    return {}\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = __import__("toy_cell").nothing
    with pytest.raises(ParameterError, match="two equal cells"):
        prepare(entry_of([Cell(function, {"a": 1}), Cell(function, {"a": 1})]), DataFolder(None), tmp_path)


def test_paper_figures_stand_right_after_ours() -> None:
    rows: list[Row] = [
        {"data": "car", "accuracy": 0.7, "trees": 3},
        {"data": "zoo", "accuracy": 0.4, "trees": 3},
    ]
    wide = beside_paper(rows, {("car", 3): 0.71}, on=["data", "trees"], column="accuracy")
    assert [list(row) for row in wide] == [["data", "accuracy", "accuracy (paper)", "trees"]] * 2
    assert [row["accuracy (paper)"] for row in wide] == [0.71, None]


def test_default_sources_are_the_learners_and_all_below() -> None:
    sources = default_sources()
    assert {"privet.errors", "privet.schema", "privet.privacy", "privet.mechanisms", "privet.learners"} <= set(sources)
    assert not {"privet.cli", "privet_papers.framework", "privet.report", "privet.audit"} & set(sources)
    assert len(code_digest(sources)) == 64


def test_unknown_source_module_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"'privet\.nowhere\.else' is not found"):
        code_digest(["privet.nowhere.else"])


def test_digest_of_a_package_covers_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "digested"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("a = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = code_digest(["digested"])
    (package / "part.py").write_text("a = 2  # longer\n")
    assert code_digest(["digested"]) != before


def test_benchmark_domains_are_those_of_the_data_and_count_as_public() -> None:
    frame = pd.DataFrame(
        {
            "age": [17.0, None, 90.0],
            "flat": [5, 5, 5],
            "sex": pd.Categorical(["m", "f", "m"], categories=["m", "f", "never seen"]),
            "code": [2, 1, 2],
            "target": [1, 0, 1],
        }
    )
    schema = public_schema(frame, categorical=("code",))
    age, flat, sex, code = (schema.features[name] for name in ["age", "flat", "sex", "code"])
    assert (age.low, age.high, age.missing) == (17.0, 90.0, True)
    assert (flat.low, flat.high, flat.missing) == (5.0, 6.0, False)
    assert list(sex.categories) == ["f", "m"]
    assert list(code.categories) == [1, 2]
    assert list(schema.target.categories) == [0, 1]
    assert schema.inferred is None


def test_loading_splits_the_target_off_and_may_drop_missing(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0, None, 3.0], "target": ["a", "b", "b"]}).to_parquet(tmp_path / "toy.parquet")
    folder = DataFolder.at(tmp_path)
    assert folder.load("toy").X.shape == (3, 1)
    complete = folder.load("toy", drop_missing=True)
    assert complete.y.tolist() == ["a", "b"]
    assert not complete.schema.features["x"].missing


def test_data_folder_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRIVET_DATA", str(tmp_path))
    assert DataFolder.at(None).path == tmp_path
    monkeypatch.setenv("PRIVET_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ParameterError, match="does not exist; give one with --data or PRIVET_DATA"):
        DataFolder.at(None)


def test_absent_data_set_and_absent_target_are_told(tmp_path: Path) -> None:
    pd.DataFrame({"x": [1.0]}).to_parquet(tmp_path / "odd.parquet")
    with pytest.raises(ParameterError, match="'gone' is not in the data folder"):
        DataFolder.at(tmp_path).load("gone")
    with pytest.raises(ParameterError, match=r"odd\.parquet has no column 'target'"):
        DataFolder.at(tmp_path).load("odd")


def test_style_ignores_and_keeps_the_user_settings() -> None:
    with mpl.rc_context({"font.size": 31.0}):
        with common_style():
            assert mpl.rcParams["font.size"] == 9.0
            assert mpl.rcParams["svg.hashsalt"] == "privet"
        assert mpl.rcParams["font.size"] == 31.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.123456789, "0.123457"), (12, "12"), ("a|b", "a|b"), (True, "True"), (2.0, "2")],
)
def test_values_are_printed_with_six_digits(value: str | int | float | bool | None, text: str) -> None:
    assert as_text(value) == text


def test_csv_has_the_union_of_columns(tmp_path: Path) -> None:
    write_csv([{"a": 1}, {"b": "x, y"}], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b'a,b\n1,\n,"x, y"\n'

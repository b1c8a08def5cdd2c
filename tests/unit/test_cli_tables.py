"""Folders and queries on the command line: the same models, predictions and figures as of files read into memory."""

import json
from pathlib import Path

import pandas as pd
import pytest

import privet
from privet.tables import ParquetTable, predict
from tests.unit.test_cli_commands import N, folder, run  # noqa: F401

SETTINGS = ("-s", "schema.yaml", "-e", "1", "--learner", "RandomDecisionForest", "--set", "max_depth=3", "--no-report")


@pytest.fixture
def parts(folder):  # noqa: F811
    """The same records in hive's folders, which hold one of the features."""
    frame = pd.read_parquet("people.parquet").sort_values("zone", ignore_index=True)
    for zone, part in frame.groupby("zone"):
        inside = folder / "parts" / f"zone={zone}"
        inside.mkdir(parents=True)
        part.drop(columns="zone").to_parquet(inside / "people.parquet", index=False, row_group_size=50)
    frame.to_parquet("sorted.parquet", index=False)
    return frame


QUERY = "duckdb:SELECT *, 6 // 2 AS extra FROM 'sorted.parquet'"


@pytest.mark.parametrize("data", ["parts", "parts/**/*.parquet", QUERY])
def test_a_folder_a_pattern_and_a_query_train_without_being_read_into_memory(parts, data):
    code, out, messages = run("train", data, *SETTINGS, "-t", "answer", "--json")
    assert code == 0, messages
    assert json.loads(out)["epsilon"] == 1.0
    assert str(N) not in out + messages
    assert privet.load("model.json").predict(parts[list(privet.load("model.json").schema_.features)]).shape == (N,)


def test_predictions_of_a_folder_go_into_a_folder_file_by_file_and_are_those_of_one_frame(parts, tmp_path):
    assert run("train", "parts", *SETTINGS)[0] == 0
    code, out, messages = run("predict", "model.json", "parts", "-o", "predicted")
    assert (code, out.strip()) == (0, "wrote predicted"), messages
    base = tmp_path / "predicted"
    names = sorted(path.relative_to(base).as_posix() for path in base.rglob("*.parquet"))
    assert names == [f"zone={zone}/people.parquet" for zone in (1, 2, 3)]
    found = pd.concat([pd.read_parquet(f"predicted/{name}") for name in names], ignore_index=True)["prediction"]
    estimator = privet.load("model.json")
    features = parts[list(estimator.schema_.features)]
    assert found.tolist() == estimator.predict(features).tolist()
    code, out, _ = run("predict", "model.json", "parts", "--proba")
    assert code == 0
    assert len(out.splitlines()) == N + 1
    assert run("predict", "model.json", "parts", "-o", "predicted")[0] == 2  # it is not empty any more
    assert run("predict", "model.json", "parts", "-o", "parts/inside")[0] == 2
    assert run("predict", "model.json", "sorted.parquet", "-o", "other")[0] == 2


def test_predictions_of_a_folder_of_csv_files_are_csv_files_also_without_records(parts, tmp_path):
    assert run("train", "people.csv", *SETTINGS)[0] == 0
    (tmp_path / "texts").mkdir()
    pd.read_csv("people.csv").to_csv("texts/a.csv", index=False)
    pd.read_csv("people.csv")[:0].to_csv("texts/b.csv", index=False)
    assert run("predict", "model.json", "texts", "-o", "predicted")[0] == 0
    assert [len(pd.read_csv(f"predicted/{name}.csv")) for name in "ab"] == [N, 0]


def test_a_folder_is_evaluated_like_a_file(parts):
    assert run("train", "people.csv", *SETTINGS)[0] == 0
    figures = [
        json.loads(run("evaluate", "model.json", data, "--public", "--json")[1]) for data in ("people.csv", "parts")
    ]
    assert figures[0]["accuracy"] == figures[1]["accuracy"]
    assert figures[0]["balanced_accuracy"] == figures[1]["balanced_accuracy"]
    code, _, messages = run("evaluate", "model.json", "parts", "--epsilon", "1")
    assert code == 0, messages


def test_a_mistake_in_a_folder_is_told_before_anything_is_spent(parts):
    parts.rename(columns={"age": "aeg"}).to_parquet("parts/zone=2/people.parquet", index=False)
    with privet.budget(epsilon=1.0) as budget:
        code, _, messages = run("train", "parts", *SETTINGS)
    assert (code, budget.spent) == (4, 0)
    assert "zone=2/people.parquet" in messages
    assert run("train", "empty-folder-that-is-not-there/*", *SETTINGS)[0] == 2
    assert run("train", "duckdb:SELECT 1", "parts", *SETTINGS)[0] == 2


def test_streamed_predictions_are_those_of_one_call(parts):
    assert run("train", "parts", *SETTINGS)[0] == 0
    estimator = privet.load("model.json")
    table = ParquetTable("parts")
    whole = estimator.predict_proba(parts[list(estimator.schema_.features)])
    streamed = list(predict(estimator, table, method="predict_proba"))
    assert len(streamed) > 3
    assert [row for part in streamed for row in part.tolist()] == whole.tolist()
    assert estimator.predict_proba(table).tolist() == whole.tolist()
    with pytest.raises(privet.errors.ParameterError, match="cannot stream"):
        predict(estimator, parts)


def test_a_folder_or_query_gets_a_draft_from_names_and_declared_types_alone(parts):
    drafts = {}
    for data in ("parts", "parts/**/*.parquet", "duckdb:SELECT * FROM 'sorted.parquet'", "sorted.parquet"):
        code, _, messages = run("schema", "init", data, "-t", "answer", "-o", "drafted.yaml", "--force")
        assert code == 0, messages
        lines = (line for line in Path("drafted.yaml").read_text(encoding="utf-8").splitlines() if line[:2] == "  ")
        drafts[data] = sorted(lines)
    assert len(set(map(tuple, drafts.values()))) == 1
    assert any("zone: {type: integer" in line for line in drafts["parts"])  # from the folders' names


def test_a_folder_or_query_is_checked_like_a_file(parts):
    found = []
    for data in ("parts", "duckdb:SELECT * FROM 'sorted.parquet'", "sorted.parquet"):
        code, out, messages = run("schema", "check", "schema.yaml", data, "--json")
        assert code in (0, 6), messages
        found.append(sorted((each["column"], each["kind"]) for each in json.loads(out)["findings"]))
    assert found[0] == found[1] == found[2]
    code, out, _ = run("schema", "init", "parts", "-t", "answer", "--unsafe-infer", "-o", "read_off.yaml")
    assert (code, out.strip()) == (0, "wrote read_off.yaml")


def texts(separator, encoding, frame, place_of_files):
    place_of_files.mkdir()
    for place in range(2):
        text = frame[place::2].to_csv(sep=separator, decimal=",", na_rep="none", index=False)
        (place_of_files / f"{place}.csv").write_bytes(text.encode(encoding))


@pytest.mark.parametrize(("separator", "encoding"), [(";", "utf-16"), ("|", "latin-1"), ("\t", "utf-8")])
def test_the_form_of_text_files_is_found_out_or_given_for_patterns_too(parts, tmp_path, separator, encoding):
    """A pattern is streamed, a folder of texts is read into memory: the predictions are the same."""
    assert run("train", "people.csv", *SETTINGS)[0] == 0
    frame = pd.read_csv("people.csv")
    texts(separator, encoding, frame, tmp_path / "texts")
    options = ("--separator", separator, "--encoding", encoding, "--decimal", ",", "--na", "none")
    code, streamed, messages = run("predict", "model.json", "texts/*.csv", "--proba", *options)
    assert code == 0, messages
    assert f"{encoding.replace('latin-1', 'iso8859-1')}" in messages
    assert streamed == run("predict", "model.json", "texts", "--proba", *options)[1]
    assert len(streamed.splitlines()) == N + 1
    found_out = run("train", "texts/*.csv", *SETTINGS, "-o", "again.json")
    assert found_out[0] == 0
    assert f"{messages.split(' between cells')[0].rsplit(': ')[-1]} between cells" in found_out[2]


def test_the_form_of_texts_is_refused_for_what_is_no_text(parts):
    for data in ("parts", QUERY):
        code, _, messages = run("train", data, *SETTINGS, "--separator", ";")
        assert (code, "are for text files" in messages) == (2, True)


def test_a_row_of_another_length_is_an_error_where_predictions_would_lose_it(parts, tmp_path):
    assert run("train", "people.csv", *SETTINGS)[0] == 0
    (tmp_path / "texts").mkdir()
    lines = Path("people.csv").read_text(encoding="utf-8").splitlines()
    Path("texts/a.csv").write_text("\n".join([*lines, lines[1] + ",1,2"]), encoding="utf-8")
    for data in ("texts", "texts/*.csv"):
        code, _, messages = run("predict", "model.json", data)
        assert (code, "a.csv" in messages) == (4, True)

"""``privet robustness`` certifies from files, and tells mistakes before it trains."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from privet import Numeric, Schema
from privet.cli import app
from privet.errors import ParameterError
from privet.robustness.table import NOT_A_RELEASE

pd = pytest.importorskip("pandas")


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name, n in [("train.csv", 300), ("test.csv", 80)]:
        x = rng.random(n)
        pd.DataFrame({"x": x, "label": np.where(x > 0.5, "high", "low")}).to_csv(tmp_path / name, index=False)
    Schema({"x": Numeric(0, 1)}, classes=["low", "high"]).save(tmp_path / "schema.yaml")
    return tmp_path


def arguments(files, *more):
    fixed = ["robustness", str(files / "train.csv"), "--test", str(files / "test.csv"), "--epsilon", "0.2"]
    fixed += ["--schema", str(files / "schema.yaml"), "--learner", "RandomDecisionForest", "--set", "n_trees=2"]
    return [*fixed, "--retrainings", "40", *more]


def test_it_prints_a_table_that_says_that_it_is_no_release(files):
    result = CliRunner().invoke(app, arguments(files, "--poisoned", "3", "--plot", str(files / "curve.svg")))
    assert result.exit_code == 0, result.output
    assert NOT_A_RELEASE in result.output
    assert (files / "curve.svg").exists()


def test_it_gives_numbers_and_shares_as_json(files):
    result = CliRunner().invoke(app, arguments(files, "--poisoned", "2", "--poisoned", "1%", "--json"))
    assert result.exit_code == 0, result.output
    table = json.loads(result.stdout)
    assert [row["n_poisoned"] for row in table["certificates"]] == [2, 3]
    assert table["certificates"][0]["log_ratio"] == pytest.approx(0.4)


@pytest.mark.parametrize("mistake", [["--poisoned", "many"], ["--change", "burnt"]])
def test_a_mistake_is_told(files, mistake):
    result = CliRunner().invoke(app, arguments(files, *mistake))
    assert isinstance(result.exception, ParameterError)

"""The MLflow flavour: what is logged comes back, and answers as before."""

import warnings

import numpy as np
import pytest

from privet import PrivaTreeClassifier
from privet.datasets import load_adult
from privet.errors import ParameterError

with warnings.catch_warnings():  # of other people's deprecations
    warnings.simplefilter("ignore")
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.pyfunc")

from privet.exports import mlflow_flavour  # after it is known that there is MLflow


@pytest.fixture
def adult():
    return load_adult()


@pytest.fixture
def tree(adult):
    return PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, max_depth=2, random_state=0).fit(*adult.train)


@pytest.mark.filterwarnings("ignore")  # of other people's deprecations
def test_a_logged_model_answers_as_before(adult, tree, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the small MLflow has no other that needs no server
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run():
        logged = mlflow_flavour.log_model(tree, "income")
    X = adult.test[0][:50]
    loaded = mlflow_flavour.load_model(logged.model_uri)
    np.testing.assert_array_equal(loaded.predict_proba(X), tree.predict_proba(X))
    answers = mlflow.pyfunc.load_model(logged.model_uri).predict(X)
    assert (answers["prediction"] == tree.predict(X)).all()
    np.testing.assert_array_equal(answers["probability_>50K"], tree.predict_proba(X)[:, 1])
    assert mlflow.models.get_model_info(logged.model_uri).metadata["privet_guarantee"].startswith("epsilon = 1 ")


@pytest.mark.filterwarnings("ignore")
def test_a_saved_folder_holds_no_pickle_and_is_never_overwritten(tree, tmp_path):
    mlflow_flavour.save_model(tree, tmp_path / "model")
    found = {path.name for path in (tmp_path / "model").iterdir()}
    assert found == {"MLmodel", "model.json", "python_env.yaml", "requirements.txt"}
    with pytest.raises(ParameterError, match="not empty"):
        mlflow_flavour.save_model(tree, tmp_path / "model")

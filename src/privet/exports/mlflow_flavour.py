"""An MLflow flavour: a model file in MLflow's folder of a model, to be logged, registered and served like any other.

The folder holds ``model.json`` and no pickle, so loading it runs no code of the model's sender. MLflow's own
``mlflow.pyfunc.load_model`` loads it as well, and answers with predictions and probabilities in one frame.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import privet
from privet.errors import ParameterError
from privet.privacy.certificate import certificate
from privet.writing import replace_text

if TYPE_CHECKING:
    from mlflow.models import Model
    from mlflow.models.model import ModelInfo

FLAVOR_NAME = "privet"  # how MLflow spells it
_FILE = "model.json"


def save_model(estimator: Any, path: str | Path, mlflow_model: Model | None = None) -> None:
    """Write a fitted estimator as an MLflow model into a new folder.

    Parameters
    ----------
    estimator : estimator
        A fitted one that has model files.
    path : str or Path
        The folder; it must not exist, or be empty.
    mlflow_model : mlflow.models.Model, optional
        What MLflow knows of the model already; MLflow passes it itself.
    """
    mlflow = _import_mlflow()
    folder = Path(path)
    if folder.exists() and any(folder.iterdir()):
        raise ParameterError(f"{folder} is not empty; give a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    estimator.save(folder / _FILE)
    facts = certificate(estimator.privacy_, estimator.schema_, privet.__version__)
    model = mlflow.models.Model() if mlflow_model is None else mlflow_model
    model.metadata = {**(model.metadata or {}), "privet_guarantee": facts["guarantee"]}
    model.add_flavor(FLAVOR_NAME, data=_FILE, estimator=type(estimator).__name__, privet_version=privet.__version__)
    environment = {"virtualenv": "python_env.yaml"}
    mlflow.pyfunc.add_to_model(model, loader_module=__name__, data=_FILE, conda_env=environment)
    replace_text(folder / "requirements.txt", f"privet=={privet.__version__}\nmlflow-skinny>=3.4\n")
    python = f"python: {platform.python_version()}\nbuild_dependencies: [pip]\ndependencies: [-r requirements.txt]\n"
    replace_text(folder / "python_env.yaml", python)
    model.save(str(folder / "MLmodel"))


def log_model(estimator: Any, name: str = "model", **options: Any) -> ModelInfo:
    """Log a fitted estimator to the current run; options are those of ``mlflow.models.Model.log``.

    Its guarantee stands in the model's metadata, under ``privet_guarantee``.
    """
    mlflow = _import_mlflow()
    options |= {"name": name, "flavor": _Flavour(), "estimator": estimator}
    logged: ModelInfo = mlflow.models.Model.log(artifact_path=None, **options)
    return logged


def load_model(model_uri: str) -> Any:
    """Return the fitted estimator of a logged or saved model; loading runs no code."""
    _import_mlflow()
    from mlflow.artifacts import download_artifacts

    return privet.load(Path(download_artifacts(artifact_uri=model_uri)) / _FILE)


class _Flavour:
    """What MLflow calls to write a model's folder."""

    __name__ = __name__

    def save_model(self, path: str, mlflow_model: Model, estimator: Any, **_: Any) -> None:
        save_model(estimator, path, mlflow_model)


class _Answers:
    """What MLflow's generic loader gives: a model whose ``predict`` returns a frame."""

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def predict(self, data: Any, params: Any = None) -> Any:
        """Return predictions and, for a classifier, the probability of each class."""
        import pandas

        answers = {"prediction": self._estimator.predict(data)}
        if hasattr(self._estimator, "classes_"):
            shares = self._estimator.predict_proba(data)
            answers |= {f"probability_{name}": shares[:, k] for k, name in enumerate(self._estimator.classes_)}
        return pandas.DataFrame(answers, index=getattr(data, "index", None))


def _load_pyfunc(path: str) -> _Answers:
    """Be called by ``mlflow.pyfunc.load_model``."""
    return _Answers(privet.load(path))


def _import_mlflow() -> Any:
    try:
        import mlflow
        import mlflow.models
        import mlflow.pyfunc
    except ImportError as error:
        raise ParameterError("this needs MLflow; pip install 'privet[mlflow]'") from error
    return mlflow

"""Model files: rivals that were made sound have them, found through entry points; what is not private has none."""

import warnings

import numpy as np
import pandas as pd
import pytest

import privet
from privet.errors import ModelFileError
from privet_papers import BDPTClassifier
from privet_papers.bai_2021.consistent_rivals import Denil14Classifier
from privet_papers.fletcher_islam_2017.fs import FSTreeClassifier
from privet_papers.fletcher_islam_2017.jpw import JPWForestClassifier
from privet_papers.vos_2023.dpgdf import DPGDFTreeClassifier
from tests.laws.registry import SCHEMA, people


def frame(n=60):
    """Return some people, and their labels."""
    X, y = people(n)
    return pd.DataFrame(X), y


@pytest.mark.parametrize("rival", [BDPTClassifier, Denil14Classifier])
def test_what_load_would_refuse_is_refused_when_it_is_saved(tmp_path, rival):
    path = tmp_path / "model.json"
    path.write_text("old")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = rival(schema=SCHEMA).fit(*frame())
    with pytest.raises(ModelFileError, match=f"{rival.__name__} has no model files"):
        estimator.save(path)
    assert path.read_text() == "old"


@pytest.mark.parametrize("rival", [DPGDFTreeClassifier, FSTreeClassifier, JPWForestClassifier])
def test_load_knows_the_rivals_that_were_made_sound(tmp_path, rival):
    X, y = frame()
    fitted = rival(1.0, schema=SCHEMA, random_state=0).fit(X, y)
    fitted.save(tmp_path / "model.json")
    loaded = privet.load(tmp_path / "model.json")
    assert type(loaded) is rival
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))

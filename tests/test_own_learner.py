"""A learner from another distribution: installed, found by its entry point, trained, saved, loaded, audited."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

SCRIPT = """
import sys
import numpy as np
import privet
from privet import Numeric, Schema
from privet.audit import audit
from privet.estimators.registry import estimator_class, estimator_names

assert "StumpClassifier" in estimator_names("Classifier")
schema = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["low", "high"])
X = np.random.default_rng(0).uniform(size=(4000, 2))
y = np.where(X[:, 0] > 0.5, "high", "low")
stump = estimator_class("StumpClassifier")(epsilon=1.0, schema=schema).fit(X, y)
assert stump.privacy_.proven and stump.privacy_.epsilon == stump.plan().epsilon == 1.0
assert stump.score(X, y) > 0.9
schema.save("schema.json")
stump.save("stump.json")
assert (privet.load("stump.json").predict(X) == stump.predict(X)).all()
report = audit(stump, n_jobs=1)
assert not report.refuted, str(report)
assert 0.5 < report.upper <= 1.0 + 1e-9
print("fine")
"""


@pytest.mark.slow
def test_a_learner_of_another_distribution_has_all_that_our_own_have(tmp_path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run(
        [*pip, "--no-build-isolation", "--target", tmp_path, ROOT / "examples" / "own_learner"], check=True, timeout=300
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run(sys.executable, "-c", SCRIPT) == "fine\n"
    assert "the split" in run(
        sys.executable, "-m", "privet", "plan", "--schema", "schema.json", "--epsilon", "1", "--learner", "stump"
    )

"""Records for the tests of engines, in a frame and in files."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd

from privet.estimators.files import file_text
from privet.testing import seeded_noise

N = 700


def records(learner):
    """Return records of which some have no label, with an id and a person each."""
    columns, y = learner.people(N)
    frame = pd.DataFrame(columns)
    frame["y"] = np.where(np.arange(N) % 7 == 3, np.nan, y) if learner.is_regressor else y
    frame["id"] = np.arange(N) * 3 + 1
    frame["person"] = [f"person {each}" for each in np.random.default_rng(1).integers(0, 60, N)]
    return frame


def write(frame, folder):
    """Write a frame as files of different sizes."""
    folder.mkdir(exist_ok=True)
    for number, part in enumerate(np.split(np.arange(len(frame)), [1, 150, 151, 400])):
        frame.iloc[part].to_parquet(Path(folder) / f"part-{number}.parquet", row_group_size=60)
    return folder


def fitted(learner, *data, **changes):
    """Return the file of a model, with the same noise and coins every time."""
    with seeded_noise(11):
        return file_text(learner.make(**changes).fit(*data))


def gone_once_checked(monkeypatch, module, path):
    """Remove a file as soon as the files have been checked, before any record is read."""
    checked = import_module(module).check_layouts

    def check(*arguments):
        checked(*arguments)
        path.unlink()

    monkeypatch.setattr(f"{module}.check_layouts", check)

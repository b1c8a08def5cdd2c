"""What unit tests share: a state folder of their own, and stores of budgets in a file and on a real server."""

import pytest

from tests import postgres


@pytest.fixture(autouse=True)
def own_state_folder(monkeypatch, tmp_path_factory):
    """No test reads or writes marks in the user's own state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))


@pytest.fixture(scope="session")
def postgres_server():
    with postgres.server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_store(request, tmp_path):
    """The address of a store that is not made yet, of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hospital.db'}"
    return request.getfixturevalue("postgres_server").emptied()

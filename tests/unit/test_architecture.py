"""The page on architecture and its picture show every room; the contract names them all, without exceptions."""

import tomllib
from pathlib import Path

import pytest
from benchmarks.walk import LEARNERS, walk

ROOT = Path(__file__).parents[2]
HOME = ROOT / "src" / "privet"
ROOMS = sorted(
    [f"{path.name}/" for path in HOME.iterdir() if (path / "__init__.py").exists()]
    + [path.name for path in HOME.glob("*.py") if not path.name.startswith("__")]
)


def test_the_page_and_its_picture_show_every_room():
    page, picture = (ROOT / "docs" / name for name in ("architecture.md", "images/rooms.svg"))
    for file in (page, picture):
        absent = [room for room in ROOMS if room not in file.read_text()]
        assert not absent, f"add {', '.join(absent)} to {file.relative_to(ROOT)}"


def test_the_root_shows_rooms_and_little_else():
    assert len([path for path in HOME.iterdir() if path.is_file()]) <= 10


def test_the_contract_of_the_rooms_has_few_layers_and_no_exceptions():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (rooms,) = (contract for contract in contracts if contract["type"] == "layers")
    assert len(rooms["layers"]) <= 16
    assert rooms["exhaustive"]
    assert not any("ignore_imports" in contract for contract in contracts)


def test_every_module_that_draws_is_behind_the_door():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (door,) = (contract for contract in contracts if contract["type"] == "protected")
    protected = {name.rpartition(".")[2] for name in door["protected_modules"]}
    in_front = {"__init__", "release", "replay", "grounds", "measurements", "joint_exponential", "random_stopping"}
    assert {path.stem for path in (HOME / "mechanisms").glob("*.py")} - in_front == protected


# Two more files than the page says: tests draw noise from a seeded source, and another process may have a budget open.
@pytest.mark.parametrize(("learner", "files", "with_records"), [("PrivaTree", 24, 13), ("Boosting", 41, 23)])
def test_the_way_of_a_record_through_a_fit_stays_short(learner, files, with_records):
    name = f"{learner}Classifier"
    seen, handed = walk(name, LEARNERS[name])
    assert len(seen) <= files, sorted(seen)
    assert len(handed) <= with_records, sorted(handed)

"""What is public is declared, documented, and nothing else is shown."""

import re
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import privet

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))

PUBLIC = [
    "privet",
    "privet.audit",
    "privet.datasets",
    "privet.errors",
    "privet.estimators",
    "privet.evaluation",
    "privet.exports",
    "privet.forecast",
    "privet.mechanisms.measurements",
    "privet.report",
    "privet.robustness",
    "privet.tables",
    "privet.testing",
    "privet.tuning",
]


def documented():
    """Return every name that a page of the reference documents."""
    return [name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.M)]


def found(path):
    """Return what a dotted path leads to; raise an error if it leads nowhere."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    public = {f"{module}.{name}" for name in import_module(module).__all__}
    assert public - set(documented()) == set()


@pytest.mark.parametrize("path", documented())
def test_the_reference_names_what_exists_and_is_described(path):
    described = found(path)
    assert path.startswith("privet.")
    assert not callable(described) or (described.__doc__ or "").strip() != ""


def test_the_reference_names_nothing_twice():
    names = documented()
    assert sorted(names) == sorted(set(names))


def test_every_page_of_the_reference_is_in_the_navigation_and_the_overview():
    navigation = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    (pages,) = [entry["API reference"] for entry in navigation if "API reference" in entry]
    listed = [path for entry in pages for path in entry.values()]
    assert sorted(listed) == [f"api/{page.name}" for page in PAGES]
    overview = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    assert {f"api/{name}" for name in re.findall(r"\((\w+\.md)\)", overview)} == set(listed) - {"api/index.md"}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_listed_once_and_exist(module):
    names = import_module(module).__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(import_module(module), name)] == []


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(privet) == sorted(privet.__all__)


def test_a_star_imports_the_public_names_and_nothing_else():
    names = {}
    exec("from privet import *", names)
    assert sorted(set(names) - {"__builtins__"}) == sorted(privet.__all__)


def test_every_public_name_has_a_home():
    assert sorted(privet.HOMES) == sorted(privet.__all__)


def test_the_page_on_extending_shows_the_example_as_it_is_tested():
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    example = (ROOT / "examples" / "own_learner" / "src" / "own_learner" / "__init__.py").read_text(encoding="utf-8")
    first_block = page.partition("```python\n")[2].partition("```")[0]
    assert first_block == example, "copy the example into the first code block of docs/extending.md"

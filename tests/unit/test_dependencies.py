"""What the library imports is what it declares, and the lowest versions that it declares are those it is tested on."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAPERS = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]

# Distributions whose modules have another name.
MODULES = {"mlflow-skinny": "mlflow", "scikit-learn": "sklearn", "scikit-image": "skimage", "pyyaml": "yaml"}
ELSEWHERE = {"diffprivlib"}  # imported by scripts that run in an environment of their own
WITHOUT_AN_IMPORT = {"shap"}  # the exported explainer is handed to it


def requirements(*extras):
    """Return from the names of what the core and these extras need to their lower bounds."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    return dict(line.split(">=") for line in lines if ">=" in line)


def modules(distributions):
    """Return the modules that are imported from these distributions."""
    names = [re.sub(r"\[.*\]", "", name) for name in distributions]
    return {MODULES.get(name, name.replace("-", "_")) for name in names}


def imported(sources):
    """Return the top-level modules that the sources import, apart from those of Python and our own."""
    found = set()
    for file in (ROOT / sources).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"privet", "privet_papers"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    users = [extra for extra in EXTRAS if extra not in ("dev", "docs", "bench")]
    assert imported("src") <= modules(requirements(*users))
    needed = set(requirements("frames", "plots", "onnx", "explain", "all", "duckdb", "mlflow")) - WITHOUT_AN_IMPORT
    assert modules(needed) <= imported("src")


def test_what_the_papers_import_is_declared_by_them_or_by_what_they_need():
    own = {line.partition(">=")[0] for line in PAPERS["dependencies"] if ">=" in line}
    declared = own | set(requirements("frames", "plots"))
    found = imported("papers/src") - ELSEWHERE
    assert found <= modules(declared)
    assert modules(own) <= found


def test_every_dependency_of_users_has_a_lower_bound():
    users = [
        *PROJECT["dependencies"],
        *(line for extra in EXTRAS if extra not in ("dev", "docs") for line in EXTRAS[extra]),
    ]
    assert [line for line in users if ">=" not in line and not line.startswith("privet[")] == []


@pytest.mark.parametrize(("name", "bound"), requirements("all", "frames", "plots", "onnx", "explain").items())
def test_the_lowest_versions_are_those_that_are_tested(name, bound):
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints-lowest.txt").read_text(), re.MULTILINE))
    assert same(pins[name], bound), (
        f"constraints-lowest.txt has {name} {pins[name]}; CONTRIBUTING.md says how to renew it"
    )


def same(version, bound):
    """Compare versions up to zeros at their ends."""
    return re.sub(r"(\.0)+$", "", version) == re.sub(r"(\.0)+$", "", bound)

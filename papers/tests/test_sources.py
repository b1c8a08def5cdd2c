"""Modules that are named as code behind a result exist, and none that a cell computes with is left out."""

import ast
from importlib.util import find_spec
from pathlib import Path

import privet_papers
from privet_papers.framework import MODULES, entries
from privet_papers.framework.sources import AROUND, BESIDE, code_digest, default_sources, rooms

# Types, and the reading of files, which every entry knows by the digest of its data.
NO_PART = ("privet_papers", "privet_papers.framework.entry", "privet_papers.framework.data")


def _modules_of(name: str) -> set[str]:
    """Return all modules of privet_papers that a module imports, wherever in it."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    found = set()
    for node in ast.walk(ast.parse(Path(spec.origin).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("privet_papers"):
            for imported in node.names:
                home = privet_papers._HOME.get(imported.name) if node.module == "privet_papers" else None
                inner = f"{node.module}.{imported.name}"
                found.add(
                    home or (inner if find_spec(node.module).submodule_search_locations and _is(inner) else node.module)
                )
    return found - set(NO_PART)


def _is(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _behind(module: str) -> set[str]:
    """Return the modules of privet_papers that a module leads to, itself included."""
    known, new = set(), {module}
    while new:
        known |= new
        new = set().union(*map(_modules_of, new)) - known
    return known


def test_rooms_that_do_not_count_exist():
    assert set(AROUND) <= rooms()


def test_modules_of_entries_exist():
    assert all(_is(module) for module in (*MODULES, *BESIDE, *privet_papers._HOME.values()))


def test_modules_named_as_code_behind_a_result_exist():
    for entry in entries().values():
        assert len(code_digest(default_sources() if entry.sources is None else entry.sources)) == 64, entry.name


def test_what_a_cell_computes_with_counts_as_code_behind_it():
    missing = {}
    for entry in entries().values():
        counted = default_sources() if entry.sources is None else entry.sources
        for module in {cell.function.__module__ for cell in entry.cells(quick=True)}:
            left_out = {
                name
                for name in _behind(module) - {module}
                if not any(name == source or name.startswith(f"{source}.") for source in counted)
            }
            if left_out:
                missing[entry.name] = sorted(left_out)
    assert missing == {}

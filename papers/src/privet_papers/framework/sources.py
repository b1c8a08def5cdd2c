"""The version of the code behind a result: a digest of what the modules do, not of how they are commented."""

import ast
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import privet
from privet.errors import ParameterError

ROOT = Path(privet.__file__).parent
# Rooms around the learners: they lay out, check or ship results, they do not decide them.
AROUND = ("__init__", "__main__", "audit", "cli", "datasets", "exports", "report", "robustness", "testing")
BESIDE = ("privet_papers.framework.data", "privet_papers.framework.printed")


def rooms() -> set[str]:
    """Return the names of all modules and packages at the root of privet."""
    return {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}


def default_sources() -> tuple[str, ...]:
    """Return the modules that count unless an entry says otherwise: the learners and all rooms below them."""
    return (*(f"privet.{name}" for name in sorted(rooms() - set(AROUND))), *BESIDE)


def code_digest(modules: Iterable[str]) -> str:
    """Return one digest for the code of these modules, packages with all that is in them."""
    total = hashlib.sha256()
    for module in sorted(set(modules)):
        folder, paths = _files(module)
        for path in paths:
            digest = source_digest(path.read_bytes())
            total.update(f"{module} {path.relative_to(folder).as_posix()} {digest}\n".encode())
    return total.hexdigest()


@lru_cache(maxsize=4096)
def source_digest(source: bytes) -> str:
    """Return the digest of a file's syntax tree.

    Comments, docstrings and layout do not count: polishing them must not cost a night of computing.
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _files(module: str) -> tuple[Path, list[Path]]:
    """Return the folder of a module, and its file or all files of the package."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.origin is None:
        raise ParameterError(f"source module {module!r} is not found; correct the entry's `sources`")
    origin = Path(spec.origin)
    files = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
    return origin.parent, files

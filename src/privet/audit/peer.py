"""The part of an audit that runs next to the estimator, if need be in another environment's interpreter.

This file is also a script. It needs the standard library and NumPy alone, never privet, and keeps to the Python of
older environments: ``privet.audit.workers`` starts it with the other interpreter and speaks to it in JSON lines.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType


class UnusableOutcomeError(TypeError):
    """A projection gave something that cannot be counted: not hashable, or not made of plain values."""


def outcome_key(outcome: object) -> str:
    """Write an outcome as text: equal outcomes, and only those, give equal text in every process.

    Parameters
    ----------
    outcome : object
        None, a bool, an int, a float, a string, bytes, a NumPy scalar, or a tuple or frozenset of these.

    Returns
    -------
    str
        The outcome's literal.
    """
    if type(outcome).__module__ == "numpy" and getattr(outcome, "ndim", None) == 0:
        outcome = outcome.item()  # type: ignore[attr-defined]  # a NumPy scalar, known by its module
    if outcome is None or type(outcome) in (bool, int, float, str, bytes):
        return repr(outcome)
    if isinstance(outcome, tuple):
        return "(" + "".join(outcome_key(part) + "," for part in outcome) + ")"
    if isinstance(outcome, frozenset):
        return "{" + ",".join(sorted(outcome_key(part) for part in outcome)) + "}"
    kind = type(outcome).__name__
    try:
        hash(outcome)
    except TypeError:
        reason = f"a {kind}, which is not hashable"
    else:
        reason = f"a {kind}, which two processes cannot compare"
    raise UnusableOutcomeError(
        f"an outcome is {reason}; let the projection return None, bool, int, float, str, bytes or a tuple of these"
    )


def sample(
    train: Callable[..., object],
    settings: dict[str, Any],
    data: Sequence[Any],
    projections: Sequence[Callable[[Any], object]],
    size: int,
) -> list[list[str]]:
    """Train ``size`` times on one data set and project every model: one list of outcomes per training."""
    rows = []
    for _ in range(size):
        model = train(*data, **settings)
        rows.append([outcome_key(projection(model)) for projection in projections])
    return rows


def load_source(path: str) -> ModuleType:
    """Import a source file by its path; its folder is searched for its own imports."""
    source = Path(path).resolve()
    # Two files of one name in different folders are two modules.
    name = f"audited_{source.stem}_{hashlib.sha256(str(source).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    if str(source.parent) not in sys.path:
        sys.path.append(str(source.parent))
    spec = importlib.util.spec_from_file_location(name, str(source))
    if spec is None or spec.loader is None:
        raise ImportError(f"{source} is not a Python source file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def decode(value: Any) -> Any:
    """Undo ``privet.audit.workers.encode``: plain JSON with tags for tuples, arrays, functions and projections."""
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(decode(part) for part in value["tuple"])
    if "array" in value:
        import numpy as np

        return np.array(value["array"], dtype=value["dtype"]).reshape(value["shape"])
    if "function" in value:
        return getattr(load_source(value["file"]), value["function"])
    if "projection" in value:
        arguments = {name: decode(argument) for name, argument in value["arguments"].items()}
        return getattr(load_source(value["file"]), value["projection"])(**arguments)
    return {name: decode(part) for name, part in value["dict"].items()}


def serve(requests: IO[str], replies: IO[str]) -> None:
    """Answer requests until there are none: the first line sets up, each further line asks for trainings."""

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message) + "\n")
        replies.flush()

    setup: dict[str, Any] | None = None
    for line in requests:
        try:
            request = json.loads(line)
            if setup is None:
                setup = decode(request)
                reply({"ready": sys.version.split()[0]})
                continue
            pair = setup["pairs"][request["pair"]]
            projections = setup["projections"][request["pair"]]
            data = pair[request["side"]]
            reply({"rows": sample(setup["train"], setup["settings"], data, projections, request["size"])})
        except Exception as error:
            summary = traceback.format_exception_only(type(error), error)[-1].strip()
            reply({"error": summary, "trace": traceback.format_exc()})


def main() -> None:
    """Serve on standard input and output; what the estimator prints goes to standard error instead."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, replies)


if __name__ == "__main__":
    main()

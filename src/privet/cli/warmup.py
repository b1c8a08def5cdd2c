"""``privet warmup``: compile beforehand what learners need, for images and machines that are set up once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from privet.cli.console import note, print_json, say, working
from privet.cli.options import Json

if TYPE_CHECKING:
    from privet.schema.schema import Schema


def warmup(as_json: Json = False) -> None:
    """Compile what the learners need, so that no first fit has to wait for it.

    Fits and applies every learner on a few made-up records. None of your data is read and nothing is spent. Machine
    code is kept in the first of these folders that can be written to: `NUMBA_CACHE_DIR`, the package's own,
    `~/.cache/privet`. In a container image, run it in the step that installs privet, as the user that will train.

    Examples:

      privet warmup

      RUN pip install privet && NUMBA_CACHE_DIR=/opt/kernels privet warmup
    """
    from privet.compiling import kernel_folder
    from privet.errors import BudgetError
    from privet.privacy.budgets import in_force

    if in_force():
        raise BudgetError("a budget is in force, and fits on made-up records would be charged to it: run it without")
    folder = kernel_folder("privet")
    if folder is None:
        note("privet: no folder can be written to, so nothing can be kept; let NUMBA_CACHE_DIR name one that can")
        raise typer.Exit(1)
    with working("compiling"):
        compile_all()
    kept = sum(file.stat().st_size for file in folder.rglob("*.nb?"))
    if as_json:
        print_json({"folder": str(folder), "bytes": kept})
    else:
        say(f"compiled: {kept / 1e6:.1f} MB in {folder}")


def compile_all() -> None:
    """Fit every learner, and predict, on made-up records of each kind that has machine code of its own."""
    import warnings

    from privet.errors import PrivetError
    from privet.estimators.registry import estimator_class, estimator_names
    from privet.progress import Counter
    from privet.schema.domains import Numeric

    cases = [
        (name, frame, labels, schema, delta)
        for frame, labels, schema in _records()
        for name in estimator_names()
        for delta in (0.0, 1e-6)
        if name.endswith("Regressor") == isinstance(schema.target, Numeric)
    ]
    counter = Counter("learners", len(cases))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tiny data and large budgets, which are of no interest here
        for name, frame, labels, schema, delta in cases:
            estimator = estimator_class(name)(epsilon=1.0, delta=delta, schema=schema, random_state=0)
            try:
                estimator.fit(frame, labels).predict(frame)
            except PrivetError:  # not every learner takes every kind of target or guarantee
                continue
            finally:
                counter.add()


def _records() -> list[tuple[Any, Any, Schema]]:
    """Return made-up records: frames and arrays, codes of one and of two bytes, two and three classes, and numbers."""
    import pandas as pd

    from privet.parameters import public_rng
    from privet.schema.domains import Categorical, Domain, Numeric
    from privet.schema.schema import Schema

    rng = public_rng(0)
    numbers = rng.random((200, 3))
    frame = pd.DataFrame(numbers, columns=["x", "y", "z"]).assign(c=rng.choice(list("abcd"), 200))
    grid: dict[str, Domain] = {name: Numeric(0, 1) for name in "xyz"}
    fine: dict[str, Domain] = {name: Numeric(0, 1, bins=1_000, missing=True) for name in "xyz"}
    categories: dict[str, Domain] = {"c": Categorical(("a", "b", "c", "d"), other=True)}
    two, three = [0, 1] * 100, [0, 1, 2, 1] * 50
    return [
        (frame, two, Schema(grid | categories, classes=[0, 1])),
        (frame, two, Schema(fine | categories, classes=[0, 1])),
        (frame, three, Schema(grid | categories, classes=[0, 1, 2])),
        (numbers, two, Schema(grid, classes=[0, 1])),
        (frame, frame["x"], Schema(grid | categories, target=Numeric(0, 1))),
    ]

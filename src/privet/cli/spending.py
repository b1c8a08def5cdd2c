"""What commands that spend share: the account that they are charged to, and what is left of it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Annotated, Any

import typer

BudgetAddress = Annotated[
    str | None,
    typer.Option(
        "--budget",
        help="The account to charge: a file or URL made by `privet budget create`. One that the schema names is "
        "charged in any case.",
        metavar="STORE",
        envvar="PRIVET_BUDGET",
        show_default=False,
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="Which account of the store; not needed if it has only one.", metavar="NAME"),
]
Purpose = Annotated[str | None, typer.Option("--purpose", help="What this is for; it is recorded.", metavar="TEXT")]


def charged_to(budget: str | None, dataset: str | None, purpose: str | None) -> AbstractContextManager[Any]:
    """Return a block in which everything is charged to an account; one that does nothing if none is named."""
    import privet
    from privet.errors import ParameterError

    if budget is None:
        if dataset is not None or purpose is not None:
            raise ParameterError("--dataset and --purpose belong to an account; name it with --budget")
        return nullcontext()
    return privet.budget(budget, dataset=dataset, purpose=purpose)


def what_is_left(estimator: Any) -> list[str]:
    """Return a line for each account that a fit was charged to."""
    from privet.errors import BudgetError
    from privet.privacy.accounts import Book
    from privet.privacy.accounts.views import picture_in_text

    lines = []
    for address, charge in estimator._receipt.charges:
        # The work is done: an account that cannot be reached any more is no reason to fail.
        with suppress(BudgetError), Book(address) as book:
            history = book.history()
            lines += [picture_in_text(history.account(name)) for name in history.charges[charge].accounts]
    return lines

"""``privet budget``: accounts that last, for those who own them and those who spend from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privet.cli.console import note, print_json, print_table, refuse_overwriting, say, write_json
from privet.cli.exits import Exit
from privet.cli.options import Force, Json

if TYPE_CHECKING:
    from privet.privacy.accounts import Book, Limit

app = typer.Typer(
    help="Accounts that last: one for each data set, across days, people and crashes.", no_args_is_help=True
)

Store = Annotated[
    str,
    typer.Argument(
        help="A file, or a URL: sqlite:///FILE, postgresql://HOST/DATABASE.",
        metavar="STORE",
        envvar="PRIVET_BUDGET",
        show_default=False,
    ),
]
Named = Annotated[
    str | None,
    typer.Option("--dataset", "-d", help="Which account; not needed if there is only one.", metavar="NAME"),
]
Epsilon = Annotated[float | None, typer.Option("--epsilon", "-e", help="What may be spent in all.", show_default=False)]
Delta = Annotated[float, typer.Option("--delta", help="0 for pure epsilon; else far below 1 / number of people.")]
Rho = Annotated[
    float | None, typer.Option("--rho", help="In place of epsilon: an account of zCDP.", show_default=False)
]
Why = Annotated[str, typer.Option("--why", help="Recorded in the history.", metavar="TEXT")]


def _open(store: str, dataset: str | None = None) -> Book:
    from privet.privacy.accounts import Book, parse_address

    return Book(parse_address(store, dataset))


@app.command()
def create(
    store: Store,
    dataset: Annotated[str, typer.Option("--dataset", "-d", help="The data set's name.", metavar="NAME")],
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    slots: Annotated[
        list[str] | None,
        typer.Option(
            "--slots",
            help="Charges that are fixed in advance, e.g. '50 x 0.1' or '50 x plan.json', a file by `privet plan "
            "--json`; repeat for more kinds.",
        ),
    ] = None,
    parent: Annotated[
        str | None,
        typer.Option("--parent", help="An account about some of the same people; it is charged, too.", metavar="NAME"),
    ] = None,
    apart_from: Annotated[
        list[str] | None,
        typer.Option("--apart-from", help="State that nobody is in both this data set and that one.", metavar="NAME"),
    ] = None,
    period: Annotated[
        str, typer.Option("--period", help="The period of a data set that grows, in words.", metavar="TEXT")
    ] = "",
) -> None:
    """Create an account; the store is made where there is none.

    With --epsilon the account is of pure epsilon; with --delta, too, of (epsilon, delta); with --rho of zCDP. Charges
    to all of these may be chosen one after the other. With --slots their number and cost are fixed now, and counted by
    privacy-loss distributions, which is tighter; tightest where a slot is declared by a plan, and is for fits with just
    the releases of that plan.

    Examples:

      privet budget create hospital.db --dataset patients --epsilon 3 --delta 1e-6

      privet budget create postgresql://db/budgets --dataset visits --parent patients --epsilon 1

      privet budget create hospital.db --dataset trial --epsilon 3.2 --delta 1e-6 --slots "50 x 0.1"

      privet budget create hospital.db --dataset trees --epsilon 2 --delta 1e-6 --slots "50 x plan.json"
    """
    from privet.privacy.accounts import Book, Limit, parse_address
    from privet.privacy.accounts.slots import Slot

    limit = Limit.of(epsilon, delta, rho, [Slot.parse(text) for text in slots or []])
    address = parse_address(store, dataset)
    with Book.create(address) as book:
        book.open_account(dataset, limit, parent=parent, apart_from=apart_from or [], period=period)
    say(f"created {dataset!r} in {address.store}: {limit}")
    note(f"name it in the schema file (budget: {store}), in PRIVET_BUDGET, or with --budget")


@app.command()
def show(
    store: Store,
    dataset: Named = None,
    charges: Annotated[bool, typer.Option("--charges", help="List every charge.")] = False,
    as_json: Json = False,
) -> None:
    """Show what was spent of each account, and what is left.

    The history is checked from its start before anything is shown.

    Examples:

      privet budget show hospital.db --charges
    """
    from privet.privacy.accounts import views
    from privet.privacy.accounts.limits import ACCOUNTANTS

    with _open(store, dataset) as book:
        history, dataset = book.history(), book.address.dataset
    if dataset is not None:
        history.accounts = {dataset: history.account(dataset)}
        history.charges = {charge.id: charge for charge in history.charges_to(dataset)}
    if as_json:
        accounts = [views.account_as_data(account, history) for account in history.accounts.values()]
        listed = [views.charge_as_data(charge) for charge in history.charges.values()] if charges else None
        print_json({"accounts": accounts, **({} if listed is None else {"charges": listed})})
        return
    print_table(views.ACCOUNT_HEADER, views.account_rows(history))
    say()
    for account in history.accounts.values():
        say(views.picture_in_text(account))
    limited = [row for row in views.part_rows(history) if row[3] != "none"]
    if limited:
        say()
        print_table(views.PART_HEADER, limited)
    if charges:
        say()
        print_table(views.CHARGE_HEADER, views.charge_rows(history))
    say()
    for measure in dict.fromkeys(account.limit.measure for account in history.accounts.values()):
        note(f"counted by {ACCOUNTANTS[measure]}")
    for charge in history.charges.values():
        if charge.status == "reserved":
            note(
                f"charge {charge.id} ({charge.what}) was reserved and never committed: its run ended before anything "
                f"was drawn, or is at it. It counts as spent; if it is over: privet budget release {store} {charge.id}"
            )


@app.command("raise")
def raise_(
    store: Store,
    dataset: Named = None,
    epsilon: Epsilon = None,
    rho: Rho = None,
    analyst: Annotated[
        str | None, typer.Option("--analyst", help="Limit what this user may spend of the account.", metavar="NAME")
    ] = None,
    purpose: Annotated[
        str | None, typer.Option("--purpose", help="Limit what this purpose may cost.", metavar="TEXT")
    ] = None,
    why: Why = "",
) -> None:
    """Raise the limit of an account, or set that of an analyst or a purpose inside of it.

    The new limit is what the people in the data were promised from then on. A limit that was raised after looking at
    what was released was not fixed beforehand: see the documentation.

    Examples:

      privet budget raise hospital.db --dataset patients --epsilon 4 --why "approved by the board"

      privet budget raise hospital.db --analyst anna --epsilon 1
    """
    from privet.errors import ParameterError
    from privet.privacy.statements import stated_up

    if analyst is not None and purpose is not None:
        raise ParameterError("--analyst and --purpose are two limits; set one after the other")
    with _open(store, dataset) as book:
        account = book.history().account(book.address.dataset)
        limit = _limit_like(account.limit, epsilon, rho)
        if analyst is None and purpose is None:
            book.raise_limit(account.name, limit, why)
            say(f"{account.name!r} may spend {limit} from now on; {limit.unit} {stated_up(account.reading)} is spent")
            return
        of, name = ("analyst", analyst) if analyst is not None else ("purpose", purpose)
        assert name is not None
        book.limit_part(account.name, of, name, limit)
    say(f"{of} {name!r} may spend {limit} of {account.name!r} from now on")


def _limit_like(old: Limit, epsilon: float | None, rho: float | None) -> Limit:
    """Return a limit at the delta of another one, which only its creation decides."""
    from privet.privacy.accounts import Limit

    return Limit.of(epsilon, old.delta if epsilon is not None else 0, rho, name="account's limit")


@app.command()
def close(store: Store, dataset: Named = None, why: Why = "") -> None:
    """Close an account: it refuses all charges from now on, and its history stays.

    Examples:

      privet budget close hospital.db --dataset patients --why "the study is over"
    """
    with _open(store, dataset) as book:
        account = book.history().account(book.address.dataset)
        book.close_account(account.name, why)
    say(f"closed {account.name!r}")


@app.command()
def release(
    store: Store,
    charge: Annotated[str, typer.Argument(help="The charge, as `privet budget show` names it.", metavar="CHARGE")],
    why: Annotated[str, typer.Option("--why", help="Recorded in the history.", metavar="TEXT")],
) -> None:
    """Take back a charge of a run that ended before anything was drawn.

    Only a charge that was reserved and not committed: a run commits before it draws. The history keeps both.

    Examples:

      privet budget release hospital.db 0123456789abcdef --why "the machine lost its power"
    """
    with _open(store) as book:
        book.release(charge, why)
    say(f"released {charge}")


@app.command()
def export(
    store: Store,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .json or .csv file to write.", metavar="FILE")],
    force: Force = False,
) -> None:
    """Write all accounts, charges and entries as JSON, or the charges as CSV.

    Examples:

      privet budget export hospital.db -o budget.json
    """
    from privet.errors import ParameterError
    from privet.privacy.accounts import views
    from privet.writing import replace_text

    if out.suffix.lower() not in (".json", ".csv"):
        raise ParameterError(f"{out}: cannot tell the format; end the name in .json or .csv")
    refuse_overwriting(out, force)
    with _open(store) as book:
        history, entries = book.history(), book.entries()
    if out.suffix.lower() == ".json":
        write_json(views.export_as_data(history, entries), out)
    else:
        replace_text(out, views.export_as_csv(history))
    say(f"wrote {out}")


@app.command()
def verify(
    store: Store,
    accept_restored: Annotated[
        bool, typer.Option("--accept-restored", help="Go on with a restored copy; that is recorded.")
    ] = False,
    why: Why = "",
    as_json: Json = False,
) -> None:
    """Check the whole history: every hash, every rule, its end, and the mark in your state folder.

    The exit code is 6 if anything was removed, altered or put in another place.

    Examples:

      privet budget verify hospital.db
    """
    with _open(store) as book:
        if accept_restored:
            book.accept_restored(why)
        problems, entries = book.problems(), book.entries()
    if as_json:
        print_json({"sound": not problems, "entries": len(entries), "problems": problems})
    elif problems:
        for problem in problems:
            say(problem)
    else:
        say(f"sound: {len(entries)} entries, the last one {entries[-1].hash[:16]}")
    if problems:
        raise typer.Exit(Exit.REFUTED)


@app.command()
def report(
    store: Store,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.", metavar="FILE")] = Path("budget.html"),
    force: Force = False,
) -> None:
    """Write a page about all accounts, for the person who answers for them.

    It is one HTML file that needs no network. It names people and what they did: it is not meant to be published.

    Examples:

      privet budget report hospital.db -o budget.html
    """
    from privet.report.budget_page import render_budget
    from privet.writing import replace_text

    refuse_overwriting(out, force)
    with _open(store) as book:
        history, problems = book.history(), book.problems()
    replace_text(out, render_budget(history, problems))
    say(f"wrote {out}")


@app.command()
def sql() -> None:
    """Print the SQL that sets up a store in PostgreSQL: tables, roles with the least rights, triggers.

    `privet budget create` runs it where it may; where it may not, a database administrator can.
    """
    from privet.privacy.accounts.postgres_log import setup_script

    say(setup_script())

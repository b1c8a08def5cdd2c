"""The page about accounts that last, for the person who answers for them."""

from __future__ import annotations

from collections.abc import Sequence

import privet
from privet.markup import Markup, bullets, figure, join, paragraph, table, tag
from privet.privacy.accounts import views
from privet.privacy.accounts.history import Account, History
from privet.privacy.accounts.limits import ACCOUNTANTS
from privet.privacy.statements import Grade, stated_down
from privet.report.charts import bars
from privet.report.document import document, section


def render_budget(history: History, problems: Sequence[str] = ()) -> str:
    """Return the page of a store's accounts.

    Parameters
    ----------
    history : History
        What is shown.
    problems : sequence of str
        What a check of the history found.

    Notes
    -----
    *Privacy.* Nothing on it was computed from records: charges are decided before any data is seen. It names people and
    what they did, so it is for those inside.
    """
    parts = [
        ("left", "What is left", _left(history)),
        ("accounts", "The accounts", _accounts(history)),
        ("people", "Analysts and purposes", _parts(history)),
        ("charges", "Every charge", _charges(history)),
        ("counting", "How it is counted", _counting(history)),
        ("checked", "Is the history sound?", _checked(history, problems)),
    ]
    links = [tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in parts]
    sound = "The history is sound." if not problems else "The history is NOT sound; see the end of this page."
    body = join(
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag(
            "header",
            tag("h1", "Privacy budget"),
            paragraph(tag("span", sound, class_="badge" if not problems else "badge no"), class_="lead"),
            tag("nav", tag("ol", *links), aria_label="Sections"),
        ),
        tag("main", *(section(*part) for part in parts), id="report"),
        tag("footer", paragraph(f"Made by privet {privet.__version__} from the history alone.", class_="muted")),
    )
    return document("Privacy budget", body)


def _share_left(account: Account) -> float:
    if account.limit.slots:
        return account.slots_left / sum(slot.count for slot in account.limit.slots)
    return float(account.remaining / account.limit.size)


def _left_in_words(account: Account) -> str:
    if account.limit.slots:
        return f"{account.slots_left} of {sum(slot.count for slot in account.limit.slots)} slots"
    return f"{account.limit.unit} {stated_down(account.remaining)} of {stated_down(account.limit.size)}"


def _left(history: History) -> Markup:
    if not history.accounts:
        return paragraph("There are no accounts yet.")
    items = [(account.name, _share_left(account), _left_in_words(account)) for account in history.accounts.values()]
    # Lengths are shares of each limit, so a bar of full length stands for an account that nothing was spent of.
    return figure(bars("What is left of each account", items), "What is left of each account, as a share of its limit.")


def _accounts(history: History) -> Markup:
    strengths = []
    for account in history.accounts.values():
        if account.limit.epsilon is not None:
            grade = Grade.of(float(account.limit.epsilon), float(account.limit.delta))
            whom = account.protects or "whatever its first charge says"
            strengths.append(f"{account.name}: {grade}; for {whom}" + _relations(account))
    rows = views.account_rows(history)
    return join(
        table("All accounts of this store", views.ACCOUNT_HEADER, rows, numbers=frozenset({4})), bullets(*strengths)
    )


def _relations(account: Account) -> str:
    texts = []
    if account.period:
        texts.append(f"period: {account.period}")
    if account.parent:
        texts.append(f"some of its people are in {account.parent!r}, which is charged, too")
    if account.apart_from:
        texts.append(f"its owner states that none of its people are in {', '.join(map(repr, account.apart_from))}")
    return "".join(f"; {text}" for text in texts)


def _parts(history: History) -> Markup:
    rows = views.part_rows(history)
    if not rows:
        return paragraph("Nothing was spent yet, and no limits are set inside of accounts.")
    return table("What analysts and purposes may spend and have spent", views.PART_HEADER, rows)


def _charges(history: History) -> Markup:
    rows = views.charge_rows(history)
    if not rows:
        return paragraph("There are none.")
    reserved = [charge.id for charge in history.charges.values() if charge.status == "reserved"]
    remark = (
        paragraph(
            f"Reserved and never committed: {', '.join(reserved)}. They count as spent. Their runs ended before "
            "anything was drawn, or are at it; if they are over, they can be released.",
            class_="note",
        )
        if reserved
        else None
    )
    caption = "Costs are rounded up; the export has them exactly, with their events"
    return join(table(caption, views.CHARGE_HEADER, rows, numbers=frozenset({5, 6})), remark)


def _counting(history: History) -> Markup:
    measures = dict.fromkeys(account.limit.measure for account in history.accounts.values())
    return join(
        bullets(*(ACCOUNTANTS[measure] for measure in measures)),
        paragraph(
            "A charge is spent before anything is drawn, and stays spent if its run fails. What is guaranteed to the "
            "people in the data is the limit of the account, whatever was chosen along the way; what is spent so far "
            "is a reading."
        ),
    )


def _checked(history: History, problems: Sequence[str]) -> Markup:
    last = history.last
    end = "" if last is None else f"It has {last.seq} entries; the hash of the last one is {last.hash}."
    if problems:
        return join(paragraph("No:"), bullets(*problems))
    return join(
        paragraph(
            "Yes: every entry has the hash of the one before it, none is missing, and none breaks the rules. " + end
        ),
        paragraph(
            "Write that hash down elsewhere: whoever can write the store can replace all of it, and only somebody who "
            "knows an older hash would notice. `privet budget verify` repeats the check.",
            class_="note",
        ),
    )

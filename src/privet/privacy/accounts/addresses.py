"""Where an account is kept: a file, or a database by its URL, and the name of the data set in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from privet.errors import BudgetError

SQLITE, POSTGRES = "sqlite:///", "postgresql://"


@dataclass(frozen=True)
class Address:
    """A store of accounts, and which account in it is meant.

    Attributes
    ----------
    store : str
        ``sqlite:////absolute/path`` or ``postgresql://...``, always written in the same way. It holds no password.
    dataset : str, optional
        The account's name; not needed if the store has a single account.
    purpose : str, optional
        What the charges are for, where the account has limits per purpose.
    """

    store: str
    dataset: str | None = None
    purpose: str | None = None

    @property
    def path(self) -> Path | None:
        """The file, where the store is one."""
        return Path(self.store.removeprefix(SQLITE)) if self.store.startswith(SQLITE) else None


def parse_address(text: object, dataset: str | None = None, purpose: str | None = None) -> Address:
    """Read a file name or a URL; `dataset` and `purpose` override those in the URL.

    Examples
    --------
    >>> parse_address("postgresql://db.hospital/budgets?dataset=patients")
    Address(store='postgresql://db.hospital/budgets', dataset='patients', purpose=None)
    >>> parse_address("sqlite:////srv/hospital.db", dataset="patients").path.name
    'hospital.db'
    """
    if not isinstance(text, str) or not text.strip():
        raise BudgetError(f"a budget is a file name or a URL, got {text!r:.60}; e.g. 'sqlite:///hospital.db'")
    text = text.strip()
    if text.startswith(("postgresql://", "postgres://")):
        store, options = _postgres(text)
    elif text.startswith(SQLITE):
        location, _, query = text.removeprefix(SQLITE).partition("?")
        store, options = _file(unquote(location)), dict(parse_qsl(query, keep_blank_values=True))
    elif "://" in text or text.startswith("sqlite:"):
        raise BudgetError(
            f"a budget cannot be kept at {text.partition(':')[0]}:...; use sqlite:///FILE or postgresql://HOST/DATABASE"
        )
    else:
        store, options = _file(text), {}
    unknown = sorted(set(options) - {"dataset", "purpose"})
    if unknown:
        raise BudgetError(f"{unknown[0]} is no option of a budget's URL; known are dataset and purpose")
    return Address(store, dataset or options.get("dataset") or None, purpose or options.get("purpose") or None)


def _file(location: str) -> str:
    if not location:
        raise BudgetError("the budget's URL names no file; e.g. sqlite:///hospital.db, or sqlite:////srv/hospital.db")
    # Absolute and without links, since workers may have another current folder, and one file must have one name.
    return SQLITE + str(Path(location).expanduser().resolve())


def _postgres(text: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    if parts.password is not None or "password" in query:
        raise BudgetError(
            "the budget's URL contains a password, and URLs travel in pickles and environments; remove it, and keep "
            "the password in ~/.pgpass or PGPASSWORD"
        )
    own: dict[str, str] = {name: query.pop(name) for name in ("dataset", "purpose") if name in query}
    return urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(query), "")), own

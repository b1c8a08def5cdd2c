"""The frame of a page: one HTML file that needs nothing from the network, without script unless one is given."""

from __future__ import annotations

import base64
import hashlib

from privet.markup import Markup, tag
from privet.report.style import STYLE


def document(title: str, body: Markup, *, style: str = "", script: str | None = None) -> str:
    """Return a whole page.

    Style and script, if there is one, are allowed by their hashes and nothing else is allowed at all: a name in a table
    cannot become a script.

    Parameters
    ----------
    title : str
        Of the page.
    body : Markup
        What is on it.
    style : str
        Rules that come after those of all pages.
    script : str, optional
        Runs when the page is there. It must not contain an end tag.
    """
    style = STYLE + style
    allowed = "" if script is None else f"; script-src {_hashed(script)}"
    policy = f"default-src 'none'; style-src {_hashed(style)}{allowed}; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    end = None if script is None else tag("script", Markup(script))
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", body, end), lang="en") + "\n"


def section(key: str, title: str, content: Markup) -> Markup:
    """Return a part of a page under its heading."""
    return tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")


def _hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

"""The frame of a page: one HTML file, without script, that needs nothing from the network."""

from __future__ import annotations

import base64
import hashlib

from privet.markup import Markup, tag
from privet.report.style import STYLE


def document(title: str, body: Markup) -> str:
    """Return a whole page.

    The style is allowed by its hash and nothing else is allowed at all: a name in a table cannot become a script.
    """
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, tag("body", body), lang="en") + "\n"


def section(key: str, title: str, content: Markup) -> Markup:
    """Return a part of a page under its heading."""
    return tag("section", tag("h2", title, id=f"{key}-title"), content, id=key, aria_labelledby=f"{key}-title")

"""Laws of the documentation's site in a real Chromium: self-contained, and readable at every width, light and dark."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.browser import CHROMIUM, CONTRASTS, OVERLAPPING_TEXTS, TEXTS_OUTSIDE_THEIR_BOXES, browser

ROOT = Path(__file__).parents[1]
PAGES = [
    "index.html",
    "tutorial.html",
    "gallery.html",
    "proofs.html",
    "model_files.html",
    "how_to/choose_epsilon.html",
    "how_to/serve_a_model.html",
    "learners/privatree.html",
    "learners/evidence/boosting.html",
    "api/exports.html",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium; .ci/run installs Debian's package chromium"),
    pytest.mark.skipif(find_spec("material") is None, reason="the site needs privet[docs]"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "--quiet", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture(scope="module")
def screen():
    with browser() as opened:
        yield opened


def test_no_page_asks_another_host_for_anything(site):
    asked = re.compile(
        r"""<(?:script|img|iframe|source)[^>]+src=["']?(?:https?:)?//|<link[^>]+href=["']?https?://[^>]+stylesheet"""
    )
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    assert [page.name for page in pages if asked.search(page.read_text(encoding="utf-8"))] == []
    sheets = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?https?://", sheets) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_pages_fit_the_screen_and_read_well(site, screen, width, scheme):
    screen.colour_scheme(scheme)
    screen.resize(width)
    for page in PAGES:
        screen.open(site / page)
        screen.open_details()
        assert [address for address in screen.requests() if not address.startswith(("file:", "data:"))] == []
        assert screen.evaluate("document.documentElement.scrollWidth") <= width, page
        assert screen.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
        contrasts = screen.evaluate(CONTRASTS)
        assert contrasts[0][0] >= 4.5, (page, contrasts[:3])
        assert screen.evaluate(OVERLAPPING_TEXTS) == [], page
        assert screen.evaluate(TEXTS_OUTSIDE_THEIR_BOXES) == [], page

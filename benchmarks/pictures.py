"""Take the pictures of the report page and of notebooks that the documentation shows.

``python benchmarks/pictures.py`` trains two models on Adult with the system's noise, opens their pages in Chromium and
writes ``docs/images/report_*.png``, ``forecast_page.png`` and ``notebook_cards.png``. Pictures differ a little from run
to run, as models do.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # where the tests' browser is

from privet import BoostingClassifier, PrivaTreeClassifier  # noqa: E402  # after the path
from privet.datasets import load_adult  # noqa: E402
from privet.report import write_forecast, write_report  # noqa: E402
from tests.browser import browser  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def main() -> None:
    """Write all pictures."""
    adult = load_adult()
    tree = PrivaTreeClassifier(epsilon=1.0, schema=adult.schema, random_state=0).fit(*adult.train)
    boosting = BoostingClassifier(epsilon=1.0, delta=1e-6, schema=adult.schema, n_rows_hint=30_000, random_state=0)
    boosting.fit(*adult.train)
    with TemporaryDirectory() as folder, browser() as page:
        paths = {name: Path(folder) / f"{name}.html" for name in ("tree", "boosting", "notebook", "forecast")}
        write_report(tree, paths["tree"])
        write_report(boosting, paths["boosting"])
        write_forecast(boosting.forecast(), paths["forecast"])
        cards = boosting._repr_html_() + "<p></p>" + tree.privacy_._repr_html_()
        paths["notebook"].write_text(f"<!DOCTYPE html><body style='margin:16px;background:#fff'>{cards}</body>")
        for name, scheme, width, height, where, file in (
            ("tree", "light", 1100, 1250, "header", "report_light.png"),
            ("tree", "dark", 1100, 1250, "header", "report_dark.png"),
            ("tree", "light", 1100, 900, ".tree", "report_tree.png"),
            ("boosting", "dark", 1100, 900, ".small", "report_shapes.png"),
            ("tree", "light", 390, 720, "#learned h3", "report_phone.png"),
            ("forecast", "light", 1100, 920, "header", "forecast_page.png"),
            ("notebook", "light", 720, 660, "body", "notebook_cards.png"),
        ):
            page.colour_scheme(scheme)
            page.resize(width)
            page.open(paths[name])
            page.screenshot(IMAGES / file, width, height, top_of=where)


if __name__ == "__main__":
    main()

"""Train boosting on Adult and draw what each feature adds: ``python examples/adult_shapes.py shapes.svg``."""

from __future__ import annotations

import sys

from privet import BoostingClassifier
from privet.datasets import load_adult


def main() -> None:
    """Draw the shapes, and print them as text."""
    adult = load_adult()
    model = BoostingClassifier(1.0, 1e-6, adult.schema, n_rows_hint=30_000, random_state=0).fit(*adult.train)
    path = sys.argv[1] if len(sys.argv) > 1 else "shapes.svg"
    model.model_.plot(path)
    print(model.model_.export_text())
    print(f"accuracy on held-out records: {model.score(*adult.test):.3f}; wrote {path}")


if __name__ == "__main__":
    main()

"""What the arena's commands have in common on the command line."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that knows the data folder, and where results go."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.environ.get("PRIVET_DATA")
    made.add_argument("--data", type=Path, default=folder, required=folder is None, help="or PRIVET_DATA")
    made.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return made

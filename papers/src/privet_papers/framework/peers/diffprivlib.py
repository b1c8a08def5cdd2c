"""diffprivlib, for comparison, run in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import ParameterError

PEER = "PRIVET_DIFFPRIVLIB"  # names the interpreter of an environment with diffprivlib


def peer_python() -> Path | None:
    """Return the interpreter of the other environment; None where none is given."""
    named = os.environ.get(PEER)
    return Path(named) if named else None


def run_peer(script: str, arrays: dict[str, Any], *settings: float) -> Any:
    """Run a script of this folder in the other environment, and return what it says in JSON.

    Parameters
    ----------
    script : str
        Its name; it imports nothing of privet, which is not there.
    arrays : dict
        What it reads, from a file that is its first argument.
    *settings : float
        Its further arguments.
    """
    python = peer_python()
    if python is None:
        raise ParameterError(f"diffprivlib has no environment here; let {PEER} name the interpreter of one")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        command = [str(python), str(Path(__file__).with_name(script)), str(file), *map(str, settings)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        raise ParameterError(f"diffprivlib failed under {python}: {last[0]}")
    return json.loads(done.stdout)

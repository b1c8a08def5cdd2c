"""The one way to run another library: in an environment of its own, by that environment's interpreter.

A peer's script imports nothing of privet, which is not there. Arrays reach it in a file, answers come back as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import venv
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privet.errors import ParameterError


@dataclass(frozen=True)
class Peer:
    """Another library, and where its interpreter is found.

    Parameters
    ----------
    name : str
        The library's own name.
    version : str
        Which one results are stated for.
    requirements : tuple of str
        What pip installs where an environment is built for it.
    """

    name: str
    version: str
    requirements: tuple[str, ...]

    @property
    def variable(self) -> str:
        """The environment variable that names an interpreter with the library."""
        return f"PRIVET_{self.name.upper()}"

    def named(self) -> Path | None:
        """Return the interpreter that the environment variable names; None where it is not set."""
        path = os.environ.get(self.variable)
        return Path(path) if path else None

    def interpreter(self) -> Path:
        """Return the interpreter that the environment variable names, or say how to give one."""
        python = self.named()
        if python is None:
            raise ParameterError(
                f"{self.name} has no environment here; let {self.variable} name the interpreter of one "
                f"(pip install {' '.join(map(repr, self.requirements))})"
            )
        return python

    def built(self, folder: Path | None = None, say: Callable[[str], object] = lambda text: None) -> Path:
        """Return the interpreter of an environment with these very requirements, building it if it is not there.

        Parameters
        ----------
        folder : Path, optional
            Where the environment is; by default in the user's cache folder.
        say : callable
            Called with what is being built, since that takes minutes.
        """
        if folder is None:
            cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
            folder = cache / "privet" / "peers" / f"{self.name}-{self.version}"
        python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        marker = folder / "installed.txt"
        wanted = "\n".join(self.requirements)
        if not (marker.exists() and marker.read_text() == wanted):
            say(f"building {folder} with {', '.join(self.requirements)}")
            venv.create(folder, with_pip=True, clear=True)
            install = [str(python), "-m", "pip", "install", "--quiet", *self.requirements]
            done = subprocess.run(install, capture_output=True, text=True, check=False)
            if done.returncode:
                raise ParameterError(f"pip cannot install {self.name} into {folder}: {_last_line(done.stderr)}")
            marker.write_text(wanted)
        return python


DIFFPRIVLIB = Peer("diffprivlib", "0.6.6", ("diffprivlib==0.6.6", "scikit-learn>=1.4,<1.8", "numpy<3"))
TREE_SCRIPT = Path(__file__).with_name("diffprivlib_tree.py")
REGRESSION_SCRIPT = Path(__file__).with_name("diffprivlib_regression.py")


def run_script(python: Path, script: Path, arrays: Mapping[str, Any], *settings: float) -> Any:
    """Run a peer's script once, and return what the last line of its output says in JSON.

    Parameters
    ----------
    python : Path
        The peer's interpreter.
    script : Path
        The file to run.
    arrays : mapping
        What it reads, from a NumPy file that is its first argument.
    *settings : float
        Its further arguments.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **arrays)
        command = [str(python), str(script), str(file), *map(str, settings)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ParameterError(f"{python} cannot be run ({error}); name the interpreter of an environment") from error
    if done.returncode:
        raise ParameterError(f"{script.name} failed under {python}: {_last_line(done.stderr)}")
    return json.loads(_last_line(done.stdout))  # libraries may print before


class PeerProcess:
    """A peer's script that goes on running and answers one request after another, a line of JSON each.

    Parameters
    ----------
    python : Path
        The peer's interpreter.
    script : Path
        The file to run; it reads requests from standard input and writes answers to standard output.
    """

    def __init__(self, python: Path, script: Path) -> None:
        one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}  # peers are timed
        self._name = script.name
        self._process = subprocess.Popen(
            [str(python), str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **one_thread},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def ask(self, request: Mapping[str, Any]) -> Any:
        """Return the answer to one request."""
        if self._process.returncode is None:
            with suppress(BrokenPipeError):
                self._requests.write(json.dumps(request) + "\n")
                self._requests.flush()
            line = self._answers.readline()
            if line:
                return json.loads(line)
            self.close()
        raise ParameterError(f"the process of {self._name} ended with code {self._process.returncode}")

    def close(self) -> None:
        """End the process: there are no more requests."""
        with suppress(BrokenPipeError):
            self._requests.close()
        self._answers.close()
        self._process.wait()


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]

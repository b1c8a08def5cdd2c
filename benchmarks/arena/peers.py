"""Other libraries' private learners, each in an environment of its own that the benchmark builds on first use."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arena.data import SPLITS, Problem
from arena.methods import Answer, MethodError
from audit_peers import REQUIREMENTS as DIFFPRIVLIB
from audit_peers import environment

WORKER = Path(__file__).with_name("peer_worker.py")
INTERPRET = (
    *("interpret-core==0.7.8", "numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.9.1", "scipy==1.17.1"),
    *("joblib==1.6.0",),
)
FOLDERS = {"dp_ebm": ("interpret-0.7.8", INTERPRET), "diffprivlib": ("diffprivlib-0.6.6", DIFFPRIVLIB)}


class Worker:
    """A process of a peer's interpreter that answers one request after another."""

    def __init__(self, library: str) -> None:
        cache_folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "privet" / "peers"
        name, requirements = FOLDERS[library]
        python = environment(cache_folder / name, requirements)
        threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        self._process = subprocess.Popen(
            [str(python), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **threads},
        )

    def ask(self, request: dict[str, Any]) -> Any:
        """Return the answer to one request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise MethodError(f"the peer's process ended with code {self._process.wait()}")
        return json.loads(line)


worker = cache(Worker)


@cache
def scratch() -> Path:
    """A folder for arrays on their way to workers; it goes when the run ends."""
    _keep.append(tempfile.TemporaryDirectory(prefix="arena-"))
    return Path(_keep[-1].name)


_keep: list[tempfile.TemporaryDirectory[str]] = []


def arrays(problem: Problem) -> Path:
    """Write a problem with all its splits where a worker can read it, once."""
    file = scratch() / f"{problem.task.name}.npz"
    if not file.exists():
        low, high, sizes = problem.domains
        content = {"codes": problem.codes, "labels": problem.labels, "low": low, "high": high, "sizes": sizes}
        if problem.target_range is not None:
            content["target"] = np.array(problem.target_range)
        for number in range(SPLITS):
            content[f"train{number}"], content[f"test{number}"] = problem.split(number)
        np.savez(file, **content)
    return file


@dataclass(frozen=True)
class Peer:
    """A learner of another library.

    Parameters
    ----------
    name : str
        As tables show it.
    library : str
        A key of `FOLDERS`.
    delta : float
        What it is given; 0 for a pure guarantee.
    binary : bool
        Whether it knows no more than two classes.
    settings : dict
        Whatever differs from its defaults.
    """

    name: str
    library: str
    delta: float
    binary: bool = False
    settings: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def rivals(self) -> str:
        """Whom it is ranked against."""
        return "approximate" if self.delta else "pure"

    def can(self, problem: Problem) -> bool:
        """Whether it can learn this problem at all."""
        return problem.n_classes == 2 or not self.binary

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train in the peer's environment, and bring its probabilities back."""
        settings = {**self.settings, "epsilon": epsilon}
        if self.delta:
            settings["delta"] = self.delta
        file = scratch() / "answer.npy"
        request = {"learner": self.library, "arrays": str(arrays(problem)), "split": split, "answer": str(file)}
        answer = worker(self.library).ask({**request, "settings": settings})
        if "error" in answer:
            raise MethodError(answer["error"])
        return Answer(np.load(file), answer["seconds"])

    def memory(self) -> float:
        """The most gigabytes that its process has had."""
        return float(worker(self.library).ask({"learner": "memory"})) / 2**30


def peers(delta: float) -> list[Peer]:
    """Every peer of the comparison: with its defaults, and DP-EBM as tuned by `accuracy.py --tune` too."""
    return [
        Peer("DP-EBM", "dp_ebm", delta, binary=True),
        Peer("DP-EBM, tuned", "dp_ebm", delta, binary=True, settings=DP_EBM_TUNED),
        Peer("diffprivlib tree", "diffprivlib", 0, settings={"kind": "tree"}),
        Peer("diffprivlib forest", "diffprivlib", 0, settings={"kind": "forest"}),
        Peer("diffprivlib logistic", "diffprivlib", 0, settings={"kind": "logistic"}),
        Peer("diffprivlib naive Bayes", "diffprivlib", 0, settings={"kind": "bayes"}),
    ]


# The best of `candidates` by average rank on the tuning sets, accuracy and AUC alike, at epsilon 0.1 and 1, 2 splits:
# `accuracy.py --tune --epsilons 0.1 1 --splits 2`, whose table is docs/results/accuracy_tuning.csv.
DP_EBM_TUNED: dict[str, Any] = {"learning_rate": 0.1, "max_rounds": 100, "max_bins": 16}


def candidates(delta: float) -> list[Peer]:
    """What was tried for DP-EBM on the tuning sets."""
    grid: list[dict[str, Any]] = [
        {},
        {"learning_rate": 0.05},
        {"learning_rate": 0.1},
        {"learning_rate": 0.2},
        {"learning_rate": 0.1, "max_rounds": 100},
        {"learning_rate": 0.2, "max_rounds": 50},
        {"learning_rate": 0.1, "max_rounds": 100, "max_bins": 16},
        {"learning_rate": 0.2, "max_rounds": 50, "max_bins": 16},
    ]
    found = []
    for settings in grid:
        text = ", ".join(f"{name}={value}" for name, value in settings.items())
        found.append(Peer(f"DP-EBM({text})", "dp_ebm", delta, binary=True, settings=settings))
    return found

"""Other libraries' private learners, each in an environment of its own that the benchmark builds on first use."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arena.data import SPLITS, Problem, Task
from arena.methods import Answer, MethodError
from privet.errors import ParameterError
from privet_papers.framework.peers.interpreter import DIFFPRIVLIB, Peer, PeerProcess

WORKER = Path(__file__).with_name("peer_worker.py")
INTERPRET = Peer(
    "interpret",
    "0.7.8",
    (
        *("interpret-core==0.7.8", "numpy==2.4.6", "pandas==3.1.1", "scikit-learn==1.9.1", "scipy==1.17.1"),
        *("joblib==1.6.0",),
    ),
)
MBI = Peer(
    "mbi",
    "2.0.0",
    (
        *("mbi==2.0.0", "jax==0.10.2", "jaxlib==0.10.2", "chex==0.1.92", "optax==0.2.8", "networkx==3.6.1"),
        *("numpy==2.4.6", "scikit-learn==1.9.1", "scipy==1.17.1"),
    ),
)
LIBRARIES = {"dp_ebm": INTERPRET, "diffprivlib": DIFFPRIVLIB, "aim": MBI}


@cache
def worker(library: str) -> PeerProcess:
    """Return the process that trains a library's learners; the first call starts it.

    The interpreter is the one that the peer's environment variable names, if it is set.
    """
    peer = LIBRARIES[library]
    return PeerProcess(peer.named() or peer.built(say=print), WORKER)


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
        content["hint"] = np.array(problem.rows_hint)
        if problem.target_range is not None:
            content["target"] = np.array(problem.target_range)
        for number in range(SPLITS):
            content[f"train{number}"], content[f"test{number}"] = problem.split(number)
        np.savez(file, **content)
    return file


@dataclass(frozen=True)
class PeerLearner:
    """A learner of another library.

    Parameters
    ----------
    name : str
        As tables show it.
    library : str
        A key of `LIBRARIES`.
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

    def can(self, problem: Problem | Task) -> bool:
        """Whether it can learn this problem at all."""
        return problem.n_classes == 2 or not self.binary

    def run(self, problem: Problem, split: int, epsilon: float) -> Answer:
        """Train in the peer's environment, and bring its probabilities back."""
        settings = {**self.settings, "epsilon": epsilon}
        if self.delta:
            settings["delta"] = self.delta
        file = scratch() / "answer.npy"
        request = {"learner": self.library, "arrays": str(arrays(problem)), "split": split, "answer": str(file)}
        process = worker(self.library)
        try:
            answer = process.ask({**request, "settings": settings})
        except ParameterError as error:  # its process ended
            raise MethodError(str(error)) from error
        if "error" in answer:
            raise MethodError(answer["error"])
        return Answer(np.load(file), answer["seconds"])

    def memory(self) -> float:
        """The most gigabytes that its process has had."""
        return float(worker(self.library).ask({"learner": "memory"})) / 2**30


def peers(delta: float) -> list[PeerLearner]:
    """Every peer of the comparison: with its defaults, and DP-EBM as tuned by `accuracy.py --tune` too."""
    return [
        PeerLearner("DP-EBM", "dp_ebm", delta, binary=True),
        PeerLearner("DP-EBM, tuned", "dp_ebm", delta, binary=True, settings=DP_EBM_TUNED),
        PeerLearner("diffprivlib tree", "diffprivlib", 0, settings={"kind": "tree"}),
        PeerLearner("diffprivlib forest", "diffprivlib", 0, settings={"kind": "forest"}),
        PeerLearner("diffprivlib logistic", "diffprivlib", 0, settings={"kind": "logistic"}),
        PeerLearner("diffprivlib naive Bayes", "diffprivlib", 0, settings={"kind": "bayes"}),
    ]


# The best of `candidates` by average rank on the tuning sets, accuracy and AUC alike, at epsilon 0.1 and 1, 2 splits:
# `accuracy.py --tune --epsilons 0.1 1 --splits 2`, whose table is docs/results/accuracy_tuning.csv.
DP_EBM_TUNED: dict[str, Any] = {"learning_rate": 0.1, "max_rounds": 100, "max_bins": 16}


def candidates(delta: float) -> list[PeerLearner]:
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
        found.append(PeerLearner(f"DP-EBM({text})", "dp_ebm", delta, binary=True, settings=settings))
    return found

"""Peers that joined after the arena's first tables; each counts in a ranking where it has answered everywhere.

They are not among those whose answers a task must have before it counts (`peers.peers`), so that a table without
them, or with some of their tasks only, stays as it is.
"""

from __future__ import annotations

from arena.gradient_peers import GradientPeer, gradient_peers
from arena.peers import PeerLearner

AIM = "AIM + HistGradientBoosting"
AIM_TASKS = ("transfusion", "hayes_roth", "balance_scale", "banknote", "diabetes", "compas")  # few columns
AIM_SPLITS = 1


def newcomers(delta: float) -> list[GradientPeer | PeerLearner]:
    """Every one of them, AIM last."""
    return [*gradient_peers(delta), PeerLearner(AIM, "aim", delta, settings={"seed": 0})]

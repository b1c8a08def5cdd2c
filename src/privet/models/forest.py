"""A forest: encoding, structure, released leaf values, and a rule to vote by."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled
from privet.errors import ParameterError
from privet.models.leaves import MOST_CLASSES, LeafCounts, LeafLabels, Structure
from privet.randomness.public import PublicRng
from privet.schema.encoding import Encoding
from privet.trees.features import Domains
from privet.trees.kernels.vote import count_labels, sum_values
from privet.trees.pickling import FieldsOnly

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Forest", "LeafCounts", "LeafLabels", "Structure", "Voting", "estimate_bytes"]

Voting = Literal["majority", "threshold", "probabilistic"]
VOTINGS = ("majority", "threshold", "probabilistic")


@compiled
def _divide_by_totals(sums: NDArray[np.float64]) -> None:
    """Let each row add up to one; a row of zeros gets equal shares."""
    n_rows, n_classes = sums.shape
    for row in range(n_rows):
        total = 0.0
        for k in range(n_classes):
            total += sums[row, k]
        for k in range(n_classes):
            sums[row, k] = sums[row, k] / total if total > 0 else 1.0 / n_classes


@dataclass(frozen=True, eq=False)
class Forest(FieldsOnly):
    """What was learned; public by the time that it exists, and nothing of the data but what was released.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes.
    structure : CompleteTrees, ExplicitTrees or RandomTrees
        How codes come to leaves.
    leaves : LeafLabels or LeafCounts
        What the leaves say.
    voting : {"majority", "threshold", "probabilistic"}
        *majority*: each tree votes for its leaf's label, or for the class with the largest share (the first of equals).
        *threshold*: the leaves' shares are averaged and the largest wins. *probabilistic*: they are averaged, and a
        class is drawn with these probabilities. The last two need `LeafCounts`.
    """

    encoding: Encoding
    structure: Structure
    leaves: LeafLabels | LeafCounts
    voting: Voting = "majority"

    def __post_init__(self) -> None:
        n_classes = self.encoding.n_classes
        if not 1 <= n_classes <= MOST_CLASSES:
            raise ParameterError(f"a forest votes for 1 to {MOST_CLASSES} classes, the target has {n_classes}")
        if self.voting not in VOTINGS:
            raise ParameterError(f"voting must be one of {', '.join(VOTINGS)}, got {self.voting!r}")
        if isinstance(self.leaves, LeafLabels) and self.voting != "majority":
            raise ParameterError(f"voting={self.voting!r} needs counts in the leaves, got labels: use 'majority'")
        mine, theirs = Domains.of(self.encoding), self.structure.domains
        if not (
            np.array_equal(mine.n_codes, theirs.n_codes)
            and np.array_equal(mine.ordered, theirs.ordered)
            and np.array_equal(mine.missing, theirs.missing)
        ):
            raise ParameterError("the structure was made for other features than the encoding's")
        self.leaves.check(self.structure.n_leaves, n_classes)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        if isinstance(self.leaves, LeafLabels):
            raise ParameterError("leaves with labels have no shares")
        return self.leaves.shares(self.structure)

    @cached_property
    def _labels(self) -> NDArray[np.uint16]:
        if isinstance(self.leaves, LeafLabels):
            return self.leaves.labels
        return np.asarray(self._shares.argmax(axis=1), dtype=np.uint16)

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> NDArray[np.float64]:
        """Return each record's share of the vote for each class.

        Parameters
        ----------
        codes : array of shape (n_features, n_rows)
            What the encoding made of the records.
        n_jobs : int, default=1
            Number of threads. Results are the same to the bit.

        Returns
        -------
        float64 array of shape (n_rows, n_classes)
            Rows add up to one; equal shares where every tree abstains.
        """
        if self.voting == "majority":
            counted = count_labels(self.structure, codes, self._labels, self.encoding.n_classes, n_jobs)
            sums = counted.astype(np.float64)
        else:
            sums = sum_values(self.structure, codes, self._shares, n_jobs)
        _divide_by_totals(sums)
        return sums

    def predict(self, codes: NDArray[Any], n_jobs: int = 1, rng: PublicRng | None = None) -> NDArray[np.int64]:
        """Return the number of the class that wins, the first of equals; probabilistic voting draws it with `rng`."""
        votes = self.votes(codes, n_jobs)
        if self.voting != "probabilistic":
            return np.asarray(votes.argmax(axis=1), dtype=np.int64)
        if rng is None:
            raise ParameterError("probabilistic voting draws the class: pass rng, a public generator")
        # The last boundary is left out: rounding must not let a draw fall beyond the last class.
        boundaries = votes.cumsum(axis=1)[:, :-1]
        drawn: NDArray[np.int64] = (rng.random((len(votes), 1)) >= boundaries).sum(axis=1)
        return drawn

    def export_text(self, tree: int = 0) -> str:
        """Return a tree as indented lines, in the data's own names and units."""
        from privet.models.drawing import export_text

        return export_text(self, tree)

    def rules(self, tree: int = 0) -> list[str]:
        """Return a tree as sentences, one for each leaf."""
        from privet.models.drawing import rules

        return rules(self, tree)

    def plot(
        self, target: "str | Path | Axes | None" = None, *, tree: int = 0, leaf_epsilon: float | None = None
    ) -> "Axes":
        """Draw a tree into a file, into axes, or into a new figure; see `privet.models.drawing.plot`."""
        from privet.models.drawing import plot

        return plot(self, target, tree=tree, leaf_epsilon=leaf_epsilon)


def estimate_bytes(structure: Structure, n_classes: int) -> int:
    """Return the memory that a forest's leaves take with counts and shares, known before any data is seen."""
    return 2 * 8 * n_classes * structure.n_leaves

"""A forest for a regression target: encoding, structure, and a value for each leaf. All of it is released values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privet.errors import ModelFileError, ParameterError, PrivetError
from privet.models.files import Content, Reader, array_to_dict, register
from privet.models.forest import Structure
from privet.models.forest_files import structure_from_content, structure_to_content
from privet.schema.encoding import Encoding, FieldsOnly, RangeTarget
from privet.tables.protocol import Floats, IntArray
from privet.trees.kernels.vote import sum_values
from privet.trees.structure import FeatureCodes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RegressionForest(FieldsOnly):
    """Trees whose leaves have a value each; a prediction is the mean over trees.

    Parameters
    ----------
    encoding : Encoding
        How a frame becomes codes; its target is a range.
    structure : CompleteTrees, ExplicitTrees or RandomTrees
        How codes come to leaves.
    values : float64 array of shape (n_leaves,)
        The place of each leaf's value within the target's range, from 0 to 1.
    records : int64 array of shape (n_leaves,)
        How many records each leaf has, noisy, and not below zero.
    """

    encoding: Encoding
    structure: Structure
    values: Floats
    records: IntArray

    def __post_init__(self) -> None:
        if not isinstance(self.encoding.target, RangeTarget):
            raise ParameterError("a regression forest predicts a range; the target is a list of classes: use Forest")
        mine, theirs = FeatureCodes.of(self.encoding), self.structure.domains
        if not (
            np.array_equal(mine.n_codes, theirs.n_codes)
            and np.array_equal(mine.ordered, theirs.ordered)
            and np.array_equal(mine.missing, theirs.missing)
        ):
            raise ParameterError("the structure was made for other features than the encoding's")
        shape = (self.structure.n_leaves,)
        if self.values.dtype != np.float64 or self.values.shape != shape:
            raise ParameterError(f"values must be float64 of shape {shape}, got {self.values.dtype}")
        if not ((self.values >= 0) & (self.values <= 1)).all():
            raise ParameterError("values are places within the target's range: they must be from 0 to 1")
        if self.records.dtype != np.int64 or self.records.shape != shape or (self.records < 0).any():
            raise ParameterError(f"records must be int64 of shape {shape}, and not negative")

    @property
    def target(self) -> RangeTarget:
        """The target's range."""
        assert isinstance(self.encoding.target, RangeTarget)
        return self.encoding.target

    @property
    def leaf_predictions(self) -> Floats:
        """What each leaf predicts, in the target's units."""
        predicted: Floats = self.target.low + self.values * (self.target.high - self.target.low)
        return predicted

    def predictions(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Return each record's predicted target, within its range and in its units.

        Parameters
        ----------
        codes : array of shape (n_features, n_rows)
            What the encoding made of the records.
        n_jobs : int, default=1
            Number of threads. Results are the same to the bit.
        """
        added = self.values[:, np.newaxis] / self.structure.n_trees
        places = np.clip(sum_values(self.structure, codes, added, n_jobs)[:, 0], 0.0, 1.0)
        predicted: Floats = self.target.low + places * (self.target.high - self.target.low)
        return predicted

    def votes(self, codes: NDArray[Any], n_jobs: int = 1) -> Floats:
        """Refuse: a regression model has no classes to vote for."""
        raise ParameterError("a regression model has no class votes; call predictions()")

    def importances(self) -> Floats | None:
        """Return how much each feature's splits lower the squared error, by released values; None where unknown."""
        from privet.models.importances import error_decreases

        return error_decreases(self)

    def export_text(self, tree: int = 0) -> str:
        """Return a tree as indented lines, in the data's own names and units."""
        from privet.models.drawing import export_text

        return export_text(self, tree)

    def rules(self, tree: int = 0) -> list[str]:
        """Return a tree as sentences, one for each leaf."""
        from privet.models.drawing import rules

        return rules(self, tree)

    def plot(self, target: str | Path | Axes | None = None, *, tree: int = 0) -> Axes:
        """Draw a tree into a file, into axes, or into a new figure; see `privet.models.drawing.plot`."""
        from privet.models.drawing import plot

        return plot(self, target, tree=tree)


def _to_content(forest: RegressionForest) -> Content:
    return {
        "structure": structure_to_content(forest.structure),
        "values": array_to_dict(forest.values),
        "records": array_to_dict(forest.records),
    }


def _from_content(reader: Reader) -> RegressionForest:
    try:
        encoding = reader.encoding()
        structure = structure_from_content(reader.part("structure"), FeatureCodes.of(encoding))
        values, records = reader.array("values", np.float64, 1), reader.array("records", np.int64, 1)
        return RegressionForest(encoding, structure, values, records)
    except ModelFileError:
        raise
    except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{reader.place}: {error}") from error


register("regression_forest", RegressionForest, _to_content, _from_content)

"""Additive models as plain data and back."""

import numpy as np

from privet.errors import ModelFileError, PrivetError
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.gradients import LARGEST_SCORE
from privet.models.files import Content, Reader, array_to_dict, register
from privet.models.forest_files import structure_from_content, structure_to_content
from privet.schema.encoding import Encoding
from privet.trees.complete_trees import CompleteTrees
from privet.trees.structure import FeatureCodes


def additive_to_content(model: Additive) -> Content:
    """Return a model as plain data."""
    return {
        "encoding": model.encoding.to_dict(),
        "start": array_to_dict(model.start),
        "tables": array_to_dict(model.tables),
        "low": model.low,
        "high": model.high,
        "trees": None if model.trees is None else structure_to_content(model.trees),
        "values": array_to_dict(model.values),
        "noise": array_to_dict(model.noise),
        "table_noise": array_to_dict(model.table_noise),
    }


def additive_from_content(reader: Reader) -> Additive:
    """Make a model from plain data, every value checked."""
    try:
        encoding = Encoding.from_dict(reader.part("encoding").content)
        if not encoding.columns:
            raise ModelFileError(f"{reader.place}.encoding: no features")
        trees = None
        if reader.get("trees") is not None:
            structure = structure_from_content(reader.part("trees"), FeatureCodes.of(encoding))
            if not isinstance(structure, CompleteTrees):
                raise ModelFileError(f"{reader.place}.trees: expected complete trees")
            trees = structure
        return Additive(
            encoding,
            reader.array("start", np.int64, 1),
            reader.array("tables", np.int64, 2),
            reader.whole("low", -LARGEST_SCORE, LARGEST_SCORE),
            reader.whole("high", -LARGEST_SCORE, LARGEST_SCORE),
            trees,
            reader.array("values", np.int64, 2),
            reader.array("noise", np.float64, 2),
            reader.array("table_noise", np.float64, 1),
        )
    except ModelFileError:
        raise
    except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{reader.place}: {error}") from error


register("additive", Additive, additive_to_content, additive_from_content)

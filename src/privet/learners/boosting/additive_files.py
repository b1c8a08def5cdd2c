"""Additive models as plain data and back.

A table has an entry for each of thousands of codes, and most of them equal their neighbour: tables are written as runs
of equal entries. Files of the first two versions have every entry; they are still read.
"""

import numpy as np

from privet.errors import ModelFileError, PrivetError
from privet.learners.boosting.additive import Additive
from privet.learners.boosting.gradients import LARGEST_SCORE
from privet.models.files import Content, Reader, array_to_dict, register
from privet.models.forest_files import structure_from_content, structure_to_content
from privet.schema.encoding import Encoding
from privet.tables.protocol import Floats, IntArray
from privet.trees.complete_trees import CompleteTrees
from privet.trees.structure import FeatureCodes


def additive_to_content(model: Additive) -> Content:
    """Return a model as plain data."""
    starts = _starts_of_runs(model)
    lengths = np.diff(np.append(starts, len(model.tables)))
    return {
        "start": array_to_dict(model.start),
        "runs": array_to_dict(lengths.astype(np.int64)),
        "tables": array_to_dict(model.tables[starts]),
        "low": model.low,
        "high": model.high,
        "trees": None if model.trees is None else structure_to_content(model.trees),
        "values": array_to_dict(model.values),
        "noise": array_to_dict(model.noise),
        "table_noise": array_to_dict(model.table_noise[starts]),
        **({} if model.frequencies is None else {"frequencies": array_to_dict(model.frequencies)}),
    }


def _starts_of_runs(model: Additive) -> IntArray:
    """Return where an entry of the tables differs from the one before, to the bit."""
    noise = model.table_noise.view(np.int64)
    differs = (model.tables[1:] != model.tables[:-1]).any(axis=1) | (noise[1:] != noise[:-1])
    return np.concatenate([[0], np.flatnonzero(differs) + 1]).astype(np.int64)


def _tables(reader: Reader, encoding: Encoding) -> tuple[IntArray, Floats]:
    tables, noise = reader.array("tables", np.int64, 2), reader.array("table_noise", np.float64, 1)
    if "runs" not in reader.content:
        return tables, noise
    runs, n_codes = reader.array("runs", np.int64, 1), int(encoding.n_codes.sum())
    if (
        not runs.size == len(tables) == noise.size
        or not ((runs > 0) & (runs <= n_codes)).all()
        or runs.sum() != n_codes
    ):
        raise ModelFileError(
            f"{reader.place}.runs: expected lengths that add up to the {n_codes} codes of all features"
        )
    return np.repeat(tables, runs, axis=0), np.repeat(noise, runs)


def additive_from_content(reader: Reader) -> Additive:
    """Make a model from plain data, every value checked."""
    try:
        encoding = reader.encoding()
        trees = None
        if reader.get("trees") is not None:
            structure = structure_from_content(reader.part("trees"), FeatureCodes.of(encoding))
            if not isinstance(structure, CompleteTrees):
                raise ModelFileError(f"{reader.place}.trees: expected complete trees")
            trees = structure
        tables, table_noise = _tables(reader, encoding)
        return Additive(
            encoding,
            reader.array("start", np.int64, 1),
            tables,
            reader.whole("low", -LARGEST_SCORE, LARGEST_SCORE),
            reader.whole("high", -LARGEST_SCORE, LARGEST_SCORE),
            trees,
            reader.array("values", np.int64, 2),
            reader.array("noise", np.float64, 2),
            table_noise,
            reader.array("frequencies", np.float64, 1) if "frequencies" in reader.content else None,
        )
    except ModelFileError:
        raise
    except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{reader.place}: {error}") from error


register("additive", Additive, additive_to_content, additive_from_content)

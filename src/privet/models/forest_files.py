"""Forests as plain data and back."""

from typing import Any, cast

import numpy as np

from privet.errors import ModelFileError, PrivetError
from privet.models.files import Content, Reader, array_to_dict, register
from privet.models.forest import EMPTY_RULES, VOTINGS, Empty, Forest, LeafCounts, LeafLabels, Structure, Voting
from privet.trees.complete_trees import CompleteTrees
from privet.trees.explicit_trees import ExplicitTrees
from privet.trees.random_trees import RULES, RandomTrees, Rule
from privet.trees.structure import FeatureCodes, Splits

_SPLITS = ("feature", "cut", "missing_first", "set_index", "sets")
_NODES = ("first_child", "n_children", "leaf", "tree_offsets", "leaves_per_tree")


def forest_to_content(forest: Forest) -> Content:
    """Return a forest as plain data."""
    return {
        "structure": structure_to_content(forest.structure),
        "leaves": _leaves_to_content(forest.leaves),
        "voting": forest.voting,
        **({} if forest.weights is None else {"weights": array_to_dict(forest.weights)}),
    }


def forest_from_content(reader: Reader) -> Forest:
    """Make a forest from plain data, every value checked."""
    place = f"{reader.place}.encoding"
    try:
        encoding = reader.encoding()
        place = f"{reader.place}.structure"
        structure = structure_from_content(reader.part("structure"), FeatureCodes.of(encoding))
        place = f"{reader.place}.leaves"
        leaves = _leaves_from_content(reader.part("leaves"))
        voting = cast(Voting, reader.choice("voting", VOTINGS))
        weights = reader.array("weights", np.float64, 1) if "weights" in reader.content else None
        return Forest(encoding, structure, leaves, voting, weights)
    except ModelFileError:
        raise
    except (PrivetError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{place}: {error}") from error


def _arrays(owner: Any, names: tuple[str, ...]) -> Content:
    return {name: array_to_dict(getattr(owner, name)) for name in names}


def structure_to_content(structure: Structure) -> Content:
    """Return a structure as plain values."""
    if isinstance(structure, CompleteTrees):
        return {"type": "complete", **_arrays(structure.splits, _SPLITS)}
    if isinstance(structure, ExplicitTrees):
        return {"type": "explicit", **_arrays(structure.splits, _SPLITS), **_arrays(structure, _NODES)}
    return {
        "type": "random",
        "seed": structure.seed,
        "n_trees": structure.n_trees,
        "depth": structure.depth,
        "rule": structure.rule,
        "max_leaves": structure.max_leaves,
    }


def _splits_from_content(reader: Reader, n_axes: int) -> Splits:
    return Splits(
        reader.array("feature", np.int32, n_axes),
        reader.array("cut", np.int32, n_axes),
        reader.array("missing_first", np.bool_, n_axes),
        reader.array("set_index", np.int32, n_axes),
        reader.array("sets", np.uint64, 2),
    )


def structure_from_content(reader: Reader, domains: FeatureCodes) -> Structure:
    """Read a structure from plain values, every one of which is checked."""
    match reader.choice("type", ["complete", "explicit", "random"]):
        case "complete":
            return CompleteTrees(domains, _splits_from_content(reader, 2))
        case "explicit":
            return ExplicitTrees(
                domains,
                _splits_from_content(reader, 1),
                reader.array("first_child", np.int32, 1),
                reader.array("n_children", np.int32, 1),
                reader.array("leaf", np.int32, 1),
                reader.array("tree_offsets", np.int64, 1),
                reader.array("leaves_per_tree", np.int64, 1),
            )
    return RandomTrees(
        domains,
        reader.whole("seed", 0, 2**64 - 1),
        reader.whole("n_trees", 1, 2**20),
        reader.whole("depth", 0, 62),
        cast(Rule, reader.choice("rule", RULES)),
        reader.whole("max_leaves", 1, 2**31),
    )


def _leaves_to_content(leaves: LeafLabels | LeafCounts) -> Content:
    if isinstance(leaves, LeafLabels):
        return {"type": "labels", "labels": array_to_dict(leaves.labels), "abstain": leaves.abstain}
    return {"type": "counts", "counts": array_to_dict(leaves.counts), "empty": leaves.empty, "seed": leaves.seed}


def _leaves_from_content(reader: Reader) -> LeafLabels | LeafCounts:
    if reader.choice("type", ["labels", "counts"]) == "labels":
        abstain = None if reader.get("abstain") is None else reader.whole("abstain", 0, 65_535)
        return LeafLabels(reader.array("labels", np.uint16, 1), abstain)
    return LeafCounts(
        reader.array("counts", np.int64, 2),
        cast(Empty, reader.choice("empty", EMPTY_RULES)),
        reader.whole("seed", 0, 2**64 - 1),
    )


register("forest", Forest, forest_to_content, forest_from_content)

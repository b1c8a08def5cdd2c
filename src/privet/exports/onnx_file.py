"""A forest as an ONNX graph, from a table's values to probabilities.

ONNX has operators for trees, but they compare 32-bit floats and know no sets of categories. The graph below uses none
of them: it encodes values as the schema says, walks all trees level by level in whole numbers, and adds up 64-bit
votes. So it answers what the model answers, and any runtime can run it.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privet
from privet.errors import ParameterError
from privet.estimators.files import file_content
from privet.exports.thresholds import forest_of
from privet.frames.opening import open_frame, read_feature
from privet.models.forest import Forest
from privet.schema.encoding import ClassTarget, Column, Encoding
from privet.trees.explicit_trees import ExplicitTrees

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
_NEVER = 1 << 20  # a cut above every code


def to_onnx(estimator: Any) -> bytes:
    """Return a fitted forest as an ONNX model.

    The graph has one input for each feature, a column of doubles or strings (NaN or "" where a value is missing), and
    two outputs: ``probabilities`` and ``label``. The certificate stands in its metadata, under ``privet.certificate``.

    Parameters
    ----------
    estimator : estimator
        A fitted one that holds trees.

    Raises
    ------
    ParameterError
        If the model is not a forest, or lists strings and numbers in one feature.
    """
    forest = forest_of(estimator)
    content = file_content(estimator)
    facts = {"privet.certificate": json.dumps(content["certificate"]), "privet.digest": content["digest"]}
    return forest_to_onnx(forest, facts)


def forest_to_onnx(forest: Forest, facts: dict[str, str]) -> bytes:
    """Return a forest as an ONNX model with these facts as its metadata."""
    if find_spec("onnx") is None:
        raise ParameterError("writing ONNX needs the onnx package; pip install 'privet[onnx]'")
    from onnx import checker, helper

    graph, trees = _Graph(), forest.structure.explicit()
    nodes = _walk(graph, _encode(graph, forest.encoding), trees)
    _vote(graph, nodes, trees, forest.leaf_votes(), forest.encoding)
    model = helper.make_model(
        helper.make_graph(graph.nodes, "privet", graph.inputs, graph.outputs, graph.constants),
        producer_name="privet",
        producer_version=privet.__version__,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
    )
    model.ir_version = IR_VERSION
    helper.set_model_props(model, facts)
    checker.check_model(model)
    return bytes(model.SerializeToString())


def onnx_inputs(estimator: Any, frame: Any) -> dict[str, NDArray[Any]]:
    """Return a frame as what the ONNX model of an estimator takes: for each feature a column of doubles or strings."""
    encoding = forest_of(estimator).encoding
    opened = open_frame(frame)
    places = opened.places([column.name for column in encoding.columns])
    inputs: dict[str, NDArray[Any]] = {}
    for column, place in zip(encoding.columns, places, strict=True):
        values = read_feature(opened, place)
        if _holds_strings(column):
            texts = ["" if value is None else str(value) for value in values.objects()]
            inputs[column.name] = np.array(texts, dtype=object).reshape(-1, 1)
        else:
            numbers = values.numbers().astype(np.float64)
            if values.absent is not None:
                numbers[values.absent] = np.nan
            inputs[column.name] = numbers.reshape(-1, 1)
    return inputs


class _Graph:
    """An ONNX graph that is being written: operators are called like functions on the names of tensors."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.constants: list[Any] = []

    def input(self, name: str, strings: bool) -> str:
        from onnx import TensorProto, helper

        kind = TensorProto.STRING if strings else TensorProto.DOUBLE
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", 1]))
        return name

    def constant(self, values: Any, dtype: Any = np.int64) -> str:
        from onnx import numpy_helper

        name = f"constant {len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype=dtype), name))
        return name

    def __call__(
        self, operator: str, *inputs: str, name: str | None = None, domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        out = name or f"tensor {len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [out], domain=domain, **attributes))
        return out

    def whole(self, tensor: str) -> str:
        from onnx import TensorProto

        return self("Cast", tensor, to=TensorProto.INT64)


def _holds_strings(column: Column) -> bool:
    strings = [isinstance(category, str) for category in column.categories]
    if any(strings) and not all(strings):
        raise ParameterError(
            f"feature {column.name!r} lists strings and numbers, which no ONNX column can hold; list all as strings"
        )
    return any(strings)


def _encode(graph: _Graph, encoding: Encoding) -> str:
    """Turn the inputs into codes, shape (rows, features)."""
    return graph("Concat", *(_encode_column(graph, column) for column in encoding.columns), axis=1)


def _encode_column(graph: _Graph, column: Column) -> str:
    strings = _holds_strings(column)
    value = graph.input(column.name, strings)
    if strings:
        codes = {str(category): code for code, category in enumerate(column.categories)}
        codes.setdefault("", column.code_of_missing)
        return graph(
            "LabelEncoder",
            value,
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=column.code_of_unknown,
        )
    if column.ordered:
        # The code is the number of cuts below the value; a feature of one cell has none, and code 0.
        cuts = graph.constant([list(column.cuts) or [np.inf]], np.float64)
        code = graph("ReduceSum", graph.whole(graph("Greater", value, cuts)), graph.constant([1]), keepdims=1)
    else:
        equal = graph.whole(graph("Equal", value, graph.constant([[float(c) for c in column.categories]], np.float64)))
        known = graph("Greater", graph("ReduceMax", equal, axes=[1], keepdims=1), graph.constant([[0]]))
        unknown = graph.constant([[column.code_of_unknown]])
        code = graph("Where", known, graph("ArgMax", equal, axis=1, keepdims=1), unknown)
    return graph("Where", graph("IsNaN", value), graph.constant([[column.code_of_missing]]), code)


def _walk(graph: _Graph, codes: str, trees: ExplicitTrees) -> str:
    """Walk all trees from their roots to leaves; return nodes, shape (rows, trees)."""
    splits, inner = trees.splits, trees.splits.feature >= 0
    multiway, has_set = trees.n_children > 2, splits.set_index >= 0
    missing_first = splits.missing_first & inner
    feature = graph.constant(np.maximum(splits.feature, 0))
    cut = graph.constant(np.where(inner & ~multiway & ~has_set, splits.cut, _NEVER))
    # A leaf leads to itself, so that trees of different depths are walked together.
    first = graph.constant(np.where(inner, trees.first_child, np.arange(inner.size)))
    members, row = _set_table(graph, trees) if has_set.any() else ("", "")
    if missing_first.any():
        moved = graph.constant(np.where(missing_first, trees.domains.missing[np.maximum(splits.feature, 0)], -1))
    if multiway.any():
        by_code = graph.constant(multiway, np.bool_)

    rows = graph("Slice", graph("Shape", codes), graph.constant([0]), graph.constant([1]))
    shape = graph("Concat", rows, graph.constant([trees.n_trees]), axis=0)
    node = graph("Expand", graph.constant(trees.tree_offsets[None, :-1]), shape)
    for _ in range(int(trees.depths.max())):
        code = graph("GatherElements", codes, graph("Gather", feature, node), axis=1)
        second = graph("Greater", code, graph("Gather", cut, node))
        if has_set.any():
            place = graph("Add", graph("Gather", row, node), code)
            second = graph("Or", second, graph("Gather", members, place))
        if missing_first.any():
            stays = graph("Equal", code, graph("Gather", moved, node))
            second = graph("And", second, graph("Not", stays))
        step = graph.whole(second)
        if multiway.any():
            step = graph("Where", graph("Gather", by_code, node), code, step)
        node = graph("Add", graph("Gather", first, node), step)
    return node


def _set_table(graph: _Graph, trees: ExplicitTrees) -> tuple[str, str]:
    """Return all sets as one row of bits after another, and where each node's row begins.

    The first row is empty and as wide as the widest feature: it is for nodes without a set.
    """
    splits = trees.splits
    every, n_bits = np.arange(len(splits.sets)), 64 * splits.sets.shape[1]
    bits = np.zeros((every.size + 1, max(int(trees.domains.n_codes.max()), n_bits)), np.bool_)
    for code in range(n_bits):
        bits[1:, code] = splits.in_set(every, code)
    has_set = (splits.feature >= 0) & (splits.set_index >= 0)
    begins = np.where(has_set, splits.set_index + 1, 0).astype(np.int64) * bits.shape[1]
    return graph.constant(bits.reshape(-1), np.bool_), graph.constant(begins)


def _vote(graph: _Graph, nodes: str, trees: ExplicitTrees, votes: NDArray[np.float64], encoding: Encoding) -> None:
    """Add up the leaves' votes, divide by their sum, and name the class that wins."""
    from onnx import TensorProto, helper

    n_classes = votes.shape[1]
    of_node = graph.constant(votes[np.maximum(trees.leaf, 0)], np.float64)
    sums = graph("ReduceSum", graph("Gather", of_node, nodes), graph.constant([1]), keepdims=0)
    total = graph("ReduceSum", sums, graph.constant([1]), keepdims=1)
    empty = graph("Equal", total, graph.constant([[0]], np.float64))
    equal_shares = graph.constant([[1 / n_classes]], np.float64)
    divisor = graph("Where", empty, graph.constant([[1]], np.float64), total)
    shares = graph("Where", empty, equal_shares, graph("Div", sums, divisor), name="probabilities")
    graph.outputs.append(helper.make_tensor_value_info(shares, TensorProto.DOUBLE, ["rows", n_classes]))
    assert isinstance(encoding.target, ClassTarget)
    classes = np.asarray(encoding.target.classes)
    strings = classes.dtype.kind == "U"
    kinds = {"U": TensorProto.STRING, "i": TensorProto.INT64, "f": TensorProto.DOUBLE, "b": TensorProto.BOOL}
    labels = graph.constant(classes, object if strings else classes.dtype)
    winner = graph("Gather", labels, graph("ArgMax", shares, axis=1, keepdims=0), name="label")
    graph.outputs.append(helper.make_tensor_value_info(winner, kinds[classes.dtype.kind], ["rows"]))

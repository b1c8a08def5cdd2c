"""A model as an ONNX graph, from a table's values to probabilities or predictions.

ONNX has operators for trees, but they compare 32-bit floats and know no sets of categories. The graph below uses none
of them: it encodes values as the schema says, looks up tables, walks all trees level by level in whole numbers, and
adds up 64-bit scores. So it answers what the model answers, and any runtime can run it.
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
from privet.exports.scoring import CodedFeature, Scoring, scoring_of
from privet.frames.opening import open_frame, read_feature
from privet.schema.encoding import ClassTarget
from privet.schema.readings import Levels
from privet.trees.explicit_trees import ExplicitTrees

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8
_NEVER = 1 << 20  # a cut above every code


def to_onnx(estimator: Any) -> bytes:
    """Return a fitted model as an ONNX model.

    The graph has one input for each feature, a column of doubles or strings (NaN or "" where a value is missing). A
    classifier has two outputs, ``probabilities`` and ``label``; a regressor has one, ``prediction``. The certificate
    stands in its metadata, under ``privet.certificate``.

    Parameters
    ----------
    estimator : estimator
        Any fitted one of this library, except one that was fitted for a single batch.

    Raises
    ------
    ParameterError
        If the model cannot be said in ONNX: it answers for one batch only, or lists strings and numbers in one feature.
    """
    content = file_content(estimator)
    facts = {"privet.certificate": json.dumps(content["certificate"]), "privet.digest": content["digest"]}
    return scoring_to_onnx(scoring_of(estimator), facts)


def scoring_to_onnx(scoring: Scoring, facts: dict[str, str]) -> bytes:
    """Return what a model computes as an ONNX model with these facts as its metadata."""
    if find_spec("onnx") is None:
        raise ParameterError("writing ONNX needs the onnx package; pip install 'privet[onnx]'")
    from onnx import checker, helper

    graph = _Graph()
    _answer(graph, _scores(graph, _encode(graph, scoring), scoring), scoring)
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
    features, encoding = scoring_of(estimator).features, estimator.model_.encoding
    opened = open_frame(frame)
    places = encoding.places(opened)
    inputs: dict[str, NDArray[Any]] = {}
    for feature, column, place in zip(features, encoding.columns, places, strict=True):
        values = read_feature(opened, place)
        values = values if isinstance(column.reading, Levels) else column.read(values)
        if feature.holds_strings:
            texts = ["" if value is None else str(value) for value in values.objects()]
            inputs[feature.name] = np.array(texts, dtype=object).reshape(-1, 1)
        else:
            numbers = values.numbers().astype(np.float64)
            if values.absent is not None:
                numbers[values.absent] = np.nan
            inputs[feature.name] = numbers.reshape(-1, 1)
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


def _encode(graph: _Graph, scoring: Scoring) -> str:
    """Turn the inputs into codes, shape (rows, features)."""
    return graph("Concat", *(_encode_feature(graph, feature) for feature in scoring.features), axis=1)


def _encode_feature(graph: _Graph, feature: CodedFeature) -> str:
    value = graph.input(feature.name, feature.holds_strings)
    if feature.holds_strings:
        codes = {str(category): code for code, category in enumerate(feature.categories)}
        codes.setdefault("", feature.missing)
        return graph(
            "LabelEncoder",
            value,
            domain="ai.onnx.ml",
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=feature.unknown,
        )
    if feature.cuts is not None:
        # The code is the number of cuts below the value; a feature of one cell has none, and code 0.
        cuts = graph.constant([list(feature.cuts) or [np.inf]], np.float64)
        code = graph("ReduceSum", graph.whole(graph("Greater", value, cuts)), graph.constant([1]), keepdims=1)
    else:
        known_values = graph.constant([[float(c) for c in feature.categories]], np.float64)
        equal = graph.whole(graph("Equal", value, known_values))
        known = graph("Greater", graph("ReduceMax", equal, axes=[1], keepdims=1), graph.constant([[0]]))
        code = graph("ArgMax", equal, axis=1, keepdims=1)
        code = graph("Where", known, code, graph.constant([[feature.unknown]]))
    return graph("Where", graph("IsNaN", value), graph.constant([[feature.missing]]), code)


def _scores(graph: _Graph, codes: str, scoring: Scoring) -> str:
    """Add up what tables and trees say, shape (rows, n_scores)."""
    n_scores = scoring.start.size
    rows = graph("Slice", graph("Shape", codes), graph.constant([0]), graph.constant([1]))
    shape = graph("Concat", rows, graph.constant([n_scores]), axis=0)
    total = graph("Expand", graph.constant(scoring.start[None], np.float64), shape)
    for table in scoring.tables:
        cell = ""
        for feature in table.features:
            code = graph("Gather", codes, graph.constant([feature]), axis=1)
            if cell:
                cell = graph("Mul", cell, graph.constant([[scoring.features[feature].n_codes]]))
            cell = graph("Add", cell, code) if cell else code
        said = graph("Gather", graph.constant(table.values, np.float64), cell)
        total = graph("Add", total, graph("Reshape", said, shape))
    if scoring.bounds is not None:
        low, high = (graph.constant(bound, np.float64) for bound in scoring.bounds)
        total = graph("Min", graph("Max", total, low), high)
    if scoring.trees is not None:
        nodes = _walk(graph, codes, scoring.trees, rows)
        of_node = graph.constant(scoring.values[np.maximum(scoring.trees.leaf, 0)], np.float64)
        said = graph("ReduceSum", graph("Gather", of_node, nodes), graph.constant([1]), keepdims=0)
        total = graph("Add", total, said)
    return total


def _walk(graph: _Graph, codes: str, trees: ExplicitTrees, rows: str) -> str:
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


def _answer(graph: _Graph, scores: str, scoring: Scoring) -> None:
    """Turn scores into probabilities and the class that wins, or into a value within the target's range."""
    from onnx import TensorProto, helper

    if not isinstance(scoring.target, ClassTarget):
        low, high = scoring.target.low, scoring.target.high
        zero, one = graph.constant(0, np.float64), graph.constant(1, np.float64)
        share = graph("Min", graph("Max", scores, zero), one)
        wide = graph("Mul", share, graph.constant(high - low, np.float64))
        number = graph("Add", wide, graph.constant(low, np.float64), name="prediction")
        graph.outputs.append(helper.make_tensor_value_info(number, TensorProto.DOUBLE, ["rows", 1]))
        return
    shares = _shares(graph, scores, scoring)
    graph.outputs.append(helper.make_tensor_value_info(shares, TensorProto.DOUBLE, ["rows", len(scoring.classes)]))
    classes = np.asarray(scoring.classes)
    strings = classes.dtype.kind == "U"
    kinds = {"U": TensorProto.STRING, "i": TensorProto.INT64, "f": TensorProto.DOUBLE, "b": TensorProto.BOOL}
    labels = graph.constant(classes, object if strings else classes.dtype)
    winner = graph("Gather", labels, graph("ArgMax", shares, axis=1, keepdims=0), name="label")
    graph.outputs.append(helper.make_tensor_value_info(winner, kinds[classes.dtype.kind], ["rows"]))


def _shares(graph: _Graph, scores: str, scoring: Scoring) -> str:
    name, of_row = "probabilities", graph.constant([1])
    one = graph.constant([[1]], np.float64)
    if scoring.link == "logistic":
        second = graph("Div", one, graph("Add", one, graph("Exp", graph("Neg", scores))))
        return graph("Concat", graph("Sub", one, second), second, axis=1, name=name)
    if scoring.link == "softmax":
        largest = graph("ReduceMax", scores, axes=[1], keepdims=1)
        powers = graph("Exp", graph("Sub", scores, largest))
        return graph("Div", powers, graph("ReduceSum", powers, of_row, keepdims=1), name=name)
    if scoring.link == "lifted":
        smallest = graph("ReduceMin", scores, axes=[1], keepdims=1)
        scores = graph("Sub", scores, graph("Min", smallest, graph.constant([[0]], np.float64)))
    total = graph("ReduceSum", scores, of_row, keepdims=1)
    empty = graph("Equal", total, graph.constant([[0]], np.float64))
    equal_shares = graph.constant([[1 / len(scoring.classes)]], np.float64)
    return graph("Where", empty, equal_shares, graph("Div", scores, graph("Where", empty, one, total)), name=name)

"""Model files: exact, the same bytes for equal models, and safe to read from anyone."""

import base64
import copy
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privet.errors import ModelFileError
from privet.models.files import (
    MOST_ARRAY_BYTES,
    array_to_dict,
    canonical_json,
    digest,
    model_from_dict,
    model_to_dict,
    parse_json,
)
from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.schema.encoding import Encoding
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes
from tests.unit.forests import encodings, grown, random_codes, small_encoding

laws = settings(deadline=None, max_examples=40)
GOLDEN = Path(__file__).parent.parent / "golden"


def forests(encoding: Encoding, seed: int) -> list[Forest]:
    """One forest of each kind."""
    rng = np.random.default_rng(seed)
    drawn = RandomTrees.draw(encoding, seed, 2, 3)
    multiway = RandomTrees.draw(encoding, seed, 2, 30, "multiway", 10)
    made = []
    one_hash = replace(multiway, rule="multiway_2")
    for trees in (drawn, drawn.materialise(), multiway, grown(FeatureCodes.of(encoding), 2, 3, seed), one_hash):
        counts = rng.integers(-(2**40), 2**40, (trees.n_leaves, 3))
        made.append(Forest(encoding, trees, LeafCounts(counts), "threshold"))
        made.append(Forest(encoding, trees, LeafCounts(counts, "random", seed), "majority"))
        labels = rng.integers(0, 4, trees.n_leaves).astype(np.uint16)
        made.append(Forest(encoding, trees, LeafLabels(labels, 3)))
    return made


@laws
@given(encodings(), st.integers(0, 10**6))
def test_a_model_comes_back_from_its_file_exactly(encoding: Encoding, seed: int) -> None:
    codes = random_codes(encoding, 20, seed)
    for forest in forests(encoding, seed):
        text = canonical_json(model_to_dict(forest))
        again = model_from_dict(parse_json(text))
        assert canonical_json(model_to_dict(again)) == text
        assert again.encoding == encoding
        np.testing.assert_array_equal(again.structure.route(codes), forest.structure.route(codes))
        np.testing.assert_array_equal(again.votes(codes), forest.votes(codes))


def test_equal_models_give_equal_bytes_and_digests() -> None:
    one, other = (forests(small_encoding(), 4) for _ in range(2))
    for first, second in zip(one, other, strict=True):
        assert canonical_json(model_to_dict(first)) == canonical_json(model_to_dict(second))
        assert digest(model_to_dict(first)) == digest(model_to_dict(second))
    assert len({digest(model_to_dict(forest)) for forest in one}) == len(one)


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


def test_files_of_the_first_version_can_still_be_read() -> None:
    """Structures are pure functions of their seeds for ever: what was saved once must vote the same always."""
    kept = json.loads((GOLDEN / "forests_v1.json").read_text(encoding="utf-8"))
    codes = random_codes(small_encoding(), 50, 9)
    assert len(kept["models"]) == 12
    for content, votes, leaves in zip(kept["models"], kept["votes"], kept["leaves"], strict=True):
        forest = model_from_dict(content)
        np.testing.assert_array_equal(forest.structure.route(codes), leaves)
        np.testing.assert_allclose(forest.votes(codes), votes, rtol=1e-14)


def damaged(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    content = copy.deepcopy(content)
    *parents, last = path.split(".")
    place = content
    for name in parents:
        place = place[name]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return content


def packed(raw: bytes) -> str:
    return base64.b64encode(zlib.compress(raw)).decode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("format", "something else"),
        ("format", None),
        ("version", 2),
        ("version", True),
        ("version", 1.0),
        ("kind", "spell"),
        ("kind", ["forest"]),
        ("encoding", None),
        ("encoding", {}),
        ("encoding.columns", []),
        ("encoding.columns", [{"name": "x"}]),
        ("encoding.target", {}),
        ("structure", KeyError),
        ("structure.type", "tall"),
        ("structure.feature", KeyError),
        ("structure.feature", [1, 2]),
        ("structure.feature.dtype", "object"),
        ("structure.feature.dtype", "int64"),
        ("structure.feature.shape", [1]),
        ("structure.feature.shape", [2, 2**62]),
        ("structure.feature.shape", [2, -7]),
        ("structure.feature.shape", [2, 7.0]),
        ("structure.feature.shape", [2, 6]),
        ("structure.feature.data", "@@@"),
        ("structure.feature.data", "AAAA"),
        ("structure.feature.data", 3),
        ("structure.feature.data", "é"),
        ("structure.feature.data", packed(b"\xff" * 56)),
        ("structure.feature.data", packed(b"\x63\x00\x00\x00" * 14)),
        ("structure.missing_first.data", packed(b"\x02" * 14)),
        ("structure.cut.data", packed(b"\xff\xff\x00\x00" * 14)),
        ("structure.set_index.data", packed(b"\xff\xff\x00\x00" * 14)),
        ("leaves", 7),
        ("leaves.type", "autumn"),
        ("leaves.counts", array_to_dict(np.zeros((15, 3), np.int64))),
        ("leaves.counts", array_to_dict(np.zeros((16, 3), np.float64))),
        ("leaves.empty", "full"),
        ("leaves.seed", -1),
        ("leaves.seed", 2**64),
        ("voting", "loudest"),
        ("voting", KeyError),
    ],
)
def test_damaged_files_are_refused_by_the_place(path: str, value: Any) -> None:
    content = model_to_dict(forests(small_encoding(), 1)[3])
    with pytest.raises(ModelFileError, match=r"^model\.") as caught:
        model_from_dict(damaged(content, path, value))
    assert path.split(".")[0] in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("n_trees", 2**40), ("n_trees", 0), ("depth", 63), ("max_leaves", 2**40)])
def test_random_structures_of_any_size_do_not_exhaust_memory(name: str, value: int) -> None:
    content = model_to_dict(forests(small_encoding(), 1)[0])
    with pytest.raises(ModelFileError, match="structure"):
        model_from_dict(damaged(content, f"structure.{name}", value))


def test_a_file_that_unpacks_to_more_than_it_declares_is_refused_without_unpacking_it() -> None:
    content = model_to_dict(forests(small_encoding(), 1)[3])
    bomb = zlib.compress(b"\0" * (64 << 20), 9)
    with pytest.raises(ModelFileError, match="length does not match"):
        model_from_dict(damaged(content, "structure.feature.data", base64.b64encode(bomb).decode()))
    huge = {"dtype": "int32", "shape": [2, MOST_ARRAY_BYTES // 4], "data": ""}
    with pytest.raises(ModelFileError, match="together"):
        model_from_dict(damaged(content, "structure.feature", huge))


@pytest.mark.parametrize("content", [None, 3, [], "forest", {}])
def test_what_is_no_model_is_refused(content: Any) -> None:
    with pytest.raises(ModelFileError):
        model_from_dict(content)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": NaN}', '{"a": 1e', b"\xff\xfe\x00", "1" * 5000])
def test_what_is_not_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(ModelFileError, match="not JSON"):
        parse_json(text)


@laws
@given(st.data())
def test_any_change_of_an_array_is_noticed_or_harmless(data: st.DataObject) -> None:
    """Random bytes in an array either fail with the right error, or give a forest that routes within bounds."""
    encoding = small_encoding()
    content = model_to_dict(forests(encoding, 2)[9])
    names = [name for name, value in content["structure"].items() if isinstance(value, dict)]
    part = content["structure"][data.draw(st.sampled_from(names))]
    raw = bytearray(zlib.decompress(base64.b64decode(part["data"])))
    for _ in range(data.draw(st.integers(1, 3))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    part["data"] = packed(bytes(raw))
    try:
        forest = model_from_dict(content)
    except ModelFileError:
        return
    leaves = forest.structure.route(random_codes(encoding, 50, 0))
    offsets = forest.structure.leaf_offsets
    assert ((leaves >= offsets[:-1, None]) & (leaves < offsets[1:, None])).all()

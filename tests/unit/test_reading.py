"""Trees that are read say what the model does, whatever their shape."""

import numpy as np
import pytest

from privet.models.forest import Forest, LeafCounts, LeafLabels
from privet.models.reading import (
    AtMost,
    EveryCode,
    IsPresent,
    Leaf,
    TwoGroups,
    code_in_words,
    conditions,
    question_in_words,
    read_tree,
    root,
    voted,
)
from privet.trees.random_trees import RandomTrees
from privet.trees.structure import FeatureCodes, pack_sets
from tests.unit.forests import grown, random_codes, small_encoding

ENCODING = small_encoding()
CODES = FeatureCodes.of(ENCODING)
AGE, SIZE, CONSTANT, _, SHAPE, _ = ENCODING.columns
STRUCTURES = {
    "complete": RandomTrees(CODES, 7, 4, 4).materialise(),
    "explicit": grown(CODES, 5, 4, 3),
    "random": RandomTrees(CODES, 9, 3, 3),
    "multiway": RandomTrees(CODES, 8, 3, 4, "multiway", 64),
}


def answered(question, code):
    """Return the child that a code leads to, by what the question says alone."""
    column = question.column
    match question:
        case EveryCode():
            return code
        case TwoGroups(_, (first, second), _):
            assert (code in first) != (code in second)
            return int(code in second)
        case IsPresent():
            return int(code == column.missing_code)
        case AtMost(_, threshold, missing):
            if code == column.missing_code:
                return missing
            return int(code > column.cuts.index(threshold))


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_following_the_questions_leads_to_the_leaf_that_routing_finds(structure):
    codes = random_codes(ENCODING, 100, 1)
    for tree, leaves in enumerate(structure.route(codes)):
        top = root(ENCODING, structure, tree, lambda leaf: Leaf(str(leaf)))
        for row, leaf in zip(codes.T.tolist(), leaves, strict=True):
            node = top
            while not node.is_leaf:
                node = node.children[answered(node.question, row[ENCODING.columns.index(node.column)])]
            assert node.leaf.label == str(leaf)


def test_the_two_wordings_of_a_question():
    def words(question):
        return conditions(question), question_in_words(question, code_in_words, "{:g}".format)

    assert words(AtMost(AGE, 2.0, 0)) == (
        ["age <= 2 or missing", "age > 2"],
        ("age ≤ 2?", ["yes, or missing", "no"]),
    )
    assert words(AtMost(SIZE, 1.5, None)) == (["size <= 1.5", "size > 1.5"], ("size ≤ 1.5?", ["yes", "no"]))
    assert words(IsPresent(AGE)) == (["age is present", "age is missing"], ("age is known?", ["yes", "no"]))
    assert words(TwoGroups(SHAPE, ([0, 1, 2, 3], [4, 5, 6]), 1)) == (
        ["shape is a or b or c or d", "shape is e or another or missing"],
        ("shape is e, another or missing?", ["no", "yes"]),
    )
    assert words(TwoGroups(SHAPE, (range(4), range(4, 7)), 0))[1] == ("shape is a, b or 2 others?", ["yes", "no"])
    assert words(EveryCode(SHAPE))[1] == ("shape?", ["a", "b", "c", "d", "e", "another", "missing"])


def test_codes_are_named_by_category_or_by_the_borders_of_their_cell():
    assert [code_in_words(SIZE, code, number="{:g}".format) for code in (0, 1, 4)] == [
        "up to 0.5",
        "0.5 to 1.5",
        "above 3.5",
    ]
    assert code_in_words(CONSTANT, 0, number=str) == "any value"
    assert code_in_words(SIZE, 2) == "in cell 2"
    assert code_in_words(SHAPE, 5, other="other") == "other"
    assert code_in_words(AGE, 8) == "missing"


def test_leaves_say_what_was_released_or_what_they_vote_for():
    structure = grown(CODES, 1, 0, 0)
    counted = Forest(ENCODING, structure, LeafCounts(np.array([[3, 9, -2]])), "threshold")
    assert read_tree(counted, 0).leaf == Leaf("class 1", 0.75, 12, 1)
    assert read_tree(counted, 0, voted(counted)).leaf == Leaf("class 1", 0.75, None, 1)
    majority = Forest(ENCODING, structure, counted.leaves, "majority")
    assert read_tree(majority, 0, voted(majority)).leaf == Leaf("class 1", None, None, 1)
    silent = Forest(ENCODING, structure, LeafLabels(np.array([3], dtype=np.uint16), abstain=3))
    assert read_tree(silent, 0).leaf == read_tree(silent, 0, voted(silent)).leaf == Leaf("no vote")


def test_sets_of_codes_are_packed_one_bit_each():
    packed = pack_sets([[0, 3, 3], range(64, 66), []], 70)
    assert packed.tolist() == [[0b1001, 0], [0, 0b11], [0, 0]]
    assert pack_sets([], 70).shape == (0, 1)

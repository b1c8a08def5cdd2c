"""Counting classes in the leaves of many complete trees, with one bit for each record.

Trees of a forest ask the same questions again and again: of 28 features with 255 cells there are some 7,000, and a
hundred trees of depth 8 ask 25,500. So each question is answered once for a group of records, in a row of bits; a node
then is the *and* of two such rows, for 256 records and more by one instruction, and a leaf's count is the number of
bits that are set. The records of a group have the same class, so that work does not grow with the number of classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined
from privet.tables.protocol import IntArray
from privet.trees.kernels.blocks import BLOCK_SHIFT, Codes
from privet.trees.kernels.node_tests import NodeTests

LEAST_DEPTH, MOST_DEPTH = 3, 8  # deeper trees have more leaves than a group has records to spread over them
GROUP_WORDS = 32
GROUP_ROWS = 64 * GROUP_WORDS
_MOST_QUESTIONS = 1 << 14  # whose answers still fit into a cache near the processor
_COLUMNS_PER_TREE = 0.5  # to look up a column costs about as much as is saved in one tree; so that it pays
_ABOVE = 1 << 18  # above every code, and every threshold

_whole = np.uint64  # unsigned numbers as indices: no branch for negative ones
_WORD_SHIFT, _WORD_MASK = np.uint64(6), np.uint64(63)
_ONE, _TWO, _FOUR, _TOP_BYTE = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BYTES, _EACH_BYTE = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


class BitTests(NamedTuple):
    """A forest's distinct questions, "is the code at least this?", by column.

    Attributes
    ----------
    source : int64 array
        The feature of each column.
    place : uint32 array of shape (number of columns, number of codes)
        For each code the last row of bits whose question it answers with yes; the first of a column asks nothing.
    begin : int64 array
        Where each column's rows of bits begin; one entry more than there are columns.
    question : uint32 array of shape (n_trees, number of inner nodes)
        The row of bits with the answer to a node's question.
    """

    source: IntArray
    place: NDArray[np.uint32]
    begin: IntArray
    question: NDArray[np.uint32]


def bit_tests(tests: NodeTests, depth: int) -> BitTests | None:
    """Lay out the questions of complete trees whose nodes are all thresholds; None where counting so would not pay."""
    column, low = (tests.offset >> BLOCK_SHIFT).astype(np.int64), tests.low.astype(np.int64)
    asked, question = np.unique(column * _ABOVE + low, return_inverse=True)
    used, of_used = np.unique(asked // _ABOVE, return_inverse=True)
    few = len(asked) <= _MOST_QUESTIONS and len(used) <= _COLUMNS_PER_TREE * len(column)
    if not (LEAST_DEPTH <= depth <= MOST_DEPTH and few):
        return None
    n_asked = np.bincount(of_used)
    begin = np.concatenate([[0], np.cumsum(n_asked + 1)])
    thresholds = np.split(asked % _ABOVE, np.cumsum(n_asked)[:-1])
    place = np.zeros((len(used), int(tests.columns.last_code.max()) + 1), np.uint32)
    for index, (mine, of_column) in enumerate(zip(used.tolist(), thresholds, strict=True)):
        code = np.minimum(np.arange(place.shape[1]), tests.columns.last_code[mine])
        missing = tests.columns.missing[mine]
        moved = np.where(code == missing, 0, code + 1) if missing >= 0 else code
        place[index] = begin[index] + np.searchsorted(of_column, moved, side="right")
    # One row of bits at the beginning of each column is for codes that answer every question with no.
    row_of = np.arange(len(asked)) + 1 + of_used
    return BitTests(
        tests.columns.source[used].astype(np.int64), place, begin, row_of[question].reshape(low.shape).astype(np.uint32)
    )


@inlined
def _bits_set(word: Any) -> Any:
    """Count the bits of a word; compilers know this way of doing it, and put one instruction in its place."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    return (((word + (word >> _FOUR)) & _BYTES) * _EACH_BYTE) >> _TOP_BYTE


@compiled
def _answer(codes: Codes, rows: NDArray[np.uint32], tests: BitTests, answers: NDArray[np.uint64]) -> None:
    """Write down for every question which of the rows say yes."""
    words, last = _whole(GROUP_WORDS), _whole(tests.place.shape[1] - 1)
    for index in range(_whole(answers.size)):
        answers[index] = 0
    for column in range(tests.source.size):
        values, place = codes[tests.source[column]], tests.place[column]
        for index in range(_whole(rows.size)):
            code = min(_whole(values[_whole(rows[index])]), last)  # held within bounds, whatever it is
            answers[_whole(place[code]) * words + (index >> _WORD_SHIFT)] |= _ONE << (index & _WORD_MASK)
        # Whoever says yes to a threshold does so to all below it.
        for question in range(tests.begin[column + 1] - 2, tests.begin[column] - 1, -1):
            here = _whole(question) * words
            for word in range(words):
                answers[here + word] |= answers[here + words + word]


@compiled
def _count_group(
    answers: NDArray[np.uint64], tests: BitTests, depth: int, nodes: NDArray[np.uint64], counts: IntArray
) -> None:
    """Add the number of a group's records in each leaf to `counts`; the records are marked in the first row of `nodes`.

    The lowest three levels are counted without being written down.
    """
    words, n_leaves, n_upper = _whole(GROUP_WORDS), 1 << depth, (1 << (depth - 3)) - 1
    for tree in range(tests.question.shape[0]):
        asks = tests.question[tree]
        for node in range(n_upper):
            here, second = _whole(node) * words, _whole(2 * node + 2) * words
            first, answer = second - words, _whole(asks[node]) * words
            for word in range(words):
                inside = nodes[here + word]
                yes = inside & answers[answer + word]
                nodes[first + word], nodes[second + word] = inside ^ yes, yes
        for node in range(n_upper, 2 * n_upper + 1):
            here, left = _whole(node) * words, 2 * node + 1
            top, low, high = _whole(asks[node]) * words, _whole(asks[left]) * words, _whole(asks[left + 1]) * words
            ask_0, ask_1 = _whole(asks[2 * left + 1]) * words, _whole(asks[2 * left + 2]) * words
            ask_2, ask_3 = _whole(asks[2 * left + 3]) * words, _whole(asks[2 * left + 4]) * words
            n_0, n_1, n_2, n_3 = _whole(0), _whole(0), _whole(0), _whole(0)
            n_4, n_5, n_6, n_7 = _whole(0), _whole(0), _whole(0), _whole(0)
            for word in range(words):
                inside = nodes[here + word]
                lower_half = inside & ~answers[top + word]
                upper_half = inside & answers[top + word]
                quarter_0, quarter_1 = lower_half & ~answers[low + word], lower_half & answers[low + word]
                quarter_2, quarter_3 = upper_half & ~answers[high + word], upper_half & answers[high + word]
                n_0 += _bits_set(quarter_0 & ~answers[ask_0 + word])
                n_1 += _bits_set(quarter_0 & answers[ask_0 + word])
                n_2 += _bits_set(quarter_1 & ~answers[ask_1 + word])
                n_3 += _bits_set(quarter_1 & answers[ask_1 + word])
                n_4 += _bits_set(quarter_2 & ~answers[ask_2 + word])
                n_5 += _bits_set(quarter_2 & answers[ask_2 + word])
                n_6 += _bits_set(quarter_3 & ~answers[ask_3 + word])
                n_7 += _bits_set(quarter_3 & answers[ask_3 + word])
            leaf = tree * n_leaves + 8 * (node - n_upper)
            counts[leaf] += np.int64(n_0)
            counts[leaf + 1] += np.int64(n_1)
            counts[leaf + 2] += np.int64(n_2)
            counts[leaf + 3] += np.int64(n_3)
            counts[leaf + 4] += np.int64(n_4)
            counts[leaf + 5] += np.int64(n_5)
            counts[leaf + 6] += np.int64(n_6)
            counts[leaf + 7] += np.int64(n_7)


def count_in_bits(codes: Codes, target: NDArray[np.int32], n_classes: int, tests: BitTests, counts: IntArray) -> None:
    """Add the records of each class in each leaf to counts of shape (n_leaves, n_classes)."""
    depth = int(tests.question.shape[1]).bit_length()
    answers = np.zeros(int(tests.begin[-1]) * GROUP_WORDS, np.uint64)
    nodes = np.zeros((tests.question.shape[1], GROUP_WORDS), np.uint64)
    of_class = np.zeros((n_classes, counts.shape[0]), np.int64)
    # Records without a known class come last, and are never counted.
    known = np.where((target >= 0) & (target < n_classes), target, n_classes)
    order = np.argsort(known.astype(np.min_scalar_type(n_classes)), kind="stable").astype(np.uint32)
    ends = np.cumsum(np.bincount(known, minlength=n_classes + 1))
    for label in range(n_classes):
        begin = int(ends[label - 1]) if label else 0
        for start in range(begin, int(ends[label]), GROUP_ROWS):
            rows = order[start : min(start + GROUP_ROWS, int(ends[label]))]
            marks = np.packbits(np.arange(GROUP_ROWS) < len(rows), bitorder="little")
            nodes[0] = marks.view("<u8")
            _answer(codes, rows, tests, answers)
            _count_group(answers, tests, depth, nodes.reshape(-1), of_class[label])
    counts += of_class.T

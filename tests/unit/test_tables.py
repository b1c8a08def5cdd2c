"""A table adds up integers whatever its blocks are, keeps state for each record, and tells nothing of its records."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from privet import Numeric, Schema
from privet.tables import MemoryTable, reading
from privet.tables import worker_tasks as tasks
from privet.tables.piecewise import Records
from privet.tables.units import UnitRows

ENCODING = Schema({"x": Numeric(0, 1), "z": Numeric(0, 1)}, classes=["a", "b"]).encoding()


def table(n=1000, n_jobs=1, target=None):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 32, (2, n)).astype(np.uint8)
    target = rng.integers(0, 2, n).astype(np.int32) if target is None else target
    return MemoryTable(ENCODING, codes, target, n_jobs=n_jobs), codes, target


@dataclass(frozen=True)
class CodeSums:
    def __call__(self, block):
        return block.codes.astype(np.int64).sum(axis=1)


@dataclass(frozen=True)
class RowIds:
    def __call__(self, block):
        return block.rows


@dataclass(frozen=True)
class StateSum:
    name: str

    def __call__(self, block):
        return np.array([block.state[self.name].astype(np.int64).sum()])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_sums_do_not_depend_on_blocks_and_threads(monkeypatch, n_jobs):
    monkeypatch.setattr(reading, "MIN_BLOCK_ROWS", 64)
    private, codes, _ = table(n_jobs=n_jobs)
    np.testing.assert_array_equal(private.aggregate(CodeSums()), codes.astype(np.int64).sum(axis=1))


def test_row_identity_is_the_same_in_every_pass_and_for_every_number_of_threads(monkeypatch):
    monkeypatch.setattr(reading, "MIN_BLOCK_ROWS", 64)
    for n_jobs in (1, 2):
        derived = table(n_jobs=n_jobs)[0].derive("row", RowIds())
        np.testing.assert_array_equal(derived.aggregate(StateSum("row")), [999 * 1000 // 2])


def test_records_without_a_label_are_left_out_one_by_one():
    target = np.array([0, -1, 1, -1], dtype=np.int32)
    private, codes, _ = table(4, target=target)
    np.testing.assert_array_equal(private.aggregate(CodeSums()), codes[:, [0, 2]].astype(np.int64).sum(axis=1))


def test_a_table_without_records_adds_up_to_zeros():
    np.testing.assert_array_equal(table(0)[0].aggregate(CodeSums()), [0, 0])


def test_a_table_is_neither_pickled_nor_counted_aloud():
    private = table(123)[0]
    assert "123" not in repr(private)
    with pytest.raises(TypeError, match="private"):
        pickle.dumps(private)


def test_what_travels_in_a_cluster_shows_nothing_of_the_records_in_a_log():
    units = UnitRows(np.full((2, 3), 91, np.uint64), np.full(3, 92, np.uint64))
    records = Records(np.full((2, 3), 93, np.uint8), np.zeros(3, np.int32), np.full(3, 94, np.uint64), 3, units)
    expected = tasks.Expected(checksum=95, first=96)
    shown = [units, records, tasks.summary(records), expected, tasks.block_of(records, expected, None)]
    for each in shown:
        assert repr(each).startswith(f"<{type(each).__module__}.{type(each).__name__} object at "), repr(each)

"""Each record of a table is in exactly one block, once."""

from __future__ import annotations

import numpy as np

from privet.audit.report import Finding
from privet.audit.way_in.made_frames import columns_of, labels_of, large_frame_of
from privet.audit.way_in.watching import Arrived, arrive, finding, with_schema
from privet.estimators.base import PrivateEstimator
from privet.parameters import public_rng
from privet.tables.reading import MIN_BLOCK_ROWS

FLAW = "a record is counted in two blocks, or in none"
DISTINCT_RECORDS = 30


def blocks_audit(estimator: PrivateEstimator, threads: tuple[int, ...]) -> list[Finding]:
    """Fit on enough records for several blocks, and compare what the blocks show with the frame.

    Parameters
    ----------
    estimator : PrivateEstimator
        With a schema without a unit.
    threads : tuple of int
        Numbers of threads; each is given one record more than fills all blocks but the last.
    """
    return [_blocks(estimator, n) for n in threads]


def _blocks(estimator: PrivateEstimator, n_threads: int) -> Finding:
    schema = estimator.schema
    assert schema is not None
    n = (n_threads - 1) * MIN_BLOCK_ROWS + 1
    columns, labels = columns_of(schema, DISTINCT_RECORDS, public_rng(2)), labels_of(schema, DISTINCT_RECORDS)
    some = arrive(estimator, large_frame_of(schema, columns, DISTINCT_RECORDS), labels).records
    places = np.arange(n) % DISTINCT_RECORDS
    several = with_schema(estimator, schema, n_jobs=n_threads)
    arrived = arrive(several, large_frame_of(schema, columns, n), labels[places])
    name = f"blocks: {arrived.n_blocks} of {n_threads} threads"
    return finding(name, FLAW, _problem(arrived, some[places]), f"{n:,} records, each in one block")


def _problem(arrived: Arrived, expected: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> str:
    shown, there = len(arrived.places), len(expected)
    if shown != there or not np.array_equal(arrived.places, np.arange(there)):
        twice = shown - len(np.unique(arrived.places))
        return f"of {there:,} records the blocks show {shown:,}, and {twice:,} of them more than once"
    if not np.array_equal(arrived.derived, arrived.places):
        return "what is derived for a record does not stay with it"
    if not np.array_equal(arrived.records, expected):
        return "the blocks show other codes than the same records have in a small frame"
    return ""

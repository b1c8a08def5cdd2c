"""From a user's frame to an encoded table, record by record."""

from __future__ import annotations

import hashlib
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from privet.encoding import Encoding
from privet.errors import SchemaError
from privet.frames import read_column
from privet.hashing import siphash_rows
from privet.release import secret_key
from privet.schema import Schema
from privet.tables import MemoryTable


def threads(n_jobs: int | None) -> int:
    """Return the number of threads that scikit-learn's ``n_jobs`` means."""
    return 1 if n_jobs is None else int(joblib.effective_n_jobs(n_jobs))


def encode_table(schema: Schema, encoding: Encoding, X: Any, y: Any, n_jobs: int) -> MemoryTable:
    """Encode features and labels; leave out records without a label, and rows of a unit beyond its maximum."""
    if y is None:
        raise SchemaError("fit() needs the labels: pass them as the second argument, fit(X, y)")
    if schema.unit is None:
        codes, target = encoding.encode(X), encoding.encode_target(y)
    else:
        codes = encoding.encode(X, ignore=(schema.unit.column,))
        target = encoding.encode_target(y)
    if codes.shape[1] != len(target):
        raise SchemaError("X and y differ in length: pass one label for each record")
    if schema.unit is not None:
        units = read_column(X, schema.unit.column)
        kept = bound_rows(units, codes, target, schema.unit.max_rows, secret_key())
        codes, target = np.ascontiguousarray(codes[:, kept]), target[kept]
    return MemoryTable(encoding, codes, target, n_jobs=n_jobs)


def bound_rows(
    units: NDArray[Any],
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.int32],
    max_rows: int,
    key: bytes,
) -> NDArray[np.bool_]:
    """Mark at most `max_rows` records of each unit, those with the smallest keyed hash of unit and content.

    *Privacy.* Which rows of a unit stay depends on that unit's rows and the fresh secret key alone, so adding or
    removing a unit adds or removes at most `max_rows` records and changes no other. Equal rows of a unit have equal
    hashes; which of them stays makes no difference. Rows without a unit are left out.
    """
    present = np.array([unit is not None for unit in units], dtype=bool)
    names = np.array([_unit_hash(unit, key) for unit in units], dtype=np.uint64)
    content = np.vstack([codes.astype(np.uint16), target.astype(np.uint16)[None, :]])
    ranks = siphash_rows(key, names, content)
    order = np.lexsort((ranks, names))
    order = order[present[order]]
    firsts = np.flatnonzero(np.concatenate([[True], names[order][1:] != names[order][:-1]])) if len(order) else order
    place = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
    kept = np.zeros(len(names), dtype=bool)
    kept[order[place < max_rows]] = True
    return kept


def _unit_hash(unit: object, key: bytes) -> int:
    if isinstance(unit, np.generic):
        unit = unit.item()  # a column of objects may hold one person's number in several types
    if isinstance(unit, float) and unit.is_integer():
        unit = int(unit)  # a column with missing values turns whole numbers into floats
    digest = hashlib.blake2b(repr(unit).encode(), key=key, digest_size=8).digest()
    return int.from_bytes(digest, "little")

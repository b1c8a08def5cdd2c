"""A table in a coarser encoding of the same schema: fine codes become coarse ones, each record by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.schema.encoding import Column, Encoding
from privet.tables.protocol import Block, IntArray, Kernel, Table


def recoding(fine: Encoding, coarse: Encoding) -> tuple[NDArray[Any], ...]:
    """Return for each feature the coarse code of each fine code.

    A fine cell goes where its upper end is. A cell that a coarse cut divides is not divided any more: that moves the
    cut by less than one fine cell.

    *Privacy.* A fixed public rule for one code at a time, so what is proven of a learner on coarse codes holds for
    fine ones.
    """
    pairs = zip(fine.columns, coarse.columns, strict=True)
    return tuple(_codes(a, b).astype(coarse.dtype) for a, b in pairs)


def _codes(fine: Column, coarse: Column) -> IntArray:
    """Return the coarse code of each fine code of one feature; other and missing values stay what they are."""
    if fine.ordered:
        values = np.append(np.searchsorted(coarse.cuts, fine.cuts, side="left"), coarse.n_values - 1)
    else:
        values = np.arange(fine.n_values)
    rest = [(fine.other_code, coarse.other_code), (fine.missing_code, coarse.missing_code)]
    return np.append(values, [code for own, code in rest if own is not None and code is not None]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _InCoarseCodes:
    """A kernel that is given coarse codes."""

    kernel: Kernel
    codes: tuple[NDArray[Any], ...]

    def __call__(self, block: Block) -> NDArray[np.generic]:
        return self.kernel(replace(block, codes=recode(block.codes, self.codes)))


def recode(codes: NDArray[Any], table: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Return coarse codes of shape (n_features, n_rows) for fine ones."""
    return np.stack([of_feature[row] for of_feature, row in zip(table, codes, strict=True)])


@dataclass(frozen=True, eq=False)
class Recoded:
    """A table whose records have the codes of a coarser encoding of the same schema."""

    table: Table
    encoding: Encoding
    codes: tuple[NDArray[Any], ...]

    @staticmethod
    def of(table: Table, encoding: Encoding) -> Table:
        """Return the table in this encoding: as it is, where it has that encoding already."""
        if table.encoding == encoding:
            return table
        return Recoded(table, encoding, recoding(table.encoding, encoding))

    def aggregate(self, kernel: Kernel) -> IntArray:
        """Run a kernel over all blocks and add up its integers."""
        return self.table.aggregate(_InCoarseCodes(kernel, self.codes))

    def derive(self, name: str, kernel: Kernel) -> Recoded:
        """Return a table in which each record also has the kernel's value under `name`."""
        derived = self.table.derive(name, _InCoarseCodes(kernel, self.codes))
        return Recoded(derived, self.encoding, self.codes)

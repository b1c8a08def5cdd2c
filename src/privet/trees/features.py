"""What structures know of the features: how many codes there are and what they mean."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privet.errors import ParameterError
from privet.schema.encoding import Encoding


@dataclass(frozen=True, eq=False)
class Domains:
    """The codes of each feature.

    Attributes
    ----------
    ordered : bool array of shape (n_features,)
        Whether codes are cells of a range, split by thresholds.
    n_codes : int64 array
        Number of codes, with those for "other" and for missing values.
    n_cells : int64 array
        Ordered: number of cells, without the missing code. Unordered: all codes.
    missing : int64 array
        The missing code of an ordered feature, -1 where there is none. An unordered feature treats missing values as
        one more category.
    """

    ordered: NDArray[np.bool_]
    n_codes: NDArray[np.int64]
    n_cells: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, encoding: Encoding) -> Self:
        """Read the domains off an encoding."""
        columns = encoding.columns
        return cls(
            np.array([column.ordered for column in columns], dtype=np.bool_),
            np.array([column.n_codes for column in columns], dtype=np.int64),
            np.array([column.n_values if column.ordered else column.n_codes for column in columns], dtype=np.int64),
            np.array(
                [
                    column.missing_code if column.ordered and column.missing_code is not None else -1
                    for column in columns
                ],
                dtype=np.int64,
            ),
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.n_codes.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of codes."""
        return np.dtype(np.uint8 if self.n_codes.max() <= 256 else np.uint16)

    @property
    def splittable(self) -> NDArray[np.int32]:
        """Features with more than one cell."""
        return np.flatnonzero(self.n_cells > 1).astype(np.int32)

    def as_codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return codes in the dtype and layout that compiled routing takes; no copy if they have it."""
        if codes.ndim != 2 or codes.shape[0] != self.n_features:
            raise ParameterError(
                f"codes must have shape ({self.n_features}, n_rows), got {codes.shape}: "
                "pass what Encoding.encode returns"
            )
        return np.ascontiguousarray(codes, dtype=self.dtype)

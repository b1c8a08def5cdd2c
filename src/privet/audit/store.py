"""Outcome counts on disk, so that an audit that was stopped can be continued.

JSON lines, appended: one per finished chunk of trainings, one per look at the result.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privet.errors import AuditError

SIDES_AND_HALVES = tuple((side, half) for side in (0, 1) for half in (0, 1))


def fingerprint(*parts: object) -> str:
    """A digest of plain values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@dataclass
class Tally:
    """What is known of one pair: outcome counts by side, half and projection.

    Attributes
    ----------
    counts : dict
        From (side, half) to one counter per projection.
    sizes : dict
        From (side, half) to the number of trainings.
    repeats : set of str
        Fingerprints of sequences of outcomes, by which noise that starts over is recognised.
    looks : list of int
        The number of trainings at each earlier look at the bound.
    """

    counts: dict[tuple[int, int], list[Counter[str]]]
    sizes: dict[tuple[int, int], int]
    repeats: set[str] = field(default_factory=set)
    looks: list[int] = field(default_factory=list)

    @classmethod
    def empty(cls, projections: int) -> Tally:
        """Nothing known yet."""
        return cls(
            {cell: [Counter() for _ in range(projections)] for cell in SIDES_AND_HALVES},
            dict.fromkeys(SIDES_AND_HALVES, 0),
        )

    @property
    def trainings(self) -> int:
        """Number of trainings in all four cells."""
        return sum(self.sizes.values())

    def add(self, side: int, half: int, size: int, counts: Sequence[Counter[str]], repeats: Sequence[str]) -> None:
        """Add the counts of one chunk."""
        for known, new in zip(self.counts[side, half], counts, strict=True):
            known.update(new)
        self.sizes[side, half] += size
        self.repeats.update(repeats)


class OutcomeStore:
    """A file of outcome counts, shared by any number of audits.

    Parameters
    ----------
    path : str or Path
        The file; made at the first chunk.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._whole = False

    def load(self, key: str, projections: int) -> Tally:
        """All that is stored under a key.

        Raises
        ------
        AuditError
            If the file is damaged other than by a line that was being written when the audit was stopped.
        """
        tally = Tally.empty(projections)
        if not self.path.exists():
            return tally
        lines = self.path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, start=1):
            if not line:
                continue
            try:
                record = json.loads(line)
                if record["key"] != key:
                    continue
                if "look" in record:
                    tally.looks.append(int(record["look"]))
                    continue
                counts = [Counter(part) for part in record["counts"]]
                tally.add(record["side"], record["half"], record["size"], counts, record["repeats"])
            except (KeyError, TypeError, ValueError) as error:
                if number == len(lines):  # no line feed at its end: it was never finished
                    continue
                raise AuditError(
                    f"{self.path}, line {number} is damaged ({error}); delete the file to start over"
                ) from error
        return tally

    def add(
        self, key: str, side: int, half: int, size: int, counts: Sequence[Counter[str]], repeats: Sequence[str]
    ) -> None:
        """Append one chunk."""
        record = {"key": key, "side": side, "half": half, "size": size, "counts": counts, "repeats": repeats}
        self._append(record)

    def look(self, key: str, trainings: int) -> None:
        """Record that the bound was looked at: the next look must be paid for."""
        self._append({"key": key, "look": trainings})

    def _append(self, record: dict[str, Any]) -> None:
        if not self._whole:
            self._drop_unfinished_line()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def _drop_unfinished_line(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            content = self.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                with self.path.open("rb+") as file:
                    file.truncate(whole)
        self._whole = True

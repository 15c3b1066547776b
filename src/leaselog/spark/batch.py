"""What an offset of the query means: a batch, which is the ranges that were acquired for it. Pure.

Spark writes it to its offset log before any task runs. So a batch can be planned, retried and replayed: it names
records of the topic's log, whoever holds them by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leaselog.spark import runs
from leaselog.spark.runs import Runs

__all__ = ["BEGINNING", "Batch"]

VERSION = 1


@dataclass(frozen=True, slots=True)
class Batch:
    #: 0 is before the first one
    number: int
    #: with delivery counts
    ranges: Runs

    def to_offset(self) -> dict[str, Any]:
        return {"version": VERSION, "batch": self.number, "ranges": runs.to_json(self.ranges)}

    @classmethod
    def from_offset(cls, offset: Mapping[str, Any]) -> Batch:
        """Raises ``ValueError`` for a checkpoint of another source, or of a version after this one."""
        version = offset.get("version")
        if version != VERSION:
            raise ValueError(
                f"the checkpoint holds an offset of version {version}, expected {VERSION}:"
                f" it is another source's, or was written by a newer leaselog"
            )
        number = offset.get("batch")
        if not isinstance(number, int) or number < 0:
            raise ValueError(f"batch {number!r} in the checkpoint: expected a number")
        return cls(number, runs.from_json(offset.get("ranges")))


BEGINNING = Batch(0, ())

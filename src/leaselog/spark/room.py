"""How much a batch may hold: what Spark passes as a read limit, and what the options say. Pure.

Spark's limit comes first. The options' limits hold beside it, except against a demand for all there is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from leaselog.spark.options import SourceOptions
from leaselog.spark.runs import Runs, first

__all__ = ["FETCH_MAX_BYTES", "FETCH_MAX_RECORDS", "Room"]

#: of one fetch, where a limit leaves more
FETCH_MAX_BYTES = 50 * 1024 * 1024
#: of one fetch, where nothing limits the records; the group's own limit of records in flight is far below
FETCH_MAX_RECORDS = 100_000


@dataclass(frozen=True, slots=True)
class Room:
    """What still fits; None is without a limit. A log batch is sent whole, so bytes may be exceeded by one."""

    records: int | None = None
    size_bytes: int | None = None
    #: fewer than this many make no batch yet
    least_records: int = 1

    @classmethod
    def of(
        cls,
        options: SourceOptions,
        *,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        min_rows: int = 1,
        takes_all: bool = False,
    ) -> Room:
        """``takes_all`` is Spark's ReadAllAvailable, against which no option counts."""
        if takes_all:
            return cls()
        return cls(
            _least(max_rows, options.max_records), _least(max_bytes, options.max_bytes), max(1, min_rows)
        )

    @property
    def is_left(self) -> bool:
        return (self.records is None or self.records > 0) and (self.size_bytes is None or self.size_bytes > 0)

    @property
    def fetch_records(self) -> int:
        return min(FETCH_MAX_RECORDS, FETCH_MAX_RECORDS if self.records is None else self.records)

    @property
    def fetch_bytes(self) -> int:
        return min(FETCH_MAX_BYTES, FETCH_MAX_BYTES if self.size_bytes is None else self.size_bytes)

    def fitting(self, some: Runs) -> Runs:
        """As much of it as may still go in, by the number of records."""
        return some if self.records is None else first(some, self.records)

    def without(self, records: int, size_bytes: int) -> Room:
        return replace(
            self,
            records=None if self.records is None else self.records - records,
            size_bytes=None if self.size_bytes is None else self.size_bytes - size_bytes,
        )


def _least(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)

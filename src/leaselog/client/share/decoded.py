"""Records that came with the one the application asked for. Pure.

Who goes through records one by one has not come to these, and may never: they are back among what was acquired, neither
accepted nor renewed, and go back to the broker like everything that nobody has seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from leaselog.client.share.acknowledgements import Lease
from leaselog.client.share.acquired import Acquired, Decoding, LeasedRange, Taken
from leaselog.client.share.record import ShareRecord

__all__ = ["Decoded", "decoded"]

AnyRecord = ShareRecord[Any, Any]


class Decoded(Acquired):
    def __init__(self, lease: Lease, records: Iterable[AnyRecord]) -> None:
        super().__init__(lease, b"", ())
        self._records = deque(records)

    @property
    def is_empty(self) -> bool:
        return not self._records

    def ranges(self) -> tuple[LeasedRange, ...]:
        return tuple((r.offset, r.offset + 1, r.delivery_count) for r in self._records)

    def rest(self) -> list[int]:
        return [record.offset for record in self._records]

    def take(self, limit: int, decoding: Decoding) -> Taken:
        """Exactly ``limit`` records, if there are as many."""
        taken = Taken()
        while self._records and len(taken.records) < limit:
            taken.records.append(self._records.popleft())
        return taken


def decoded(records: Iterable[AnyRecord]) -> list[Decoded]:
    """In their order, a lease after the other."""
    return [Decoded(lease, some) for lease, some in groupby(records, key=lambda record: record.lease)]

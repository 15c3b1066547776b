"""The records an application holds, and what it has said about them so far. Pure.

A record is *open* from its delivery until what was said about it is taken away to be sent. Until then the word may
be changed. A renewed record comes back to be presented again; meanwhile nobody gets new records.

The blocking consumer calls `acknowledge` in the application's thread while the loop's thread may look for leases to
renew. Each step here is one operation on a dict, so each sees the other before or after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from leaselog.client.share.acknowledgements import AcknowledgeType, Bundle, Lease, TopicIdPartition
from leaselog.client.share.errors import IllegalState
from leaselog.client.share.record import ShareRecord

__all__ = ["Holdings"]

AnyRecord = ShareRecord[Any, Any]
ACCEPT, RELEASE, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW


class Holdings:
    def __init__(self) -> None:
        self._open = dict[TopicIdPartition, dict[int, AnyRecord]]()
        self._said = dict[TopicIdPartition, dict[int, int]]()
        #: said to be renewed and on their way, by lease and offset
        self._renewing = dict[tuple[Lease, int], AnyRecord]()
        self._renewed = list[AnyRecord]()

    @property
    def is_renewing(self) -> bool:
        """Whether there are records to be presented again, or to wait for."""
        return bool(self._renewing or self._renewed)

    @property
    def open_count(self) -> int:
        return sum(map(len, self._open.values()))

    def deliver(self, records: Iterable[AnyRecord]) -> None:
        for record in records:
            where = record.where
            if where not in self._open:
                self._open[where], self._said[where] = {}, {}
            of_partition = self._open[where]
            if (
                record.offset in of_partition
            ):  # lent once more before the first time was dealt with: that is over
                self._said[where].pop(record.offset, None)
            of_partition[record.offset] = record
            if record.error is not None:
                # As Java has it: given back unless the application says otherwise. Never accepted by default.
                self._said[where][record.offset] = RELEASE

    def acknowledge(self, record: AnyRecord, kind: AcknowledgeType) -> None:
        """Raises ``IllegalState`` for a record that is not waiting for it."""
        of_partition = self._open.get(record.where)
        if of_partition is None or of_partition.get(record.offset) is not record:
            raise IllegalState(f"The record cannot be acknowledged: {record} is not waiting for it.")
        if record.error is not None and kind == ACCEPT:
            raise IllegalState(
                f"{record} could not be deserialised: release or reject it,"
                " or accept it by topic, partition and offset"
            )
        self._said[record.where][record.offset] = kind

    def acknowledge_offset(self, topic: str, partition: int, offset: int, kind: AcknowledgeType) -> None:
        for where, of_partition in self._open.items():
            if where.topic == topic and where.partition == partition and offset in of_partition:
                self._said[where][offset] = kind
                return
        raise IllegalState(
            f"The record cannot be acknowledged: {topic}-{partition} offset {offset} is not open."
        )

    def is_open(self, record: AnyRecord) -> bool:
        of_partition = self._open.get(record.where)
        return of_partition is not None and of_partition.get(record.offset) is record

    def has_said(self, record: AnyRecord) -> bool:
        return record.offset in self._said.get(record.where, ())

    def forget_lost(self) -> None:
        """Records whose session ended are no longer ours to say anything about."""
        for where, of_partition in self._open.items():
            for offset in [o for o, record in of_partition.items() if record.lease.life.ended is not None]:
                del of_partition[offset]
                self._said[where].pop(offset, None)
        self._forget_empty()

    def accept_all(self) -> None:
        """What implicit acknowledgement means: whatever is open and could be read has been dealt with."""
        for where, of_partition in self._open.items():
            said = self._said[where]
            for offset in of_partition:
                said.setdefault(offset, ACCEPT)

    def unacknowledged(self) -> list[AnyRecord]:
        return [
            record
            for where, of_partition in self._open.items()
            for offset, record in of_partition.items()
            if offset not in self._said[where]
        ]

    def take_said(self) -> list[tuple[Lease, dict[int, int]]]:
        """What was said, by lease; these records are no longer open."""
        taken = dict[Lease, dict[int, int]]()
        for where, said in self._said.items():
            of_partition = self._open[where]
            for offset, kind in said.items():
                record = of_partition.pop(offset)
                taken.setdefault(record.lease, {})[offset] = kind
                if kind == RENEW:
                    self._renewing[record.lease, offset] = record
            said.clear()
        self._forget_empty()
        return list(taken.items())

    def _forget_empty(self) -> None:
        for where in [where for where, of_partition in self._open.items() if not of_partition]:
            del self._open[where], self._said[where]

    def renewed(self, bundle: Bundle, lease: Lease | None) -> None:
        """The application's renewals in this bundle are granted under the new lease, or lost with None."""
        for offset, kind in bundle.types.items():
            if kind != RENEW:
                continue
            record = self._renewing.pop((bundle.lease, offset), None)
            if record is not None and lease is not None:
                record.renewed(lease)
                self._renewed.append(record)

    def take_renewed(self) -> list[AnyRecord]:
        """Records to present again. Delivered once more, they are open once more."""
        renewed, self._renewed = self._renewed, []
        self.deliver(renewed)
        return renewed

    def leases(self) -> Iterator[tuple[Lease, list[int]]]:
        """The leases of open records, each with the offsets that still need it."""
        by_lease = dict[Lease, list[int]]()
        for of_partition in list(self._open.values()):
            for offset, record in list(of_partition.items()):
                by_lease.setdefault(record.lease, []).append(offset)
        yield from by_lease.items()

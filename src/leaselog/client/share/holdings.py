"""The records an application holds, and what it has said about them so far. Pure.

A record is *open* from its delivery until what was said about it is taken away to be sent. Until then the word may
be changed. A renewed record comes back to be presented again; meanwhile nobody gets new records.

The blocking consumer calls `acknowledge` in the application's thread while the loop's thread may look for leases to
renew. Each step here is one operation on a dict, so each sees the other before or after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Bundle, Held, Lease, TopicIdPartition
from leaselog.client.share.errors import IllegalState
from leaselog.client.share.extras import Extra
from leaselog.client.share.record import ShareRecord

__all__ = ["Holdings"]

AnyRecord = ShareRecord[Any, Any]
ACCEPT, RELEASE, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.RENEW
#: of one lease: types, and what was added to some of them
Said = tuple[Lease, dict[int, int], dict[int, Extra]]


class Holdings:
    def __init__(self) -> None:
        #: every partition ever held; leases point here as well, which spares a look-up for each record
        self._held = dict[TopicIdPartition, Held]()
        #: said to be renewed and on their way, by lease and offset
        self._renewing = dict[tuple[Lease, int], AnyRecord]()
        self._renewed = list[AnyRecord]()

    @property
    def is_renewing(self) -> bool:
        """Whether there are records to be presented again, or to wait for."""
        return bool(self._renewing or self._renewed)

    @property
    def open_count(self) -> int:
        return sum(len(held.open) for held in self._held.values())

    def deliver(self, records: Iterable[AnyRecord]) -> None:
        for record in records:
            held = record.lease.held or self._held_of(record.lease)
            offset = record.offset
            if offset in held.open:  # leased once more before the first time was dealt with: that is over
                _unsay(held, offset)
            held.open[offset] = record
            if record.error is not None:
                # As Java has it: given back unless the application says otherwise. Never accepted by default.
                held.said[offset] = RELEASE

    def _held_of(self, lease: Lease) -> Held:
        held = lease.held = self._held.setdefault(lease.where, Held())
        return held

    def undeliver(self, records: Iterable[AnyRecord]) -> None:
        """These were not delivered after all."""
        for record in records:
            if self.is_open(record) and (held := record.lease.held) is not None:
                del held.open[record.offset]
                _unsay(held, record.offset)

    def acknowledge(self, record: AnyRecord, kind: AcknowledgeType, extra: Extra | None = None) -> None:
        """Raises ``IllegalState`` for a record that is not waiting for it."""
        held = record.lease.held
        if held is None or held.open.get(record.offset) is not record:
            raise IllegalState(f"The record cannot be acknowledged: {record} is not waiting for it.")
        if record.error is not None and kind == ACCEPT:
            raise IllegalState(
                f"{record} could not be deserialised: release or reject it,"
                " or accept it by topic, partition and offset"
            )
        held.said[record.offset] = kind
        if extra is not None or held.extras:
            _extra(held, record.offset, extra)

    def acknowledge_offset(
        self, topic: str, partition: int, offset: int, kind: AcknowledgeType, extra: Extra | None = None
    ) -> None:
        held = self._held_at(topic, partition, offset)
        held.said[offset] = kind
        _extra(held, offset, extra)

    def find(self, topic: str, partition: int, offset: int) -> AnyRecord:
        """The open record there. Raises ``IllegalState``."""
        record: AnyRecord = self._held_at(topic, partition, offset).open[offset]
        return record

    def _held_at(self, topic: str, partition: int, offset: int) -> Held:
        for where, held in self._held.items():
            if where.topic == topic and where.partition == partition and offset in held.open:
                return held
        raise IllegalState(
            f"The record cannot be acknowledged: {topic}-{partition} offset {offset} is not open."
        )

    def is_open(self, record: AnyRecord) -> bool:
        held = record.lease.held
        return held is not None and held.open.get(record.offset) is record

    def has_said(self, record: AnyRecord) -> bool:
        held = record.lease.held
        return held is not None and record.offset in held.said

    def forget_lost(self) -> None:
        """Records whose session ended are no longer ours to say anything about."""
        for held in self._held.values():
            for offset in [o for o, record in held.open.items() if record.lease.life.ended is not None]:
                del held.open[offset]
                _unsay(held, offset)

    def accept_all(self) -> None:
        """What implicit acknowledgement means: whatever is open and could be read has been dealt with."""
        for held in self._held.values():
            held.said = dict.fromkeys(held.open, ACCEPT) | held.said

    def unacknowledged(self) -> list[AnyRecord]:
        return [
            record
            for held in self._held.values()
            if len(held.said) < len(held.open)
            for offset, record in held.open.items()
            if offset not in held.said
        ]

    def take_said(self) -> list[Said]:
        """What was said, by lease; these records are no longer open."""
        taken = dict[Lease, Said]()
        for held in self._held.values():
            lease, types = None, dict[int, int]()
            for offset, kind in held.said.items():
                record = held.open.pop(offset)
                if record.lease is not lease:
                    lease = record.lease
                    _, types, extras = taken.setdefault(lease, (lease, {}, {}))
                types[offset] = kind
                if held.extras and (extra := held.extras.get(offset)) is not None:
                    extras[offset] = extra
                if kind == RENEW:
                    self._renewing[lease, offset] = record
            held.said, held.extras = {}, {}
        return list(taken.values())

    def renewed(self, bundle: Bundle, lease: Lease | None) -> None:
        """The application's renewals in this bundle are granted under the new lease, or lost with None."""
        for offset, kind in bundle.types.items():
            if kind != RENEW:
                continue
            record = self._renewing.pop((bundle.lease, offset), None)
            if record is not None and lease is not None:
                record.lease = lease
                self._renewed.append(record)

    def take_renewed(self, limit: int | None = None) -> list[AnyRecord]:
        """Records to present again. Delivered once more, they are open once more."""
        limit = len(self._renewed) if limit is None else limit
        renewed, self._renewed = self._renewed[:limit], self._renewed[limit:]
        self.deliver(renewed)
        return renewed

    def leases(self) -> Iterator[tuple[Lease, list[int]]]:
        """The leases of open records, each with the offsets that still need it."""
        by_lease = dict[Lease, list[int]]()
        for held in list(self._held.values()):
            for offset, record in list(held.open.items()):
                by_lease.setdefault(record.lease, []).append(offset)
        yield from by_lease.items()


def _extra(held: Held, offset: int, extra: Extra | None) -> None:
    """The last word counts, with what was added to it or with nothing."""
    if extra is None:
        held.extras.pop(offset, None)
    else:
        held.extras[offset] = extra


def _unsay(held: Held, offset: int) -> None:
    held.said.pop(offset, None)
    held.extras.pop(offset, None)

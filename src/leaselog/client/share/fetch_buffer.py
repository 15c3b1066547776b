"""What was acquired and the application has not come for yet. Pure.

It is handed out in order, goes back when its lease has too little left, and is passed over when that has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from leaselog.client.compiled_records import record_reader
from leaselog.client.errors import BrokerError
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Bundle
from leaselog.client.share.acquired import Acquired, Decoding
from leaselog.client.share.core_state import GIVE_BACK_AT, RIDE_MS, CoreState
from leaselog.client.share.decoded import decoded
from leaselog.client.share.extras import GIVEN_BACK
from leaselog.client.share.record import ShareRecord
from leaselog.model import ErrorCode

__all__ = ["FetchBuffer"]

AnyRecord = ShareRecord[Any, Any]


class FetchBuffer:
    def __init__(self, state: CoreState) -> None:
        self._state = state
        self.queue = deque[Acquired]()
        config = state.config
        self._decoding = Decoding(
            config.key_deserializer,
            config.value_deserializer,
            config.check_crcs,
            record_reader(checked=config.check_crcs),
        )

    @property
    def node_ids(self) -> set[int]:
        """The brokers that it came from."""
        return {acquired.lease.node_id for acquired in self.queue}

    @property
    def late_ms(self) -> int | None:
        """When the first of it goes back, if nobody comes for it."""
        return self._late_at_ms(self.queue[0]) if self.queue else None

    def take(self, now_ms: int, limit: int) -> list[AnyRecord]:
        state = self._state
        records = list[AnyRecord]()
        while self.queue and len(records) < limit and not state.errors:
            acquired = self.queue[0]
            lease = acquired.lease
            if lease.life.ended is not None or lease.deadline_ms <= now_ms:
                state.metrics.expired_in_buffer += len(acquired.rest())
                self.queue.popleft()  # it is somebody else's already: handing it out would be a second copy
                continue
            taken = acquired.take(limit - len(records), self._decoding)
            lease.delivered_ms = now_ms
            records += taken.records
            if taken.settled:
                gaps = Bundle(lease, taken.settled, state.deadline_ms(now_ms), is_visible=False)
                gaps.rides_until_ms = now_ms + RIDE_MS
                state.send(gaps)
            if taken.error is not None:
                state.errors.append(BrokerError(ErrorCode.CORRUPT_MESSAGE, f"{lease.where}: {taken.error}"))
            if acquired.is_empty:
                self.queue.popleft()
        if not records and state.errors:
            raise state.errors.popleft()
        state.holdings.deliver(records)
        return records

    def give_back_all(self, now_ms: int) -> None:
        """Before a session ends; where nothing but its end gives back, that is left to it."""
        for acquired in self.queue:
            if self._state.nodes[acquired.lease.node_id].knows_extras:
                self.give_back(acquired, now_ms)
        self.queue.clear()

    def give_back_late(self, now_ms: int) -> None:
        """The application has not come back for it: somebody else can have it before its lock runs out."""
        while self.queue and self._late_at_ms(self.queue[0]) <= now_ms:
            self.give_back(self.queue.popleft(), now_ms)

    def _late_at_ms(self, acquired: Acquired) -> int:
        return acquired.lease.deadline_ms - int(self._state.lock_ms * GIVE_BACK_AT)

    def give_back(self, acquired: Acquired, now_ms: int) -> None:
        """What the application has not seen: its delivery is not counted, where the broker knows how.

        Alone, since it may have waited until its lock ran out, and would then take down what was said.
        """
        lease = acquired.lease
        if lease.life.ended is not None or lease.deadline_ms <= now_ms:
            return
        offsets = acquired.rest()
        types = dict.fromkeys(offsets, int(AcknowledgeType.RELEASE))
        self._state.send(
            Bundle(
                lease,
                types,
                self._state.deadline_ms(now_ms),
                is_visible=False,
                is_alone=True,
                extras=dict.fromkeys(offsets, GIVEN_BACK),
            )
        )

    def put_back(self, records: Sequence[AnyRecord]) -> None:
        """These came with the one that was asked for: they are first when somebody asks again."""
        self._state.holdings.undeliver(records)
        self.queue.extendleft(reversed(decoded(records)))

    def keep_topics(self, wanted: Collection[str], now_ms: int) -> None:
        """What was acquired of other topics goes back."""
        kept = deque[Acquired]()
        for acquired in self.queue:
            if acquired.lease.where.topic in wanted:
                kept.append(acquired)
            else:
                self.give_back(acquired, now_ms)
        self.queue = kept

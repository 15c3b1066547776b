"""A share consumer without its sockets: what was called and what was answered go in, requests come out. Pure.

`step` says which requests to send now. Each has to come back, by `heard` with its answer or by `unheard` with the
reason why there is none. Between them are the calls of the application; `take` hands out records. Time is an
argument everywhere, so a test, and a property test above all, plays any order of events it likes.

Three things go on side by side and hang together loosely: the membership (who tells where to fetch), a share session
with each broker that leads something assigned (`node_session`), and the records held (`holdings`). Here are the calls
of the application. What follows from them is decided by parts of their own: `asking` (requests), `hearing` (answers),
`fetch_buffer` (what was acquired), `settling` (what was said) and `renewing` (leases).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Commit
from leaselog.client.share.asking import Asking
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core_state import GIVE_BACK_AT, RIDE_MS, CoreState
from leaselog.client.share.errors import IllegalState
from leaselog.client.share.extras import GIVEN_BACK, Extra
from leaselog.client.share.fetch_buffer import FetchBuffer
from leaselog.client.share.hearing import Hearing
from leaselog.client.share.holdings import Holdings
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.renewing import Renewals
from leaselog.client.share.settling import Settling
from leaselog.client.share.steps import Acknowledged
from leaselog.model import TopicPartition

__all__ = ["ShareCore"]

AnyRecord = ShareRecord[Any, Any]


class ShareCore:
    def __init__(
        self, config: ShareConsumerConfig, member_id: str, now_ms: int, holdings: Holdings | None = None
    ) -> None:
        self.holdings = Holdings() if holdings is None else holdings
        self._state = CoreState(config, member_id, self.holdings, now_ms)
        self.member_id = member_id
        self.metrics = self._state.metrics
        self._renewals = Renewals(self._state)
        self._settling = Settling(self._state, self._renewals)
        self._buffer = FetchBuffer(self._state)
        asking = Asking(self._state, self._buffer, self._settling, self._renewals)
        hearing = Hearing(self._state, self._buffer, self._settling)
        # What goes out and what comes in is theirs alone, and called for every job: no call between.
        self.step, self.next_ms, self.end_sessions = asking.step, asking.next_ms, asking.end_sessions
        self.want_records, self.want_nothing = asking.want_records, asking.want_nothing
        self.end_poll = asking.end_poll
        self.heard, self.unheard = hearing.heard, hearing.unheard
        self.abandon = self._settling.abandon
        #: of the last poll, those whose work was seen to begin: of the others nobody can tell, unless there are some
        self._begun = set[AnyRecord]()
        #: a worker acknowledges what it holds, and `renew` is a handler's wish for more time
        self.has_worker = False

    # what the core is told of, and tells

    @property
    def is_worked_on(self) -> bool:
        """Open records are being worked on: they are renewed until the next poll."""
        return self._state.is_worked_on

    @is_worked_on.setter
    def is_worked_on(self, is_worked_on: bool) -> None:
        self._state.is_worked_on = is_worked_on

    def limit_deliveries(self, limit: int | None) -> None:
        """After how many deliveries the group gives up a record; None: nobody knows."""
        self._state.delivery_limit = limit

    def met(self, node_id: int, *, knows_extras: bool) -> None:
        """There is a connection to this broker; whether it is leaselog's."""
        self._state.nodes[node_id].knows_extras = knows_extras

    # the application's calls

    @property
    def subscription(self) -> frozenset[str]:
        return self._state.subscription

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are fetched from."""
        return frozenset(
            where.topic_partition for some in self._state.routes.by_node.values() for where in some
        )

    @property
    def lock_timeout_ms(self) -> int | None:
        """How long the group's records were leased, at the last answer that said so."""
        return self._state.lock_timeout_ms

    def subscribe(self, topics: Iterable[str], now_ms: int) -> None:
        """Replaces the subscription; an empty one leaves the group. What was fetched of other topics is given back."""
        state = self._state
        wanted = frozenset(topics)
        if any(not isinstance(topic, str) or not topic.strip() for topic in wanted):
            raise ValueError("a subscription consists of names of topics")
        if wanted == state.subscription:
            return
        self.commit_said(now_ms, state.config.default_api_timeout_ms)
        state.subscription = wanted
        state.membership.subscribe(wanted)
        state.routes.subscribe(wanted, now_ms)
        self._buffer.keep_topics(wanted, now_ms)

    def begin_poll(self, now_ms: int) -> list[AnyRecord]:
        """What a poll does before it looks for records: in implicit mode it accepts what the last one returned.

        Raises ``IllegalState``. Returns records to present again where the configuration asks for that.
        """
        state = self._state
        if not state.subscription:
            raise IllegalState("Consumer is not subscribed to any topics.")
        self._mark_poll(now_ms)
        state.is_worked_on = False
        self._begun.clear()
        if not state.config.is_explicit:
            self.holdings.accept_all()
        elif again := self.holdings.unacknowledged():
            if not state.config.presents_again:
                raise IllegalState(
                    f"All records must be acknowledged in explicit acknowledgement mode. {len(again)} are not,"
                    f" the first is {again[0]}"
                )
            self._settling.queue_said(now_ms, None, state.deadline_ms(now_ms), is_urgent=False)
            return again
        self._settling.queue_said(now_ms, None, state.deadline_ms(now_ms), is_urgent=False)
        return []

    def begin_next(self, now_ms: int) -> bool:
        """As `begin_poll` for one record more, of those that are here: whether that is all, and nothing need be sent.

        In implicit mode only. What is accepted waits a moment for others, as it would in the outbox; `step` sends it.
        """
        until_ms = self._state.one_by_one_until_ms
        if until_ms is None or now_ms >= until_ms or not self._buffer.queue or self.holdings.is_renewing:
            return False
        self._mark_poll(now_ms)
        self.holdings.accept_all()
        return True

    def go_one_by_one(self, now_ms: int) -> None:
        """For a moment, `begin_next` may do."""
        if not self._state.config.is_explicit and self._buffer.queue:
            self._state.one_by_one_until_ms = now_ms + RIDE_MS

    def begin_work(self, now_ms: int) -> None:
        """As `begin_poll`, for a worker that acknowledges each record when it is done with it, and says so here."""
        state = self._state
        if not state.subscription:
            raise IllegalState("Consumer is not subscribed to any topics.")
        self._mark_poll(now_ms)
        state.is_worked_on = True
        self._settling.queue_said(now_ms, None, state.deadline_ms(now_ms), is_urgent=True)

    def _mark_poll(self, now_ms: int) -> None:
        self.metrics.polled(now_ms)
        self._state.membership.polled(now_ms)

    def take(self, now_ms: int, limit: int) -> list[AnyRecord]:
        """Records for the application, ``limit`` or a few more, or none. Raises what it has to know first."""
        self._raise_what_to_know()
        if self.holdings.is_renewing:
            return self.holdings.take_renewed()
        return self._buffer.take(now_ms, limit)

    def take_one(self, now_ms: int) -> list[AnyRecord]:
        """The next record or none, for who goes through them one by one; what comes with it is kept for later."""
        self._raise_what_to_know()
        if self.holdings.is_renewing:
            return self.holdings.take_renewed(1)
        records = self._buffer.take(now_ms, 1)
        if len(records) > 1:
            self._buffer.put_back(records[1:])
        return records[:1]

    def _raise_what_to_know(self) -> None:
        state = self._state
        if (failed := state.membership.take_error()) is not None:
            raise failed
        if state.errors:
            raise state.errors.popleft()

    def acknowledge(
        self, record: AnyRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT, extra: Extra | None = None
    ) -> None:
        if self.has_worker and kind == AcknowledgeType.RENEW:
            raise IllegalState("A handler renews with `renew`.")
        if not self._state.config.is_explicit or kind.__class__ is not AcknowledgeType:
            kind = self._check_kind(kind)
        self.holdings.acknowledge(record, kind, extra)

    def acknowledge_offset(
        self,
        topic: str,
        partition: int,
        offset: int,
        kind: AcknowledgeType = AcknowledgeType.ACCEPT,
        extra: Extra | None = None,
    ) -> None:
        self.holdings.acknowledge_offset(topic, partition, offset, self._check_kind(kind), extra)

    def begun(self, record: AnyRecord, now_ms: int) -> None:
        """From here on its delivery counts, and its lease is renewed for a while."""
        record.lease.delivered_ms = now_ms
        self._begun.add(record)

    def renew_now(self, record: AnyRecord, now_ms: int) -> None:
        """A handler needs more time: the lock begins anew, and is renewed for a while from here on.

        Raises ``IllegalState`` for a record that nobody works on.
        """
        lease = record.lease
        if not self.holdings.is_open(record) or lease.life.ended is not None:
            raise IllegalState(f"{record} is not being worked on")
        lease.delivered_ms = now_ms
        if lease.is_renewable and not lease.is_renewing:
            self._renewals.renew(
                lease,
                [o for held, offsets in self.holdings.leases() if held is lease for o in offsets],
                now_ms,
            )

    def keep(self, records: Iterable[AnyRecord], now_ms: int) -> None:
        """These are held on purpose: their leases are renewed for as long as somebody says so."""
        for record in records:
            record.lease.delivered_ms = now_ms

    def may_keep(self, record: AnyRecord, now_ms: int) -> bool:
        """Whether this record's lease will last a while: it can be renewed, or is young."""
        lease = record.lease
        return lease.is_renewable or self._state.lock_ms * GIVE_BACK_AT < lease.deadline_ms - now_ms

    def knows_extras(self, record: AnyRecord) -> bool:
        """Whether the broker that leased it understands a delay and a reason."""
        return self._state.nodes[record.lease.node_id].knows_extras

    def give_back_unbegun(self, records: Iterable[AnyRecord]) -> None:
        """Nobody has begun to work on these: their delivery is not counted, where the broker knows how.

        Of another broker's they go back when the session ends, which on some costs less than a release.
        """
        for record in records:
            if self.holdings.is_open(record) and self.knows_extras(record):
                self.holdings.acknowledge(record, AcknowledgeType.RELEASE, GIVEN_BACK)

    def _check_kind(self, kind: AcknowledgeType) -> AcknowledgeType:
        if not self._state.config.is_explicit:
            raise IllegalState("Implicit acknowledgement of delivery is being used.")
        return AcknowledgeType(kind)

    def commit(self, now_ms: int, timeout_ms: int) -> Commit:
        """Send what was said, or in implicit mode that everything is accepted. The commit is done when it is."""
        if not self._state.config.is_explicit:
            self.holdings.accept_all()
        return self.commit_said(now_ms, timeout_ms)

    def commit_said(self, now_ms: int, timeout_ms: int) -> Commit:
        commit = Commit()
        self._settling.queue_said(now_ms, commit, now_ms + timeout_ms, is_urgent=True)
        return commit

    def take_completed(self) -> list[Acknowledged]:
        """What the application's callback has not been told yet."""
        completed, self._state.completed = self._state.completed, []
        return completed

    def queue_said(self, now_ms: int) -> None:
        """What was said goes out with the next request there is."""
        self._settling.queue_said(now_ms, None, self._state.deadline_ms(now_ms), is_urgent=False)

    def begin_close(self, now_ms: int) -> None:
        """No more fetches; the sessions end with what waits to be said, and the membership with a goodbye."""
        if self._begun:
            left = self.holdings.unacknowledged()
            self.give_back_unbegun(record for record in left if record not in self._begun)
        self.queue_said(now_ms)
        self._state.is_closing = True
        self.want_nothing()
        self._buffer.give_back_all(now_ms)
        self._state.membership.leave()

    @property
    def has_sessions(self) -> bool:
        return any(node.is_open or node.under_way is not None for node in self._state.nodes.values())

    @property
    def has_left(self) -> bool:
        return self._state.membership.has_left

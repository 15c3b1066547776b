"""A share consumer without its sockets: what was called and what was answered go in, requests come out. Pure.

`step` says which requests to send now. Each has to come back, by `heard` with its answer or by `unheard` with the
reason why there is none. Between them are the calls of the application; `take` hands out records. Time is an
argument everywhere, so a test, and a property test above all, plays any order of events it likes.

Three things go on side by side and hang together loosely: the membership (who tells where to fetch), a share session
with each broker that leads something assigned (`node_session`), and the records held (`holdings`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leaselog.client.compiled_records import record_reader
from leaselog.client.errors import BrokerError, ClientError, RequestTimedOut, is_retriable
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Bundle, Commit, Lease, TopicIdPartition
from leaselog.client.share.acquired import Acquired, Decoding, lent_ranges
from leaselog.client.share.backoff import backoff_ms
from leaselog.client.share.config import RECORD_LIMIT, ShareConsumerConfig
from leaselog.client.share.decoded import decoded
from leaselog.client.share.errors import IllegalState
from leaselog.client.share.extras import GIVEN_BACK, Extra
from leaselog.client.share.holdings import Holdings
from leaselog.client.share.membership import ShareMembership
from leaselog.client.share.metrics import ShareMetrics
from leaselog.client.share.node_session import FetchWish, NodeAsk, NodeSession
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.routes import Routes
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from leaselog.wire.messages.share_fetch import PartitionData, ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from leaselog.wire.schema import Message
from leaselog.wire.share_fetch_ranges import RangesPartitionData

__all__ = ["RIDE_MS", "Acknowledged", "CoordinatorAsk", "MetadataAsk", "ShareCore", "Step"]

AnyRecord = ShareRecord[Any, Any]

#: the broker that lent the records can no longer decide about them: trying again is in vain
_FINAL_FOR_ACKNOWLEDGEMENTS = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
})  # fmt: skip
#: the application should know; everything else about a fetch passes or is looked up again
_TOLD_BY_POLL = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CORRUPT_MESSAGE})
_TOLD_AT_TOP = frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION})
#: an automatic renewal leaves when less than this part of the lock is left
_RENEW_AT = 1 / 2
#: what was fetched ahead goes back when less than this part of the lock is left: there would be no time to work on it
_GIVE_BACK_AT = 1 / 4
#: polls further apart than this part of the lock mean slow work: nothing is fetched ahead of it
_PREFETCH_BELOW = 1 / 4
_FIRST_LOCK_GUESS_MS = 30_000
#: what nobody waits for may wait for a fetch this long; short against any lock, long against a round trip
RIDE_MS = 50
MAX_ERRORS = 16


@dataclass(slots=True, eq=False)
class CoordinatorAsk:
    request: ShareGroupHeartbeatRequest
    #: the last one was told to the wrong node
    find_again: bool = False


@dataclass(slots=True, eq=False)
class MetadataAsk:
    topics: tuple[str, ...]


Step = CoordinatorAsk | MetadataAsk | NodeAsk


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What became of acknowledgements, for the application's callback."""

    where: TopicIdPartition
    offsets: frozenset[int]
    error: ClientError | None


class ShareCore:
    def __init__(self, config: ShareConsumerConfig, member_id: str, now_ms: int) -> None:
        self._config = config
        self.member_id = member_id
        self.metrics = ShareMetrics(now_ms)
        self._membership = ShareMembership(
            config.group_id,
            member_id,
            rack_id=config.client_rack,
            max_poll_interval_ms=config.max_poll_interval_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            retry_backoff_max_ms=config.retry_backoff_max_ms,
        )
        self._decoding = Decoding(
            config.key_deserializer,
            config.value_deserializer,
            config.check_crcs,
            record_reader(checked=config.check_crcs),
        )
        self.holdings = Holdings()
        self._subscription = frozenset[str]()
        self._nodes = dict[int, NodeSession]()
        self._buffer = deque[Acquired]()
        #: for the next poll to raise; the oldest goes when nobody polls
        self._errors = deque[ClientError](maxlen=MAX_ERRORS)
        self._completed = list[Acknowledged]()
        self._lock_timeout_ms: int | None = None
        #: how long the next fetches may wait at the broker; None: nobody wants records
        self._fetch_wait_ms: int | None = None
        self._fetch_limit = config.max_poll_records
        self._last_fetched_node = -1
        #: open records are being worked on: they are renewed until the next poll
        self.is_worked_on = False
        #: of the last poll, those whose work was seen to begin: of the others nobody can tell, unless there are some
        self._begun = set[AnyRecord]()
        #: a worker acknowledges what it holds, and `renew` is a handler's wish for more time
        self.has_worker = False
        #: after how many deliveries the group gives up a record, if somebody has asked
        self.delivery_limit: int | None = None
        #: until then what is accepted record by record is not queued; then it is, with the next step
        self._one_by_one_until_ms: int | None = None
        #: ask brokers to leave the records out
        self.ranges_only = False
        # topics
        self._routes = Routes(
            now_ms,
            max_age_ms=config.metadata_max_age_ms,
            backoff_ms=config.retry_backoff_ms,
            patience_ms=config.retry_backoff_max_ms,
        )
        self._find_coordinator_again = False
        self._heartbeat_sent_ms = 0
        self._sent_ms = dict[int, int]()
        self.is_closing = False

    # the application's calls

    @property
    def subscription(self) -> frozenset[str]:
        return self._subscription

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are fetched from."""
        return frozenset(where.topic_partition for some in self._routes.by_node.values() for where in some)

    @property
    def lock_timeout_ms(self) -> int | None:
        """How long the group's records were lent, at the last answer that said so."""
        return self._lock_timeout_ms

    @property
    def _lock_ms(self) -> int:
        """The same, or a guess while no answer has said so."""
        return self._lock_timeout_ms or _FIRST_LOCK_GUESS_MS

    def subscribe(self, topics: Iterable[str], now_ms: int) -> None:
        """Replaces the subscription; an empty one leaves the group. What was fetched of other topics is given back."""
        wanted = frozenset(topics)
        if any(not isinstance(topic, str) or not topic.strip() for topic in wanted):
            raise ValueError("a subscription consists of names of topics")
        if wanted == self._subscription:
            return
        self.commit_said(now_ms, self._config.default_api_timeout_ms)
        self._subscription = wanted
        self._membership.subscribe(wanted)
        self._routes.subscribe(wanted, now_ms)
        kept = deque[Acquired]()
        for acquired in self._buffer:
            if acquired.lease.where.topic in wanted:
                kept.append(acquired)
            else:
                self._give_back(acquired, now_ms)
        self._buffer = kept

    def begin_poll(self, now_ms: int) -> list[AnyRecord]:
        """What a poll does before it looks for records: in implicit mode it accepts what the last one returned.

        Raises ``IllegalState``. Returns records to present again where the configuration asks for that.
        """
        if not self._subscription:
            raise IllegalState("Consumer is not subscribed to any topics.")
        self._mark_poll(now_ms)
        self.is_worked_on = False
        self._begun.clear()
        if not self._config.is_explicit:
            self.holdings.accept_all()
        elif again := self.holdings.unacknowledged():
            if not self._config.presents_again:
                raise IllegalState(
                    f"All records must be acknowledged in explicit acknowledgement mode. {len(again)} are not,"
                    f" the first is {again[0]}"
                )
            self._queue_said(now_ms, None, self._deadline(now_ms), is_urgent=False)
            return again
        self._queue_said(now_ms, None, self._deadline(now_ms), is_urgent=False)
        return []

    def begin_next(self, now_ms: int) -> bool:
        """As `begin_poll` for one record more, of those that are here: whether that is all, and nothing need be sent.

        In implicit mode only. What is accepted waits a moment for others, as it would in the outbox; `step` sends it.
        """
        until_ms = self._one_by_one_until_ms
        if until_ms is None or now_ms >= until_ms or not self._buffer or self.holdings.is_renewing:
            return False
        self._mark_poll(now_ms)
        self.holdings.accept_all()
        return True

    def go_one_by_one(self, now_ms: int) -> None:
        """For a moment, `begin_next` may do."""
        if not self._config.is_explicit and self._buffer:
            self._one_by_one_until_ms = now_ms + RIDE_MS

    def begin_work(self, now_ms: int) -> None:
        """As `begin_poll`, for a worker that acknowledges each record when it is done with it, and says so here."""
        if not self._subscription:
            raise IllegalState("Consumer is not subscribed to any topics.")
        self._mark_poll(now_ms)
        self.is_worked_on = True
        self._queue_said(now_ms, None, self._deadline(now_ms), is_urgent=True)

    def _mark_poll(self, now_ms: int) -> None:
        self.metrics.polled(now_ms)
        self._membership.polled(now_ms)

    def take(self, now_ms: int, limit: int) -> list[AnyRecord]:
        """Records for the application, ``limit`` or a few more, or none. Raises what it has to know first."""
        self._raise_what_to_know()
        if self.holdings.is_renewing:
            return self.holdings.take_renewed()
        return self._take_acquired(now_ms, limit)

    def take_one(self, now_ms: int) -> list[AnyRecord]:
        """The next record or none, for who goes through them one by one; what comes with it is kept for later."""
        self._raise_what_to_know()
        if self.holdings.is_renewing:
            return self.holdings.take_renewed(1)
        records = self._take_acquired(now_ms, 1)
        if len(records) > 1:
            self.holdings.undeliver(records[1:])
            self._buffer.extendleft(reversed(decoded(records[1:])))
        return records[:1]

    def _raise_what_to_know(self) -> None:
        if (failed := self._membership.take_error()) is not None:
            raise failed
        if self._errors:
            raise self._errors.popleft()

    def _take_acquired(self, now_ms: int, limit: int) -> list[AnyRecord]:
        records = list[AnyRecord]()
        while self._buffer and len(records) < limit and not self._errors:
            acquired = self._buffer[0]
            lease = acquired.lease
            if lease.life.ended is not None or lease.deadline_ms <= now_ms:
                self.metrics.expired_in_buffer += len(acquired.rest())
                self._buffer.popleft()  # it is somebody else's already: handing it out would be a second copy
                continue
            taken = acquired.take(limit - len(records), self._decoding)
            lease.delivered_ms = now_ms
            records += taken.records
            if taken.settled:
                gaps = Bundle(lease, taken.settled, self._deadline(now_ms), is_visible=False)
                gaps.rides_until_ms = now_ms + RIDE_MS
                self._send(gaps)
            if taken.error is not None:
                self._errors.append(BrokerError(ErrorCode.CORRUPT_MESSAGE, f"{lease.where}: {taken.error}"))
            if acquired.is_empty:
                self._buffer.popleft()
        if not records and self._errors:
            raise self._errors.popleft()
        self.holdings.deliver(records)
        return records

    def want_records(self, wait_ms: int, limit: int) -> None:
        """The next `step` fetches; brokers with nothing to give may think about it for so long."""
        self._fetch_wait_ms = min(wait_ms, self._config.fetch_max_wait_ms)
        self._fetch_limit = limit

    def want_nothing(self) -> None:
        """No more fetches until somebody wants records again."""
        self._fetch_wait_ms = None

    def end_poll(self, returned: int) -> None:
        """The application got this many records and will come back: fetch ahead if that seems wise.

        Not in record_limit mode, where locks begin when the application asks. Not while the work is slow against
        the lock, nor when the partitions seem to be drained. Such a fetch never waits at the broker, since a commit
        would have to wait behind it.
        """
        self._fetch_wait_ms = None
        full = returned >= self._config.max_poll_records
        if full and not self._buffer and self._may_fetch_ahead():
            self.want_records(0, self._config.max_poll_records)

    def _may_fetch_ahead(self) -> bool:
        if self._config.acquire_mode == RECORD_LIMIT or self.is_worked_on:
            return False
        slow = self.metrics.between_polls.latest
        return slow is not None and slow < self._lock_ms * _PREFETCH_BELOW

    def _fetches_behind_buffer(self) -> bool:
        """The poll that waits will take all of the buffer: the broker may work while the records are decoded."""
        count = sum(acquired.count for acquired in self._buffer)
        return self._fetch_limit <= count < 2 * self._fetch_limit and self._may_fetch_ahead()

    def acknowledge(
        self, record: AnyRecord, kind: AcknowledgeType = AcknowledgeType.ACCEPT, extra: Extra | None = None
    ) -> None:
        if self.has_worker and kind == AcknowledgeType.RENEW:
            raise IllegalState("A handler renews with `renew`.")
        if not self._config.is_explicit or kind.__class__ is not AcknowledgeType:
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
            self._renew(
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
        return lease.is_renewable or self._lock_ms * _GIVE_BACK_AT < lease.deadline_ms - now_ms

    def knows_extras(self, record: AnyRecord) -> bool:
        """Whether the broker that lent it understands a delay and a reason."""
        return self._nodes[record.lease.node_id].knows_extras

    def give_back_unbegun(self, records: Iterable[AnyRecord]) -> None:
        """Nobody has begun to work on these: their delivery is not counted, where the broker knows how.

        Of another broker's they go back when the session ends, which on some costs less than a release.
        """
        for record in records:
            if self.holdings.is_open(record) and self.knows_extras(record):
                self.holdings.acknowledge(record, AcknowledgeType.RELEASE, GIVEN_BACK)

    def _check_kind(self, kind: AcknowledgeType) -> AcknowledgeType:
        if not self._config.is_explicit:
            raise IllegalState("Implicit acknowledgement of delivery is being used.")
        return AcknowledgeType(kind)

    def commit(self, now_ms: int, timeout_ms: int) -> Commit:
        """Send what was said, or in implicit mode that everything is accepted. The commit is done when it is."""
        if not self._config.is_explicit:
            self.holdings.accept_all()
        return self.commit_said(now_ms, timeout_ms)

    def commit_said(self, now_ms: int, timeout_ms: int) -> Commit:
        commit = Commit()
        self._queue_said(now_ms, commit, now_ms + timeout_ms, is_urgent=True)
        return commit

    def take_completed(self) -> list[Acknowledged]:
        """What the application's callback has not been told yet."""
        completed, self._completed = self._completed, []
        return completed

    def queue_said(self, now_ms: int) -> None:
        """What was said goes out with the next request there is."""
        self._queue_said(now_ms, None, self._deadline(now_ms), is_urgent=False)

    def begin_close(self, now_ms: int) -> None:
        """No more fetches; the sessions end with what waits to be said, and the membership with a goodbye."""
        if self._begun:
            left = self.holdings.unacknowledged()
            self.give_back_unbegun(record for record in left if record not in self._begun)
        self.queue_said(now_ms)
        self.is_closing = True
        self._fetch_wait_ms = None
        self._give_back_buffer(now_ms)
        self._membership.leave()

    def end_sessions(self, now_ms: int) -> list[NodeAsk]:
        """The last request to each broker that is free for it: what is held of it and not accepted goes back.

        The delivery of what the application has seen counts, as on Apache Kafka 4.3.
        """
        self._fetch_wait_ms = None
        self._give_back_buffer(now_ms)
        asks = list[NodeAsk]()
        for node in self._nodes.values():
            if node.is_open and node.under_way is None:
                asks.append(node.close(now_ms))
                self._sent_ms[node.node_id] = now_ms
        return asks

    def _give_back_buffer(self, now_ms: int) -> None:
        """Before a session ends; where nothing but its end gives back, that is left to it."""
        for acquired in self._buffer:
            if self._nodes[acquired.lease.node_id].knows_extras:
                self._give_back(acquired, now_ms)
        self._buffer.clear()

    def _give_back_late(self, now_ms: int) -> None:
        """The application has not come back for it: somebody else can have it before its lock runs out."""
        while self._buffer and self._late_at_ms(self._buffer[0]) <= now_ms:
            self._give_back(self._buffer.popleft(), now_ms)

    def _late_at_ms(self, acquired: Acquired) -> int:
        return acquired.lease.deadline_ms - int(self._lock_ms * _GIVE_BACK_AT)

    def _give_back(self, acquired: Acquired, now_ms: int) -> None:
        """What the application has not seen: its delivery is not counted, where the broker knows how.

        Alone, since it may have waited until its lock ran out, and would then take down what was said.
        """
        lease = acquired.lease
        if lease.life.ended is not None or lease.deadline_ms <= now_ms:
            return
        offsets = acquired.rest()
        types = dict.fromkeys(offsets, int(AcknowledgeType.RELEASE))
        self._send(
            Bundle(
                lease,
                types,
                self._deadline(now_ms),
                is_visible=False,
                is_alone=True,
                extras=dict.fromkeys(offsets, GIVEN_BACK),
            )
        )

    def met(self, node_id: int, *, knows_extras: bool) -> None:
        """There is a connection to this broker; whether it is leaselog's."""
        self._nodes[node_id].knows_extras = knows_extras

    def abandon(self, why: ClientError, now_ms: int) -> None:
        """Whatever is still undecided will never be: the connections go now."""
        for node in self._nodes.values():
            waiting = [*node.outbox]
            if node.under_way is not None:
                waiting += [bundle for some in node.under_way.bundles.values() for bundle in some]
            node.outbox = []
            node.lost()
            for bundle in waiting:
                self._settle(bundle, why, now_ms)

    @property
    def has_sessions(self) -> bool:
        return any(node.is_open or node.under_way is not None for node in self._nodes.values())

    @property
    def has_left(self) -> bool:
        return self._membership.has_left

    # sending

    def next_ms(self, now_ms: int) -> int | None:
        """When `step` should be called again although nothing happened; None if there is no need."""
        times = [self._membership.next_ms, self._routes.next_ms]
        for node in self._nodes.values():
            if node.outbox and node.under_way is None:
                times.append(_speaks_at_ms(node))
            if self._fetch_wait_ms is not None and node.not_before_ms > now_ms:
                times.append(node.not_before_ms)
            times += [bundle.deadline_ms for bundle in node.outbox]
        if self._buffer:
            times.append(self._late_at_ms(self._buffer[0]))
        if self._one_by_one_until_ms is not None:
            times.append(self._one_by_one_until_ms)
        if self.is_worked_on:
            times += [self._renew_at_ms(lease) for lease, _ in self.holdings.leases()]
        due = [at for at in times if at is not None]
        return max(now_ms, min(due)) if due else None

    def step(self, now_ms: int) -> list[Step]:
        """The requests to send now."""
        steps = list[Step]()
        beat = self._membership.heartbeat(now_ms)
        if beat is not None:
            self._heartbeat_sent_ms = now_ms
            steps.append(CoordinatorAsk(beat, self._find_coordinator_again))
            self._find_coordinator_again = False
        self._routes.follow(self._membership.assignment, now_ms)
        if (topics := self._routes.take_question(now_ms)) is not None:
            steps.append(MetadataAsk(topics))
        self._give_back_late(now_ms)
        if self._one_by_one_until_ms is not None and now_ms >= self._one_by_one_until_ms:
            self._one_by_one_until_ms = None
            self._queue_said(now_ms, None, self._deadline(now_ms), is_urgent=True)
        if self.is_worked_on:
            self._renew_leases(now_ms)
        fetch_nodes = self._choose_fetch_nodes(now_ms)
        for node in list(self._nodes.values()):
            self._drop_hopeless(node, now_ms)
            if (ask := self._ask_of(node, node.node_id in fetch_nodes, now_ms)) is not None:
                self._sent_ms[node.node_id] = now_ms
                steps.append(ask)
        return steps

    def _ask_of(self, node: NodeSession, may_fetch: bool, now_ms: int) -> NodeAsk | None:
        if node.under_way is not None or now_ms < node.not_before_ms:
            return None
        must_speak = any(bundle.is_urgent or bundle.renews for bundle in node.outbox)
        if may_fetch and not must_speak:
            is_ahead = node.node_id in self._buffered_nodes()
            wish = FetchWish(
                max_wait_ms=0 if is_ahead else self._fetch_wait_ms or 0,
                min_bytes=self._config.fetch_min_bytes,
                max_bytes=self._config.fetch_max_bytes,
                max_records=self._fetch_limit,
                acquire_mode=self._config.acquire_mode,
                ranges_only=self.ranges_only,
            )
            return node.fetch(self._routes.by_node.get(node.node_id, ()), wish, now_ms)
        if node.outbox and now_ms >= _speaks_at_ms(node):
            return node.acknowledge(now_ms)
        return None

    def _choose_fetch_nodes(self, now_ms: int) -> set[int]:
        """Brokers to fetch from now: all that lead something, or in record_limit mode one after the other."""
        wait_ms = self._fetch_wait_ms
        if wait_ms is None or self.is_closing or self.holdings.is_renewing:
            return set()
        for node_id in self._routes.by_node:
            if node_id not in self._nodes:
                self._nodes[node_id] = NodeSession(node_id, self._config.group_id, self.member_id)
        buffered = self._buffered_nodes()
        if buffered and self._fetches_behind_buffer():
            buffered = set()
        ready = [n for n in sorted(self._routes.by_node) if n not in buffered]
        if wait_ms == 0 and not any(self._nodes[n].under_way for n in ready):
            self._fetch_wait_ms = None  # asked for once; a poll that waits asks again each time it looks
        if self._config.acquire_mode != RECORD_LIMIT or not ready:
            return set(ready)
        under_way = [node.under_way for node in self._nodes.values()]
        if any(ask is not None and ask.fetches for ask in under_way) or buffered:
            return set()
        after = [n for n in ready if n > self._last_fetched_node]
        self._last_fetched_node = (after or ready)[0]
        return {self._last_fetched_node}

    def _buffered_nodes(self) -> set[int]:
        return {acquired.lease.node_id for acquired in self._buffer}

    def _drop_hopeless(self, node: NodeSession, now_ms: int) -> None:
        """What waits to be said and can no longer be said is told now."""
        kept = list[Bundle]()
        for bundle in node.outbox:
            if (ended := bundle.lease.life.ended) is not None:
                self._settle(bundle, ended, now_ms)
            elif bundle.deadline_ms <= now_ms:
                self._settle(
                    bundle, RequestTimedOut(f"{bundle.lease.where}: not acknowledged in time"), now_ms
                )
            else:
                kept.append(bundle)
        node.outbox = kept

    def _deadline(self, now_ms: int) -> int:
        return now_ms + self._config.default_api_timeout_ms

    def _queue_said(self, now_ms: int, commit: Commit | None, deadline_ms: int, *, is_urgent: bool) -> None:
        for lease, types, extras in self.holdings.take_said():
            bundle = Bundle(lease, types, deadline_ms, commit, is_urgent, now_ms + RIDE_MS, extras=extras)
            if commit is not None:
                commit.waiting.add(bundle)
            self.metrics.acknowledgements.record(len(types), now_ms)
            if lease.life.ended is not None:
                self._settle(bundle, lease.life.ended, now_ms)
            else:
                self._send(bundle)

    def _send(self, bundle: Bundle) -> None:
        self._nodes[bundle.lease.node_id].outbox.append(bundle)

    # renewing on the application's behalf

    def _renew_at_ms(self, lease: Lease) -> int | None:
        """When this lease is to be renewed next; None if it is on its way or not to be renewed any more."""
        if lease.is_renewing or lease.life.ended is not None or not lease.is_renewable:
            return None
        at_ms = lease.deadline_ms - int(self._lock_ms * _RENEW_AT)
        # What hangs for longer than Kafka lets a consumer hang is not worked on any more.
        return at_ms if at_ms <= lease.delivered_ms + self._config.max_poll_interval_ms else None

    def _renew_leases(self, now_ms: int) -> None:
        for lease, offsets in self.holdings.leases():
            at_ms = self._renew_at_ms(lease)
            if at_ms is not None and at_ms <= now_ms:
                self._renew(lease, offsets, now_ms)

    def _renew(self, lease: Lease, offsets: Sequence[int], now_ms: int) -> None:
        lease.is_renewing = True
        self.metrics.renewals.record(len(offsets), now_ms)
        types = dict.fromkeys(offsets, int(AcknowledgeType.RENEW))
        self._send(Bundle(lease, types, lease.deadline_ms, is_urgent=True, is_visible=False))

    def _renewed(self, bundle: Bundle, error: ClientError | None, sent_ms: int) -> None:
        if not bundle.is_visible:
            bundle.lease.is_renewing = False
            if error is None:
                bundle.lease.deadline_ms = sent_ms + self._lock_ms
            else:
                bundle.lease.is_renewable = False
            return
        old = bundle.lease
        lease = Lease(
            old.where,
            old.node_id,
            old.life,
            sent_ms + self._lock_ms,
            sent_ms,
            delivery_limit=old.delivery_limit,
        )
        self.holdings.renewed(bundle, lease if error is None else None)

    # hearing

    def heard(self, ask: Step, answer: Message | Topology, now_ms: int) -> None:
        match ask:
            case CoordinatorAsk():
                assert isinstance(answer, ShareGroupHeartbeatResponse)
                self.metrics.heartbeat(now_ms, now_ms - self._heartbeat_sent_ms)
                self._find_coordinator_again = self._membership.answered(ask.request, answer, now_ms)
                self.metrics.rebalances = self._membership.rebalances
            case MetadataAsk():
                assert isinstance(answer, Topology)
                self._errors.extend(self._routes.learned(ask.topics, answer, now_ms))
            case NodeAsk():
                if isinstance(answer, ShareFetchResponse):
                    self._fetched(ask, answer, now_ms)
                else:
                    assert isinstance(answer, ShareAcknowledgeResponse)
                    self._acknowledged(ask, answer, now_ms)

    def unheard(self, ask: Step, error: ClientError, now_ms: int) -> None:
        """There is no answer and will be none."""
        if not error.is_retriable:
            self._errors.append(error)
        match ask:
            case CoordinatorAsk():
                self._find_coordinator_again = True
                self._membership.unanswered(now_ms)
            case MetadataAsk():
                self._routes.learned_nothing(now_ms)
            case NodeAsk():
                node = self._nodes[ask.node_id]
                node.lost()
                self._hold_back(node, now_ms)
                self._routes.doubt(now_ms)
                for some in ask.bundles.values():
                    for bundle in some:
                        self._settle(bundle, error, now_ms)
                self._drop_hopeless(node, now_ms)

    # answers of brokers

    def _top_level(self, node: NodeSession, ask: NodeAsk, code: int, text: str | None, now_ms: int) -> bool:
        """Takes the answer into the session; whether there is anything in it."""
        error = BrokerError(code, text) if code else None
        node.answered(error)
        if error is None:
            return True
        if error.code in _TOLD_AT_TOP:
            self._errors.append(error)
        self._hold_back(node, now_ms)
        for some in ask.bundles.values():
            self._decided(node, some, error, now_ms)
        self._drop_hopeless(node, now_ms)
        return False

    def _fetched(self, ask: NodeAsk, answer: ShareFetchResponse, now_ms: int) -> None:
        node = self._nodes[ask.node_id]
        life, sent_ms = node.life, self._sent_ms[ask.node_id]
        self.metrics.fetch_latency.record(now_ms - sent_ms, now_ms)
        self.metrics.throttled.record(answer.throttle_time_ms, now_ms)
        if not self._top_level(node, ask, answer.error_code, answer.error_message, now_ms):
            return
        if answer.throttle_time_ms:
            node.not_before_ms = now_ms + answer.throttle_time_ms
        if answer.acquisition_lock_timeout_ms > 0:
            self._lock_timeout_ms = answer.acquisition_lock_timeout_ms
        decided = set[TopicIdPartition]()
        records = failed = 0
        for topic in answer.responses:
            for data in topic.partitions:
                where = self._routes.where(topic.topic_id, data.partition_index)
                if where in ask.bundles:
                    decided.add(where)
                    error = _error(data.acknowledge_error_code, data.acknowledge_error_message)
                    self._decided(node, ask.bundles[where], error, now_ms)
                if data.error_code:
                    failed += 1
                    self._fetch_failed(where, data, now_ms)
                if data.acquired_records:
                    records += self._buffer_up(node, where, data, now_ms)
        self._undecided(node, ask, decided, now_ms)
        if failed < node.partition_count:  # the others are not to wait long for those
            node.failures = 0
        if failed:
            self._hold_back(node, now_ms)
        if records:
            self.metrics.records.record(records, now_ms)
        assert node.life is life, "an answer without an error keeps the session"

    def _buffer_up(self, node: NodeSession, where: TopicIdPartition, data: PartitionData, now_ms: int) -> int:
        lease = Lease(
            where,
            node.node_id,
            node.life,
            now_ms + self._lock_ms,
            now_ms,
            delivery_limit=self.delivery_limit,
        )
        told = [(r.first_offset, r.last_offset, r.delivery_count) for r in data.acquired_records]
        try:
            ranges = list(lent_ranges(told))
        except DecodeError as bad:
            # Whatever was lent comes back to the broker by itself when its lease runs out.
            self._errors.append(BrokerError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {bad}"))
            return 0
        left_out_bytes = data.left_out_bytes if isinstance(data, RangesPartitionData) else 0
        acquired = Acquired(lease, data.records or b"", ranges, left_out_bytes)
        self.metrics.bytes.record(acquired.bytes - left_out_bytes, now_ms)
        if self.is_closing or where.topic in self._subscription:
            self._buffer.append(acquired)  # ending the session gives it back
            return sum(end - start for start, end, _ in ranges)
        self._give_back(acquired, now_ms)
        return 0

    def _hold_back(self, node: NodeSession, now_ms: int) -> None:
        """Something there needs a moment, a longer one each time that there was nothing else."""
        node.failures += 1
        node.not_before_ms = max(node.not_before_ms, now_ms + self._backoff_ms(node.failures))

    def _backoff_ms(self, failures: int) -> int:
        return backoff_ms(failures, self._config.retry_backoff_ms, self._config.retry_backoff_max_ms)

    def _fetch_failed(self, where: TopicIdPartition, data: PartitionData, now_ms: int) -> None:
        error = BrokerError(data.error_code, data.error_message or str(where))
        if error.code in _TOLD_BY_POLL:
            self._errors.append(error)
        elif error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            self._routes.led_by(where, data.current_leader.leader_id, now_ms)
        elif error.is_retriable:
            self._routes.doubt(now_ms)

    def _acknowledged(self, ask: NodeAsk, answer: ShareAcknowledgeResponse, now_ms: int) -> None:
        node = self._nodes[ask.node_id]
        if answer.throttle_time_ms:
            node.not_before_ms = now_ms + answer.throttle_time_ms
        if not self._top_level(node, ask, answer.error_code, answer.error_message, now_ms):
            return
        if answer.acquisition_lock_timeout_ms > 0:
            self._lock_timeout_ms = answer.acquisition_lock_timeout_ms
        decided = set[TopicIdPartition]()
        for topic in answer.responses:
            for data in topic.partitions:
                where = self._routes.where(topic.topic_id, data.partition_index)
                if where in ask.bundles:
                    decided.add(where)
                    error = _error(data.error_code, data.error_message)
                    if error is not None and error.code in _FINAL_FOR_ACKNOWLEDGEMENTS:
                        self._routes.led_by(where, data.current_leader.leader_id, now_ms)
                    self._decided(node, ask.bundles[where], error, now_ms)
        self._undecided(node, ask, decided, now_ms)

    def _undecided(
        self, node: NodeSession, ask: NodeAsk, decided: set[TopicIdPartition], now_ms: int
    ) -> None:
        """Java's rule: what an answer passes over in silence was not done."""
        for where, some in ask.bundles.items():
            if where not in decided:
                error = BrokerError(ErrorCode.INVALID_RECORD_STATE, f"{where} is not in the broker's answer")
                for bundle in some:
                    self._settle(bundle, error, now_ms)

    def _decided(
        self, node: NodeSession, some: Sequence[Bundle], error: BrokerError | None, now_ms: int
    ) -> None:
        """What a broker said of bundles of one partition: settle them, or try again what may yet succeed."""
        for bundle in some:
            if error is not None and error.code is ErrorCode.INVALID_RECORD_STATE and len(some) > 1:
                bundle.is_alone = True  # one stale lease fails all that travels with it
                node.outbox.append(bundle)
            elif error is not None and _may_pass(error) and bundle.lease.life.ended is None:
                bundle.is_urgent = True
                bundle.failures += 1
                bundle.not_before_ms = now_ms + self._backoff_ms(bundle.failures)
                node.outbox.append(bundle)
            else:
                self._settle(bundle, error, now_ms)

    def _settle(self, bundle: Bundle, error: ClientError | None, now_ms: int) -> None:
        if bundle.renews:
            self._renewed(bundle, error, self._sent_ms.get(bundle.lease.node_id, now_ms))
        if bundle.commit is not None:
            bundle.commit.settle(bundle, error)
        if bundle.is_visible:
            if error is not None:
                self.metrics.acknowledgement_errors.record(len(bundle.types), now_ms)
            self._completed.append(Acknowledged(bundle.lease.where, frozenset(bundle.types), error))


def _speaks_at_ms(node: NodeSession) -> int:
    """When what waits to be said goes out by itself, unless a fetch takes it along before."""
    at_ms = min(
        max(bundle.not_before_ms, 0 if bundle.is_urgent or bundle.renews else bundle.rides_until_ms)
        for bundle in node.outbox
    )
    return max(node.not_before_ms, at_ms)


def _error(code: int, text: str | None) -> BrokerError | None:
    return BrokerError(code, text) if code else None


def _may_pass(error: BrokerError) -> bool:
    return is_retriable(error.code) and error.code not in _FINAL_FOR_ACKNOWLEDGEMENTS

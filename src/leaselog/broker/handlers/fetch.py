"""Fetch (key 1), versions 4 to 18: records out, at once or when there are enough of them.

- Topics by name up to v12, by id from v13 (KIP-516); an unknown id is UNKNOWN_TOPIC_ID for its partitions alone.
- Fetch sessions from v7 (KIP-227, `broker.fetch_sessions`): an incremental answer holds only what is new.
- Whole batches, from the one that holds the fetch offset. The first partition with records gets at least one batch
  whatever the limits (KIP-74); the others share what `max_bytes` and their own limit leave. One batch is also all
  there is while too much is on its way to clients that do not read.
- The answer waits up to `max_wait_ms` for `min_bytes`, unless a partition has an error to tell. Partitions that do
  not exist hurry nobody as long as others do, as in Kafka: a client that follows a deleted topic would spin.
- Only records below the high watermark are seen; without transactions the last stable offset is the same.
- A last fetched epoch (v12, KIP-595) that this log does not know at that offset is answered with where it diverges.
- A broker that asks as a replica is not one: there are no followers.
- Over its quota a client gets an empty answer and the time to pause (KIP-219), and asks for the same again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from leaselog.broker.api import Reply, RequestContext, serves
from leaselog.broker.fetch_sessions import FetchSession, FollowedPartition, PartitionKey
from leaselog.broker.hosted import WRONG_LEADER
from leaselog.broker.partition import Partition
from leaselog.log import FileSlice
from leaselog.model import ErrorCode, Refused
from leaselog.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

IDS_SINCE = 13
LEADERS_SINCE = 16
READ_COMMITTED = 1

#: more than a segment holds
EVERYTHING = 2**40


@dataclass(slots=True)
class _Found:
    """What there is of one partition, and what is said of it."""

    followed: FollowedPartition
    data: PartitionData
    #: None without one, or with an error in ``data``
    partition: Partition | None = None
    records: FileSlice | None = None

    @property
    def size_bytes(self) -> int:
        return 0 if self.records is None else self.records.size_bytes

    def read(self) -> int:
        """Puts the records into the answer; how many bytes they are."""
        if self.partition is None or self.records is None:
            return 0
        records = self.partition.log.read_slice(self.records)
        if isinstance(records, Refused):
            self.data.error_code = records.code
            return 0
        self.data.records = records
        return len(records)

    def is_cut(self) -> bool:
        """Whether records are there that the limits kept out."""
        if self.partition is None or self.followed.fetch_offset >= self.partition.log.high_watermark:
            return False
        log = self.partition.log
        there = log.locate(self.followed.fetch_offset, EVERYTHING)
        last = log.locate(log.high_watermark - 1, 0)
        if isinstance(there, Refused) or isinstance(last, Refused):
            return True
        return there.size_bytes > self.size_bytes or last.file is not there.file


@dataclass(slots=True)
class _Look:
    """One look at all partitions, in the session's order."""

    found: list[_Found]
    bytes_found: int = 0
    #: an error, or a divergence: told at once
    is_urgent: bool = False
    is_anything_known: bool = False

    def is_enough(self, min_bytes: int) -> bool:
        if self.is_urgent or not self.is_anything_known or self.bytes_found >= min_bytes:
            return True
        # Whole batches stop short of the limits; what is left of them is not to be waited for.
        return any(found.is_cut() for found in self.found)


@serves(
    FetchRequest,
    versions=(4, 18),
    kips="KIP-74, 227, 320, 516, 595, 951",
    counts_errors=True,
    exclusive=True,
    only_reads=True,
)
def fetch(request: FetchRequest, context: RequestContext) -> Reply:
    broker = context.broker
    by_id = context.version >= IDS_SINCE
    session = broker.fetch_sessions.enter(
        request.session_id, request.session_epoch, uses_topic_ids=by_id, now_ms=broker.now_ms()
    )
    if isinstance(session, ErrorCode):
        broker.metrics.error(context.api, session)
        return FetchResponse(error_code=session)
    # In this order: a partition that is both asked for and forgotten is forgotten.
    session.follow(_asked(request, by_id=by_id))
    session.forget(
        (topic.topic_id if by_id else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    )
    broker.fetch_sessions.settle(session)
    looked_at = broker.waiting_room.wake_count
    look = _look(request, session, context)
    if request.max_wait_ms <= 0 or _is_enough(look, request, context):
        return _response(request, session, look, context)
    return _answer_later(request, session, look, looked_at, context)


def _asked(request: FetchRequest, *, by_id: bool) -> Iterable[FollowedPartition]:
    for topic in request.topics:
        for p in topic.partitions:
            yield FollowedPartition(
                topic=topic.topic_id if by_id else topic.topic,
                index=p.partition,
                fetch_offset=p.fetch_offset,
                max_bytes=p.partition_max_bytes,
                leader_epoch=p.current_leader_epoch,
                last_fetched_epoch=p.last_fetched_epoch,
            )


def _is_enough(look: _Look, request: FetchRequest, context: RequestContext) -> bool:
    broker = context.broker
    # More than the answer may hold is not worth waiting for.
    min_bytes = min(request.min_bytes, request.max_bytes, broker.config.fetch_max_bytes)
    return broker.is_stopping or look.is_enough(min_bytes)


async def _answer_later(
    request: FetchRequest, session: FetchSession, look: _Look, looked_at: int, context: RequestContext
) -> FetchResponse:
    """Looks again whenever something happened, until there is enough or the time is up."""
    broker = context.broker
    if looked_at != broker.waiting_room.wake_count:  # between the request's turn and this one
        look = _look(request, session, context)
    deadline_ms = broker.monotonic_ms() + request.max_wait_ms
    left_ms = float(request.max_wait_ms)
    while left_ms > 0 and not _is_enough(look, request, context):
        keys = [found.partition for found in look.found if found.partition is not None]
        await broker.waiting_room.wait(keys, left_ms / 1000)
        look = _look(request, session, context)
        left_ms = deadline_ms - broker.monotonic_ms()
    return _response(request, session, look, context)


def _look(request: FetchRequest, session: FetchSession, context: RequestContext) -> _Look:
    broker = context.broker
    replica_id = request.replica_id if request.replica_state is None else request.replica_state.replica_id
    left_bytes = min(request.max_bytes, broker.config.fetch_max_bytes, broker.room_for_answers_bytes())
    if broker.quotas.limits_fetch:
        left_bytes = min(left_bytes, broker.quotas.fetch_room_bytes(context.client_id))
    look = _Look([])
    for followed in session.partitions.values():
        found = _Found(
            followed, PartitionData(partition_index=followed.index, high_watermark=-1, records=b"")
        )
        look.found.append(found)
        partition = _partition(found, context)
        if partition is None:
            continue
        look.is_anything_known = True
        limit_bytes = max(min(left_bytes, followed.max_bytes), 0)
        is_first = look.bytes_found == 0
        found.data.error_code = (
            ErrorCode.NOT_LEADER_OR_FOLLOWER
            if replica_id >= 0
            else _find(found, partition, limit_bytes, is_first=is_first)
        )
        if found.data.error_code in WRONG_LEADER and context.version >= LEADERS_SINCE:
            found.data.current_leader = LeaderIdAndEpoch(
                leader_id=broker.cluster.node_id, leader_epoch=partition.leader_epoch
            )
        if request.isolation_level != READ_COMMITTED:
            found.data.aborted_transactions = None
        left_bytes -= found.size_bytes
        look.bytes_found += found.size_bytes
        if found.data.error_code or found.data.diverging_epoch is not None:
            look.is_urgent = True
    return look


def _partition(found: _Found, context: RequestContext) -> Partition | None:
    """The partition asked for; without one the answer says so."""
    broker, topic = context.broker, found.followed.topic
    name = broker.cluster.topic_name_of(topic) if isinstance(topic, UUID) else topic
    partition = None if name is None else broker.logs.partition(name, found.followed.index)
    if name is None:
        found.data.error_code = ErrorCode.UNKNOWN_TOPIC_ID
    elif partition is None:
        found.data.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return partition


def _find(found: _Found, partition: Partition, limit_bytes: int, *, is_first: bool) -> ErrorCode:
    """Looks into the log, and fills in all but the records."""
    log, followed, data = partition.log, found.followed, found.data
    refusal = partition.check_leader_epoch(followed.leader_epoch)
    if refusal:
        return refusal
    diverging = None
    if followed.last_fetched_epoch >= 0:
        epoch, end = log.end_offset_for_epoch(followed.last_fetched_epoch)
        if end < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE  # of an epoch from the future nobody knows where it ended
        if epoch < followed.last_fetched_epoch or end < followed.fetch_offset:
            diverging = EpochEndOffset(epoch=epoch, end_offset=end)
    if diverging is None:
        located = log.locate(followed.fetch_offset, limit_bytes, min_one_batch=is_first)
        if isinstance(located, Refused):
            return located.code
        found.records = located
    found.partition, data.diverging_epoch = partition, diverging
    data.high_watermark = data.last_stable_offset = log.high_watermark
    data.log_start_offset = log.start_offset
    return ErrorCode.NONE


def _response(
    request: FetchRequest, session: FetchSession, look: _Look, context: RequestContext
) -> FetchResponse:
    """The answer, with the records in it: nothing has run since the look."""
    broker = context.broker
    if broker.quotas.limits_fetch:
        context.throttle_ms = broker.quotas.fetching(
            context.client_id, look.bytes_found, broker.monotonic_ms()
        )
        if context.throttle_ms:
            return _throttled(request, session, context)
    topics: dict[str | UUID, list[PartitionData]] = {}
    served: list[PartitionKey] = []
    is_full = request.session_epoch <= 0 or not session.is_incremental
    for found in look.found:
        followed, data, size_bytes = found.followed, found.data, found.read()
        is_news = followed.tell(
            error=data.error_code,
            high_watermark=data.high_watermark,
            start_offset=data.log_start_offset,
            has_records=size_bytes > 0,
        )
        if is_full or is_news or data.diverging_epoch is not None:
            topics.setdefault(followed.topic, []).append(data)
        if size_bytes:
            served.append((followed.topic, followed.index))
            broker.metrics.fetched(broker.cluster.name_for_metrics(followed.topic), size_bytes)
        broker.metrics.error(context.api, data.error_code)
    for key in served:
        session.served(key)
    responses = [
        FetchableTopicResponse(topic=topic, partitions=answers)
        if isinstance(topic, str)
        else FetchableTopicResponse(topic_id=topic, partitions=answers)
        for topic, answers in topics.items()
    ]
    response = FetchResponse(session_id=session.id, responses=responses)
    if any(data.current_leader is not None for answers in topics.values() for data in answers):
        here = broker.cluster
        response.node_endpoints = [
            NodeEndpoint(node_id=here.node_id, host=here.host, port=here.port, rack=here.rack)
        ]
    return response


def _throttled(request: FetchRequest, session: FetchSession, context: RequestContext) -> FetchResponse:
    """Nothing, for now. A session that would begin with this answer does not: its first answer must be whole."""
    if request.session_epoch <= 0:
        session.partitions.clear()
        context.broker.fetch_sessions.settle(session)
    return FetchResponse(throttle_time_ms=context.throttle_ms, session_id=session.id)

"""Fetch (key 1), versions 4 to 18: records out, at once or when there are enough of them.

- Topics by name up to v12, by id from v13 (KIP-516); an unknown id is UNKNOWN_TOPIC_ID for its partitions alone.
- Fetch sessions from v7 (KIP-227, `broker.fetch_sessions`): an incremental answer holds only what is new.
- Whole batches, from the one that holds the fetch offset. The first partition with records gets at least one batch
  whatever the limits (KIP-74); the others share what `max_bytes` and their own limit leave.
- The answer waits up to `max_wait_ms` for `min_bytes`, unless a partition has an error to tell.
- Only records below the high watermark are seen; without transactions the last stable offset is the same.
- A last fetched epoch (v12, KIP-595) that this log does not know at that offset is answered with where it diverges.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from leaselog.broker.api import RequestContext, serves
from leaselog.broker.fetch_sessions import FetchSession, FollowedPartition, PartitionKey
from leaselog.broker.partition import Partition
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
READ_COMMITTED = 1


@dataclass(slots=True)
class _Read:
    """What one look at the partitions found."""

    #: in the session's order; topic as the request's version names it
    found: list[tuple[FollowedPartition, PartitionData]]
    bytes_found: int = 0
    must_answer: bool = False


@serves(FetchRequest, versions=(4, 18), kips="KIP-74, 227, 320, 516, 595, 951", counts_errors=True)
async def fetch(request: FetchRequest, context: RequestContext) -> FetchResponse:
    broker = context.broker
    by_id = context.version >= IDS_SINCE
    session = broker.fetch_sessions.enter(
        request.session_id, request.session_epoch, uses_topic_ids=by_id, now_ms=broker.now_ms()
    )
    if isinstance(session, ErrorCode):
        broker.metrics.error(context.api, session)
        return FetchResponse(error_code=session)
    session.forget(
        (topic.topic_id if by_id else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    )
    session.follow(_asked(request, by_id=by_id))
    read = await _read_enough(request, session, context)
    return _response(request, session, read, context)


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


async def _read_enough(request: FetchRequest, session: FetchSession, context: RequestContext) -> _Read:
    """Reads once; if that is not enough, again whenever something happened, until the time is up."""
    broker = context.broker
    deadline_ms = broker.monotonic_ms() + max(request.max_wait_ms, 0)
    while True:
        read = _read(request, session, context)
        left_ms = deadline_ms - broker.monotonic_ms()
        enough = read.bytes_found >= request.min_bytes or read.must_answer or not session.partitions
        if enough or left_ms <= 0 or broker.is_stopping:
            return read
        keys = [
            partition
            for followed in session.partitions.values()
            if (partition := _partition(followed, context)) is not None
        ]
        await broker.waiting_room.wait(keys, left_ms / 1000)


def _partition(followed: FollowedPartition, context: RequestContext) -> Partition | None:
    broker = context.broker
    topic = followed.topic
    name = broker.cluster.topic_name_of(topic) if isinstance(topic, UUID) else topic
    return None if name is None else broker.logs.partition(name, followed.index)


def _read(request: FetchRequest, session: FetchSession, context: RequestContext) -> _Read:
    left_bytes = min(request.max_bytes, context.broker.config.fetch_max_bytes)
    read = _Read([])
    for followed in session.partitions.values():
        partition = _partition(followed, context)
        data = PartitionData(partition_index=followed.index, high_watermark=-1, records=b"")
        read.found.append((followed, data))
        if partition is None:
            by_id = isinstance(followed.topic, UUID)
            data.error_code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            _read_partition(followed, partition, data, max(left_bytes, 0), first=read.bytes_found == 0)
            if request.isolation_level != READ_COMMITTED:
                data.aborted_transactions = None
        size_bytes = len(data.records or b"")
        left_bytes -= size_bytes
        read.bytes_found += size_bytes
        read.must_answer = read.must_answer or data.error_code != 0 or data.diverging_epoch is not None
    return read


def _read_partition(
    followed: FollowedPartition, partition: Partition, data: PartitionData, left_bytes: int, *, first: bool
) -> None:
    log = partition.log
    data.error_code = partition.check_leader_epoch(followed.leader_epoch)
    if data.error_code:
        data.current_leader = LeaderIdAndEpoch(leader_id=-1, leader_epoch=partition.leader_epoch)
        return
    data.high_watermark = data.last_stable_offset = log.high_watermark
    data.log_start_offset = log.start_offset
    if followed.last_fetched_epoch >= 0:
        epoch, end = log.end_offset_for_epoch(followed.last_fetched_epoch)
        if epoch < followed.last_fetched_epoch or end < followed.fetch_offset:
            data.diverging_epoch = EpochEndOffset(epoch=epoch, end_offset=end)
            return
    limit = min(left_bytes, followed.max_bytes)
    if not first and limit <= 0:
        return
    records = log.read(followed.fetch_offset, limit, min_one_batch=first)
    if isinstance(records, Refused):
        data.error_code = records.code
    else:
        data.records = records


def _response(
    request: FetchRequest, session: FetchSession, read: _Read, context: RequestContext
) -> FetchResponse:
    broker = context.broker
    topics: dict[str | UUID, list[PartitionData]] = {}
    served: list[PartitionKey] = []
    full = request.session_epoch <= 0
    for followed, data in read.found:
        size_bytes = len(data.records or b"")
        news = followed.tell(
            error=data.error_code,
            high_watermark=data.high_watermark,
            start_offset=data.log_start_offset,
            has_records=size_bytes > 0,
        )
        if full or not session.is_incremental or news or data.diverging_epoch is not None:
            topics.setdefault(followed.topic, []).append(data)
        if size_bytes:
            served.append((followed.topic, followed.index))
            broker.metrics.fetched(broker.cluster.name_for_metrics(followed.topic), size_bytes)
        broker.metrics.error(context.api, data.error_code)
    for key in served:
        session.served(key)
    response = FetchResponse(
        session_id=session.id,
        responses=[
            FetchableTopicResponse(topic=topic, partitions=found)
            if isinstance(topic, str)
            else FetchableTopicResponse(topic_id=topic, partitions=found)
            for topic, found in topics.items()
        ],
    )
    if any(data.current_leader is not None for found in topics.values() for data in found):
        cluster = broker.cluster
        response.node_endpoints = [
            NodeEndpoint(node_id=cluster.node_id, host=cluster.host, port=cluster.port, rack=cluster.rack)
        ]
        for found in topics.values():
            for data in found:
                if data.current_leader is not None:
                    data.current_leader.leader_id = cluster.node_id
    return response

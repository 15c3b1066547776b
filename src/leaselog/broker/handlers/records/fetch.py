"""Fetch (key 1), versions 4 to 18: records out, at once or when there are enough of them.

- Topics by name up to v12, by id from v13 (KIP-516); an unknown id is UNKNOWN_TOPIC_ID for its partitions alone.
- Fetch sessions from v7 (KIP-227, `broker.fetching.sessions`): an incremental answer holds only what is new.
- Needs leave to READ each topic, when records are looked for and again when they are sent; as a replica, to act for the
  cluster.
- Whole batches, from the one that holds the fetch offset. The first partition with records gets at least one batch
  whatever the limits (KIP-74); the others share what `max_bytes` and their own limit leave. While too much is on its
  way to clients that do not read, little batches are all there is (`broker.quotas.held_bytes`); others wait. Four
  megabytes are the most at once.
- The answer waits up to `max_wait_ms` for `min_bytes` (`broker.fetching.fetching`), unless a partition has an error to
  tell. Partitions that do not exist hurry nobody as long as others do, as in Kafka: a client that follows a deleted
  topic would spin. When too many partitions are waited for already, the answer comes at once, and the client is to
  pause as long as it would have waited.
- Only records below the high watermark are seen. A reader of committed records (READ_COMMITTED) sees those below the
  last stable offset, and is told which transactions among them were aborted; it is to skip these itself.
- A last fetched epoch (v12, KIP-595) that this log does not know at that offset is answered with where it diverges.
- A broker that asks as a replica is not one: there are no followers.
- Over its quota a client gets an empty answer and the time to pause (KIP-219), and asks for the same again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Iterable
from functools import partial
from uuid import UUID

from leaselog.broker.cluster.partition_lookup import WRONG_LEADER
from leaselog.broker.fetching.fetching import Fetching, Found
from leaselog.broker.fetching.sessions import FetchSession, FollowedPartition
from leaselog.broker.net.api import Reply, RequestContext, serves
from leaselog.model import AclOperation, AclResourceType, ErrorCode
from leaselog.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)

IDS_SINCE = 13
LEADERS_SINCE = 16


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
    session = broker.fetch_sessions.enter(
        request.session_id,
        request.session_epoch,
        uses_topic_ids=context.version >= IDS_SINCE,
        now_ms=broker.now_ms(),
    )
    if isinstance(session, ErrorCode):
        broker.metrics.error(context.api, session)
        return FetchResponse(error_code=session)
    fetching = Fetching(
        broker,
        session,
        request,
        partial(broker.quotas.fetch_room_bytes, context.client_id, user=context.user),
        context.room_for_answers_bytes,
        may_read=None if broker.guard is None else partial(_may_read, request, context),
    )
    looking = broker.turns.start(_look(request, session, fetching, context))
    if looking is None and fetching.is_enough():
        return broker.turns.start(_response(request, session, fetching, context))
    return _answer_later(request, session, fetching, looking, context)


def _look(
    request: FetchRequest, session: FetchSession, fetching: Fetching, context: RequestContext
) -> Generator[None, None, None]:
    """Brings the session up to date, and looks at all of its partitions."""
    by_id = context.version >= IDS_SINCE
    # In this order: a partition that is both asked for and forgotten is forgotten.
    for asked in _asked(request, by_id=by_id):
        session.follow(asked)
        yield
    for topic in request.forgotten_topics_data:
        session.forget((topic.topic_id if by_id else topic.topic, index) for index in topic.partitions)
        yield
    context.broker.fetch_sessions.settle(session)
    request.topics = []  # the session has them, and the answer may be minutes away
    yield from fetching.look()


def _may_read(request: FetchRequest, context: RequestContext, topic: str) -> bool:
    replica = request.replica_state
    if (request.replica_id if replica is None else replica.replica_id) >= 0:
        return context.may_cluster(AclOperation.CLUSTER_ACTION)
    return context.may(AclOperation.READ, AclResourceType.TOPIC, topic)


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


async def _answer_later(
    request: FetchRequest,
    session: FetchSession,
    fetching: Fetching,
    looking: Awaitable[None] | None,
    context: RequestContext,
) -> FetchResponse:
    """When there is enough, or the time is up."""
    if looking is not None:
        await looking
    if not fetching.is_enough():
        if fetching.may_wait():
            await fetching.wait()
        else:
            context.throttle_ms = request.max_wait_ms
    return await context.broker.turns.walk(_response(request, session, fetching, context))


def _response(
    request: FetchRequest, session: FetchSession, fetching: Fetching, context: RequestContext
) -> Generator[None, None, FetchResponse]:
    """The answer with the records in it, read one partition a step."""
    broker = context.broker
    if broker.quotas.limits_fetch:
        throttle_ms = broker.quotas.fetching(
            context.client_id, fetching.bytes_found, broker.monotonic_ms(), user=context.user
        )
        if throttle_ms:
            context.throttle_ms = throttle_ms
            return _throttled(request, session, context)
    responses: list[FetchableTopicResponse] = []
    last: str | UUID | None = None
    told: list[PartitionData] = []
    is_full = request.session_epoch <= 0 or not session.is_incremental
    is_led_elsewhere = False
    for found in fetching.found:
        data = fetching.answer(found)
        context.hold(len(data.records or b""))
        if data.error_code in WRONG_LEADER and context.version >= LEADERS_SINCE:
            is_led_elsewhere = True
            _name_leader(found, data, context)
        is_news = _tell(found, data, session, context)
        if is_full or is_news or data.diverging_epoch is not None:
            # In the order asked for, as Apache Kafka does: topics that were asked for in turn are answered in turn.
            if found.followed.topic != last:
                last, told = found.followed.topic, []
                responses.append(_of_topic(last, told))
            told.append(data)
        yield
    response = FetchResponse(throttle_time_ms=context.throttle_ms, session_id=session.id, responses=responses)
    if is_led_elsewhere:
        here, told_at = broker.cluster, context.address
        response.node_endpoints = [
            NodeEndpoint(node_id=here.node_id, host=told_at.host, port=told_at.port, rack=here.rack)
        ]
    return response


def _of_topic(topic: str | UUID, told: list[PartitionData]) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=told)
    return FetchableTopicResponse(topic_id=topic, partitions=told)


def _name_leader(found: Found, data: PartitionData, context: RequestContext) -> None:
    if found.partition is not None:
        data.current_leader = LeaderIdAndEpoch(
            leader_id=context.broker.cluster.node_id, leader_epoch=found.partition.leader_epoch
        )


def _tell(found: Found, data: PartitionData, session: FetchSession, context: RequestContext) -> bool:
    """Notes and counts what is said of a partition; whether it is anything new."""
    metrics, followed = context.broker.metrics, found.followed
    size_bytes = len(data.records or b"")
    if size_bytes:
        session.served((followed.topic, followed.index))
        metrics.fetched(context.broker.cluster.name_for_metrics(followed.topic), size_bytes)
    metrics.error(context.api, data.error_code)
    return followed.tell(
        error=data.error_code,
        high_watermark=data.high_watermark,
        start_offset=data.log_start_offset,
        has_records=size_bytes > 0,
    )


def _throttled(request: FetchRequest, session: FetchSession, context: RequestContext) -> FetchResponse:
    """Nothing, for now. A session that would begin with this answer does not: its first answer must be whole."""
    if request.session_epoch <= 0:
        session.partitions.clear()
        context.broker.fetch_sessions.settle(session)
    return FetchResponse(throttle_time_ms=context.throttle_ms, session_id=session.id)

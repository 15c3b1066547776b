"""ShareFetch (key 78), versions 1 and 2: records leased to a member of a share group (KIP-932).

- Only within a share session: epoch 0 opens one, -1 closes it, all else must be the epoch that is next. Errors of the
  session are the whole answer. Beyond the bound of sessions the answer waits first, as a client would ask in a loop.
- Needs leave to READ the group and each topic, whenever records are handed out. What is refused for want of it waits up
  to `max_wait_ms` before it is told, unless there are records of another topic: clients ask again at once.
- Acknowledgements are applied before anything is fetched, and the answer says of each that it is safe.
- Whole batches come back, with the ranges of offsets that are the member's; it drops the records outside of them.
- Waits up to `max_wait_ms` for `min_bytes`. Records are an answer, so are errors of all partitions; a partition that
  does not exist hurries nobody as long as others do.
- Version 2: an acquire mode that takes no record too many (KIP-1206), and leases renewed (KIP-1222) by a request that
  asks for no records.
- Closing takes no records, and does not wait for the release of what the member still has.
- An extension, in a tag: whoever asks for ranges alone acquires as anybody, within the bounds it names, and gets
  their ranges and their size (`wire/share_fetch_ranges.py`). What is not sent counts for no quota.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.cluster.partition_lookup import WRONG_LEADER
from leaselog.broker.handlers.lending.rights import deny_group, topic_reader
from leaselog.broker.lending.fetch_line import FetchLine
from leaselog.broker.lending.fetching import MODES, ShareFetching
from leaselog.broker.lending.partition_owner import Acquisition, SharePartitionOwner
from leaselog.broker.lending.requests import Acknowledgements, batches_of, by_topic, who
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import ErrorCode, Refused, TopicId
from leaselog.share import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    ConnectionId,
    ShareSession,
    TopicIdPartition,
)
from leaselog.wire.messages.share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from leaselog.wire.share_extensions import ExtendedShareFetchRequest
from leaselog.wire.share_fetch_ranges import wants_ranges_only, without_records

#: of one session, whether they exist or not. Apache Kafka bounds the sessions alone.
MAX_PARTITIONS = 20_000


@serves(
    ExtendedShareFetchRequest,
    versions=(1, 2),
    kips="KIP-932, 1206, 1222",
    counts_errors=True,
    exclusive=True,
    only_reads=True,
)
def share_fetch(
    request: ShareFetchRequest, context: RequestContext
) -> ShareFetchResponse | Awaitable[ShareFetchResponse]:
    broker = context.broker
    key = who(broker.shares, request.group_id, request.member_id)
    if broker.guard is not None and (denied := deny_group(request.group_id, key, context)) is not None:
        if request.share_session_epoch == FINAL_EPOCH:
            return _refusal(denied, context)
        return _refuse_later(denied, request.max_wait_ms, context)
    if isinstance(key, Refused):
        return _refusal(key, context)
    refused = _refuse_shape(request)
    if refused is not None:
        return _refusal(refused, context)
    batches = batches_of(request.topics)
    added = _added(request, broker.cluster) if request.topics else []
    forgotten = _forgotten(request) if request.forgotten_topics_data else []
    session = broker.shares.sessions.fetch(
        key,
        request.share_session_epoch,
        ConnectionId(context.client.connection_id),
        added=added,
        forgotten=forgotten,
        has_acknowledgements=bool(batches),
    )
    if isinstance(session, Refused):
        if session.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return _refuse_later(session, request.max_wait_ms, context)
        return _refusal(session, context)
    line = broker.shares.line(session)
    may_read = line.may_read = None if broker.guard is None else topic_reader(context)
    if request.share_session_epoch == INITIAL_EPOCH:
        broker.share_members.session_begun(session)
    elif added or forgotten:
        line.update(added, forgotten)
    if len(session.partitions) > MAX_PARTITIONS:
        broker.shares.sessions.end(session.key)
        broker.shares.release(session)
        text = f"a share session of {len(session.partitions)} partitions, expected at most {MAX_PARTITIONS}"
        return _refusal(Refused(ErrorCode.INVALID_REQUEST, text), context)
    acknowledgements = Acknowledgements(
        broker.shares, session.key, batches, may_renew=request.is_renew_ack, may_read=may_read
    )
    if request.share_session_epoch == FINAL_EPOCH:
        broker.shares.sessions.end(session.key)
        broker.shares.release(session)
    fetching = _fetching(request, line, context)
    if fetching.try_first() and acknowledgements.is_done:
        return _response(request, session, fetching, acknowledgements, context)
    return _respond_later(request, session, fetching, acknowledgements, context)


def _added(request: ShareFetchRequest, cluster: Cluster) -> list[TopicIdPartition]:
    """With the ids that the cluster has, if it has them: one object is found quicker than another that is equal."""
    added: list[TopicIdPartition] = []
    for named in request.topics:
        topic = cluster.topic_by_id(named.topic_id)
        topic_id = TopicId(named.topic_id) if topic is None else topic.topic_id
        added += [TopicIdPartition(topic_id, p.partition_index) for p in named.partitions]
    return added


def _forgotten(request: ShareFetchRequest) -> list[TopicIdPartition]:
    return [
        TopicIdPartition(TopicId(t.topic_id), p) for t in request.forgotten_topics_data for p in t.partitions
    ]


def _refuse_shape(request: ShareFetchRequest) -> Refused | None:
    """A request that renews leases fetches nothing, and has to say so."""
    if request.share_acquire_mode not in MODES:
        expected = " or ".join(map(str, MODES))
        text = f"share acquire mode {request.share_acquire_mode}, expected {expected}"
        return Refused(ErrorCode.INVALID_REQUEST, text)
    if not request.is_renew_ack:
        return None
    asked = {
        "max_bytes": request.max_bytes,
        "min_bytes": request.min_bytes,
        "max_records": request.max_records,
        "max_wait_ms": request.max_wait_ms,
    }
    wrong = [f"{name} {value}" for name, value in asked.items() if value]
    if wrong:
        text = f"a share fetch that renews acknowledges only: {', '.join(wrong)}, expected 0"
        return Refused(ErrorCode.INVALID_REQUEST, text)
    return None


def _fetching(request: ShareFetchRequest, line: FetchLine, context: RequestContext) -> ShareFetching:
    max_bytes = _allowed_bytes(request, context)
    wants_none = request.max_records <= 0 or max_bytes <= 0 or request.share_session_epoch == FINAL_EPOCH
    # In the session's order: whoever gave records has gone to its end, so each has its turn. Apache Kafka also rotates
    # them by the epoch, which undoes that: of three partitions one then gets two thirds of the turns.
    return ShareFetching(
        context.broker.shares,
        line,
        request,
        max_bytes,
        context.room_for_answers_bytes,
        wants_records=not wants_none,
    )


def _allowed_bytes(request: ShareFetchRequest, context: RequestContext) -> int:
    """How many it may have: none while its client is over its quota, nor are records leased to it then."""
    quotas = context.broker.quotas
    if not quotas.limits_fetch:
        return request.max_bytes
    context.throttle_ms = quotas.fetching(
        context.client_id, 0, context.broker.monotonic_ms(), user=context.user
    )
    if context.throttle_ms:
        return 0
    return min(request.max_bytes, max(1, quotas.fetch_room_bytes(context.client_id, user=context.user)))


async def _refuse_later(refused: Refused, wait_ms: int, context: RequestContext) -> ShareFetchResponse:
    await context.broker.waiting_room.wait([refused], max(wait_ms, 0) / 1000)
    return _refusal(refused, context)


async def _respond_later(
    request: ShareFetchRequest,
    session: ShareSession,
    fetching: ShareFetching,
    acknowledgements: Acknowledgements,
    context: RequestContext,
) -> ShareFetchResponse:
    if not fetching.is_done:
        await fetching.wait()
    answer = partial(_response, request, session, fetching, acknowledgements, context)
    return answer() if acknowledgements.is_done else await acknowledgements.then(answer)


def _refusal(refused: Refused, context: RequestContext) -> ShareFetchResponse:
    context.broker.metrics.error(context.api, refused.code)
    return ShareFetchResponse(error_code=refused.code, error_message=refused.message)


def _response(
    request: ShareFetchRequest,
    session: ShareSession,
    fetching: ShareFetching,
    acknowledgements: Acknowledgements,
    context: RequestContext,
) -> ShareFetchResponse:
    broker, epoch = context.broker, request.share_session_epoch
    sends_records = not wants_ranges_only(request)
    if epoch != FINAL_EPOCH and not session.is_current(epoch):
        text = f"share session epoch {session.epoch} came while {epoch} was waiting"
        return _refusal(Refused(ErrorCode.INVALID_SHARE_SESSION_EPOCH, text), context)
    if broker.quotas.limits_fetch and fetching.bytes_given and sends_records:
        # Leased and read, so handed out; what is over the limit, the next request waits for.
        context.throttle_ms = broker.quotas.fetched(
            context.client_id, fetching.bytes_given, broker.monotonic_ms(), user=context.user
        )
    told = _fetched(fetching, session, context, sends_records=sends_records, tells_all=epoch == INITIAL_EPOCH)
    if acknowledgements.outcomes:
        _add_outcomes(told, acknowledgements, context)
    response = ShareFetchResponse(
        throttle_time_ms=context.throttle_ms,
        acquisition_lock_timeout_ms=broker.cluster.configuration.group(
            session.key.group_id
        ).share_record_lock_duration_ms,
        responses=by_topic(list(told.items()), ShareFetchableTopicResponse),
    )
    if fetching.errors and any(error in WRONG_LEADER for error in fetching.errors.values()):
        here, told_at = broker.cluster, context.address
        response.node_endpoints = [
            NodeEndpoint(node_id=here.node_id, host=told_at.host, port=told_at.port, rack=here.rack)
        ]
    return response if sends_records else without_records(response)


def _fetched(
    fetching: ShareFetching,
    session: ShareSession,
    context: RequestContext,
    *,
    sends_records: bool,
    tells_all: bool,
) -> dict[TopicIdPartition, PartitionData]:
    """What the answer says of partitions, of those alone of which there is something to say unless it tells all."""
    told: dict[TopicIdPartition, PartitionData] = {}
    if fetching.wants_records:
        for at in list(session.partitions) if tells_all else session.to_be_named():
            told[at] = PartitionData(partition_index=at.partition, records=b"")
            session.answered(at, has_records=False, has_error=at in fetching.errors)
    for at, error in fetching.errors.items():
        told[at] = _failed(at, error, context)
        session.answered(at, has_records=False, has_error=True)
    for owner, acquisition in fetching.given:
        told[owner.at] = _given(owner, acquisition, context, sends_records=sends_records)
        session.answered(owner.at, has_records=True, has_error=False)
    return told


def _failed(at: TopicIdPartition, error: ErrorCode, context: RequestContext) -> PartitionData:
    broker = context.broker
    broker.metrics.error(context.api, error)
    data = PartitionData(partition_index=at.partition, error_code=error, records=b"")
    if error in WRONG_LEADER:
        topic = broker.cluster.topic_by_id(at.topic_id)
        partition = None if topic is None else broker.logs.partition(topic.name, at.partition)
        epoch = 0 if partition is None else partition.leader_epoch
        data.current_leader = LeaderIdAndEpoch(leader_id=broker.cluster.node_id, leader_epoch=epoch)
    return data


def _given(
    owner: SharePartitionOwner, acquisition: Acquisition, context: RequestContext, *, sends_records: bool
) -> PartitionData:
    broker = context.broker
    sent_bytes = len(acquisition.records) if sends_records else 0
    broker.metrics.fetched(broker.cluster.name_for_metrics(owner.partition.name.topic), sent_bytes)
    return PartitionData(
        partition_index=owner.at.partition,
        records=acquisition.records,
        acquired_records=[
            AcquiredRecords(
                first_offset=r.span.start, last_offset=r.span.last, delivery_count=r.delivery_count
            )
            for r in acquisition.ranges
        ],
    )


def _add_outcomes(
    told: dict[TopicIdPartition, PartitionData], acknowledgements: Acknowledgements, context: RequestContext
) -> None:
    """Also what became of acknowledgements, whose partitions need not be among those fetched from."""
    for at, refused in acknowledgements.outcomes.items():
        data = told.get(at)
        if data is None:
            data = told[at] = PartitionData(partition_index=at.partition, records=b"")
        if refused is not None:
            context.broker.metrics.error(context.api, refused.code)
            data.acknowledge_error_code, data.acknowledge_error_message = refused.code, refused.message

"""A cluster with share groups as a client sees it, small enough to be obviously right. No sockets, no loop.

One group, one topic. Each partition has a leader, which leases its records to sessions; a session that ends gives
back. What a record went through is kept, so that a test can ask who finished it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from leaselog.client.share.steps import CoordinatorAsk, MetadataAsk, Step
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode
from leaselog.wire.codec import decode, encode
from leaselog.wire.messages import describe_configs as dc
from leaselog.wire.messages import incremental_alter_configs as ic
from leaselog.wire.messages import share_acknowledge as sa
from leaselog.wire.messages import share_fetch as sf
from leaselog.wire.messages import share_group_heartbeat as hb
from leaselog.wire.record_batch import parse_header
from leaselog.wire.records import Record, build_batch, rebuild_batch
from leaselog.wire.schema import Message
from leaselog.wire.share_extensions import NO_DELAY, ExtendedAcknowledgementBatch
from leaselog.wire.share_fetch_ranges import wants_ranges_only, without_records

TOPIC = "t"
TOPIC_ID = UUID(int=7)
LOCK_MS = 30_000
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class Arrived(NamedTuple):
    kind: int
    delay_ms: int = NO_DELAY
    reason: str | None = None
    given_back: bool = False


@dataclass
class ModelRecord:
    offset: int
    #: None is a gap: an offset without a record
    value: bytes | None
    holder: str | None = None
    until_ms: int = 0
    delivery_count: int = 0
    #: the type that ended it
    ended: int | None = None
    #: leased to nobody before
    due_ms: int = 0
    #: every acknowledgement but renewals that took effect, as it arrived
    acknowledged: list[Arrived] = field(default_factory=list)
    #: deliveries that ended with the session they were made in: nothing said of them may arrive any more
    lost_deliveries: set[int] = field(default_factory=set)


@dataclass
class ModelSession:
    epoch: int
    partitions: set[int] = field(default_factory=set)


class ModelCluster:
    def __init__(
        self, partitions: int = 1, nodes: int = 1, records_a_batch: int = 5, lock_ms: int = LOCK_MS
    ) -> None:
        self.lock_ms = lock_ms
        self.records_a_batch = records_a_batch
        self.leaders = {p: 1 + p % nodes for p in range(partitions)}
        self.logs: dict[int, list[ModelRecord]] = {p: [] for p in range(partitions)}
        self.sessions: dict[tuple[int, str], ModelSession] = {}
        self.members: dict[str, int] = {}
        self.assigned = True
        self.topic_names: list[str] = [TOPIC]
        self.heartbeat_error = self.top_error = self.fetch_error = self.ack_error = 0
        #: the partitions that have it; None: all
        self.fetch_error_in: set[int] | None = None
        self.requests: list[Message] = []
        #: for who asks for ranges alone, as leaselog does and Apache Kafka does not
        self.leaves_records_out = True
        #: knows what is added to acknowledgements
        self.is_leaselogs = True
        #: what the group has set, and what it has without
        self.group_configs: dict[str, str] = {}
        self.default_configs: dict[str, str] = {"share.delivery.count.limit": "5"}
        self.broker_configs: dict[str, str] = {}
        self.describe_error = self.alter_error = 0

    def produce(self, values: list[bytes | None], partition: int = 0) -> None:
        log = self.logs[partition]
        log += [ModelRecord(len(log) + i, value) for i, value in enumerate(values)]

    def ended(self, partition: int = 0) -> dict[int, int]:
        return {r.offset: r.ended for r in self.logs[partition] if r.ended is not None}

    def held(self, partition: int = 0) -> list[int]:
        return [r.offset for r in self.logs[partition] if r.holder is not None]

    def disconnect(self, node_id: int) -> None:
        """A broker restarts, or a connection breaks: its sessions end."""
        for key in [key for key in self.sessions if key[0] == node_id]:
            self._end(key)

    def move(self, partition: int, node_id: int) -> None:
        """What was leased stays leased to nobody in particular: the new leader knows of no leases."""
        self.leaders[partition] = node_id
        for record in self.logs[partition]:
            record.holder = None

    def expire(self, now_ms: int) -> None:
        for log in self.logs.values():
            for record in log:
                if record.holder is not None and record.until_ms <= now_ms:
                    record.holder = None

    # answers

    def answer(self, step: Step, now_ms: int) -> Message | Topology:
        if isinstance(step, MetadataAsk):
            return self.topology()
        request = step.request
        version = type(request).VERSIONS.last
        self.requests.append(request)
        arrived = decode(type(request), version, encode(request, version))
        self.expire(now_ms)
        if isinstance(step, CoordinatorAsk):
            assert isinstance(arrived, hb.ShareGroupHeartbeatRequest)
            made: Message = self._heartbeat(arrived)
        elif isinstance(arrived, sf.ShareFetchRequest):
            made = self._share_fetch(step.node_id, arrived, now_ms)
        else:
            assert isinstance(arrived, sa.ShareAcknowledgeRequest)
            made = self._share_acknowledge(step.node_id, arrived, now_ms)
        if (
            self.leaves_records_out
            and isinstance(arrived, sf.ShareFetchRequest)
            and wants_ranges_only(arrived)
        ):
            assert isinstance(made, sf.ShareFetchResponse)
            made = without_records(made)
        return decode(type(made), version, encode(made, version))

    def topology(self) -> Topology:
        nodes = {n: Node(n, "host", 9000 + n) for n in set(self.leaders.values())}
        infos = tuple(PartitionInfo(p, leader, 0, (), (), ()) for p, leader in sorted(self.leaders.items()))
        topics = {TOPIC: TopicInfo(TOPIC, TOPIC_ID, False, infos)} if TOPIC in self.topic_names else {}
        errors = {} if topics else {TOPIC: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        return Topology(nodes, None, 1, topics, errors)

    def configs_answer(self, request: Message) -> Message:
        self.requests.append(request)
        if isinstance(request, ic.IncrementalAlterConfigsRequest):
            (resource,) = request.resources
            if not self.alter_error:
                self.group_configs |= {c.name: c.value or "" for c in resource.configs}
            return ic.IncrementalAlterConfigsResponse(
                responses=[ic.AlterConfigsResourceResponse(error_code=self.alter_error)]
            )
        assert isinstance(request, dc.DescribeConfigsRequest)
        of_group, of_broker = request.resources
        return dc.DescribeConfigsResponse(
            results=[
                dc.DescribeConfigsResult(
                    resource_type=of_group.resource_type,
                    error_code=self.describe_error,
                    configs=[
                        dc.DescribeConfigsResourceResult(
                            name=name, value=value, config_source=8 if name in self.group_configs else 5
                        )
                        for name, value in (self.default_configs | self.group_configs).items()
                        if name in (of_group.configuration_keys or ())
                    ],
                ),
                dc.DescribeConfigsResult(
                    resource_type=of_broker.resource_type,
                    configs=[
                        dc.DescribeConfigsResourceResult(name=name, value=value)
                        for name, value in self.broker_configs.items()
                    ],
                ),
            ]
        )

    def _heartbeat(self, request: hb.ShareGroupHeartbeatRequest) -> hb.ShareGroupHeartbeatResponse:
        if self.heartbeat_error:
            return hb.ShareGroupHeartbeatResponse(error_code=self.heartbeat_error)
        if request.member_epoch == -1:
            self.members.pop(request.member_id, None)
            return hb.ShareGroupHeartbeatResponse(member_id=request.member_id, member_epoch=-1)
        if request.member_epoch and request.member_id not in self.members:
            return hb.ShareGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        self.members[request.member_id] = 1
        partitions = list(self.leaders) if self.assigned else []
        return hb.ShareGroupHeartbeatResponse(
            member_id=request.member_id,
            member_epoch=1,
            heartbeat_interval_ms=5_000,
            assignment=hb.Assignment(
                topic_partitions=[hb.TopicPartitions(topic_id=TOPIC_ID, partitions=partitions)]
            ),
        )

    def _session(self, node_id: int, request: sf.ShareFetchRequest | sa.ShareAcknowledgeRequest) -> int:
        """An error, or zero with the session's epoch counted up."""
        key = (node_id, request.member_id or "")
        session = self.sessions.get(key)
        epoch = request.share_session_epoch
        if self.top_error:
            return self.top_error
        if epoch == 0:
            if isinstance(request, sa.ShareAcknowledgeRequest):
                return ErrorCode.INVALID_SHARE_SESSION_EPOCH
            assert not any(p.acknowledgement_batches for t in request.topics for p in t.partitions)
            self.sessions[key] = ModelSession(1)  # a session that begins anew keeps what was leased
            return 0
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        if epoch != -1 and epoch != session.epoch:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        session.epoch += 1
        return 0

    def look_again(self, node_id: int, request: sf.ShareFetchRequest, now_ms: int) -> sf.ShareFetchResponse:
        """What a fetch that waited finds now; it said its acknowledgements when it came."""
        self.expire(now_ms)
        if (node_id, request.member_id or "") not in self.sessions:
            return sf.ShareFetchResponse(
                error_code=ErrorCode.SHARE_SESSION_NOT_FOUND, responses=[sf.ShareFetchableTopicResponse()]
            )
        return self._lend_to(node_id, request, {}, now_ms)

    def _share_fetch(self, node_id: int, request: sf.ShareFetchRequest, now_ms: int) -> sf.ShareFetchResponse:
        if error := self._session(node_id, request):
            return sf.ShareFetchResponse(error_code=error)
        session = self.sessions[node_id, request.member_id or ""]
        answers = dict[int, sf.PartitionData]()
        for topic in request.topics:
            for part in topic.partitions:
                session.partitions.add(part.partition_index)
                if part.acknowledgement_batches:
                    code = self._apply(
                        node_id, request, part.partition_index, part.acknowledgement_batches, now_ms
                    )
                    answers[part.partition_index] = sf.PartitionData(
                        partition_index=part.partition_index, acknowledge_error_code=code, records=b""
                    )
        for forgotten in request.forgotten_topics_data:
            session.partitions -= set(forgotten.partitions)
        return self._lend_to(node_id, request, answers, now_ms)

    def _lend_to(
        self, node_id: int, request: sf.ShareFetchRequest, answers: dict[int, sf.PartitionData], now_ms: int
    ) -> sf.ShareFetchResponse:
        session = self.sessions[node_id, request.member_id or ""]
        room = request.max_records
        for partition in sorted(session.partitions):
            data = answers.get(partition)
            fails = self.fetch_error_in is None or partition in self.fetch_error_in
            if self.leaders.get(partition) != node_id or (fails and self.fetch_error):
                data = data or sf.PartitionData(partition_index=partition, records=b"")
                data.error_code = self.fetch_error or ErrorCode.NOT_LEADER_OR_FOLLOWER
                data.current_leader = sf.LeaderIdAndEpoch(leader_id=self.leaders.get(partition, -1))
                answers[partition] = data
                continue
            leased = self._lease(node_id, request, partition, room, now_ms) if room > 0 else []
            if leased:
                room -= len(leased)
                data = data or sf.PartitionData(partition_index=partition)
                data.records = self._bytes(partition, leased)
                data.acquired_records = [
                    sf.AcquiredRecords(
                        first_offset=r.offset, last_offset=r.offset, delivery_count=r.delivery_count
                    )
                    for r in leased
                ]
                answers[partition] = data
        return sf.ShareFetchResponse(
            acquisition_lock_timeout_ms=self.lock_ms,
            responses=[sf.ShareFetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(answers.values()))],
        )

    def _share_acknowledge(
        self, node_id: int, request: sa.ShareAcknowledgeRequest, now_ms: int
    ) -> sa.ShareAcknowledgeResponse:
        if error := self._session(node_id, request):
            return sa.ShareAcknowledgeResponse(error_code=error)
        answers = []
        for topic in request.topics:
            for part in topic.partitions:
                self.sessions[node_id, request.member_id or ""].partitions.add(part.partition_index)
                code = self._apply(
                    node_id, request, part.partition_index, part.acknowledgement_batches, now_ms
                )
                answers.append(sa.PartitionData(partition_index=part.partition_index, error_code=code))
        if request.share_session_epoch == -1:
            self._end((node_id, request.member_id or ""))
        return sa.ShareAcknowledgeResponse(
            acquisition_lock_timeout_ms=self.lock_ms,
            responses=[sa.ShareAcknowledgeTopicResponse(topic_id=TOPIC_ID, partitions=answers)],
        )

    # the share machine in a few lines

    def _lease(
        self, node_id: int, request: sf.ShareFetchRequest, partition: int, room: int, now_ms: int
    ) -> list[ModelRecord]:
        free = [
            r for r in self.logs[partition] if r.ended is None and r.holder is None and r.due_ms <= now_ms
        ][:room]
        for record in free:
            record.holder = request.member_id
            record.until_ms = now_ms + self.lock_ms
            record.delivery_count += 1
        return free

    def _apply(
        self,
        node_id: int,
        request: sf.ShareFetchRequest | sa.ShareAcknowledgeRequest,
        partition: int,
        batches: object,
        now_ms: int,
    ) -> int:
        if self.leaders.get(partition) != node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.ack_error:
            return self.ack_error
        holder = request.member_id
        said, arrived = dict[int, int](), dict[int, Arrived]()
        last = -1
        for batch in batches:  # type: ignore[attr-defined]
            assert last < batch.first_offset <= batch.last_offset, "ascending, and no overlap"
            last = batch.last_offset
            count = last - batch.first_offset + 1
            types = list(batch.acknowledge_types)
            assert len(types) in (1, count)
            said.update(
                zip(
                    range(batch.first_offset, last + 1),
                    types * count if len(types) == 1 else types,
                    strict=True,
                )
            )
            assert isinstance(batch, ExtendedAcknowledgementBatch)
            extra = (batch.release_delay_ms, batch.reject_reason, batch.given_back)
            assert self.is_leaselogs or extra == (NO_DELAY, None, False)
            arrived |= {o: Arrived(said[o], *extra) for o in range(batch.first_offset, last + 1)}
        assert RENEW not in said.values() or request.is_renew_ack
        log = self.logs[partition]
        if any(log[offset].holder != holder for offset in said):
            return ErrorCode.INVALID_RECORD_STATE
        for offset, kind in said.items():
            record = log[offset]
            assert (kind == GAP) == (record.value is None) or kind in (RELEASE, REJECT)
            if kind == RENEW:
                record.until_ms = now_ms + self.lock_ms
            else:
                record.holder = None
                record.ended = None if kind == RELEASE else kind
                record.acknowledged.append(arrived[offset])
                record.due_ms = now_ms + max(0, arrived[offset].delay_ms)
                record.delivery_count -= arrived[offset].given_back
        return 0

    def _end(self, key: tuple[int, str]) -> None:
        """What was leased goes back; a broker knows a holder by its member id alone."""
        del self.sessions[key]
        for partition, log in self.logs.items():
            for record in log:
                if record.holder == key[1] and self.leaders[partition] == key[0]:
                    record.holder = None
                    record.lost_deliveries.add(record.delivery_count)

    def _bytes(self, partition: int, leased: list[ModelRecord]) -> bytes:
        """Whole batches, as a broker sends them; gaps are not in there."""
        first, last = leased[0].offset, leased[-1].offset
        size = self.records_a_batch
        data = bytearray()
        for base in range(first - first % size, last + 1, size):
            records = [r for r in self.logs[partition][base : base + size] if r.value is not None]
            if records:
                data += batch_of([(r.offset, r.value) for r in records], base)
        return bytes(data)


def batch_of(records: list[tuple[int, bytes | None]], base: int) -> bytearray:
    """A batch with these records, with holes in it if their offsets have."""
    last = records[-1][0]
    dense = [Record(b"k", b"", (), 1000) for _ in range(last - base + 1)]
    header = parse_header(build_batch(dense, base_offset=base))
    return rebuild_batch(header, [Record(b"k%d" % o, v, (), 1000, o) for o, v in records])

"""What share consumers may not do, on real sockets: each is told the right code, and nothing else has changed.

The same tests run on Apache Kafka, whose codes these are. "Nothing else" is looked up every time: the neighbour
partition of the same request is served, what was held is still held, and the group's offsets are where they were.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from interop.confluent_io import consumer_of, create_topic, numbered, produce, take, wait_until
from interop.raw_requests import RawConnection, connect, connected
from interop.share_member import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Batch,
    RawShareMember,
    acknowledge_codes,
    begin,
    codes,
    heartbeat,
    partition_of,
    ranges,
    topic_id_of,
)
from interop.share_state import Offsets, offsets_of
from interop.test_share_librdkafka import SHORT_LOCKS, set_group
from leaselog.model import ErrorCode
from leaselog.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

INVALID, STATE = ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_RECORD_STATE
COUNT = 10
ALL: list[Batch] = [(0, COUNT - 1, [ACCEPT])]


@dataclass(slots=True)
class Case:
    """A topic of two partitions with ten records each, one batch a partition, and a group that begins with them."""

    broker: BrokerProcess
    topic: str
    topic_id: UUID
    group: str
    connections: list[RawConnection]

    def member(self, **more: str) -> RawShareMember:
        """On a connection of its own."""
        connection = connect(self.broker)
        self.connections.append(connection)
        return RawShareMember(connection, self.group, self.topic_id, **more)

    def holder(self) -> RawShareMember:
        """One who holds all records of both partitions."""
        member = self.member()
        held = member.acquire(partitions=(0, 1), until=2 * COUNT)
        assert held == {0: [(0, COUNT - 1, 1)], 1: [(0, COUNT - 1, 1)]}
        return member

    def offsets(self) -> dict[int, Offsets]:
        return {partition: of for (_, partition), of in offsets_of(self.broker, self.group).items()}


Make = Callable[[BrokerProcess], Case]


@pytest.fixture
def make(fresh) -> Iterator[Make]:
    connections: list[RawConnection] = []

    def make_case(broker: BrokerProcess) -> Case:
        topic = create_topic(broker, fresh("topic"), partitions=2)
        group = set_group(broker, fresh("group"))
        for partition in (0, 1):
            produce(broker, topic, numbered(COUNT, partition), linger_ms=200)
        begin(broker, group, [topic], 2)
        return Case(broker, topic, topic_id_of(broker, topic), group, connections)

    yield make_case
    for connection in connections:
        connection.close()


@pytest.fixture
def case(make, broker) -> Case:
    return make(broker)


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> Iterator[BrokerProcess]:
    """Leases of a second, and room for two sessions."""
    limits = {"group.share.max.share.sessions": "2", "group.share.max.size": "2"}
    process = BrokerProcess(tmp_path_factory.mktemp("quick-broker"), {**SHORT_LOCKS, **limits})
    process.start()
    yield process
    process.stop()


MALFORMED = {
    "first after last": ([(3, 2, [ACCEPT])], INVALID),
    "overlap": ([(0, 4, [ACCEPT]), (3, 6, [ACCEPT])], INVALID),
    "order": ([(5, 6, [ACCEPT]), (0, 1, [ACCEPT])], INVALID),
    "no type": ([(0, 4, [])], INVALID),
    "two types for five": ([(0, 4, [ACCEPT, ACCEPT])], INVALID),
    "six types for five": ([(0, 4, [ACCEPT] * 6)], INVALID),
    "type 5": ([(0, 4, [5])], INVALID),
    "type -1": ([(0, 4, [-1])], INVALID),
    "type 127 among others": ([(0, 2, [ACCEPT, 127, ACCEPT])], INVALID),
    "renewal not announced": ([(0, 4, [RENEW])], INVALID),
    "last past what is held": ([(5, 12, [ACCEPT])], INVALID),
    "first past what is held": ([(12, 12, [ACCEPT])], INVALID),
    "up to the last offset there can be": ([(0, (1 << 63) - 1, [ACCEPT])], INVALID),
    "far past what is held": ([((1 << 62), (1 << 62) + 1, [REJECT])], INVALID),
    "the same record twice": ([(0, 4, [ACCEPT]), (4, 6, [RELEASE])], STATE),
    "good batches and a bad one": ([(0, 1, [ACCEPT]), (2, 3, [RELEASE]), (4, 5, [REJECT]), (6, 6, [9])], INVALID),
}  # fmt: skip


@pytest.mark.parametrize(("batches", "code"), MALFORMED.values(), ids=list(MALFORMED))
def test_a_bad_batch_refuses_its_partition_and_nothing_else(case, batches, code) -> None:
    member = case.holder()
    before = case.offsets()
    assert codes(member.acknowledge({0: batches, 1: [(0, 0, [RELEASE])]})) == {0: code, 1: 0}
    # piggybacked on a fetch it is the same; records given back come with it, or with the next
    answer = member.fetch(acks={0: batches, 1: [(1, 1, [ACCEPT])]}, max_records=0)
    assert {p: e for p, e in acknowledge_codes(answer).items() if e} == {0: code}
    assert case.offsets()[0] == before[0]
    assert codes(member.acknowledge({0: ALL})) == {0: 0}, "all of it is still held"
    assert case.offsets()[0].lag == 0


def test_version_one_knows_no_renewal(case) -> None:
    member = case.holder()
    assert codes(member.acknowledge({0: [(0, 4, [RENEW])], 1: ALL}, version=1)) == {0: INVALID, 1: 0}
    assert codes(member.acknowledge({0: ALL}, version=1)) == {0: 0}


def test_what_another_holds_is_not_mine_to_acknowledge(case) -> None:
    member, stranger = case.holder(), case.member()
    assert ranges(stranger.fetch(partitions=(0, 1))) == {}
    for kind in (GAP, ACCEPT, RELEASE, REJECT):
        assert codes(stranger.acknowledge({0: [(3, 4, [kind])], 1: [(0, 9, [kind])]})) == {0: STATE, 1: STATE}
    assert ranges(stranger.fetch()) == {}, "nothing was given back"
    assert codes(member.acknowledge({0: ALL, 1: ALL})) == {0: 0, 1: 0}


def test_one_record_that_is_not_mine_refuses_all_of_the_partition(case) -> None:
    member, other = case.member(), case.member()
    held = member.acquire(until=4, max_records=4, share_acquire_mode=1)
    assert held == {0: [(0, 3, 1)]}
    assert other.acquire(until=6)[0][0][0] == 4
    assert codes(member.acknowledge({0: [(0, 2, [ACCEPT]), (3, 4, [ACCEPT])]})) == {0: STATE}
    assert codes(member.acknowledge({0: [(0, 3, [ACCEPT])]})) == {0: 0}
    assert codes(other.acknowledge({0: [(4, 9, [ACCEPT])]})) == {0: 0}


def test_what_nobody_holds_cannot_be_acknowledged(case) -> None:
    member = case.member()
    assert member.acquire(until=4, max_records=4, share_acquire_mode=1) == {0: [(0, 3, 1)]}
    # what Apache Kafka knows of ends with the log's batch, what leaselog knows of with what was taken
    beyond = {0: STATE if is_kafka() else INVALID}
    assert codes(member.acknowledge({0: [(4, 5, [ACCEPT])]})) == beyond
    assert codes(member.acknowledge({0: [(2, 5, [ACCEPT])]})) == beyond
    assert codes(member.acknowledge({0: [(0, 3, [RELEASE])]})) == {0: 0}
    assert codes(member.acknowledge({0: [(0, 3, [ACCEPT])]})) == {0: STATE}, "given back already"


def test_twice_is_refused_inside_the_window_and_ignored_below_it(case) -> None:
    member = case.holder()
    assert codes(member.acknowledge({0: [(4, 5, [ACCEPT])]})) == {0: 0}
    for kind in (ACCEPT, RELEASE, REJECT):
        assert codes(member.acknowledge({0: [(4, 5, [kind])], 1: [(0, 0, [ACCEPT])]}))[0] == STATE
    assert codes(member.acknowledge({0: [(0, 3, [ACCEPT])]})) == {0: 0}
    for kind in (ACCEPT, RELEASE, REJECT):
        assert codes(member.acknowledge({0: [(0, 5, [kind])]})) == {0: 0}, "below the start it is ignored"
    assert case.offsets()[0].lag == 4
    assert codes(member.acknowledge({0: [(4, 9, [ACCEPT])]})) == {0: 0}, "and the part above it counts"
    assert case.offsets()[0].lag == 0


def test_epochs_must_be_the_next_one(case) -> None:
    member = case.holder()
    member.fetch(max_records=0)
    for epoch in (member.epoch - 1, member.epoch + 1, member.epoch + 1000, (1 << 31) - 1, -2):
        wrong = member.acknowledge({0: ALL}, epoch=epoch)
        assert (wrong.error_code, wrong.responses) == (ErrorCode.INVALID_SHARE_SESSION_EPOCH, [])
        wrong_fetch = member.fetch(acks={0: ALL}, epoch=epoch)
        assert (wrong_fetch.error_code, wrong_fetch.responses) == (
            ErrorCode.INVALID_SHARE_SESSION_EPOCH,
            [],
        )
    assert codes(member.acknowledge({0: ALL})) == {0: 0}, "the session goes on, with all that it holds"


def test_a_session_does_not_begin_with_acknowledgements(case) -> None:
    member = case.holder()
    assert member.acknowledge({0: ALL}, epoch=0).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert member.fetch(acks={0: ALL}, epoch=0).error_code == INVALID
    assert codes(member.acknowledge({0: ALL})) == {0: 0}, "the one there was goes on"


@pytest.mark.parametrize("epoch", [1, 7, -1])
def test_without_a_session_nothing_is_acknowledged_or_fetched(case, epoch: int) -> None:
    holder, nobody = case.holder(), case.member()
    assert nobody.acknowledge({0: ALL}, epoch=epoch).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert nobody.fetch(epoch=epoch).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert codes(holder.acknowledge({0: ALL})) == {0: 0}


def test_a_closed_session_is_over(case) -> None:
    member = case.holder()
    assert codes(member.acknowledge({0: [(0, 4, [ACCEPT])]}, epoch=-1)) == {0: 0}
    assert member.acknowledge({0: [(5, 9, [ACCEPT])]}).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert case.offsets()[0].lag == 5
    assert case.member().acquire(until=5)[0] == [(5, 9, 2)], "given back"


@pytest.mark.parametrize("member_id", ["", "x" * 37])
def test_a_member_id_must_be_usable(case, member_id: str) -> None:
    stranger = case.member(member=member_id)
    assert stranger.fetch().error_code == INVALID
    stranger.epoch = 1
    assert stranger.acknowledge({0: ALL}).error_code == INVALID


def test_a_group_id_must_be_there(case) -> None:
    assert case.member().fetch(group_id=None).error_code == INVALID
    assert case.member().acknowledge({0: ALL}, epoch=1, group_id=None).error_code == INVALID


def test_unknown_topics_and_partitions_have_errors_of_their_own(case) -> None:
    member = case.holder()
    nowhere = uuid.uuid4()
    assert codes(member.acknowledge({0: ALL}, topic_id=nowhere)) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
    for partition in (2, 999, (1 << 31) - 1):
        answer = member.acknowledge({partition: ALL, 1: [(0, 0, [ACCEPT])]})
        assert codes(answer)[partition] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert codes(answer)[1] in (0, STATE), "its neighbour is looked at"
    assert codes(member.acknowledge({0: ALL})) == {0: 0}
    if is_kafka():
        return  # a session that begins with nothing it knows is answered -1 there, though its rules say otherwise
    stranger = case.member()
    found = partition_of(stranger.fetch(topic_id=nowhere))
    assert found is not None
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_fetch_that_renews_may_ask_for_nothing_else(case) -> None:
    member = case.holder()
    nothing = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "wait_ms": 0}
    for wish in ({"max_bytes": 1}, {"min_bytes": 1}, {"max_records": 1}, {"wait_ms": 1}):
        epoch = member.epoch
        answer = member.fetch(acks={0: [(0, 9, [RENEW])]}, is_renew_ack=True, **{**nothing, **wish})
        assert answer.error_code == INVALID, wish
        member.epoch = epoch
    renewed = member.fetch(acks={0: [(0, 9, [RENEW])]}, is_renew_ack=True, **nothing)
    assert {p: e for p, e in acknowledge_codes(renewed).items() if e} == {}
    assert codes(member.acknowledge({0: ALL})) == {0: 0}


def test_a_group_that_never_began_has_nothing_to_fetch_or_acknowledge(case, fresh) -> None:
    stranger = case.member()
    stranger.group = fresh("no-such-group")
    found: list[int] = []

    def is_told() -> bool:
        answer = partition_of(stranger.fetch(wait_ms=100))
        found[:] = [answer.error_code if answer is not None else 0]
        return found != [0]

    wait_until(is_told, "an error of the partition")
    assert found == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert codes(stranger.acknowledge({0: ALL})) in (
        {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
        {0: ErrorCode.UNKNOWN_SERVER_ERROR},
        {0: STATE},
    )
    assert offsets_of(case.broker, stranger.group) == {}, "asking has not made a group"


def test_a_group_is_of_one_kind(case, fresh) -> None:
    """A consumer group takes no share members, and a share group takes no consumers and no offsets."""
    group, member = fresh("classic"), str(uuid.uuid4())
    consumer = consumer_of(case.broker, group)
    consumer.subscribe([case.topic])
    take(consumer, 2 * COUNT)
    consumer.commit(asynchronous=False)
    try:
        with connected(case.broker) as connection:
            refused = heartbeat(connection, group, member, 0, [case.topic])
            assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
            assert len(consumer.committed(consumer.assignment(), 20)) == 2, "it goes on as it was"
            commit = OffsetCommitRequest(
                group_id=case.group,
                topics=[
                    OffsetCommitRequestTopic(
                        name=case.topic, partitions=[OffsetCommitRequestPartition(committed_offset=5)]
                    )
                ],
            )
            answer = connection.ask(commit, 8, OffsetCommitResponse)
            assert {p.error_code for t in answer.topics for p in t.partitions} == {
                ErrorCode.GROUP_ID_NOT_FOUND
            }
            join = JoinGroupRequest(
                group_id=case.group,
                session_timeout_ms=10_000,
                rebalance_timeout_ms=10_000,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
            )
            joined = connection.ask(join, 5, JoinGroupResponse)
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                join.member_id = joined.member_id
                joined = connection.ask(join, 5, JoinGroupResponse)
            assert joined.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    finally:
        consumer.close()
    assert codes(case.holder().acknowledge({0: ALL, 1: ALL})) == {0: 0, 1: 0}


def test_after_its_time_a_lease_is_nobodys(make, quick) -> None:
    case = make(quick)
    member = case.member()
    member.acquire(until=COUNT)
    time.sleep(1.2)  # the broker's clock is what ends a lease
    assert codes(member.acknowledge({0: ALL})) == {0: STATE}
    assert codes(member.acknowledge({0: [(0, 9, [RENEW])]}, is_renew_ack=True)) == {0: STATE}
    other = case.member()
    assert other.acquire(until=COUNT) == {0: [(0, 9, 2)]}
    assert codes(member.acknowledge({0: ALL})) == {0: STATE}
    assert codes(other.acknowledge({0: ALL})) == {0: 0}
    for each in (member, other):
        each.fetch(epoch=-1)


def test_beyond_the_bound_of_sessions_nobody_else_begins(make, quick) -> None:
    case = make(quick)
    one, two, three = case.member(), case.member(), case.member()
    one.acquire(until=COUNT)
    assert ranges(two.fetch()) == {}
    began = time.monotonic()
    refused = three.fetch(wait_ms=300)
    assert refused.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert refused.responses == []
    assert time.monotonic() - began >= 0.3 or not is_kafka()
    assert codes(one.acknowledge({0: [(0, 4, [ACCEPT])]})) == {0: 0}, "those who are there go on"
    assert two.fetch(epoch=-1).error_code == 0
    three.epoch = 0
    assert three.fetch().error_code == 0, "and there is room when one has gone"
    for each in (one, three):
        each.fetch(epoch=-1)

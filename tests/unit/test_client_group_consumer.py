"""The group consumer against a coordinator and a partition that answer as scripted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from leaselog.client.errors import BrokerError, ClientError, ConnectionLost
from leaselog.client.fetcher import EARLIEST, LATEST
from leaselog.client.group_consumer import GroupConsumer, GroupReading
from leaselog.client.membership import GroupSettings
from leaselog.client.security.config import PLAINTEXT
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from leaselog.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from leaselog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from leaselog.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from leaselog.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from leaselog.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from leaselog.wire.records import Record, build_batch

WHERE = TopicPartition("t", 0)
NODE = Node(1, "host", 9092)
START, END = 40, 100_000
#: an error code to answer with, or an exception in place of an answer
Step = int | Exception


def topic(name: str, partitions: int = 1) -> TopicInfo:
    infos = tuple(PartitionInfo(p, 1, 0, (1,), (1,), ()) for p in range(partitions))
    return TopicInfo(name, UUID(bytes=name.ljust(16).encode()), name.startswith("__"), infos)


class ScriptedCluster:
    """A group of one on t-0, which holds records from 40 on, one a batch. ``steps`` take the place of answers."""

    security = PLAINTEXT
    request_timeout_ms = 1000
    api_timeout_ms = 1000

    def __init__(self, committed: int = -1, **steps: list[Step]) -> None:
        self.committed = committed
        self.steps = steps
        self.topics = {"t": topic("t")}
        self.generation = 0
        #: what the coordinator was asked: JoinGroup, SyncGroup, OffsetFetch, OffsetCommit 43, LeaveGroup
        self.asked = list[str]()
        self.member_ids = list[str]()
        self.lookups = 0
        self.topology_lookups = 0
        self.heartbeats = 0
        self.is_closed = False

    # what the consumer sees of a cluster

    async def fetch_topology(self, topics: list[str] | None, *, auto_create: bool = False) -> Topology:
        self.topology_lookups += 1
        return Topology({1: NODE}, None, 1, dict(self.topics), {})

    async def topology(self, topics: list[str]) -> Topology:
        return await self.fetch_topology(topics)

    async def retrying(self, attempt: Callable[[], Awaitable[Any]], *, timeout_ms: int | None = None) -> Any:
        for _ in range(3):
            try:
                return await attempt()
            except ClientError as failed:
                if not failed.is_retriable:
                    raise
                last = failed
        raise last

    async def coordinator(self, key: str) -> Node:
        self.lookups += 1
        return NODE

    async def open_connection(self, node: Node) -> ScriptedCluster:
        self.is_closed = False
        return self

    async def connection(self, node: int) -> ScriptedCluster:
        return self

    def close(self) -> None:
        self.is_closed = True

    # what the broker says

    async def request(self, message: Any, kind: type, **_: Any) -> Any:
        if isinstance(message, FetchRequest):
            return await self._fetch(message)
        name = message.NAME.removesuffix("Request")
        if name == "ListOffsets":
            return self._list(message)
        self._note(name, message)
        steps = self.steps.get(name, [])
        step = steps.pop(0) if steps else 0
        if isinstance(step, Exception):
            raise step
        return self._answer(message, step)

    def _note(self, name: str, message: Any) -> None:
        if name == "Heartbeat":
            self.heartbeats += 1
        elif isinstance(message, OffsetCommitRequest):
            assert message.generation_id_or_member_epoch == self.generation
            parts = [part.committed_offset for t in message.topics for part in t.partitions]
            self.asked.append(f"{name} {','.join(map(str, parts))}")
        else:
            self.asked.append(name)

    def _answer(self, message: Any, code: int) -> Any:
        match message:
            case JoinGroupRequest():
                return self._join(message, code)
            case SyncGroupRequest():
                mine = message.assignments[0].assignment
                return SyncGroupResponse(error_code=code, assignment=b"" if code else mine)
            case HeartbeatRequest():
                return HeartbeatResponse(error_code=code)
            case LeaveGroupRequest():
                return LeaveGroupResponse()
            case OffsetFetchRequest():
                return self._committed(message, code)
            case OffsetCommitRequest():
                if not code:
                    self.committed = message.topics[0].partitions[0].committed_offset
                done = OffsetCommitResponsePartition(error_code=code)
                topic_id = message.topics[0].topic_id
                return OffsetCommitResponse(
                    topics=[OffsetCommitResponseTopic(topic_id=topic_id, partitions=[done])]
                )
        raise AssertionError(message)

    def _join(self, message: JoinGroupRequest, code: int) -> JoinGroupResponse:
        self.member_ids.append(message.member_id)
        if not message.member_id and not code:
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="me")
        self.generation += 1
        me = JoinGroupResponseMember(member_id="me", metadata=message.protocols[0].metadata)
        return JoinGroupResponse(
            error_code=code, member_id="me", leader="me", members=[me], generation_id=self.generation,
            protocol_type="consumer", protocol_name="range",
        )  # fmt: skip

    def _committed(self, message: OffsetFetchRequest, code: int) -> OffsetFetchResponse:
        topics = [
            OffsetFetchResponseTopics(
                topic_id=asked.topic_id,
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=number,
                        committed_offset=self.committed if (asked.name, number) == WHERE else -1,
                        error_code=code,
                    )
                    for number in asked.partition_indexes
                ],
            )
            for asked in message.groups[0].topics or ()
        ]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])

    def _list(self, message: Any) -> ListOffsetsResponse:
        topics = [
            ListOffsetsTopicResponse(
                name=asked.name,
                partitions=[
                    ListOffsetsPartitionResponse(
                        partition_index=part.partition_index,
                        offset=START if part.timestamp == EARLIEST else END,
                    )
                    for part in asked.partitions
                ],
            )
            for asked in message.topics
        ]
        return ListOffsetsResponse(topics=topics)

    async def _fetch(self, message: FetchRequest) -> FetchResponse:
        await asyncio.sleep(0)
        topics = [
            FetchableTopicResponse(topic_id=asked.topic_id, partitions=[_data(p) for p in asked.partitions])
            for asked in message.topics
        ]
        return FetchResponse(responses=topics)


def _data(asked: FetchPartition) -> PartitionData:
    data = PartitionData(partition_index=asked.partition)
    if asked.fetch_offset < END:
        data.records = build_batch([Record(None, b"x")], base_offset=asked.fetch_offset)
    return data


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("group_consumer.RETRY_BACKOFF_MS", "fetcher.RETRY_BACKOFF_MS", "membership._BACKOFF_MS"):
        monkeypatch.setattr(f"leaselog.client.{name}", 0)


def consumer_of(
    cluster: ScriptedCluster, topics: list[str] | re.Pattern[str] | None = None, **settings: Any
) -> GroupConsumer:
    group = GroupSettings("g", heartbeat_interval_ms=settings.pop("heartbeat_interval_ms", 60_000))
    settings.setdefault("reset", LATEST)
    made: Callable[..., GroupConsumer] = GroupConsumer
    return made(cluster, topics or ["t"], GroupReading(group, **settings))


async def read(consumer: GroupConsumer, count: int) -> list[int]:
    """The next offsets, each done as soon as it is seen."""
    offsets = list[int]()
    async with asyncio.timeout(10):
        while len(offsets) < count:
            for part in await consumer.poll(10):
                offsets += [record.offset for record in part.records()]
                consumer.done(part.where, offsets[-1] + 1)
    return offsets


async def poll_until(consumer: GroupConsumer, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await consumer.poll(10)


def run(cluster: ScriptedCluster, count: int, **settings: Any) -> list[int]:
    async def main() -> list[int]:
        async with consumer_of(cluster, **settings) as consumer:
            return await read(consumer, count)

    return asyncio.run(main())


def test_it_goes_on_where_the_group_stopped_and_commits_and_leaves_at_the_end() -> None:
    cluster = ScriptedCluster(committed=43)
    assert run(cluster, 3) == [43, 44, 45]
    assert cluster.asked == [
        "JoinGroup",
        "JoinGroup",
        "SyncGroup",
        "OffsetFetch",
        "OffsetCommit 46",
        "LeaveGroup",
    ]
    assert cluster.member_ids == ["", "me"]


def test_without_a_committed_offset_the_reset_says_where_to_begin() -> None:
    assert run(ScriptedCluster(), 2, reset=EARLIEST) == [40, 41]
    with pytest.raises(BrokerError, match="t-0 has no committed offset"):
        run(ScriptedCluster(), 1, reset=None)


def test_where_it_began_is_committed_even_if_nothing_came() -> None:
    cluster = ScriptedCluster()

    async def main() -> None:
        async with consumer_of(cluster, reset=LATEST) as consumer:
            await poll_until(consumer, lambda: bool(consumer.positions))

    asyncio.run(main())
    assert cluster.committed == END


def test_only_what_is_done_is_committed() -> None:
    cluster = ScriptedCluster(committed=43)

    async def main() -> None:
        async with consumer_of(cluster) as consumer:
            await read(consumer, 2)
            seen = list[Any]()
            async with asyncio.timeout(10):
                while not seen:
                    seen = await consumer.poll(10)

    asyncio.run(main())
    assert cluster.committed == 45


def test_without_auto_commit_nothing_is_committed_but_by_the_caller() -> None:
    cluster = ScriptedCluster(committed=43)
    assert run(cluster, 3, auto_commit=False) == [43, 44, 45]
    assert cluster.committed == 43

    async def main() -> None:
        async with consumer_of(cluster, auto_commit=False) as consumer:
            await read(consumer, 2)
            await consumer.commit()

    asyncio.run(main())
    assert cluster.committed == 45


def test_commits_go_out_at_their_interval() -> None:
    cluster = ScriptedCluster(committed=40)

    async def main() -> None:
        async with consumer_of(cluster, auto_commit_interval_ms=0) as consumer:
            await read(consumer, 5)
            await poll_until(consumer, lambda: cluster.committed == 45)

    asyncio.run(main())


def test_a_rebalance_in_the_middle_commits_joins_again_and_reads_every_record_once() -> None:
    cluster = ScriptedCluster(committed=40)

    async def main() -> list[int]:
        async with consumer_of(cluster, heartbeat_interval_ms=1) as consumer:
            offsets = await read(consumer, 3)
            cluster.steps["Heartbeat"] = [ErrorCode.REBALANCE_IN_PROGRESS]
            await poll_until_rebalanced(consumer, cluster, offsets)
            return offsets + await read(consumer, 2)

    offsets = asyncio.run(main())
    assert offsets == list(range(40, 40 + len(offsets)))
    join_again = len(cluster.asked) - 1 - cluster.asked[::-1].index("JoinGroup")
    assert cluster.asked[join_again - 1].startswith("OffsetCommit")
    assert cluster.asked[join_again : join_again + 3] == ["JoinGroup", "SyncGroup", "OffsetFetch"]
    assert cluster.member_ids == ["", "me", "me"]


async def poll_until_rebalanced(
    consumer: GroupConsumer, cluster: ScriptedCluster, offsets: list[int]
) -> None:
    """Reads on, past the end of the first generation."""
    async with asyncio.timeout(10):
        while cluster.generation < 2:
            for part in await consumer.poll(10):
                offsets += [record.offset for record in part.records()]
                consumer.done(part.where, offsets[-1] + 1)


def test_what_is_done_of_a_partition_after_it_was_lost_is_not_committed() -> None:
    cluster = ScriptedCluster(committed=40, Heartbeat=[0, ErrorCode.REBALANCE_IN_PROGRESS])
    cluster.topics = {"t": topic("t", partitions=2)}
    lost = TopicPartition("t", 1)

    async def main() -> None:
        async with consumer_of(cluster, heartbeat_interval_ms=1) as consumer:
            await poll_until(consumer, lambda: lost in consumer.assignment)
            cluster.topics = {"t": topic("t")}
            await poll_until(consumer, lambda: consumer.assignment == {WHERE})
            consumer.done(lost, 77)  # its work took longer than the rebalance
            consumer.done(WHERE, 41)
            await consumer.commit()

    asyncio.run(main())
    commits = [asked for asked in cluster.asked if asked.startswith("OffsetCommit")]
    assert commits
    assert not [asked for asked in commits if "77" in asked]


def test_who_was_thrown_out_commits_nothing_before_it_is_back() -> None:
    cluster = ScriptedCluster(committed=40, Heartbeat=[ErrorCode.UNKNOWN_MEMBER_ID])

    async def main() -> list[int]:
        async with consumer_of(cluster, heartbeat_interval_ms=1) as consumer:
            await poll_until_rebalanced(consumer, cluster, [])
            assert not any(name.startswith("OffsetCommit") for name in cluster.asked)
            return await read(consumer, 1)

    assert asyncio.run(main()) == [40]
    assert cluster.member_ids == ["", "me", "", "me"]


def test_a_coordinator_that_moved_is_looked_up_and_the_member_stays_what_it_is() -> None:
    cluster = ScriptedCluster(
        committed=40, Heartbeat=[ErrorCode.NOT_COORDINATOR], OffsetFetch=[ErrorCode.NOT_COORDINATOR]
    )

    async def main() -> None:
        async with consumer_of(cluster, heartbeat_interval_ms=1) as consumer:
            await poll_until(consumer, lambda: cluster.heartbeats > 2)

    asyncio.run(main())
    assert cluster.lookups == 3
    assert cluster.generation == 1


@pytest.mark.parametrize(
    "request_name", ["JoinGroup", "SyncGroup", "OffsetFetch", "OffsetCommit", "Heartbeat"]
)
@pytest.mark.parametrize("failure", [ConnectionLost("gone"), ErrorCode.COORDINATOR_LOAD_IN_PROGRESS])
def test_what_may_pass_is_tried_again(request_name: str, failure: Step) -> None:
    cluster = ScriptedCluster(committed=40, **{request_name: [failure]})

    async def main() -> list[int]:
        async with consumer_of(cluster, heartbeat_interval_ms=1) as consumer:
            return await read(consumer, 3)

    assert asyncio.run(main()) == [40, 41, 42]
    assert cluster.committed == 43


def test_a_topic_made_again_under_another_id_is_looked_up_again() -> None:
    first, second = (
        ScriptedCluster(committed=40, OffsetFetch=steps) for steps in ([], [ErrorCode.UNKNOWN_TOPIC_ID])
    )
    assert run(first, 1) == run(second, 1) == [40]
    assert second.topology_lookups == first.topology_lookups + 1


@pytest.mark.parametrize("code", [ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS])
def test_a_commit_that_was_overtaken_is_a_reason_to_join_again(code: ErrorCode) -> None:
    cluster = ScriptedCluster(committed=40, OffsetCommit=[code])

    async def main() -> None:
        async with consumer_of(cluster) as consumer:
            await read(consumer, 1)
            with pytest.raises(BrokerError, match=code.name):
                await consumer.commit()
            await poll_until(consumer, lambda: cluster.generation == 2)

    asyncio.run(main())


def test_what_trying_again_would_not_mend_ends_the_next_poll() -> None:
    cluster = ScriptedCluster(JoinGroup=[ErrorCode.GROUP_AUTHORIZATION_FAILED])
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED: this client may not READ group 'g'"):
        run(cluster, 1)


def test_new_partitions_make_the_leader_divide_again() -> None:
    cluster = ScriptedCluster(committed=50)

    async def main() -> frozenset[TopicPartition]:
        async with consumer_of(cluster, metadata_max_age_ms=1) as consumer:
            await read(consumer, 1)
            cluster.topics["t"] = topic("t", partitions=2)
            await poll_until(consumer, lambda: len(consumer.assignment) == 2)
            return consumer.assignment

    assert asyncio.run(main()) == {WHERE, TopicPartition("t", 1)}


def test_a_topic_that_one_broker_knew_and_the_next_one_not_yet_is_divided_when_it_is_known_everywhere() -> (
    None
):
    """The leader looked for partitions where the topic was still to come, though it had been seen a moment ago."""
    cluster = ScriptedCluster(committed=50)
    known = cluster.topics
    looked_up = 0

    async def fetch_topology(topics: list[str] | None, *, auto_create: bool = False) -> Topology:
        nonlocal looked_up
        looked_up += 1
        return Topology({1: NODE}, None, 1, {} if looked_up == 2 else dict(known), {})

    cluster.fetch_topology = fetch_topology  # type: ignore[method-assign]

    async def main() -> None:
        async with consumer_of(cluster) as consumer:
            await poll_until(consumer, lambda: consumer.assignment == {WHERE})

    asyncio.run(main())
    assert looked_up >= 3, "the leader's own look-up was the one that found nothing"
    assert cluster.asked.count("SyncGroup") == 2


def test_a_pattern_finds_topics_that_come_later_and_no_internal_ones() -> None:
    cluster = ScriptedCluster(committed=50)
    cluster.topics["__t"] = topic("__t")

    async def main() -> None:
        async with consumer_of(cluster, re.compile(".*t"), metadata_max_age_ms=1) as consumer:
            await poll_until(consumer, lambda: consumer.assignment == {WHERE})
            cluster.topics["ut"] = topic("ut")
            await poll_until(consumer, lambda: TopicPartition("ut", 0) in consumer.assignment)
            assert {where.topic for where in consumer.assignment} == {"t", "ut"}

    asyncio.run(main())


@pytest.mark.parametrize("turns", range(6))
def test_closing_ends_though_something_changes_at_that_very_moment(turns: int) -> None:
    """A task that is cancelled just as what it waits for happens must not take that for a reason to go on."""
    cluster = ScriptedCluster(committed=50)

    async def main() -> None:
        consumer = consumer_of(cluster)
        await poll_until(consumer, lambda: consumer.assignment == {WHERE})
        consumer.change()
        for _ in range(turns):
            await asyncio.sleep(0)
        closing = asyncio.create_task(consumer.close())
        done, _ = await asyncio.wait([closing], timeout=10)
        assert done, "still closing"

    asyncio.run(main())

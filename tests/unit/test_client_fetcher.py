"""The fetcher against one node that answers as scripted."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from leaselog.client.errors import BrokerError, ConnectionLost
from leaselog.client.fetcher import EARLIEST, Fetcher
from leaselog.client.security.config import PLAINTEXT
from leaselog.client.topology import Node, PartitionInfo, TopicInfo, Topology
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from leaselog.wire.records import Record, build_batch

WHERE = TopicPartition("t", 0)
TOPIC = TopicInfo("t", UUID(int=7), False, (PartitionInfo(0, 1, 0, (1,), (1,), ()),))
LOG_START = 40


class ScriptedCluster:
    """Holds records 40 to 49, one a batch; each fetch takes the next step in place of records, if there is one."""

    security = PLAINTEXT
    request_timeout_ms = 1000

    def __init__(self, *steps: int | Exception) -> None:
        self._steps = list(steps)
        self.offsets_asked = list[int]()
        self.lookups = 0

    async def fetch_topology(self, topics: list[str]) -> Topology:
        self.lookups += 1
        return Topology({1: Node(1, "h", 1)}, None, 1, {"t": TOPIC}, {})

    topology = fetch_topology

    async def retrying(self, attempt: Any) -> Any:
        return await attempt()

    async def connection(self, node: int) -> ScriptedCluster:
        return self

    async def request(self, message: Any, kind: type, **_: Any) -> Any:
        if not isinstance(message, FetchRequest):
            part = ListOffsetsPartitionResponse(partition_index=0, offset=LOG_START)
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[part])])
        asked = message.topics[0].partitions[0].fetch_offset
        self.offsets_asked.append(asked)
        step = self._steps.pop(0) if self._steps else 0
        if isinstance(step, Exception):
            raise step
        if step or not LOG_START <= asked < 50:
            return self._answer(PartitionData(error_code=step or ErrorCode.OFFSET_OUT_OF_RANGE))
        return self._answer(
            PartitionData(records=build_batch([Record(None, b"%d" % asked)], base_offset=asked))
        )

    def _answer(self, data: PartitionData) -> FetchResponse:
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC.topic_id, partitions=[data])])


@pytest.fixture(autouse=True)
def _no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.client.fetcher.RETRY_BACKOFF_MS", 0)


def read(cluster: ScriptedCluster, start: int, count: int, reset: int | None = None) -> list[int]:
    async def main() -> list[int]:
        fetcher = Fetcher(cluster, reset=reset)  # type: ignore[arg-type]
        fetcher.assign(WHERE, start)
        offsets = list[int]()
        try:
            while len(offsets) < count:
                offsets += [r.offset for part in await fetcher.poll(1000) for r in part.records()]
        finally:
            await fetcher.close()
        return offsets

    return asyncio.run(main())


def test_each_fetch_goes_on_where_the_last_one_ended() -> None:
    assert read(ScriptedCluster(), 43, 3) == [43, 44, 45]


@pytest.mark.parametrize("failure", [ConnectionLost("gone"), ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_after_a_failure_leaders_are_looked_up_and_nothing_is_skipped(failure: int | Exception) -> None:
    cluster = ScriptedCluster(0, failure)
    assert read(cluster, 40, 3) == [40, 41, 42]
    assert cluster.offsets_asked[:4] == [40, 41, 41, 42]
    assert cluster.lookups == 2


def test_an_offset_the_log_no_longer_has_is_an_error() -> None:
    with pytest.raises(BrokerError, match="OFFSET_OUT_OF_RANGE: t-0"):
        read(ScriptedCluster(), 3, 1)


def test_an_offset_the_log_no_longer_has_is_replaced_if_asked_for() -> None:
    assert read(ScriptedCluster(), 3, 2, reset=EARLIEST) == [40, 41]


class TwoPartitions:
    """t-0 and t-1 on one node, in one answer: records from 0 on, one a batch, and ``errors`` in place of them."""

    security = PLAINTEXT
    request_timeout_ms = 1000

    def __init__(self) -> None:
        self.topic_id = UUID(int=7)
        self.errors = dict[int, int]()
        self.asked = list[dict[int, int]]()
        self.ids_asked = list[UUID]()

    async def fetch_topology(self, topics: list[str]) -> Topology:
        infos = tuple(PartitionInfo(p, 1, 0, (1,), (1,), ()) for p in (0, 1))
        return Topology({1: Node(1, "h", 1)}, None, 1, {"t": TopicInfo("t", self.topic_id, False, infos)}, {})

    topology = fetch_topology

    async def retrying(self, attempt: Any) -> Any:
        return await attempt()

    async def connection(self, node: int) -> TwoPartitions:
        return self

    async def request(self, message: Any, kind: type, **_: Any) -> Any:
        if not isinstance(message, FetchRequest):
            parts = [
                ListOffsetsPartitionResponse(partition_index=part.partition_index, offset=0)
                for part in message.topics[0].partitions
            ]
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=parts)])
        (asked,) = message.topics
        self.asked.append({part.partition: part.fetch_offset for part in asked.partitions})
        self.ids_asked.append(asked.topic_id)
        found = [self._data(part.partition, part.fetch_offset) for part in asked.partitions]
        if asked.topic_id != self.topic_id:
            found = [
                PartitionData(partition_index=d.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
                for d in found
            ]
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=asked.topic_id, partitions=found)])

    def _data(self, partition: int, offset: int) -> PartitionData:
        if code := self.errors.get(partition, 0):
            return PartitionData(partition_index=partition, error_code=code)
        return PartitionData(
            partition_index=partition, records=build_batch([Record(None, b"x")], base_offset=offset)
        )


BESIDE = TopicPartition("t", 1)


def fetching(cluster: TwoPartitions, body: Any) -> Any:
    async def main() -> Any:
        fetcher = Fetcher(cluster)  # type: ignore[arg-type]
        fetcher.assign(WHERE, 40)
        fetcher.assign(BESIDE, 40)
        try:
            return await body(fetcher)
        finally:
            await fetcher.close()

    return asyncio.run(main())


async def offsets_until(fetcher: Fetcher, where: TopicPartition, count: int) -> list[int]:
    """Of one partition, whatever is raised on the way."""
    found = list[int]()
    async with asyncio.timeout(10):
        while len(found) < count:
            try:
                fetched = await fetcher.poll(1000)
            except BrokerError:
                continue
            found += [r.offset for part in fetched if part.where == where for r in part.records()]
    return found


def test_what_came_beside_a_partition_that_failed_is_not_lost() -> None:
    cluster = TwoPartitions()
    cluster.errors[1] = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    async def body(fetcher: Fetcher) -> list[int]:
        found, failed = list[int](), None
        async with asyncio.timeout(10):
            while failed is None or len(found) < 3:
                try:
                    found += [r.offset for part in await fetcher.poll(1000) for r in part.records()]
                except BrokerError as raised:
                    failed = raised
        assert (
            str(failed)
            == "TOPIC_AUTHORIZATION_FAILED: this client may not READ topic 't': there is no ACL that allows it"
        )
        cluster.errors.clear()
        assert (await offsets_until(fetcher, BESIDE, 1))[0] == 40, "it goes on when it may"
        return found

    found = fetching(cluster, body)
    assert found == list(range(40, 40 + len(found)))


def test_a_poll_that_is_cancelled_has_taken_nothing() -> None:
    cluster = TwoPartitions()

    async def body(fetcher: Fetcher) -> list[int]:
        for turns in range(12):
            polling = asyncio.create_task(fetcher.poll(1000))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not polling.cancel():
                fetched = polling.result()
                return [r.offset for part in fetched if part.where == WHERE for r in part.records()]
            await asyncio.wait([polling])
        return await offsets_until(fetcher, WHERE, 2)

    assert fetching(cluster, body)[0] == 40


def test_a_partition_that_is_held_is_not_asked_for_until_it_is_let_go() -> None:
    cluster = TwoPartitions()

    async def body(fetcher: Fetcher) -> None:
        fetcher.held.add(BESIDE)
        assert await offsets_until(fetcher, WHERE, 3) == [40, 41, 42]
        assert all(set(asked) == {0} for asked in cluster.asked)
        fetcher.held.discard(BESIDE)
        assert await offsets_until(fetcher, BESIDE, 1) == [40]

    fetching(cluster, body)


def test_a_topic_made_again_is_read_from_its_beginning() -> None:
    cluster = TwoPartitions()

    async def body(fetcher: Fetcher) -> None:
        await offsets_until(fetcher, WHERE, 2)
        cluster.topic_id = UUID(int=8)
        found = await offsets_until(fetcher, WHERE, 4)
        again = found[found.index(0) :]
        assert again == list(range(len(again)))
        assert fetcher.take_moved()[WHERE] == 0
        assert fetcher.take_moved() == {}
        of_the_second = cluster.asked[cluster.ids_asked.index(UUID(int=8))]
        assert of_the_second[0] == 0

    fetching(cluster, body)

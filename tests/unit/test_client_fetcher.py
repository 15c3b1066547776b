"""The fetcher against one node that answers as scripted."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from leaselog.client.errors import BrokerError, ConnectionLost
from leaselog.client.fetcher import EARLIEST, Fetcher
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

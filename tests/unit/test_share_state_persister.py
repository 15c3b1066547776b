"""The persister whose coordinator is elsewhere: what goes together, what is tried again, and what is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar, cast
from uuid import UUID

from persister_wire import Address, WirePersister

from leaselog.coordination.share_state_commands import (
    InitializeState,
    ReadState,
    StateRead,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, GroupId, Refused, TopicId
from leaselog.wire.messages import read_share_group_state as read
from leaselog.wire.messages import write_share_group_state as write
from leaselog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)
TOPIC = TopicId(UUID(int=1))


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def key(partition: int = 0, group: str = "g") -> SharePartitionKey:
    return SharePartitionKey(GroupId(group), TOPIC, partition)


class Elsewhere:
    """A cluster that answers as told: an error code for each request, then none; an exception is a lost line."""

    def __init__(self, *troubles: ErrorCode | Exception, finding: ErrorCode = ErrorCode.NONE) -> None:
        self.troubles = list(troubles)
        self.finding = finding
        self.finds: list[str] = []
        self.asked: list[tuple[Address | None, Message]] = []
        self.waits: list[float] = []
        self.gate = asyncio.Event()
        self.gate.set()

    def persister(self) -> WirePersister:
        return WirePersister(self, jitter=lambda: 1.0, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def ask(self, node: Address | None, request: Message, version: int, response: type[M]) -> M:
        if isinstance(request, FindCoordinatorRequest):
            self.finds += request.coordinator_keys
            found = Coordinator(host=f"node{len(self.finds)}", port=9092, error_code=self.finding)
            return cast("M", FindCoordinatorResponse(coordinators=[found]))
        self.asked.append((node, request))
        await self.gate.wait()
        trouble = self.troubles.pop(0) if self.troubles else ErrorCode.NONE
        if isinstance(trouble, Exception):
            raise trouble
        return cast("M", self.answer(request, trouble))

    @staticmethod
    def answer(request: Message, code: ErrorCode) -> Message:
        if isinstance(request, write.WriteShareGroupStateRequest):
            return write.WriteShareGroupStateResponse(
                results=[
                    write.WriteStateResult(
                        topic_id=topic.topic_id,
                        partitions=[
                            write.PartitionResult(partition=p.partition, error_code=code)
                            for p in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        assert isinstance(request, read.ReadShareGroupStateRequest)
        results = [read.PartitionResult(partition=0, state_epoch=5, start_offset=6, error_code=code)]
        return read.ReadShareGroupStateResponse(
            results=[read.ReadStateResult(topic_id=TOPIC, partitions=results)]
        )

    def writes(self) -> list[list[int]]:
        return [
            [p.partition for topic in request.topics for p in topic.partitions]
            for _, request in self.asked
            if isinstance(request, write.WriteShareGroupStateRequest)
        ]


class OneNode(Elsewhere):
    async def ask(self, node: Address | None, request: Message, version: int, response: type[M]) -> M:
        if isinstance(request, FindCoordinatorRequest):
            self.finds += request.coordinator_keys
            return cast("M", FindCoordinatorResponse(coordinators=[Coordinator(host="n", port=1)]))
        return await super().ask(node, request, version, response)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@on_a_loop
async def test_what_comes_up_during_a_request_goes_together_one_group_at_a_time_and_each_key_once() -> None:
    there = OneNode()
    persister = there.persister()
    there.gate.clear()
    asked = [persister.write(WriteState(key(0)))]
    await turns()
    for later in (key(1), key(2), key(1, "h"), key(2), key(3)):
        asked.append(persister.write(WriteState(later)))
        await turns()
    assert there.writes() == [[0]]
    there.gate.set()
    assert await asyncio.gather(*asked) == [Written()] * 6
    assert there.writes() == [[0], [1, 2, 3], [1], [2]]


@on_a_loop
async def test_who_asks_about_one_key_at_once_looks_for_its_coordinator_once() -> None:
    there = OneNode()
    persister = there.persister()
    await asyncio.gather(*(persister.write(WriteState(key())) for _ in range(5)))
    assert there.finds == [str(key())]


@on_a_loop
async def test_trouble_of_the_moment_is_tried_again_with_growing_waits() -> None:
    there = Elsewhere(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ConnectionResetError("gone")
    )
    assert await there.persister().read(ReadState(key())) == StateRead(5, 6)
    assert there.waits == [1.0, 2.0, 4.0]
    # Looked for again when it had moved and when the line was lost, not while it was loading.
    assert [node for node, _ in there.asked] == [
        ("node1", 9092),
        ("node1", 9092),
        ("node2", 9092),
        ("node3", 9092),
    ]


@on_a_loop
async def test_after_five_attempts_the_trouble_is_told() -> None:
    there = Elsewhere(*[ErrorCode.COORDINATOR_NOT_AVAILABLE] * 9)
    answer = await there.persister().write(WriteState(key()))
    assert answer == Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert len(there.asked) == 5
    assert there.waits == [1.0, 2.0, 4.0, 8.0]


@on_a_loop
async def test_a_fence_is_final() -> None:
    there = Elsewhere(ErrorCode.FENCED_STATE_EPOCH)
    assert await there.persister().write(WriteState(key())) == Refused(ErrorCode.FENCED_STATE_EPOCH)
    assert len(there.asked) == 1


@on_a_loop
async def test_a_coordinator_that_cannot_be_found_is_told() -> None:
    there = Elsewhere(finding=ErrorCode.INVALID_REQUEST)
    answer = await there.persister().initialize(InitializeState(key(), 0))
    assert isinstance(answer, Refused)
    assert answer.code is ErrorCode.INVALID_REQUEST
    assert len(there.finds) == 1


@on_a_loop
async def test_an_asker_that_gives_up_takes_nobody_with_it() -> None:
    there = OneNode()
    persister = there.persister()
    there.gate.clear()
    gone, stays = persister.write(WriteState(key(0))), persister.write(WriteState(key(0)))
    await asyncio.sleep(0)
    gone.cancel()
    there.gate.set()
    assert await stays == Written()

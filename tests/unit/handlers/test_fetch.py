"""Fetch: what comes back, when, and what is only told once, as Apache Kafka 4.3.1 answered the same questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any
from uuid import UUID

import pytest
from broker_in_a_box import Box, in_a_box, run, until_quiet

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.broker.fetching import fetching
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.records import waiting_room
from leaselog.broker.runtime.client import Client
from leaselog.broker.telling.text import registry_of
from leaselog.log import PartitionLog
from leaselog.model import ErrorCode
from leaselog.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from leaselog.wire.record_batch import iterate_headers

VERSIONS = range(4, 19)
LONG_MS = 3_600_000
NOBODYS_ID = UUID(int=999)
T = 1_700_000_000_000


async def a_topic(box: Box, name: str = "t", partitions: int = 3, **configs: str) -> None:
    settings = (("retention.ms", "-1"), *((key.replace("_", "."), value) for key, value in configs.items()))
    await box.broker.cluster.create_topics([NewTopic(name, partitions, configs=settings)])


async def three_batches(box: Box) -> None:
    """Offsets 0 to 3, 3 to 5 and 5 to 9 in partition 0 of t; 0 to 2 in partition 1; none in 2."""
    await a_topic(box)
    for count in (3, 2, 4):
        await box.append("t", *[T] * count)
    await box.append("t", T, T, partition=1)


def part(index: int, offset: int = 0, max_bytes: int = 1 << 20, **more: int) -> FetchPartition:
    return FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **more)


def asked(box: Box, *parts: FetchPartition, topic: str = "t", **more: Any) -> FetchRequest:
    known = box.broker.cluster.topic(topic)
    topic_id = NOBODYS_ID if known is None else known.topic_id
    topics = [FetchTopic(topic=topic, topic_id=topic_id, partitions=list(parts))] if parts else []
    return FetchRequest(topics=topics, **more)


async def fetch(box: Box, *parts: FetchPartition, version: int = 12, **more: Any) -> list[PartitionData]:
    return flat(await box.ask(asked(box, *parts, **more), FetchResponse, version))


def flat(response: FetchResponse) -> list[PartitionData]:
    assert response.error_code == 0
    return [p for topic in response.responses for p in topic.partitions]


def spans(data: PartitionData) -> list[tuple[int, int]]:
    """The batches, each as its first offset and the one behind its last."""
    return [(h.base_offset, h.end_offset) for _, h in iterate_headers(data.records or b"")]


@pytest.mark.parametrize("version", VERSIONS)
def test_whole_batches_come_back_from_the_one_that_has_the_offset(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            first, second, none = await fetch(box, part(0, 4), part(1), part(2), version=version)
            assert [spans(first), spans(second), spans(none)] == [[(3, 5), (5, 9)], [(0, 2)], []]
            assert (first.error_code, first.high_watermark, first.last_stable_offset) == (0, 9, 9)
            assert first.log_start_offset == (0 if version >= 5 else -1)
            assert first.aborted_transactions is None

    run(story())


def test_a_reader_of_committed_records_is_told_of_no_aborted_ones() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            (p,) = await fetch(box, part(0), isolation_level=1)
            assert p.aborted_transactions == []

    run(story())


@pytest.mark.parametrize("version", [4, 12, 18])
def test_partitions_come_in_the_order_in_which_they_were_asked_for(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box, "t")
            await a_topic(box, "u")
            in_turn = [asked(box, part(2)), asked(box, part(1), part(0), topic="u"), asked(box, part(0))]
            request = FetchRequest(topics=[topic for one in in_turn for topic in one.topics])
            response = await box.ask(request, FetchResponse, version)
            told = [[p.partition_index for p in topic.partitions] for topic in response.responses]
            assert told == [[2], [1, 0], [0]]
            names = [(topic.topic, topic.topic_id) for topic in response.responses]
            assert names[0] == names[2] != names[1]

    run(story())


@pytest.mark.parametrize("offset", [-1, 10])
def test_an_offset_out_of_range_is_told_at_once_and_without_watermarks(offset: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            p, _ = await fetch(box, part(0, offset), part(2), max_wait_ms=LONG_MS, min_bytes=1)
            assert p.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert (p.high_watermark, p.last_stable_offset, p.log_start_offset) == (-1, -1, -1)

    run(story())


def test_unknown_topics_and_partitions_are_named_in_the_versions_own_way() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            unknown, unknown_id = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID
            for version, topic, code in (
                (12, "t", unknown),
                (13, "t", unknown),
                (12, "nobody's", unknown),
                (13, "nobody's", unknown_id),
            ):
                (p,) = await fetch(
                    box, part(9), topic=topic, version=version, max_wait_ms=LONG_MS, min_bytes=1
                )
                assert (p.error_code, p.high_watermark) == (code, -1)

    run(story())


def test_a_partition_that_does_not_exist_hurries_nobody_who_waits_for_another() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(fetch(box, part(9), part(2), max_wait_ms=LONG_MS, min_bytes=1))
            await until_quiet()
            assert len(box.broker.waiting_room) == 1
            await box.append("t", T, partition=2)
            unknown, found = await waiting
            assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert spans(found) == [(0, 1)]

    run(story())


def test_the_first_partition_with_records_gets_a_batch_whatever_the_limits() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            for limits in ({"max_bytes": 1}, {"max_bytes": 0}, {"max_bytes": -1}):
                empty, first, second = await fetch(box, part(2), part(0), part(1), **limits)
                assert [spans(empty), spans(first), spans(second)] == [[], [(0, 3)], []]
            first, second = await fetch(box, part(0, 0, 0), part(1, 0, 0))
            assert [spans(first), spans(second)] == [[(0, 3)], []]

    run(story())


def test_without_enough_records_the_answer_waits_for_more() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(fetch(box, part(1), part(2), max_wait_ms=LONG_MS, min_bytes=150))
            await until_quiet()
            assert not waiting.done()
            await box.append("t", T, partition=2)
            assert [spans(p) for p in await waiting] == [[(0, 2)], [(0, 1)]]

    run(story())


def test_a_waking_looks_at_the_partition_that_was_woken_and_at_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await a_topic(box, partitions=200)
            waiting = asyncio.ensure_future(
                fetch(box, *map(part, range(200)), max_wait_ms=LONG_MS, min_bytes=250)
            )
            await until_quiet()
            assert len(box.broker.waiting_room)
            looked: list[str] = []
            locate = PartitionLog.locate

            def noted(log: PartitionLog, *args: Any, **more: Any) -> Any:
                looked.append(log.directory.rpartition("-")[2])
                return locate(log, *args, **more)

            monkeypatch.setattr(PartitionLog, "locate", noted)
            for index in (7, 150, 7):
                await box.append("t", T, partition=index)
                await until_quiet()
            assert not waiting.done()
            assert set(looked) == {"7", "150"}
            assert len(looked) <= 9
            await box.append("t", T, partition=3)
            found = {p.partition_index: spans(p) for p in await waiting if p.records}
            assert found == {3: [(0, 1)], 7: [(0, 1), (1, 2)], 150: [(0, 1)]}

    run(story())


def test_records_that_are_deleted_while_a_fetch_waits_for_more_are_not_answered() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(fetch(box, part(0), part(2), max_wait_ms=LONG_MS, min_bytes=350))
            await until_quiet()
            log = box.broker.logs.partition("t", 0)
            assert log is not None
            log.log.delete_records(9)
            assert not waiting.done()
            await box.append("t", *[T] * 40, partition=2)
            gone, found = await waiting
            assert gone.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
            assert spans(found) == [(0, 40)]

    run(story())


def test_when_too_much_is_waited_for_a_fetch_is_answered_and_its_client_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            monkeypatch.setattr(waiting_room, "MAX_WATCHED", 1)
            request = asked(box, part(0, 9), part(2), max_wait_ms=LONG_MS, min_bytes=1)
            response = await box.ask(request, FetchResponse, 12)
            assert response.throttle_time_ms == LONG_MS
            assert [spans(p) for p in flat(response)] == [[], []]

    run(story())


def test_records_that_come_between_the_look_and_the_wait_are_not_missed() -> None:
    """The handler looks in the turn in which the request came, and waits in a later one."""

    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            api = api_of(FetchRequest.API_KEY)
            assert api is not None
            request = asked(box, part(2), max_wait_ms=LONG_MS, min_bytes=1)
            context = RequestContext(box.broker, api, 12, "test", Client(1, "127.0.0.1", 5555))
            reply = api.handler(request, context)
            assert isinstance(reply, Awaitable)
            await box.append("t", T, partition=2)
            waiting = asyncio.ensure_future(reply)
            await until_quiet()
            assert waiting.done()

    run(story())


def test_when_the_time_is_up_the_answer_is_what_there_is() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            (p,) = await fetch(box, part(0, 9), max_wait_ms=1, min_bytes=1)
            assert (p.error_code, spans(p), p.high_watermark) == (0, [], 9)

    run(story())


def test_nobody_waits_for_more_bytes_than_the_answer_may_hold() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            (p,) = await fetch(box, part(0), max_wait_ms=LONG_MS, min_bytes=1 << 20, max_bytes=10)
            assert spans(p) == [(0, 3)]

    run(story())


@pytest.mark.parametrize(
    ("parts", "max_bytes"),
    [([part(0, 0, 200)], 1 << 20), ([part(1), part(0, 5)], 180)],
    ids=["the partition's limit", "the answer's limit"],
)
def test_nobody_waits_for_records_that_a_limit_keeps_out(
    parts: Sequence[FetchPartition], max_bytes: int
) -> None:
    """Kafka fills the limit with a piece of the next batch; here batches are whole, and the rest is not waited for."""

    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            found = await fetch(box, *parts, max_wait_ms=LONG_MS, min_bytes=179, max_bytes=max_bytes)
            assert 0 < sum(len(p.records or b"") for p in found) < 179

    run(story())


def test_nobody_waits_at_the_end_of_a_segment_that_is_not_the_last() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            found = box.broker.logs.partition("t", 0)
            assert found is not None
            found.log.roll(T)
            await box.append("t", T)
            (p,) = await fetch(box, part(0, 5), max_wait_ms=LONG_MS, min_bytes=1 << 20)
            assert spans(p) == [(5, 9)]

    run(story())


def test_while_there_is_no_room_for_answers_only_little_batches_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with in_a_box(queued_max_response_bytes="1000") as box:
            await three_batches(box)
            answers = box.broker._server.answers_held
            answers.change("127.0.0.1", 1000)
            (little,) = await fetch(box, part(0), max_wait_ms=LONG_MS)
            assert spans(little) == [(0, 3), (3, 5), (5, 9)]
            monkeypatch.setattr(fetching, "PETTY_BYTES", 10)
            (large,) = await fetch(box, part(0), max_wait_ms=50, min_bytes=1)
            assert spans(large) == [], "and not before its time is up: the client would ask again at once"
            waits = asyncio.ensure_future(fetch(box, part(0), max_wait_ms=LONG_MS, min_bytes=1))
            for _ in range(5):
                await asyncio.sleep(0)
            assert len(box.broker.waiting_room) == 1
            answers.change("127.0.0.1", -1000)
            await box.append("t", T)
            assert spans((await waits)[0])[0] == (0, 3)

    run(story())


def test_leader_epochs_are_checked() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            current, future = await fetch(
                box, part(0, current_leader_epoch=0), part(1, current_leader_epoch=5), version=17
            )
            assert (current.error_code, future.error_code) == (0, ErrorCode.UNKNOWN_LEADER_EPOCH)
            assert future.current_leader is None

    run(story())


def test_an_offset_past_the_end_of_its_epoch_is_answered_with_that_end() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            (p,) = await fetch(box, part(0, 30, last_fetched_epoch=0), max_wait_ms=LONG_MS, min_bytes=1)
            assert p.diverging_epoch is not None
            assert (p.diverging_epoch.epoch, p.diverging_epoch.end_offset) == (0, 9)
            (p,) = await fetch(box, part(0, 9, last_fetched_epoch=0))
            assert (p.error_code, p.diverging_epoch) == (0, None)

    run(story())


def test_a_last_fetched_epoch_nobody_led_is_out_of_range() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            (p,) = await fetch(box, part(0, 3, last_fetched_epoch=3))
            assert (p.error_code, p.diverging_epoch) == (ErrorCode.OFFSET_OUT_OF_RANGE, None)

    run(story())


@pytest.mark.parametrize("version", [14, 15, 16])
def test_a_replica_is_told_that_it_is_none(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            who = {"replica_id": 1} if version < 15 else {"replica_state": ReplicaState(replica_id=1)}
            response = await box.ask(asked(box, part(0), **who), FetchResponse, version)
            (p,) = flat(response)
            assert p.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert (p.current_leader is not None) is (version >= 16)
            assert len(response.node_endpoints) == (version >= 16)

    run(story())


@pytest.mark.parametrize(
    ("version", "code"), [(12, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (13, ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_a_fetch_whose_topic_is_deleted_stops_waiting(version: int, code: ErrorCode) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(
                fetch(box, part(2), version=version, max_wait_ms=LONG_MS, min_bytes=1)
            )
            await until_quiet()
            topic = box.broker.cluster.topic("t")
            assert topic is not None
            await box.broker.cluster.delete_topics([topic.topic_id])
            (p,) = await waiting
            assert p.error_code == code
            await a_topic(box)
            await box.append("t", T)
            stale = FetchTopic(topic="t", topic_id=topic.topic_id, partitions=[part(0)])
            (again,) = flat(await box.ask(FetchRequest(topics=[stale]), FetchResponse, version))
            assert again.error_code == (0 if version < 13 else code), "an id never means a later topic"

    run(story())


def test_a_stopping_broker_lets_nobody_wait() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(fetch(box, part(2), max_wait_ms=LONG_MS, min_bytes=1))
            await until_quiet()
            box.broker.runtime.is_stopping = True
            box.broker.waiting_room.wake_all()
            assert [spans(p) for p in await waiting] == [[]]
            assert [spans(p) for p in await fetch(box, part(2), max_wait_ms=LONG_MS, min_bytes=1)] == [[]]

    run(story())


def test_unsynced_records_are_not_seen() -> None:
    async def story() -> None:
        async with in_a_box(durability="fsync") as box:
            await three_batches(box)
            waiting = asyncio.ensure_future(fetch(box, part(2), max_wait_ms=LONG_MS, min_bytes=1))
            await until_quiet()
            await box.append("t", T, partition=2)  # returns when it is synced
            assert [spans(p) for p in await waiting] == [[(0, 1)]]

    run(story())


class Session:
    """A fetcher that counts its epochs."""

    def __init__(self, box: Box, version: int) -> None:
        self.box, self.version, self.id, self.epoch = box, version, 0, 0

    async def fetch(self, *parts: FetchPartition, forget: Sequence[int] = (), **more: Any) -> FetchResponse:
        request = asked(self.box, *parts, session_id=self.id, session_epoch=self.epoch, **more)
        if forget:
            topic = self.box.broker.cluster.topic("t")
            assert topic is not None
            request.forgotten_topics_data = [
                ForgottenTopic(topic="t", topic_id=topic.topic_id, partitions=list(forget))
            ]
        response = await self.box.ask(request, FetchResponse, self.version)
        self.id, self.epoch = response.session_id or self.id, self.epoch + 1
        return response


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_an_incremental_answer_holds_only_what_is_new(version: int) -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            session = Session(box, version)
            assert len(flat(await session.fetch(part(0, 9), part(1, 2), part(2)))) == 3
            assert flat(await session.fetch()) == []
            await box.append("t", T, partition=2)
            (news,) = flat(await session.fetch())
            assert (news.partition_index, spans(news)) == (2, [(0, 1)])
            (again,) = flat(await session.fetch())
            assert spans(again) == [(0, 1)], "until the fetcher says that it has them"
            assert flat(await session.fetch(part(2, 1))) == []

    run(story())


def test_with_little_room_every_followed_partition_gets_its_turn() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            session = Session(box, 12)
            served = []
            for _ in range(3):
                parts = [part(0), part(1)] if not served else []
                found = [p for p in flat(await session.fetch(*parts, max_bytes=1)) if spans(p)]
                served += [p.partition_index for p in found]
            assert served == [0, 1, 0]

    run(story())


def test_a_partition_both_asked_for_and_forgotten_is_forgotten() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            session = Session(box, 12)
            await session.fetch(part(0), part(1, 2))
            assert flat(await session.fetch(part(0), forget=[0])) == []

    run(story())


def test_a_session_that_follows_nothing_any_more_ends() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            session = Session(box, 12)
            await session.fetch(part(0), part(1))
            last = await session.fetch(forget=[0, 1], max_wait_ms=LONG_MS, min_bytes=1)
            assert (last.error_code, last.session_id, list(last.responses)) == (0, 0, [])
            gone = await session.fetch()
            assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            assert len(box.broker.fetch_sessions) == 0

    run(story())


def test_errors_of_fetches_are_counted_once_an_answer() -> None:
    async def story() -> None:
        async with in_a_box() as box:
            await three_batches(box)
            await fetch(box, part(0, 99), part(0, 99), part(1))
            labels = {"api": "Fetch", "error": "OFFSET_OUT_OF_RANGE"}
            assert registry_of(box.broker).get_sample_value("leaselog_request_errors_total", labels) == 1

    run(story())

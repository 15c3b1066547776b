"""What both ordinary consumers do, the blocking one and asyncio's: one contract, word for word, over a real broker."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from consumer_flavours import BASE, FLAVOURS, TOPIC, Boxed, Flavour, configured, put_into

from leaselog.client import (
    AsyncConsumer,
    ClientError,
    CommittedOffset,
    ConcurrentAccess,
    ConfigError,
    Consumer,
    IllegalState,
    RecordDeserializationError,
    TopicPartition,
    WakeupError,
    as_json,
    kafka_errors,
)
from leaselog.model import ErrorCode

WAIT_S = 30.0
T0, T1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)

Make = Callable[..., Flavour]


@pytest.fixture(params=FLAVOURS, ids=lambda flavour: flavour.name)
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """A consumer beside a broker with ``records`` in t-0, subscribed to it unless ``topics`` says otherwise."""
    made: list[Flavour] = []

    def maker(records: int = 3, topics: Any = (TOPIC,), partitions: int = 1, **config: Any) -> Flavour:
        flavour: Flavour = request.param(Boxed(num_partitions=str(partitions)), **config)
        made.append(flavour)
        flavour.run(flavour.boxed.make(TOPIC))
        for number in range(records):
            flavour.run(flavour.boxed.produce(b"%d" % number))
        if topics:
            flavour.subscribe(topics)
        return flavour

    yield maker
    for flavour in made:
        flavour.end()


def offsets(records: list[Any]) -> list[int]:
    return [record.offset for record in records]


def read(consumer: Flavour, count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        came = consumer.poll(WAIT_S)
        assert came, f"{len(found)} of {count} came"
        found += came
    return found


def beside(consumer: Flavour, **config: Any) -> AsyncConsumer[bytes, bytes]:
    """Another consumer on the same broker, whose calls `run` carries out."""
    other: AsyncConsumer[bytes, bytes] = AsyncConsumer(configured(config))
    put_into(other, consumer.boxed)
    return other


def committed(consumer: Flavour, where: TopicPartition = T0) -> CommittedOffset | None:
    """What the group has, as somebody else sees it."""

    async def ask() -> CommittedOffset | None:
        async with beside(consumer) as other:
            return (await other.committed(where))[where]

    return consumer.run(ask())


# -- polling -----------------------------------------------------------------------------------------------


def test_poll_returns_what_there_is_in_order(make: Make) -> None:
    consumer = make()
    records = read(consumer, 3)
    assert [(r.topic, r.partition, r.offset, r.key, r.value) for r in records] == [
        (TOPIC, 0, n, b"k", b"%d" % n) for n in range(3)
    ]
    assert records[0].topic_partition == T0
    assert records[0].timestamp_ms == 1_000_000
    assert records[0].leader_epoch == 0


def test_poll_returns_nothing_when_the_time_is_up(make: Make) -> None:
    assert make(records=0).poll(0.05) == []


@pytest.mark.parametrize("timeout", [None, -1])
def test_a_poll_without_a_limit_waits_until_there_is_something(make: Make, timeout: float | None) -> None:
    consumer = make(records=0)
    assert consumer.poll(0.2) == []
    consumer.produce_later(b"late")
    assert [record.value for record in consumer.poll(timeout)] == [b"late"]


@pytest.mark.parametrize("timeout", [-2, -0.1, float("nan")])
def test_a_negative_timeout_is_refused(make: Make, timeout: float) -> None:
    consumer = make()
    with pytest.raises(ValueError, match="timeout"):
        consumer.poll(timeout)


def test_a_poll_without_time_gets_there_in_the_end(make: Make) -> None:
    consumer = make()
    found: list[Any] = []
    for _ in range(100_000):
        found += consumer.poll(0)
        if len(found) == 3:
            return
    raise AssertionError(f"{len(found)} of 3 came")


def test_a_poll_returns_no_more_than_max_poll_records(make: Make) -> None:
    consumer = make(max_poll_records=2)
    assert offsets(consumer.poll(WAIT_S)) == [0, 1]
    assert offsets(consumer.poll(WAIT_S)) == [2]


def test_going_through_records_one_by_one_ends_with_wakeup(make: Make) -> None:
    consumer = make()
    seen = []
    for record in consumer.each():
        seen.append(record.offset)
        if len(seen) == 3:
            consumer.later(consumer.consumer.wakeup)
    assert seen == [0, 1, 2]


def test_wakeup_ends_the_poll_that_waits_and_nothing_is_lost(make: Make) -> None:
    consumer = make(records=0)
    consumer.later(consumer.consumer.wakeup)
    with pytest.raises(WakeupError):
        consumer.poll(WAIT_S)
    consumer.run(consumer.boxed.produce(b"x"))
    assert offsets(consumer.poll(WAIT_S)) == [0]


def test_a_poll_with_nothing_to_read_is_refused(make: Make) -> None:
    with pytest.raises(IllegalState, match="subscribe to topics, or assign partitions"):
        make(topics=()).poll(0)


# -- deserialising -----------------------------------------------------------------------------------------


def test_a_value_is_what_its_deserialiser_makes_of_it(make: Make) -> None:
    consumer = make(value_deserializer=as_json, key_deserializer="string")
    assert [(r.key, r.value, r.raw_value) for r in read(consumer, 3)] == [
        ("k", n, b"%d" % n) for n in range(3)
    ]


def test_a_record_that_cannot_be_deserialised_is_handed_out_as_that(make: Make) -> None:
    consumer = make(records=0, value_deserializer="json")
    consumer.run(consumer.boxed.produce(b"{", b"2"))
    bad, good = read(consumer, 2)
    assert isinstance(bad.error, RecordDeserializationError)
    assert bad.raw_value == b"{"
    with pytest.raises(RecordDeserializationError, match="value of t-0 at offset 0"):
        _ = bad.value
    assert good.value == 2


# -- what is committed -------------------------------------------------------------------------------------


def test_auto_commit_commits_only_what_the_application_has_asked_on_after(make: Make) -> None:
    consumer = make(max_poll_records=2, auto_commit_interval_ms=0)
    consumer.poll(WAIT_S)
    assert committed(consumer) in (None, CommittedOffset(0))
    consumer.poll(WAIT_S)
    consumer.poll(0.1)
    for _ in range(100):
        if committed(consumer) == CommittedOffset(3):
            return
        consumer.poll(0.05)
    raise AssertionError(committed(consumer))


def test_a_loop_over_records_is_done_with_each_when_it_asks_for_the_next(make: Make) -> None:
    consumer = make(enable_auto_commit=False)
    for record in consumer.each():
        if record.offset == 1:
            break
    consumer.commit([record])
    assert committed(consumer) == CommittedOffset(2)


def test_leaving_a_block_well_commits_all_that_was_handed_out(make: Make) -> None:
    consumer = make()
    for record in consumer.each():
        if record.offset == 1:
            break
    consumer.leave()
    assert consumer.boxed.names()[-1] == "LeaveGroup"
    assert consumer.run(_committed_in(consumer)) == CommittedOffset(2)


def test_an_exception_in_a_block_commits_nothing_that_was_not_asked_on_after(make: Make) -> None:
    consumer = make(records=4, max_poll_records=2)
    assert offsets(consumer.poll(WAIT_S)) == [0, 1]
    assert offsets(consumer.poll(WAIT_S)) == [2, 3]
    with pytest.raises(ZeroDivisionError):
        consumer.leave(ZeroDivisionError())
    assert consumer.run(_committed_in(consumer)) == CommittedOffset(2)


async def _committed_in(consumer: Flavour) -> CommittedOffset | None:
    async with beside(consumer) as other:
        return (await other.committed(T0))[T0]


def test_without_auto_commit_nothing_is_committed_but_what_is_said(make: Make) -> None:
    consumer = make(enable_auto_commit=False)
    records = read(consumer, 3)
    consumer.poll(0)
    assert committed(consumer) is None
    consumer.commit(records[0])
    assert committed(consumer) == CommittedOffset(1)
    consumer.commit(records[:2])
    assert committed(consumer) == CommittedOffset(2)
    consumer.commit({T0: (1, "half of it")})
    assert committed(consumer) == CommittedOffset(1, "half of it")
    assert consumer.committed() == {T0: CommittedOffset(1, "half of it")}
    consumer.commit()
    assert committed(consumer) == CommittedOffset(3)


@pytest.mark.parametrize("what", ["t", 7, {T0: -1}, {T0: "1"}, {"t": 1}, [b"record"]])
def test_what_is_no_offset_is_not_committed(make: Make, what: Any) -> None:
    consumer = make()
    with pytest.raises((ValueError, TypeError)):
        consumer.commit(what)


def test_a_partition_of_somebody_else_is_not_committed(make: Make) -> None:
    consumer = make()
    read(consumer, 3)
    with pytest.raises(kafka_errors.IllegalGenerationException, match="t-7 is not assigned"):
        consumer.commit({TopicPartition(TOPIC, 7): 1})


def test_a_commit_that_cannot_be_carried_out_in_time_says_so(make: Make) -> None:
    consumer = make()
    read(consumer, 3)
    consumer.boxed.is_away = True
    with pytest.raises(ClientError):
        consumer.commit(timeout=0.3)
    consumer.boxed.is_away = False
    consumer.commit()
    assert committed(consumer) == CommittedOffset(3)


# -- places ------------------------------------------------------------------------------------------------


def test_the_position_is_that_of_the_next_record(make: Make) -> None:
    consumer = make(max_poll_records=2)
    consumer.poll(WAIT_S)
    assert consumer.position(T0) == 2
    assert consumer.lag() == {T0: 1}


def test_seek_goes_on_at_another_record_and_is_what_is_committed(make: Make) -> None:
    consumer = make(records=5)
    assert offsets(read(consumer, 5)) == [0, 1, 2, 3, 4]
    consumer.seek(T0, 3)
    consumer.commit()
    assert committed(consumer) == CommittedOffset(3)
    assert offsets(read(consumer, 2)) == [3, 4]
    consumer.seek_to_beginning()
    assert offsets(read(consumer, 5)) == [0, 1, 2, 3, 4]
    consumer.seek_to_end([T0])
    assert consumer.poll(0.1) == []
    assert consumer.position(T0) == 5


def test_what_is_not_assigned_cannot_be_sought_or_paused(make: Make) -> None:
    consumer = make()
    for call in (lambda: consumer.seek(T0, 0), lambda: consumer.pause([T0]), lambda: consumer.position(T0)):
        with pytest.raises(IllegalState, match="t-0 is not assigned"):
            call()


def test_a_paused_partition_hands_out_nothing_and_loses_nothing(make: Make) -> None:
    consumer = make(records=4, max_poll_records=1)
    assert offsets(consumer.poll(WAIT_S)) == [0]
    consumer.pause()
    assert consumer.paused() == {T0}
    assert consumer.poll(0.1) == []
    consumer.resume(T0)
    assert offsets(read(consumer, 3)) == [1, 2, 3]


def test_where_nothing_is_committed_the_reset_says_where_to_begin(make: Make) -> None:
    latest = make(auto_offset_reset="latest")
    assert latest.poll(0.1) == []
    for _ in range(100):
        if latest.assignment():
            break
        latest.poll(0.05)
    assert latest.position(T0) == 3


def test_without_a_reset_a_place_has_to_be_sought(make: Make) -> None:
    consumer = make(auto_offset_reset="none")
    with pytest.raises(kafka_errors.OffsetOutOfRangeException, match="t-0 has no committed offset"):
        consumer.poll(WAIT_S)
    consumer.seek(T0, 1)
    assert offsets(read(consumer, 2)) == [1, 2]


def test_an_offset_that_is_gone_is_replaced_as_the_reset_says(make: Make) -> None:
    consumer = make()
    read(consumer, 3)
    consumer.seek(T0, 1_000)
    assert offsets(read(consumer, 3)) == [0, 1, 2]


def test_an_offset_that_is_gone_is_an_error_without_a_reset_until_another_is_sought(make: Make) -> None:
    consumer = make(auto_offset_reset="none", topics=())
    consumer.assign(T0)
    consumer.seek(T0, 1_000)
    for _ in range(2):
        with pytest.raises(kafka_errors.OffsetOutOfRangeException, match="t-0 has no offset 1000"):
            consumer.poll(WAIT_S)
    consumer.seek(T0, 1)
    assert offsets(read(consumer, 2)) == [1, 2]


# -- without a group ---------------------------------------------------------------------------------------


def test_without_a_group_it_reads_what_it_is_told(make: Make) -> None:
    consumer = make(topics=(), group_id=None)
    consumer.assign(consumer.partitions_for(TOPIC))
    assert offsets(read(consumer, 3)) == [0, 1, 2]
    for call in (consumer.commit, lambda: consumer.committed([T0])):
        with pytest.raises(IllegalState, match="is missing: "):
            call()
    with pytest.raises(IllegalState, match="is missing: "):
        consumer.subscribe([TOPIC])


def test_an_assignment_of_its_own_goes_on_where_the_group_has_committed(make: Make) -> None:
    consumer = make(topics=(), partitions=2)
    consumer.run(consumer.boxed.produce(b"other", partition=1))
    consumer.assign([T0])
    read(consumer, 3)
    consumer.commit({T0: 2})
    consumer.assign([T1])
    assert [(r.partition, r.offset) for r in read(consumer, 1)] == [(1, 0)]
    consumer.assign([T0, T1])
    assert [(r.partition, r.offset) for r in read(consumer, 1)] == [(0, 2)]
    consumer.unsubscribe()
    assert consumer.assignment() == frozenset()


def test_subscribing_and_assigning_exclude_each_other(make: Make) -> None:
    consumer = make()
    with pytest.raises(IllegalState, match="unsubscribe first"):
        consumer.assign([T0])
    consumer.unsubscribe()
    consumer.assign([T0])
    with pytest.raises(IllegalState, match="unsubscribe first"):
        consumer.subscribe([TOPIC])


def test_offsets_are_looked_up_by_time_and_at_both_ends(make: Make) -> None:
    consumer = make(records=0, topics=())
    consumer.run(consumer.boxed.produce(b"a", b"b", b"c", times_ms=(1_000, 2_000, 3_000)))
    assert consumer.offsets_for_times({T0: 1_500}) == {T0: 1}
    assert consumer.offsets_for_times({T0: 9_000}) == {T0: None}
    assert consumer.beginning_offsets([T0]) == {T0: 0}
    assert consumer.end_offsets(T0) == {T0: 3}
    assert consumer.partitions_for(TOPIC) == (T0,)
    with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
        consumer.partitions_for("nobody-made-it", timeout=0.2)


# -- the group ---------------------------------------------------------------------------------------------


def test_a_pattern_is_matched_against_whole_names_and_later_topics_too(make: Make) -> None:
    consumer = make(topics=re.compile("t.?"), metadata_max_age_ms=50)
    read(consumer, 3)
    for name in ("tt", "not"):
        consumer.run(consumer.boxed.make(name))
        consumer.run(consumer.boxed.produce(b"x", topic=name))
    assert [record.topic for record in read(consumer, 1)] == ["tt"]
    assert {where.topic for where in consumer.assignment()} == {TOPIC, "tt"}


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ("t", "collection of topics"),
        (["^t.*"], "a pattern is re.compile"),
        ([7], "7 is not"),
        ([], "no topic"),
    ],
)
def test_a_mistyped_subscription_is_found_at_once(make: Make, topics: Any, words: str) -> None:
    consumer = make(topics=())
    with pytest.raises(ValueError, match=words):
        consumer.subscribe(topics)


def test_another_subscription_takes_effect_with_the_next_poll(make: Make) -> None:
    consumer = make()
    read(consumer, 3)
    consumer.run(consumer.boxed.make("u"))
    consumer.run(consumer.boxed.produce(b"x", topic="u"))
    consumer.subscribe(["u"])
    assert [record.topic for record in read(consumer, 1)] == ["u"]
    assert committed(consumer) == CommittedOffset(3), "what was read of the other is committed"


def test_listeners_hear_what_comes_and_goes_and_may_commit_and_seek_in_between(make: Make) -> None:
    consumer = make(topics=(), enable_auto_commit=False)
    heard: list[Any] = []

    def assigned(partitions: frozenset[TopicPartition]) -> None:
        heard.append(("assigned", partitions))
        if consumer.name == "blocking":
            consumer.seek(T0, 1)
            assert consumer.position(T0) == 1
        else:
            consumer.consumer.seek(T0, 1)

    def revoked(partitions: frozenset[TopicPartition]) -> Any:
        heard.append(("revoked", partitions))
        return consumer.consumer.commit()  # to be awaited, with asyncio's

    consumer.subscribe([TOPIC], on_assigned=assigned, on_revoked=revoked)
    assert offsets(read(consumer, 2)) == [1, 2]
    consumer.unsubscribe()
    assert heard == [("assigned", {T0}), ("revoked", {T0})]
    assert committed(consumer) == CommittedOffset(3)


def test_a_listener_may_not_poll(make: Make) -> None:
    consumer = make(topics=())
    refused: list[Exception] = []

    def assigned(partitions: frozenset[TopicPartition]) -> Any:
        try:
            return consumer.consumer.subscribe(["u"])
        except IllegalState as raised:
            refused.append(raised)

    consumer.subscribe([TOPIC], on_assigned=assigned)
    read(consumer, 3)
    assert "from within a listener" in str(refused[0])


def test_two_members_share_the_partitions_and_every_record_is_read_once(make: Make) -> None:
    consumer = make(records=0, partitions=2)
    for partition in (0, 1):
        consumer.run(consumer.boxed.produce(b"a", b"b", partition=partition))
    seen = [(r.partition, r.offset) for r in read(consumer, 4)]
    other = beside(consumer)
    other.subscribe([TOPIC])
    taken: list[Any] = []

    async def join() -> None:
        taken.extend(await other.poll(0.05))

    for _ in range(200):
        consumer.run(join())
        seen += [(r.partition, r.offset) for r in consumer.poll(0.05)]
        if len(consumer.assignment()) == 1 and len(other.assignment()) == 1:
            break
    assert consumer.assignment() | other.assignment() == {T0, T1}
    for partition in (0, 1):
        consumer.run(consumer.boxed.produce(b"c", partition=partition))
    for _ in range(200):
        consumer.run(join())
        seen += [(r.partition, r.offset) for r in consumer.poll(0.05)]
        if len(seen) + len(taken) >= 6:
            break
    seen += [(r.partition, r.offset) for r in taken]
    assert sorted(seen) == [(p, o) for p in (0, 1) for o in range(3)]
    consumer.run(other.close())


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_a_broker_that_is_away_for_a_while_costs_no_record(make: Make) -> None:
    consumer = make(max_poll_records=1)
    seen = offsets(consumer.poll(WAIT_S))
    consumer.boxed.is_away = True
    for _ in range(4):
        seen += offsets(consumer.poll(0.05))
    consumer.boxed.is_away = False
    consumer.run(consumer.boxed.produce(b"3"))
    seen += offsets(read(consumer, 4 - len(seen)))
    assert seen == [0, 1, 2, 3]


def _refuse(code: ErrorCode) -> Callable[[Any], None]:
    def step(answer: Any) -> None:
        for topic in answer.responses:
            for part in topic.partitions:
                part.error_code, part.records = int(code), None

    return step


def test_a_topic_that_may_not_be_read_is_an_error_and_reading_goes_on_when_it_may(make: Make) -> None:
    consumer = make()
    refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    consumer.boxed.steps["Fetch"] = [_refuse(refusal), _refuse(refusal)]
    for _ in range(2):
        with pytest.raises(kafka_errors.TopicAuthorizationException, match="READ topic 't'"):
            consumer.poll(WAIT_S)
    assert offsets(read(consumer, 3)) == [0, 1, 2]


def test_a_group_that_may_not_be_joined_is_an_error_and_joined_when_it_may(make: Make) -> None:
    consumer = make()

    def refuse(answer: Any) -> None:
        answer.error_code = int(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    consumer.boxed.steps["JoinGroup"] = [refuse]
    with pytest.raises(kafka_errors.GroupAuthorizationException):
        consumer.poll(WAIT_S)
    assert offsets(read(consumer, 3)) == [0, 1, 2]


def test_a_member_that_was_thrown_out_comes_back_and_skips_nothing(make: Make) -> None:
    consumer = make(records=4, max_poll_records=2, topics=())
    lost: list[Any] = []
    consumer.subscribe([TOPIC], on_lost=lost.append)
    seen = offsets(consumer.poll(WAIT_S))

    def throw_out(answer: Any) -> None:
        answer.error_code = int(ErrorCode.ILLEGAL_GENERATION)

    consumer.boxed.steps["Heartbeat"] = [throw_out]
    for _ in range(200):
        if lost:
            break
        seen += offsets(consumer.poll(0.05))
    assert lost == [{T0}]
    assert set(offsets(read(consumer, 2))) | set(seen) == {0, 1, 2, 3}


def test_a_static_member_that_was_fenced_stays_out(make: Make) -> None:
    consumer = make(group_instance_id="one")
    read(consumer, 3)

    def fence(answer: Any) -> None:
        answer.error_code = int(ErrorCode.FENCED_INSTANCE_ID)

    consumer.boxed.steps["Heartbeat"] = [fence]
    with pytest.raises(kafka_errors.FencedInstanceIdException):
        consumer.poll(WAIT_S)
    joins = consumer.boxed.names().count("JoinGroup")
    with pytest.raises(kafka_errors.FencedInstanceIdException):
        consumer.poll(0.05)
    assert consumer.boxed.names().count("JoinGroup") == joins


def test_a_topic_that_is_made_again_is_read_from_its_beginning(make: Make) -> None:
    consumer = make(auto_offset_reset="latest", topics=())
    consumer.subscribe([TOPIC])
    for _ in range(200):
        consumer.poll(0.02)
        if consumer.assignment() and consumer.position(T0) == 3:
            break
    consumer.run(consumer.boxed.produce(b"3", b"4"))
    assert offsets(read(consumer, 2)) == [3, 4]
    consumer.run(consumer.boxed.delete(TOPIC))
    consumer.run(consumer.boxed.make(TOPIC))
    consumer.run(consumer.boxed.produce(b"new", b"newer"))
    assert [record.value for record in read(consumer, 2)] == [b"new", b"newer"]
    consumer.commit()
    assert committed(consumer) == CommittedOffset(2)


# -- use ---------------------------------------------------------------------------------------------------


def test_a_closed_consumer_says_so_and_closes_once(make: Make) -> None:
    consumer = make(topics=())
    consumer.leave()
    consumer.close()
    with pytest.raises(IllegalState, match="already been closed"):
        consumer.poll(0)


def test_it_is_ready_when_its_topics_are_there(make: Make) -> None:
    make().wait_until_ready(WAIT_S)
    away = make()
    away.boxed.is_away = True
    with pytest.raises(ClientError):
        away.wait_until_ready(0.2)
    away.boxed.is_away = False


@pytest.mark.parametrize("kind", [Consumer, AsyncConsumer])
@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"auto.offset.rest": "latest"}, "auto.offset.reset\\?"),
        ({"auto.offset.reset": "first"}, "expected one of earliest"),
        ({"max.poll.records": 0}, "expected 1 to"),
        ({"enable.auto.commit": "true"}, "needs a group.id"),
        ({"group.id": " "}, "group.id is empty"),
        ({"group.id": "g", "group.protocol": "consumer"}, "expected one of classic"),
        ({"group.id": "g", "partition.assignment.strategy": "cooperative-sticky"}, "expected range"),
        ({"group.id": "g", "heartbeat.interval.ms": 50_000}, "expected less than session.timeout.ms"),
        ({"enable.auto.offset.store": False}, "is not a consumer configuration"),
    ],
)
def test_a_mistyped_configuration_is_found_at_once(
    kind: type[Consumer[Any, Any]], config: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        kind("host:9092", **{name.replace(".", "_"): value for name, value in config.items()})


@pytest.mark.parametrize("kind", [Consumer, AsyncConsumer])
def test_librdkafkas_names_of_settings_are_understood(kind: type[Consumer[Any, Any]]) -> None:
    config = kind({
        "metadata.broker.list": "host:9092", "group.id": "g", "auto.offset.reset": "smallest",
        "fetch.wait.max.ms": 7, "fetch.message.max.bytes": 8, "partition.assignment.strategy": "range,roundrobin",
    }).config  # fmt: skip
    limits = config.reading.limits
    assert (config.reading.reset, limits.max_wait_ms, limits.partition_max_bytes) == (-2, 7, 8)


def test_two_tasks_in_one_consumer_are_told() -> None:
    async def main() -> None:
        boxed = Boxed()
        await boxed.begin()
        await boxed.make(TOPIC)
        async with AsyncConsumer(BASE) as consumer:
            put_into(consumer, boxed)
            consumer.subscribe([TOPIC])
            polling = asyncio.create_task(consumer.poll(WAIT_S))
            await asyncio.sleep(0)
            with pytest.raises(ConcurrentAccess, match="one task at a time"):
                await consumer.poll(0)
            polling.cancel()
            await asyncio.wait([polling])
        await boxed.end()

    asyncio.run(main())


def test_a_second_event_loop_is_told() -> None:
    consumer = AsyncConsumer("host:9092")
    asyncio.run(consumer.unsubscribe())
    with pytest.raises(IllegalState, match="another event loop"):
        asyncio.run(consumer.unsubscribe())

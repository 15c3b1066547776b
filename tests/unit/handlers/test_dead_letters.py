"""Dead letters from the acknowledgement to their topic: what they hold, what stops them, what an end leaves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from broker_in_a_box import until_quiet

from handlers.share_member import (
    LOCK_MS,
    REJECT,
    RELEASE,
    Group,
    Member,
    a_group,
    codes,
    ranges,
    run,
    skip_ms,
)
from handlers.test_share_metrics import beat, told
from leaselog.broker.cluster.cluster import CreatedTopic, NewTopic
from leaselog.broker.dead_letters.office import pause_s
from leaselog.broker.records.partition import Partition
from leaselog.coordination.cluster_features import FeatureUpdate
from leaselog.coordination.share_state_commands import ReadState, StateRead
from leaselog.model import ErrorCode, GroupId
from leaselog.wire.compression import Codec
from leaselog.wire.messages import incremental_alter_configs as alter
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.record_batch import iterate_headers
from leaselog.wire.records import Record, build_batch, read_records

G = GroupId("g")
ARCHIVING, ARCHIVED = 3, 4
#: Apache Kafka's number of them for a dead letter
ATTEMPTS = 5
ALLOWED = ("errors.deadletterqueue.group.enable", "true")
DLQ = "dlq.t"
PERSISTERS = {
    "coordinator": {},
    "colocated": {"group_share_persister_class_name": "leaselog.ColocatedPersister"},
}


async def create(group: Group, name: str, *configs: tuple[str, str], partitions: int = 1) -> None:
    (made,) = await group.box.broker.cluster.create_topics([NewTopic(name, partitions, configs=configs)])
    assert isinstance(made, CreatedTopic), made


@asynccontextmanager
async def a_group_with_dead_letters(
    *configs: tuple[str, str], topic: str = DLQ, partitions: int = 1, copies: str = "true", **settings: str
) -> AsyncIterator[Group]:
    # no thread is waited for, so what can happen happens within some turns of the loop
    async with a_group(partitions=3, durability="os", **settings) as group:
        if partitions:
            await create(group, topic, *(configs or (ALLOWED,)), partitions=partitions)
        await group.configure(
            errors_deadletterqueue_topic_name=topic, errors_deadletterqueue_copy_record_enable=copies
        )
        try:
            yield group
        finally:
            group.box.broker.dead_letters.stop()


def partition(group: Group, topic: str = DLQ, index: int = 0) -> Partition:
    found = group.box.broker.logs.partition(topic, index)
    assert found is not None
    return found


def letters(group: Group, topic: str = DLQ, index: int = 0) -> list[Record]:
    log = partition(group, topic, index).log
    data = log.read(0, 10_000_000) if log.high_watermark else b""
    assert isinstance(data, bytes)
    return [record for at, header in iterate_headers(data) for record in read_records(data, header, at)]


def headers(record: Record) -> dict[str, str]:
    return {name.removeprefix("__dlq.errors."): (value or b"").decode() for name, value in record.headers}


def offsets(group: Group, topic: str = DLQ, index: int = 0) -> list[int]:
    return [int(headers(record)["offset"]) for record in letters(group, topic, index)]


async def until_sent(group: Group, *, written: int = 0, failed: int = 0) -> None:
    """So many of the group's records are on the topic, and so many given up; and nothing is on its way."""
    await until_quiet()
    counts = group.box.broker.dead_letters.counts
    assert (counts.written[G], counts.failed[G]) == (written, failed)
    owners = group.box.broker.shares.owners()
    assert not [owner for owner in owners if owner.machine and owner.machine.has_dead_letters_on_their_way]


async def holding(group: Group, count: int = 1, part: int = 0) -> Member:
    await group.produce(count, partition=part)
    member = group.member()
    assert ranges(await member.fetch(partitions=[part]), part) == [(0, count - 1, 1)]
    return member


async def reject(member: Member, *acks: tuple[int, int], part: int = 0) -> None:
    answer = await member.acknowledge({part: [(first, last, [REJECT]) for first, last in acks]})
    assert codes(answer) == {part: 0}


async def stored(group: Group) -> list[tuple[int, int, int]]:
    """(start, end, state), as whoever reads the state next is told."""
    read = await group.box.broker.persister.read(ReadState(group.key()))
    assert isinstance(read, StateRead)
    return [(batch.start, batch.end, batch.state) for batch in read.batches]


@pytest.mark.parametrize("persister", ["coordinator", "colocated"])
def test_a_rejected_record_arrives_with_the_reason(persister: str) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(**PERSISTERS[persister]) as group:
            await group.produce(3)
            member = group.member()
            ((first, _, _),) = ranges(await member.fetch())  # state may lie before it
            await reject(member, (first + 1, first + 1))
            await until_sent(group, written=1)
            (letter,) = letters(group)
            (original,) = [record for record in letters(group, "t") if record.offset == first + 1]
            assert (letter.key, letter.value) == (original.key, original.value) != (None, None)
            assert headers(letter) == {
                "topic": "t",
                "partition": "0",
                "offset": str(first + 1),
                "group": "g",
                "delivery.count": "1",
                "message": "Offset rejected by client.",
            }
            assert (first + 1, first + 2, ARCHIVED) in await stored(group)

    run(story())


def test_a_record_out_of_deliveries_arrives_with_the_reason() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            await group.configure(share_delivery_count_limit="2")
            member = await holding(group)
            await member.acknowledge({0: [(0, 0, [RELEASE])]})
            assert ranges(await member.fetch()) == [(0, 0, 2)]
            await skip_ms(LOCK_MS + 2)
            await until_sent(group, written=1)
            found = headers(letters(group)[0])
            assert found["message"] == "Offset delivery count exceeded the threshold."
            assert found["delivery.count"] == "2"

    run(story())


def test_partitions_map_onto_those_of_the_dead_letter_topic() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(partitions=2) as group:
            await reject(await holding(group, part=2), (0, 0), part=2)
            await until_sent(group, written=1)
            assert (offsets(group, index=0), offsets(group, index=1)) == ([0], [])

    run(story())


def test_without_copies_a_letter_has_headers_only() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(copies="false") as group:
            await reject(await holding(group), (0, 0))
            await until_sent(group, written=1)
            (letter,) = letters(group)
            assert (letter.key, letter.value, headers(letter)["offset"]) == (None, None, "0")

    run(story())


def test_records_of_a_compressed_batch_are_copied_one_by_one() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            records = [Record(b"k%d" % n, b"value " * n, timestamp_ms=1) for n in range(500)]
            batch = build_batch(records, codec=Codec.GZIP)
            await partition(group, "t").append(batch, now_ms=group.box.broker.now_ms())
            member = group.member()
            assert ranges(await member.fetch()) == [(0, 499, 1)]
            await reject(member, *((n, n) for n in range(0, 500, 2)))
            await until_sent(group, written=250)
            found = letters(group)
            assert [(letter.key, letter.value) for letter in found] == [
                (b"k%d" % n, b"value " * n) for n in range(0, 500, 2)
            ]
            assert offsets(group) == list(range(0, 500, 2))

    run(story())


def test_what_is_larger_than_one_read_comes_in_rounds() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            for n in range(8):
                record = Record(b"k%d" % n, random.Random(n).randbytes(100_000), timestamp_ms=1)
                await partition(group, "t").append(build_batch([record]), now_ms=group.box.broker.now_ms())
            member = group.member()
            assert ranges(await member.fetch()) == [(0, 7, 1)]
            await reject(member, (0, 2), (4, 7))
            await until_sent(group, written=7)
            assert offsets(group) == [0, 1, 2, 4, 5, 6, 7]
            assert [letter.value for letter in letters(group)] == [
                random.Random(n).randbytes(100_000) for n in (0, 1, 2, 4, 5, 6, 7)
            ]

    run(story())


def test_a_record_too_large_for_the_topic_leaves_its_headers() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(ALLOWED, ("max.message.bytes", "600")) as group:
            record = Record(b"k", b"v" * 1_000, timestamp_ms=1)
            await partition(group, "t").append(build_batch([record]), now_ms=group.box.broker.now_ms())
            member = group.member()
            await member.fetch()
            await reject(member, (0, 0))
            await until_sent(group, written=1)
            assert (letters(group)[0].value, offsets(group)) == (None, [0])

    run(story())


def test_one_record_that_the_topic_refuses_keeps_no_other_out() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(ALLOWED, ("cleanup.policy", "compact")) as group:
            records = [Record(key, b"v", timestamp_ms=1) for key in (b"a", None, b"c")]
            await partition(group, "t").append(build_batch(records), now_ms=group.box.broker.now_ms())
            member = group.member()
            await member.fetch()
            await reject(member, (0, 2))
            await until_sent(group, written=2, failed=1)
            assert offsets(group) == [0, 2]

    run(story())


async def given_up(group: Group, caplog: pytest.LogCaptureFixture, why: str) -> None:
    """At once, loudly, and the queue goes on."""
    await reject(await holding(group, 2), (0, 0))
    await until_sent(group, failed=1)
    (facts,) = [vars(r)["facts"] for r in caplog.records if "archived without dead letters" in r.getMessage()]
    assert why in facts["why"]
    assert facts["records"] == 1
    assert (0, 1, ARCHIVED) in await stored(group)


def test_a_topic_that_is_missing_ends_the_letter(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(partitions=0) as group:
            await given_up(group, caplog, "dlq.t does not exist")
            assert group.box.broker.cluster.topic(DLQ) is None

    run(story())


def test_a_topic_that_takes_no_dead_letters_ends_the_letter(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(("retention.ms", "-1")) as group:
            await given_up(group, caplog, "dlq.t takes no dead letters")
            assert letters(group) == []

    run(story())


def test_a_topic_of_another_prefix_ends_the_letter(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters(topic="failed") as group:
            await given_up(group, caplog, "failed does not begin with dlq.")

    run(story())


def test_any_name_will_do_where_the_prefix_is_empty() -> None:
    async def story() -> None:
        settings = {"errors_deadletterqueue_topic_name_prefix": ""}
        async with a_group_with_dead_letters(topic="failed", **settings) as group:
            await reject(await holding(group), (0, 0))
            await until_sent(group, written=1)

    run(story())


def test_a_missing_topic_is_made_where_that_is_allowed() -> None:
    async def story() -> None:
        settings = {"errors_deadletterqueue_auto_create_topics_enable": "true", "num_partitions": "4"}
        async with a_group_with_dead_letters(partitions=0, **settings) as group:
            await reject(await holding(group), (0, 0))
            await until_sent(group, written=1)
            cluster = group.box.broker.cluster
            made = cluster.topic(DLQ)
            assert made is not None
            assert made.partition_count == 4
            assert cluster.configuration.topic(DLQ).errors_deadletterqueue_group_enable

    run(story())


def test_below_share_version_2_nothing_is_a_dead_letter() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            downgrade = FeatureUpdate("share.version", 1, 2)
            assert await group.box.broker.cluster.update_features([downgrade]) is None
            await reject(await holding(group), (0, 0))
            assert await stored(group) == [(0, 1, ARCHIVED)]
            assert letters(group) == []

    run(story())


def test_a_disk_that_fails_is_tried_again_until_it_works() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            log = partition(group).log
            log.failure = OSError("disk on fire")
            await reject(await holding(group), (0, 0))
            await until_quiet()
            for _ in range(ATTEMPTS - 2):
                await skip_ms(40_000)
            assert await stored(group) == [(0, 1, ARCHIVING)]
            log.failure = None
            await skip_ms(40_000)
            await until_sent(group, written=1)
            assert offsets(group) == [0]

    run(story())


def test_a_disk_that_fails_for_good_does_not_hold_up_the_queue(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            partition(group).log.failure = OSError("disk on fire")
            await reject(await holding(group), (0, 0))
            await until_quiet()
            for _ in range(ATTEMPTS - 2):
                await skip_ms(40_000)
            assert "archived without dead letters" not in caplog.text
            await skip_ms(40_000)
            await until_sent(group, failed=1)
            assert caplog.text.count("trying again") == ATTEMPTS - 1
            assert "archived without dead letters" in caplog.text
            assert await stored(group) == [(0, 1, ARCHIVED)]

    run(story())


def test_pauses_double_up_to_a_bound() -> None:
    assert [pause_s(n, 0.5) for n in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert (pause_s(1, 0), pause_s(1, 1)) == (0.8, 1.2)


def test_a_consumer_that_rejects_and_goes_leaves_one_letter() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            member = await holding(group)
            await reject(member, (0, 0))
            member.disconnect()
            await until_sent(group, written=1)
            for _ in range(100):
                if not list(group.box.broker.shares.owners()):
                    break
                await asyncio.sleep(0)
            assert list(group.box.broker.shares.owners()) == []
            await group.produce(1)
            again = group.member("next", connection=9)
            assert ranges(await again.fetch(max_wait_ms=60_000, min_bytes=1)) == [(1, 1, 1)]
            assert offsets(group) == [0]

    run(story())


def test_a_group_that_comes_back_in_between_goes_on_where_it_was() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            member = await holding(group, 2)
            partition(group).log.failure = OSError("disk on fire")
            await reject(member, (0, 0))
            member.disconnect()
            again = group.member("again", connection=9)
            assert ranges(await again.fetch(max_wait_ms=60_000, min_bytes=1)) == [(1, 1, 2)]
            partition(group).log.failure = None
            await until_quiet()
            await skip_ms(2_000)
            await until_sent(group, written=1)
            assert len(list(group.box.broker.shares.owners())) == 1
            assert codes(await again.acknowledge({0: [(1, 1, [1])]})) == {0: 0}

    run(story())


@pytest.mark.parametrize("persister", ["coordinator", "colocated"])
def test_an_owner_that_ends_in_between_leaves_it_to_the_next(persister: str) -> None:
    """As a broker does that is killed: tests/crash does that."""

    async def story() -> None:
        async with a_group_with_dead_letters(**PERSISTERS[persister]) as group:
            partition(group).log.failure = OSError("disk on fire")
            await group.produce(2)
            member = group.member()
            ((first, _, _),) = ranges(await member.fetch())
            await reject(member, (first, first))
            await until_quiet()
            group.box.broker.dead_letters.stop()
            group.box.broker.shares.clear()
            partition(group).log.failure = None
            assert (first, first + 1, ARCHIVING) in await stored(group)
            held = ranges(await group.member("next", connection=9).fetch())
            assert held[0][0] == first + 1
            await until_sent(group, written=1)
            assert offsets(group) == [first]

    run(story())


def test_a_record_does_not_come_back_to_the_topic_it_failed_in(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            await create(group, "dlq.u", ALLOWED)
            await reject(await holding(group), (0, 0))
            await until_sent(group, written=1)
            # two more groups, each with the other's topic for its dead letters
            for name, source, target in (("h", DLQ, "dlq.u"), ("i", "dlq.u", DLQ)):
                topic = group.box.broker.cluster.topic(source)
                assert topic is not None
                other = Group(group.box, topic.topic_id, name)
                await other.begin(partitions=1)
                await other.configure(errors_deadletterqueue_topic_name=target)
                member = other.member()
                assert ranges(await member.fetch()) == [(0, 0, 1)]
                await reject(member, (0, 0))
                await until_quiet()
            counts = group.box.broker.dead_letters.counts
            assert (counts.written[GroupId("h")], counts.failed[GroupId("i")]) == (1, 1)
            assert headers(letters(group, "dlq.u")[0])["hops"] == "t"
            assert len(letters(group)) == 1
            assert "would go in a circle" in caplog.text

    run(story())


def test_a_group_may_not_name_a_topic_that_it_consumes() -> None:
    async def story() -> None:
        async with a_group(begin=False) as group:
            await create(group, "dlq.mine", ALLOWED)
            find = FindCoordinatorRequest(key_type=0, coordinator_keys=["s"])
            await group.box.ask(find, FindCoordinatorResponse, 4)
            await beat(group, 0, "dlq.mine")
            wish = alter.AlterableConfig(
                name="errors.deadletterqueue.topic.name", config_operation=0, value="dlq.mine"
            )
            request = alter.IncrementalAlterConfigsRequest(
                resources=[
                    alter.AlterConfigsResource(resource_type=32, resource_name=name, configs=[wish])
                    for name in ("s", "other")
                ]
            )
            answer = await group.box.ask(request, alter.IncrementalAlterConfigsResponse, 1)
            assert [one.error_code for one in answer.responses] == [ErrorCode.INVALID_CONFIG, 0]
            assert answer.responses[0].error_message == (
                "errors.deadletterqueue.topic.name: the group consumes dlq.mine, "
                "which cannot be its dead-letter topic"
            )

    run(story())


def test_dead_letters_are_counted_by_group() -> None:
    async def story() -> None:
        async with a_group_with_dead_letters() as group:
            member = await holding(group, 3)
            await reject(member, (0, 0))
            await until_sent(group, written=1)
            partition(group).log.failure = OSError("disk on fire")
            await reject(member, (1, 2))
            found = told(group)
            assert found['dead_letters_written_total{group="g"}'] == 1
            assert found['dead_letters_pending{group="g"}'] == 2
            for _ in range(ATTEMPTS):
                await until_quiet()
                await skip_ms(40_000)
            await until_sent(group, written=1, failed=2)
            found = told(group)
            assert found['dead_letters_failed_total{group="g"}'] == 2
            assert found['dead_letters_pending{group="g"}'] == 0

    run(story())

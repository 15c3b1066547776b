"""Dead letters put back, on a broker in a box: each of them once, whenever whoever does it dies."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from broker_in_a_box import run
from dead_letter_box import GROUP, NOW_MS, DeadLetterBox, Killed, a_letter, dead_letter_box, put_back_in

from leaselog.admin import AsyncAdmin, RedriveResult, RedriveStopped
from leaselog.admin.dead_letters import claim, memory, redrive
from leaselog.broker.groups.records import decode_fact
from leaselog.coordination.group_facts import OffsetCommitted
from leaselog.log import finish
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

DEAD = "dlq.packing"
A_YEAR_MS = 365 * 24 * 3_600_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.client.cluster.RETRY_BACKOFF_MS", 1)
    monkeypatch.setattr(claim, "LOOK_AGAIN_MS", 5)
    monkeypatch.setattr(
        claim, "HEARTBEAT_INTERVAL_MS", 200_000
    )  # between others' requests, on a slow machine
    monkeypatch.setattr("leaselog.admin.dead_letters.log_reader.MAX_WAIT_MS", 0)


def an_order(number: int) -> Record:
    return Record(b"k%d" % number, b"order %d" % number, [("trace", b"%d" % number)], NOW_MS)


async def letters(box: DeadLetterBox, count: int = 12, partitions: int = 2) -> None:
    """``count`` orders in each partition, all of which have failed, half of them not copied; and others' letters."""
    await box.topic("orders", partitions)
    await box.topic(DEAD, 1)
    for partition in range(partitions):
        orders = [an_order(n) for n in range(count)]
        await box.append("orders", orders, partition)
        await box.append(
            DEAD,
            [
                a_letter("orders", partition, n, order if n % 2 else None, count=1 + n % 5)
                for n, order in enumerate(orders)
            ],
        )
        await box.append(
            DEAD, [a_letter("orders", partition, 0, orders[0], group="others"), Record(b"no", b"letter")]
        )


async def put_back(box: DeadLetterBox, cluster: Any = None, **given: Any) -> RedriveResult:
    given = {"session_timeout_ms": 600_000, **given}
    return await redrive.redrive(cluster or box.cluster(), GROUP, topic=DEAD, **given)


def sums_up(result: RedriveResult) -> bool:
    parts = (result.redriven, result.before, result.skipped, result.too_often)
    return result.letters == sum(parts) + result.refused + result.gone + result.remaining


def test_letters_go_back_to_where_they_came_from_with_their_own_headers() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            result = await put_back(box)
            assert (result.letters, result.redriven, result.remaining) == (24, 24, 0)
            assert result.by_target == {"orders": 24}
            found = await box.records("orders")
            assert len(found) == 48
            for partition, lies_at in ((0, 0), (1, 14)):
                mine = found[partition * 24 : partition * 24 + 24]
                for n, record in enumerate(mine[12:]):
                    assert (record.key, record.value) == (b"k%d" % n, b"order %d" % n)
                    assert record.headers == (
                        ("trace", b"%d" % n),
                        ("__dlq.redrive.letter", b"dlq.packing-0@%d" % (lies_at + n)),
                        ("__dlq.redrive.group", b"packing"),
                        ("__dlq.redrive.hops", b"1"),
                    )

    run(main())


def test_what_was_put_back_is_not_put_back_again_with_whatever_selection() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            often = await put_back(box, where=["delivery.count>3", "partition=0"])
            assert (often.redriven, often.skipped, often.before) == (4, 20, 0)
            other = await put_back(box, where=["delivery.count>=3"])
            assert (other.redriven, other.skipped, other.before) == (8, 12, 4)
            rest = await put_back(box)
            assert (rest.redriven, rest.skipped, rest.before) == (12, 0, 12)
            again = await put_back(box)
            assert (again.redriven, again.before) == (0, 24)
            assert all(map(sums_up, (often, other, rest, again)))
            assert set(Counter(put_back_in(await box.records("orders"))).values()) == {1}

    run(main())


def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            cluster = box.cluster()
            said = await put_back(box, cluster, where=["offset<6"], dry_run=True)
            assert not {"JoinGroup", "OffsetCommit", "Produce", "InitProducerId"} & set(cluster.asked)
            done = await put_back(box, where=["offset<6"])
            assert said.is_dry_run
            assert not done.is_dry_run
            assert (said.redriven, said.skipped, said.by_target) == (12, 12, {"orders": 12})
            assert (done.redriven, done.skipped, done.by_target) == (12, 12, {"orders": 12})

    run(main())


def test_letters_that_come_later_are_put_back_by_the_next_one() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            await put_back(box)
            await box.append(DEAD, [a_letter("orders", 1, 11, an_order(11))])
            result = await put_back(box)
            assert (result.letters, result.redriven, result.before) == (25, 1, 24)

    run(main())


def test_another_topic_takes_them_by_the_number_of_their_partition() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=3, partitions=3)
            await box.topic("repair", 2)
            result = await put_back(box, to="repair")
            assert result.by_target == {"repair": 9}
            assert len(await box.records("orders")) == 9
            names = put_back_in(await box.records("repair"))
            assert [int(name.rpartition("@")[2]) for name in names] == [0, 1, 2, 10, 11, 12, 5, 6, 7]

    run(main())


def test_what_is_nowhere_any_more_is_counted_as_gone() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            await box.admin.delete_records({TopicPartition("orders", 0): 5})
            result = await put_back(box)
            assert (result.redriven, result.gone) == (21, 3)  # 0, 2 and 4 were not copied
            found = await box.records("orders")
            bare = [record for record in found if len(record.headers) == 3]
            assert [record.value for record in bare] == [b"order 1", b"order 3"]  # nobody has their headers
            assert (await put_back(box)).before == 24

    run(main())


def test_a_topic_made_anew_has_other_records_at_its_offsets() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await box.topic("orders")
            await box.topic(DEAD)
            await box.append("orders", [Record(b"another", b"one", [("other", b"header")])])
            await box.append(DEAD, [a_letter("orders", 0, 0, an_order(7))])
            await put_back(box)
            last = (await box.records("orders"))[-1]
            assert last.value == b"order 7"
            assert "other" not in dict(last.headers)

    run(main())


def test_a_letter_that_another_group_failed_with_is_put_back_and_is_not_one_more() -> None:
    """The repairers take letters of the packers and fail, too: their letters go back to where the packers' lie."""

    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=1, partitions=1)
            await box.topic("dlq.repair")
            first = (await box.records(DEAD))[0]
            await box.append("dlq.repair", [a_letter(DEAD, 0, 0, first, group="repair")])
            repaired = await redrive.redrive(box.cluster(), "repair", topic="dlq.repair")
            assert repaired.by_target == {DEAD: 1}
            back = (await box.records(DEAD))[-1]
            assert back.headers[:6] == first.headers
            assert (await put_back(box)).letters == 1

    run(main())


def test_a_record_that_comes_back_too_often_stays() -> None:
    """The number is in the letter where leaselog wrote it, and in the record itself wherever it still lies."""

    async def main() -> None:
        async with dead_letter_box() as box:
            await box.topic("orders")
            await box.topic(DEAD)
            await box.append("orders", [an_order(0)])
            await box.append(DEAD, [a_letter("orders", 0, 0, an_order(0))])
            for hops, copied in ((1, True), (2, False), (3, True)):
                assert (await put_back(box, max_hops=3)).redriven == 1
                records = await box.records("orders")
                assert dict(records[-1].headers)["__dlq.redrive.hops"] == b"%d" % hops
                await box.append(
                    DEAD, [a_letter("orders", 0, len(records) - 1, records[-1] if copied else None)]
                )
            stays = await put_back(box, max_hops=3)
            assert (stays.redriven, stays.too_often, stays.before) == (0, 1, 3)
            assert (await put_back(box, max_hops=3)).too_often == 1
            await box.admin.delete_records({TopicPartition("orders", 0): 4})
            assert (await put_back(box, max_hops=3)).too_often == 1
            assert (await put_back(box, max_hops=4)).redriven == 1
            assert (await put_back(box, max_hops=4)).before == 4

    run(main())


def test_a_letter_that_the_target_refuses_keeps_no_other_out_and_stays() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=4, partitions=1)
            await box.append(DEAD, [a_letter("orders", 0, 100, Record(b"big", b"b" * 5_000))])
            await box.topic("small", max_message_bytes="1000")
            result = await put_back(box, to="small")
            assert (result.redriven, result.refused, result.remaining) == (4, 1, 0)
            assert (await put_back(box, to="small")).refused == 1
            last = await put_back(box)
            assert (last.redriven, last.before) == (1, 4)
            assert len(put_back_in(await box.records("small"))) == 4

    run(main())


def test_a_target_that_does_not_exist_stops_it_before_anything_is_begun() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=2)
            with pytest.raises(
                RedriveStopped, match="topic nowhere, where letters are to go, does not exist"
            ):
                await put_back(box, to="nowhere")
            assert (await put_back(box)).redriven == 4

    run(main())


def test_what_cannot_be_meant_is_said_at_once() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=1)
            for given, words in (
                ({"rate": 0}, "rate of 0"),
                ({"max_hops": 0}, "max_hops of 0"),
                ({"to": DEAD}, "cannot be put back into it"),
                ({"where": ["count>3"]}, "expected one of delivery.count"),
            ):
                with pytest.raises(ValueError, match=words):
                    await put_back(box, **given)
            with pytest.raises(LookupError, match="has no dead-letter topic"):
                await AsyncAdmin.over(box.cluster()).redrive(GROUP)

    run(main())


def test_there_is_one_redrive_of_a_group_at_a_time() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            holder = claim.Claim(box.cluster(), GROUP, DEAD, 1, session_timeout_ms=100_000)
            async with holder:
                with pytest.raises(RedriveStopped, match="another redrive is at work: group packing-redrive"):
                    await put_back(box, session_timeout_ms=100)
                assert (await put_back(box, dry_run=True)).redriven == 24
            assert (await put_back(box)).redriven == 24

    run(main())


def test_of_two_that_begin_at_once_none_puts_back_what_the_other_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither saw the other when it looked. One may be stopped, or both: the next one does what is left."""

    async def sees_nobody(_: claim.Claim) -> None:
        pass

    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            with monkeypatch.context() as patched:
                patched.setattr(claim.Claim, "_wait_until_free", sees_nobody)
                both = await asyncio.gather(
                    *(put_back(box, session_timeout_ms=10_000) for _ in range(3)), return_exceptions=True
                )
            assert all(isinstance(one, RedriveResult | RedriveStopped) for one in both)
            last = await put_back(box)
            assert last.redriven + last.before == 24
            assert Counter(put_back_in(await box.records("orders"))) == Counter(
                f"{DEAD}-0@{offset}" for offset in (*range(12), *range(14, 26))
            )

    run(main())


def test_what_was_put_back_is_remembered_for_as_long_as_the_group_is_there() -> None:
    """Offsets of a group without members expire after a week, unless the client says otherwise."""

    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            await put_back(box)
            stored = [decode_fact(record) for record in await box.records("__consumer_offsets")]
            kept = [fact.committed.expire_ms for fact in stored if isinstance(fact, OffsetCommitted)]
            assert len(kept) >= 2
            assert min(kept) > NOW_MS + 1_000 * A_YEAR_MS

    run(main())


def test_a_redrive_that_the_group_went_on_without_writes_nothing_down() -> None:
    """It stood still for so long that another one has begun."""

    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            async with claim.Claim(box.cluster(), GROUP, DEAD, 1) as stalled:
                await box.forget_the_dead()
                assert (await put_back(box)).redriven == 24
                with pytest.raises(RedriveStopped, match="went on without this redrive"):
                    await stalled.commit({TopicPartition(DEAD, 0): (0, "")})
            assert (await put_back(box)).before == 24

    run(main())


#: requests after which something is not as it was
LASTING = {"OffsetCommit", "Produce"}
CHANGES = LASTING | {"JoinGroup", "SyncGroup", "InitProducerId", "LeaveGroup"}


async def requests_that(change: set[str]) -> list[int]:
    """Their numbers, when nothing comes between: with any other one it makes no difference."""
    async with dead_letter_box() as box:
        await letters(box, count=3)
        cluster = box.cluster()
        assert (await put_back(box, cluster, where=["delivery.count!=2"])).redriven == 4
        return [number for number, name in enumerate(cluster.asked) if name in change]


async def dies_and_is_done_again(at: int, how: str) -> None:
    async with dead_letter_box() as box:
        await letters(box, count=3)
        dying = box.cluster(at, unheard=how != "done")
        with pytest.raises(Killed):
            await put_back(box, dying, where=["delivery.count!=2"])
        await box.forget_the_dead()
        if how == "late":
            assert dying.last_words is not None
            await put_back(box)
            await box.cluster().request(*dying.last_words)
        last = await put_back(box)
        assert sums_up(last)
        assert last.redriven + last.before == 6
        assert Counter(put_back_in(await box.records("orders"))) == Counter(
            f"{DEAD}-0@{offset}" for offset in (0, 1, 2, 5, 6, 7)
        )


@pytest.mark.parametrize("how", ["done", "not heard", "late"])
def test_whenever_it_dies_every_letter_is_in_its_target_once(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at each of its requests: when that was carried out, when it was not, and when it still is to arrive."""
    monkeypatch.setattr(redrive, "WINDOW_LETTERS", 2)
    numbers = run(requests_that(LASTING if how == "late" else CHANGES))
    assert len(numbers) >= 5
    for at in numbers:
        run(dies_and_is_done_again(at, how))


async def is_stopped_and_goes_on(at: int) -> None:
    async with dead_letter_box() as box:
        await letters(box, count=3)
        stopping = box.cluster(at, lives=True)
        told: list[RedriveResult] = []
        with pytest.raises(asyncio.CancelledError):
            await put_back(box, stopping, where=["delivery.count!=2"], on_progress=told.append)
        await box.forget_the_dead()
        last = await put_back(box)
        assert last.redriven + last.before == 6
        assert set(Counter(put_back_in(await box.records("orders"))).values()) == {1}
        assert stopping.last_words is not None
        if told and stopping.last_words[0].NAME != "ProduceRequest":
            assert told[-1].redriven + last.redriven == 6


def test_whoever_is_stopped_by_hand_has_done_what_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more than that, unless it was stopped while something was on its way to its target."""
    monkeypatch.setattr(redrive, "WINDOW_LETTERS", 2)
    for at in run(requests_that({"Fetch", "OffsetCommit", "Produce"})):
        run(is_stopped_and_goes_on(at))


def test_what_is_sent_again_after_brokers_forgot_the_producer_is_looked_for_in_the_log() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=5)
            with pytest.raises(Killed):
                await put_back(box, box.cluster("ProduceRequest"))
            await box.forget_the_dead()
            for partition in range(2):
                found = box.box.broker.logs.partition("orders", partition)
                assert found is not None
                finish(found.log.expire_producers(2**62))
            assert (await put_back(box)).redriven == 10
            assert set(Counter(put_back_in(await box.records("orders"))).values()) == {1}

    run(main())


def test_as_many_are_sent_at_a_time_as_can_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await box.topic("orders", 7)
            await box.topic(DEAD)
            kept = [a_letter("orders", n % 7, n, an_order(n)) for n in range(300)]
            await box.append(DEAD, kept)
            monkeypatch.setattr(redrive, "MAX_TEXT", 400)
            cluster = box.cluster()
            assert (await put_back(box, cluster)).redriven == 300
            assert cluster.asked.count("OffsetCommit") > 5
            assert len(put_back_in(await box.records("orders"))) == 300
            monkeypatch.setattr(redrive, "MAX_TEXT", 100)
            await box.append(DEAD, kept)
            with pytest.raises(RedriveStopped, match=r"more than can be remembered of dlq\.packing-0"):
                await put_back(box, where=["offset<10"])

    run(main())


def test_a_rate_is_kept() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box, count=10)
            began = asyncio.get_running_loop().time()
            assert (await put_back(box, rate=100)).redriven == 20
            assert asyncio.get_running_loop().time() - began >= 0.2

    run(main())


def test_progress_is_told_and_always_adds_up() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            told: list[RedriveResult] = []
            await put_back(box, rate=20, where=["offset<2"], on_progress=told.append)
            assert all(map(sums_up, told))
            remaining = [one.remaining for one in told]
            assert remaining[0] == 4
            assert remaining == sorted(remaining, reverse=True)
            assert remaining[-1] == 0

    run(main())


def offsets(*some: int | Iterable[int]) -> memory.Offsets:
    return memory.Offsets.of(n for one in some for n in ([one] if isinstance(one, int) else one))


def test_a_memory_reads_back_as_it_was() -> None:
    some = memory.Selection.of(["message~'lease, \"ran\" out'", "time<2026-11-22T08:00", "topic=ördérs"])
    batch = memory.PendingBatch(TopicPartition("orders", 3), 99, offsets(5, range(9, 12), 20))
    for said in (
        memory.Memory(),
        memory.Memory((memory.Walk(some, 50), memory.Walk(memory.EVERYTHING, 7)), offsets(1, 2, 4)),
        memory.Memory((memory.Walk(some, 50),), pending=memory.PendingWindow(2**40, 7, (batch,))),
    ):
        assert said.text.isascii()
        assert memory.read_memory(1, said.text) == said
    assert batch.letters.text == "5,9+3,20"


def test_an_offset_that_somebody_has_set_by_hand_settles_what_lies_before_it() -> None:
    assert memory.read_memory(17, "") == memory.Memory((memory.Walk(memory.EVERYTHING, 17),))
    assert memory.read_memory(0, "") == memory.Memory()


@pytest.mark.parametrize(
    "text", ["{", "17", '{"v":2,"walks":[]}', '{"v":1}', '{"v":1,"walks":[{"where":["x"]}]}']
)
def test_a_memory_of_a_newer_version_is_not_taken_for_none(text: str) -> None:
    with pytest.raises(ValueError, match="not what this version"):
        memory.read_memory(1, text)

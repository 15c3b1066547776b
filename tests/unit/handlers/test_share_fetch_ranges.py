"""ShareFetch for ranges alone: everything as ever, but that the records are left out and their size is told."""

from __future__ import annotations

from handlers.share_member import ACCEPT, a_group, acknowledge_codes, offsets_sent, ranges, run
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.wire.messages.share_fetch import ShareFetchResponse


def sizes(answer: ShareFetchResponse) -> list[tuple[int, int]]:
    """Of each partition, the bytes that came and those that were left out."""
    return [
        (len(data.records or b""), getattr(data, "left_out_bytes", 0))
        for topic in answer.responses
        for data in topic.partitions
    ]


def test_the_same_is_acquired_and_told_without_the_records() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10, batches=3)
            bounds = {"max_records": 15, "share_acquire_mode": 1}
            one, other = group.member(), group.member("n", connection=2)
            plain = await one.fetch(**bounds)
            assert offsets_sent(plain) == list(range(20)), "log batches come whole"
            assert not (await one.acknowledge({0: [(0, 14, [2])]})).error_code
            lean = await other.fetch(**bounds, ranges_only=True)
            assert ranges(plain) == [(0, 14, 1)]
            assert ranges(lean) == [(0, 14, 2)]
            ((came, _),) = sizes(plain)
            assert sizes(lean) == [(0, came)]
            said = await other.fetch(acks={0: [(0, 14, [ACCEPT])]}, ranges_only=True)
            assert acknowledge_codes(said) == {0: 0}
            assert ranges(said) == [(15, 29, 1)]

    run(story())


def test_bytes_that_are_left_out_count_against_the_bound_of_the_fetch() -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(1, partition=partition, batches=50)
            answer = await group.member().fetch(partitions=(0, 1), max_bytes=1000, ranges_only=True)
            assert len(sizes(answer)) == 2
            assert all(came == 0 and 400 < left_out <= 500 for came, left_out in sizes(answer))

    run(story())


def test_what_is_not_sent_counts_for_no_quota() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10, batches=4)
            limit = QuotaAlteration((("client-id", "test"),), (("consumer_byte_rate", 10.0),))
            assert await group.box.broker.cluster.alter_quotas([limit]) == {limit.entity: None}
            member = group.member()
            first = await member.fetch(max_records=1, ranges_only=True)
            assert ranges(first) == [(0, 9, 1)]
            assert first.throttle_time_ms == 0
            assert ranges(await member.fetch(max_records=1, ranges_only=True)) == [(10, 19, 1)]

    run(story())

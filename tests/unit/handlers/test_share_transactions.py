"""Share groups over transactions: what is leased, what is archived undelivered, and what an altered level does."""

from __future__ import annotations

from broker_in_a_box import until_quiet

from handlers.share_member import (
    ACCEPT,
    RELEASE,
    Group,
    a_group,
    configure,
    ranges,
    run,
    settled,
    still_waiting,
)
from leaselog.broker.records.partition import Partition
from leaselog.log import Appended
from leaselog.share import SharePartition, TopicIdPartition
from leaselog.wire.records import Record, build_batch

LONG_MS = 3_600_000


class Writers:
    """Transactional producers of partition 0, by their ids."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.sequences: dict[int, int] = {}

    @property
    def partition(self) -> Partition:
        found = self.group.box.broker.logs.partition("t", 0)
        assert found is not None
        return found

    async def write(self, producer_id: int, count: int = 1) -> None:
        now_ms = self.group.box.broker.now_ms()
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + count
        batch = build_batch(
            [Record(b"k", b"v", (), now_ms)] * count,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
        assert isinstance(await self.partition.append(batch, now_ms=now_ms), Appended)

    async def end(self, producer_id: int, *, commit: bool) -> None:
        now_ms = self.group.box.broker.now_ms()
        assert isinstance(
            await self.partition.write_marker(producer_id, 0, 0, commit, now_ms=now_ms), Appended
        )


async def level(group: Group, value: str) -> None:
    await configure(group.box, "g", share_isolation_level=value)


def machine_of(group: Group) -> SharePartition:
    owner = group.box.broker.shares.find(group.key().group_id, TopicIdPartition(group.key().topic_id, 0))
    assert owner is not None
    assert owner.machine is not None
    return owner.machine


def test_nothing_behind_an_open_transaction_is_leased_to_a_group_that_reads_committed_records() -> None:
    async def story() -> None:
        async with a_group() as group:
            await level(group, "read_committed")
            writers, member = Writers(group), group.member()
            await group.produce(2)
            await writers.write(1, 3)
            await group.produce(1)
            assert ranges(await member.fetch()) == [(0, 1, 1)]
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS, acks={0: [(0, 1, [ACCEPT])]}))
            await group.produce(1)
            assert not await settled(waiting)
            await writers.end(1, commit=True)
            assert await settled(waiting)
            assert ranges(await waiting) == [(2, 4, 1), (5, 6, 1)] or ranges(await waiting) == [(2, 6, 1)]

    run(story())


def test_aborted_records_are_archived_without_a_delivery() -> None:
    async def story() -> None:
        async with a_group() as group:
            await level(group, "read_committed")
            writers, member = Writers(group), group.member()
            await writers.write(1, 2)  # 0, 1
            await writers.write(2, 3)  # 2 to 4
            await writers.end(2, commit=False)  # 5
            await writers.end(1, commit=True)  # 6
            assert ranges(await member.fetch()) == [(0, 1, 1)]
            assert machine_of(group).counters.acquired == 2
            await member.fetch(acks={0: [(0, 1, [ACCEPT])]})
            await until_quiet()
            assert machine_of(group).start == 7

    run(story())


def test_a_transaction_of_nothing_but_aborted_records_wakes_the_next_who_has_something_to_have() -> None:
    async def story() -> None:
        async with a_group() as group:
            await level(group, "read_committed")
            writers, member = Writers(group), group.member()
            await writers.write(1, 3)
            await writers.end(1, commit=False)
            waiting = await still_waiting(member.fetch(max_wait_ms=LONG_MS))
            await group.produce(2)
            assert await settled(waiting)
            assert ranges(await waiting) == [(4, 5, 1)]

    run(story())


def test_other_groups_get_open_and_aborted_records_and_no_markers() -> None:
    async def story() -> None:
        async with a_group() as group:
            writers, member = Writers(group), group.member()
            await writers.write(1, 2)  # 0, 1
            await writers.end(1, commit=False)  # 2
            await writers.write(1, 2)  # 3, 4
            assert ranges(await member.fetch()) == [(0, 1, 1), (3, 4, 1)]
            assert machine_of(group).counters.acquired == 4
            await member.fetch(acks={0: [(0, 1, [ACCEPT]), (3, 4, [ACCEPT])]})
            await until_quiet()
            assert machine_of(group).start == 5

    run(story())


def test_an_altered_level_counts_from_the_next_fetch_on() -> None:
    async def story() -> None:
        async with a_group() as group:
            writers, member = Writers(group), group.member()
            await writers.write(1, 2)  # 0, 1
            assert ranges(await member.fetch()) == [(0, 1, 1)]
            await level(group, "read_committed")
            await writers.write(1, 2)  # 2, 3
            await writers.write(2, 1)  # 4
            assert ranges(await member.fetch(acks={0: [(0, 1, [RELEASE])]})) == []
            await writers.end(1, commit=False)  # 5
            await writers.end(2, commit=True)  # 6
            assert ranges(await member.fetch()) == [(4, 4, 1)]
            await writers.write(1, 1)  # 7
            assert ranges(await member.fetch(acks={0: [(4, 4, [ACCEPT])]})) == []
            await level(group, "read_uncommitted")
            assert ranges(await member.fetch()) == [(7, 7, 1)]

    run(story())

"""Records that ran out of deliveries and have no dead-letter topic to go to: nobody may lose them without a word."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest

from handlers.share_member import ACCEPT, REJECT, RELEASE, Group, a_group, run, skip_ms
from handlers.test_describe_share_partitions import described
from leaselog.broker.lending import delivery as share_delivery
from leaselog.broker.telling.text import registry_of

#: of a group
PAUSE_MS = share_delivery.WARNING_PAUSE_MS


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Group and count of each line."""
    said: list[tuple[str, int]] = []
    monkeypatch.setattr(
        share_delivery.log,
        "warning",
        lambda event, **facts: said.append((str(facts["group"]), int(facts["records_so_far"]))),
    )
    return said


async def two_deliveries(group: Group) -> None:
    await group.configure(share_delivery_count_limit="2")  # Kafka's least


def test_records_without_deliveries_left_are_warned_of_once_a_minute(warned: list[tuple[str, int]]) -> None:
    async def story() -> None:
        async with a_group() as group:
            await two_deliveries(group)
            member = group.member()
            await group.produce(5)
            await member.fetch()
            await member.acknowledge({0: [(0, 2, [RELEASE]), (3, 3, [REJECT]), (4, 4, [ACCEPT])]})
            assert warned == []
            await member.fetch()
            await member.acknowledge({0: [(0, 2, [RELEASE])]})
            assert warned == [("g", 3)]
            assert (await described(group)).given_up == 3
            text = generate_latest(registry_of(group.box.broker)).decode()
            assert 'leaselog_share_given_up_records_total{group="g"} 3.0' in text

            async def again() -> None:
                await group.produce(1)
                for _ in range(2):
                    await member.fetch()
                    start = (await described(group)).start_offset
                    await member.acknowledge({0: [(start, start, [RELEASE])]})

            await again()
            assert warned == [("g", 3)], "the minute is not over"
            await skip_ms(PAUSE_MS)
            await again()
            assert warned == [("g", 3), ("g", 5)]
            member.disconnect()
            assert (await described(group)).given_up == 5, "also when the last worker has gone"

    run(story())


def test_records_that_become_dead_letters_are_not_given_up(warned: list[tuple[str, int]]) -> None:
    async def story() -> None:
        async with a_group() as group:
            await two_deliveries(group)
            await group.configure(errors_deadletterqueue_topic_name="dlq.missing")
            member = group.member()
            await group.produce(1)
            for _ in range(2):
                await member.fetch()
                await member.acknowledge({0: [(0, 0, [RELEASE])]})
            assert warned == []
            assert (await described(group)).given_up == 0
            group.box.broker.dead_letters.stop()

    run(story())


def test_of_many_share_partitions_those_that_gave_up_last_are_told_apart(
    warned: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share_delivery, "MOST_GIVEN_UP", 1)

    async def story() -> None:
        async with a_group() as group:
            delivery = group.box.broker.share_delivery
            for partition in (0, 1):
                place = group.box.broker.logs.partition("t", partition)
                assert place is not None
                delivery.gave_up(group.key(partition), place.name, 2)
            assert [delivery.given_up_at(group.key(p)) for p in (0, 1)] == [0, 2]
            assert delivery.given_up["g"] == 4
            assert warned == [("g", 2)]

    run(story())

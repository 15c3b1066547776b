"""What leaselog tells its own tools of a share group's partitions, and that nobody else hears of it."""

from __future__ import annotations

import pytest
from admin_cluster import BoxCluster

from handlers.share_member import ACCEPT, LOCK_MS, RELEASE, Group, a_group, run, skip_ms
from leaselog.admin import AsyncAdmin, SharePartitionDescription
from leaselog.client import UnsupportedVersion, kafka_errors
from leaselog.model import TopicPartition
from leaselog.wire.extensions import FIRST_EXTENSION_KEY
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

WHERE = TopicPartition("t", 0)
A_SLOW_MACHINE_MS = 10_000


def within(least_ms: int, age_ms: int | None) -> bool:
    return age_ms is not None and least_ms <= age_ms < least_ms + A_SLOW_MACHINE_MS


async def described(group: Group, where: TopicPartition = WHERE) -> SharePartitionDescription:
    admin = AsyncAdmin.over(BoxCluster(group.box))
    return (await admin.describe_share_partitions(group.name, [where]))[where]


def test_holders_deadlines_and_deliveries_are_those_of_the_moment() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.produce(6)
            await group.produce(4)
            first, second = group.member("m1"), group.member("m2", connection=2)
            await first.fetch(max_records=6)
            await first.acknowledge({0: [(2, 3, [ACCEPT]), (4, 5, [RELEASE])]})
            await skip_ms(1000)
            await second.fetch(max_records=2, batch_size=1)
            seen = await described(group)
            assert (seen.start_offset, seen.end_offset, seen.high_watermark) == (0, 6, 10)
            assert (seen.in_flight, seen.available, seen.done_ahead) == (4, 4, 2)
            assert (seen.window_used, seen.window_limit) == (6, 2000)
            assert seen.delivery_counts == {1: 2, 2: 2}
            assert [(h.member_id, h.record_count) for h in seen.holders] == [("m1", 2), ("m2", 2)]
            early, late = seen.holders
            # what is skipped, and what the test itself has taken
            assert 999 <= late.first_deadline_ms - early.first_deadline_ms < 1000 + A_SLOW_MACHINE_MS
            assert LOCK_MS - A_SLOW_MACHINE_MS < late.first_deadline_ms == late.last_deadline_ms <= LOCK_MS

    run(main())


def test_the_oldest_record_is_the_first_that_is_not_finished() -> None:
    async def main() -> None:
        async with a_group() as group:
            now_ms = group.box.broker.now_ms()
            old_ms, young_ms = 3 * A_SLOW_MACHINE_MS, A_SLOW_MACHINE_MS
            for age_ms in (old_ms, young_ms):
                await group.box.append("t", now_ms - age_ms)
            member = group.member()
            await member.fetch()
            assert within(old_ms, (await described(group)).oldest_age_ms)
            await member.acknowledge({0: [(0, 0, [ACCEPT])]})
            assert within(young_ms, (await described(group)).oldest_age_ms)
            await member.acknowledge({0: [(1, 1, [ACCEPT])]})
            seen = await described(group)
            assert (seen.oldest_age_ms, seen.available, seen.holders) == (None, 0, ())

    run(main())


def test_of_a_group_that_left_it_is_what_is_stored() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.produce(5)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(1, 2, [ACCEPT]), (3, 4, [RELEASE])]})
            member.disconnect()
            assert list(group.box.broker.shares.owners()) == []
            seen = await described(group)
            assert (seen.start_offset, seen.done_ahead, seen.in_flight, seen.available) == (0, 2, 0, 3)
            assert seen.delivery_counts == {1: 3}
            assert seen.holders == ()
            assert list(group.box.broker.shares.owners()) == [], "looking makes no owner"

    run(main())


def test_what_the_group_has_not_begun_or_what_is_not_there_is_an_error_of_its_own() -> None:
    async def main() -> None:
        async with a_group(begin=False) as group:
            with pytest.raises(kafka_errors.UnknownTopicOrPartitionException):
                await described(group, TopicPartition("t", 9))
            await group.begin(start_offset=-1)
            with pytest.raises(kafka_errors.OffsetNotAvailableException):
                await described(group)

    run(main())


@pytest.mark.parametrize(("name", "is_told"), [("leaselog", True), ("apache-kafka-java", False)])
def test_only_leaselogs_own_clients_are_told_of_it(name: str, is_told: bool) -> None:
    async def main() -> None:
        async with a_group() as group:
            hello = ApiVersionsRequest(client_software_name=name, client_software_version="1")
            answer = await group.box.ask(hello, ApiVersionsResponse, 4)
            keys = [api.api_key for api in answer.api_keys]
            assert (FIRST_EXTENSION_KEY in keys) == is_told
            assert len(keys) == len(set(keys))

    run(main())


def test_a_broker_that_does_not_serve_it_says_so() -> None:
    async def main() -> None:
        async with a_group() as group:
            cluster = BoxCluster(group.box)
            cluster.missing = {"DescribeSharePartitions"}
            with pytest.raises(UnsupportedVersion, match="DescribeSharePartitions"):
                await AsyncAdmin.over(cluster).describe_share_partitions("g", [WHERE])

    run(main())

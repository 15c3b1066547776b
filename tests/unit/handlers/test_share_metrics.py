"""What is counted of share groups, read as Prometheus reads it."""

from __future__ import annotations

from broker_in_a_box import until_quiet
from prometheus_client import generate_latest

from handlers.share_member import ACCEPT, LOCK_MS, REJECT, RELEASE, Group, a_group, run, skip_ms
from leaselog.broker.telling.text import registry_of
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)


def told(group: Group) -> dict[str, float]:
    """By name and labels."""
    text = generate_latest(registry_of(group.box.broker)).decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {
        name.removeprefix("leaselog_").removeprefix("share_"): float(value)
        for name, _, value in lines
        if name.startswith("leaselog_")
    }


def test_deliveries_and_acknowledgements_are_counted() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 3, [ACCEPT]), (4, 5, [REJECT]), (6, 6, [RELEASE])]})
            await member.acknowledge({0: [(8, 8, [ACCEPT] * 2)]})
            await member.acknowledge({0: [(6, 6, [ACCEPT])]})
            await skip_ms(LOCK_MS + 2)
            await member.fetch()
            found = told(group)
            here = '{group="g",partition="0",topic="t"}'
            assert found["acquired_records_total"] == 14
            assert found["redelivered_records_total"] == 4
            assert found['acknowledged_records_total{type="accept"}'] == 4
            assert found['acknowledged_records_total{type="reject"}'] == 2
            assert found['acknowledged_records_total{type="release"}'] == 1
            # the one of the wrong shape never reached the partition
            assert found["refused_acknowledgements_total"] == 1
            assert found["lock_timeouts_total"] == found[f"partition_lock_timeouts_total{here}"] == 3
            assert found[f"partition_in_flight_records{here}"] == 4
            assert found[f"partition_acquired_records_held{here}"] == 4
            assert found[f"partition_lag{here}"] == 4
            assert found["partition_load_seconds_count"] == 1
            assert (found["sessions"], found["session_partitions"]) == (1, 1)

    run(story())


def test_totals_outlive_the_owners_that_counted() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(3)
            member = group.member()
            await member.fetch()
            member.disconnect()
            found = told(group)
            assert found["acquired_records_total"] == found["released_records_total"] == 3
            assert (found["sessions"], found["session_evictions_total"]) == (0, 1)
            assert not [name for name in found if name.startswith("partition_in_flight_records{")]

    run(story())


def behind(found: dict[str, float]) -> tuple[float | None, float | None]:
    """Lag and age of the one share partition there is."""
    here = '{group="g",partition="0",topic="t"}'
    return found.get(f"partition_lag{here}"), found.get(f"partition_oldest_age_seconds{here}")


def test_lag_and_age_are_told_also_when_the_last_member_has_gone() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(5)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 1, [ACCEPT]), (3, 3, [ACCEPT])]})
            lag, age_s = behind(told(group))
            assert lag == 2
            assert age_s is not None
            member.disconnect()
            await until_quiet()
            assert not group.box.broker.shares.every_owner()
            lag, later_s = behind(told(group))
            assert lag == 2
            assert later_s is not None
            assert later_s >= age_s
            await group.produce(3)
            assert behind(told(group))[0] == 5

    run(story())


def test_lag_is_told_of_a_group_that_nobody_has_fetched_for_yet() -> None:
    async def story(policy: str, lag: float | None) -> None:
        async with a_group(begin=False) as group:
            await group.begin(start_offset=-1)
            await group.configure(share_auto_offset_reset=policy)
            await group.produce(4)
            assert behind(told(group))[0] == lag

    run(story("earliest", 4))
    run(story("latest", 0))
    run(story("by_duration:PT1H", None))


def test_lag_of_nobodys_share_partition_knows_what_retention_took() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(6)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 0, [ACCEPT])]})
            member.disconnect()
            await until_quiet()
            partition = group.box.broker.logs.partition(group.topic, 0)
            assert partition is not None
            partition.log.delete_records(4)
            assert behind(told(group))[0] == 2

    run(story())


def test_age_is_nought_where_all_is_done() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 1, [ACCEPT])]})
            assert behind(told(group)) == (0, 0)
            member.disconnect()
            await until_quiet()
            assert behind(told(group)) == (0, 0)

    run(story())


async def beat(group: Group, epoch: int, *topics: str) -> int:
    request = ShareGroupHeartbeatRequest(
        group_id="s", member_id="m", member_epoch=epoch, subscribed_topic_names=topics or None
    )
    answer = await group.box.ask(request, ShareGroupHeartbeatResponse, 1)
    assert answer.error_code == 0
    return answer.member_epoch


def test_groups_are_counted_by_state_and_their_rebalances_too() -> None:
    async def story() -> None:
        async with a_group(offsets_topic_num_partitions="3") as group:
            find = FindCoordinatorRequest(key_type=0, coordinator_keys=["s"])
            await group.box.ask(find, FindCoordinatorResponse, 4)
            before = told(group)
            assert before['groups{state="Stable",type="share"}'] == 0
            await beat(group, 0, "t")
            found = told(group)
            assert found['groups{state="Stable",type="share"}'] == 1
            assert found['groups{state="Empty",type="share"}'] == 0
            assert found["group_partitions"] == 2
            joined = found["group_rebalances_total"]
            assert joined >= 1
            await beat(group, -1)
            left = told(group)
            assert left['groups{state="Empty",type="share"}'] == 1
            assert left["group_rebalances_total"] == joined + 1
            assert found['coordinator_partitions{coordinator="group",state="active"}'] == 1
            assert found['coordinator_partitions{coordinator="share",state="loading"}'] == 0

    run(story())


def test_writes_of_share_state_are_counted_with_their_times() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(3)
            member = group.member()
            await member.fetch()
            before = told(group)
            assert before["state_keys"] == 2
            await member.acknowledge({0: [(0, 0, [ACCEPT])]})
            found = told(group)
            assert found["state_written_records_total"] == before["state_written_records_total"] + 1
            assert found["state_write_seconds_count"] == found["state_written_records_total"]
            assert found["state_write_seconds_sum"] > before["state_write_seconds_sum"]
            assert 0 < found["state_longest_write_seconds"] <= found["state_write_seconds_sum"]

    run(story())


def test_of_each_group_it_is_told_how_much_a_fetch_gave_and_how_soon() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(3)
            member = group.member()
            await member.fetch(partitions=(0, 1))
            await member.fetch(max_records=0)
            await member.fetch(max_wait_ms=0)
            found = told(group)
            assert found['fetch_ratio_count{group="g"}'] == 2, "one asked for no records"
            assert found['fetch_ratio_bucket{group="g",le="0.0"}'] == 1
            assert found['fetch_ratio_sum{group="g"}'] == 0.5
            assert found['acquire_seconds_count{group="g"}'] == 1
            assert (found["fetch_partitions_total"], found["fetch_partitions_given_total"]) == (4, 1)
            assert found["fetch_expired_total"] == 1
            member.disconnect()
            assert 'fetch_ratio_count{group="g"}' not in told(group)

    run(story())

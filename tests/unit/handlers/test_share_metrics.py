"""What is counted of share groups, read as Prometheus reads it."""

from __future__ import annotations

from prometheus_client import generate_latest

from handlers.share_member import ACCEPT, LOCK_MS, REJECT, RELEASE, Group, a_group, run, skip_ms


def told(group: Group) -> dict[str, float]:
    """By name and labels."""
    text = generate_latest(group.box.broker.metrics.registry).decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {
        name.removeprefix("leaselog_share_"): float(value) for name, _, value in lines if "_share_" in name
    }


def test_deliveries_and_acknowledgements_are_counted() -> None:
    async def story() -> None:
        async with a_group() as group:
            group.box.broker.share_metrics.watch(group.box.broker)
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
            group.box.broker.share_metrics.watch(group.box.broker)
            await group.produce(3)
            member = group.member()
            await member.fetch()
            member.disconnect()
            found = told(group)
            assert found["acquired_records_total"] == found["released_records_total"] == 3
            assert (found["sessions"], found["session_evictions_total"]) == (0, 1)
            assert not [name for name in found if name.startswith("partition_lag{")]

    run(story())

"""A paused share group gets no records and notices nothing else; a breaker pauses the group that fails at too much."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from broker_in_a_box import until_quiet

from handlers.share_member import (
    ACCEPT,
    GAP,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    Group,
    Member,
    a_group,
    codes,
    configure,
    ranges,
    run,
    settled,
    skip_ms,
)
from handlers.test_share_metrics import told
from leaselog.broker.config import GroupConfig, Resource
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import ErrorCode, GroupId, Refused
from leaselog.wire.messages import incremental_alter_configs as alter

WAIT_MS = 10_000
#: no thread is waited for, so what can happen happens within some turns of the loop
AT_ONCE = {"durability": "os"}


async def pause(group: Group, **more: str) -> None:
    await group.configure(share_delivery_paused="true", **more)


async def resume(group: Group) -> None:
    await group.configure(share_delivery_paused="false")


def config_of(group: Group) -> GroupConfig:
    return group.box.broker.cluster.configuration.group(group.name)


def waiting_fetch(member: Member, **wish: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(member.fetch(max_wait_ms=WAIT_MS, min_bytes=1, **wish))


async def alter_group(group: Group, **values: str) -> tuple[int, str | None]:
    """As a client asks for it."""
    configs = [
        alter.AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value)
        for key, value in values.items()
    ]
    request = alter.IncrementalAlterConfigsRequest(
        resources=[
            alter.AlterConfigsResource(
                resource_type=ResourceType.GROUP, resource_name=group.name, configs=configs
            )
        ]
    )
    answer = await group.box.ask(request, alter.IncrementalAlterConfigsResponse, 1)
    return answer.responses[0].error_code, answer.responses[0].error_message


def test_a_paused_groups_fetch_waits_its_time_and_comes_back_empty_without_an_error() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            await group.produce(3)
            await pause(group)
            fetch = waiting_fetch(group.member())
            assert not await settled(fetch)
            looked = group.box.broker.waiting_room.wake_count
            await skip_ms(WAIT_MS - 100)
            assert not await settled(fetch)
            assert group.box.broker.waiting_room.wake_count == looked, "it looks again for nothing"
            await skip_ms(200)
            answer = await fetch
            assert answer.error_code == 0
            assert ranges(answer) == []

    run(story())


def test_resuming_wakes_everybody_who_waits_at_once() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            await group.produce(1, partition=0)
            await group.produce(1, partition=1)
            await pause(group)
            fetches = [
                waiting_fetch(group.member(f"m{i}", connection=i), partitions=[i % 2]) for i in range(4)
            ]
            for fetch in fetches:
                assert not await settled(fetch)
            await resume(group)
            done = [await settled(fetch) for fetch in fetches]
            assert done == [True, True, False, False], "each record goes to who asked first"
            assert [ranges(await fetch, i) for i, fetch in enumerate(fetches[:2])] == [[(0, 0, 1)]] * 2

    run(story())


def test_a_fetch_that_waited_before_the_pause_gets_nothing_of_what_comes_after_it() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            fetch = waiting_fetch(group.member())
            assert not await settled(fetch)
            await pause(group)
            await group.produce(3)
            assert not await settled(fetch)
            await resume(group)
            assert ranges(await fetch) == [(0, 2, 1)]

    run(story())


def test_what_is_held_may_be_finished_renewed_and_given_back_and_leases_end_while_paused() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            await group.produce(5)
            member = group.member()
            assert ranges(await member.fetch()) == [(0, 4, 1)]
            await pause(group)
            acks = {0: [(0, 0, [ACCEPT]), (1, 1, [RELEASE]), (2, 2, [REJECT])]}
            assert codes(await member.acknowledge(acks)) == {0: 0}
            await skip_ms(LOCK_MS - 1_000)
            assert codes(await member.acknowledge({0: [(3, 3, [RENEW])]}, is_renew_ack=True)) == {0: 0}
            await skip_ms(2_000)  # the lease of 4 ends, that of 3 goes on
            assert codes(await member.acknowledge({0: [(4, 4, [ACCEPT])]})) == {
                0: ErrorCode.INVALID_RECORD_STATE
            }
            assert codes(await member.acknowledge({0: [(3, 3, [ACCEPT])]})) == {0: 0}
            assert ranges(await member.fetch()) == []
            await resume(group)
            assert ranges(await member.fetch()) == [(1, 1, 2), (4, 4, 2)]

    run(story())


def test_other_groups_go_on() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            other = Group(group.box, group.topic_id, "other")
            await other.begin()
            await group.produce(1)
            await pause(group)
            assert ranges(await other.member().fetch()) == [(0, 0, 1)]
            assert ranges(await group.member().fetch()) == []

    run(story())


def test_who_paused_and_since_when_is_written_by_the_broker_and_goes_with_the_pause() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            before_ms = group.box.broker.now_ms()
            assert await alter_group(
                group, share_delivery_paused="TRUE", share_delivery_paused_reason="new release"
            ) == (0, None)
            config = config_of(group)
            assert config.share_delivery_paused_by == "operator"
            assert before_ms <= config.share_delivery_paused_since_ms <= group.box.broker.now_ms()
            since = config.share_delivery_paused_since_ms
            assert await alter_group(group, share_delivery_paused_reason="still") == (0, None)
            assert config_of(group).share_delivery_paused_since_ms == since
            for key in ("share_delivery_paused_by", "share_delivery_paused_since_ms"):
                code, why = await alter_group(group, **{key: "7"})
                assert (code, why) == (
                    ErrorCode.INVALID_CONFIG,
                    f"{key.replace('_', '.')} is written by the broker itself",
                )
            assert await alter_group(group, share_delivery_paused_since_ms=str(since)) == (0, None)
            await resume(group)
            left = group.box.broker.cluster.configuration.overrides(Resource(ResourceType.GROUP, group.name))
            assert dict(left) == {"share.delivery.paused": "false"}

    run(story())


def test_replacing_a_groups_configs_keeps_what_the_broker_wrote_of_its_pause() -> None:
    async def story() -> None:
        async with a_group(**AT_ONCE) as group:
            await pause(group, share_delivery_paused_reason="because")
            cluster, resource = group.box.broker.cluster, Resource(ResourceType.GROUP, group.name)
            since = config_of(group).share_delivery_paused_since_ms

            def decide() -> Any:
                changes = cluster.configuration.replace(resource, [("share.delivery.paused", "true")])
                assert not isinstance(changes, Refused)
                return changes

            assert await cluster.alter_configs(decide) is None
            config = config_of(group)
            assert config.share_delivery_paused
            assert config.share_delivery_paused_since_ms == since
            assert (config.share_delivery_paused_by, config.share_delivery_paused_reason) == ("operator", "")

    run(story())


def test_a_pause_is_there_after_a_restart(tmp_path: Path) -> None:
    async def pausing() -> None:
        async with a_group(str(tmp_path)) as group:
            await group.produce(2)
            await pause(group)

    async def looking() -> None:
        async with a_group(str(tmp_path), begin=False) as group:
            member = group.member()
            assert ranges(await member.fetch(max_wait_ms=50)) == []
            await resume(group)
            assert ranges(await member.fetch(max_wait_ms=WAIT_MS, min_bytes=1)) == [(0, 1, 1)]

    run(pausing())
    run(looking())


def test_metrics_name_who_is_paused_and_count_the_trips() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            await configure(group.box, "other", share_delivery_paused="true")
            await fail(group.member(), 4)
            await paused_by_breaker(group)
            found = told(group)
            assert found['group_paused{by="breaker",group="g"}'] == 1
            assert found['group_paused{by="operator",group="other"}'] == 1
            assert found['breaker_trips_total{group="g"}'] == 1
            await resume(group)
            assert 'group_paused{by="breaker",group="g"}' not in told(group)

    run(story())


# -- the breaker ------------------------------------------------------------------------------------------------

WINDOW_MS = 10_000


def a_breaker(ratio: str = "0.5", min_records: str = "4", **settings: str) -> Any:
    """A group that is paused when more than a half of four or more records within ten seconds has failed."""
    return _WithBreaker(
        settings,
        errors_deadletterqueue_breaker_ratio=ratio,
        errors_deadletterqueue_breaker_min_records=min_records,
        errors_deadletterqueue_breaker_window_ms=str(WINDOW_MS),
    )


class _WithBreaker:
    def __init__(self, settings: dict[str, str], **configs: str) -> None:
        self._group = a_group(**AT_ONCE, **settings)
        self._configs = configs

    async def __aenter__(self) -> Group:
        group = await self._group.__aenter__()
        await group.configure(**self._configs)
        await group.produce(40, partition=0)
        await group.produce(40, partition=1)
        return group

    async def __aexit__(self, *failure: Any) -> None:
        await self._group.__aexit__(*failure)


async def take(member: Member, count: int, part: int = 0) -> tuple[int, int]:
    answer = await member.fetch(partitions=[part], max_records=count, batch_size=count, share_acquire_mode=1)
    ((first, last, _),) = ranges(answer, part)
    return first, last


async def finish(member: Member, count: int, kind: int, part: int = 0) -> None:
    first, last = await take(member, count, part)
    assert last - first + 1 == count
    assert codes(await member.acknowledge({part: [(first, last, [kind])]})) == {part: 0}


async def fail(member: Member, count: int, part: int = 0) -> None:
    await finish(member, count, REJECT, part)


async def paused_by_breaker(group: Group) -> GroupConfig:
    assert group.box.broker.share_delivery.trips
    await asyncio.gather(*group.box.broker.share_delivery._tasks)
    assert config_of(group).share_delivery_paused_by == "breaker"
    return config_of(group)


async def not_paused(group: Group) -> None:
    await until_quiet()
    assert not group.box.broker.share_delivery.trips


def test_a_group_that_fails_at_too_much_is_paused_with_the_figures_on_all_its_partitions() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            member, other = group.member(), group.member("other", connection=2)
            assert await take(other, 1, part=1) == (0, 0)
            await finish(member, 2, ACCEPT)
            await fail(member, 2)
            await not_paused(group)  # half of them is not more than half
            await fail(member, 1)
            config = await paused_by_breaker(group)
            assert config.share_delivery_paused_reason == (
                "3 of 5 records failed within 10000 ms, more than 0.5 of them"
            )
            assert ranges(await member.fetch()) == []
            assert ranges(await other.fetch(), 1) == []
            # what was in flight is finished as ever
            assert codes(await other.acknowledge({1: [(0, 0, [ACCEPT])]})) == {1: 0}
            await resume(group)
            assert ranges(await other.fetch(max_records=1, batch_size=1, share_acquire_mode=1), 1) == [
                (1, 1, 1)
            ]

    run(story())


def test_few_records_prove_nothing() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            await fail(group.member(), 3)
            await not_paused(group)

    run(story())


def test_what_failed_long_ago_does_not_count() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            member = group.member()
            await fail(member, 3)
            await skip_ms(WINDOW_MS + 1)
            await fail(member, 3)
            await not_paused(group)
            await fail(member, 1)
            await paused_by_breaker(group)

    run(story())


def test_after_a_resume_the_window_is_empty() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            member = group.member()
            await take(member, 3)  # finished while paused: that counts neither before nor after
            await fail(group.member("two", connection=2), 4)
            await paused_by_breaker(group)
            assert codes(await member.acknowledge({0: [(0, 2, [REJECT])]})) == {0: 0}
            await resume(group)
            group.box.broker.share_delivery.trips.clear()
            third = group.member("three", connection=3)
            await fail(third, 3)
            await not_paused(group)
            await fail(third, 1)
            await paused_by_breaker(group)

    run(story())


def test_records_out_of_deliveries_count_with_and_without_a_dead_letter_topic() -> None:
    async def story() -> None:
        async with a_breaker(min_records="2") as group:
            await group.configure(share_delivery_count_limit="2")
            member = group.member()
            await finish(member, 2, RELEASE)
            await not_paused(group)  # they may come again
            assert await take(member, 2) == (0, 1)
            await skip_ms(LOCK_MS + 2)
            await paused_by_breaker(group)

    run(story())


def test_gaps_are_no_failures() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            await finish(group.member(), 10, GAP)
            await not_paused(group)

    run(story())


def test_members_that_come_and_go_are_counted_together() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            for number in range(4):
                member = group.member(f"m{number}", connection=number)
                await fail(member, 1)
                member.disconnect()
                assert not list(group.box.broker.shares.owners())
            await paused_by_breaker(group)

    run(story())


def test_without_a_breaker_everything_may_fail() -> None:
    async def story() -> None:
        async with a_breaker(ratio="0") as group:
            await fail(group.member(), 20)
            await not_paused(group)

    run(story())


def test_nothing_is_handed_out_once_it_has_tripped_even_if_the_pause_cannot_be_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        async with a_breaker() as group:
            member = group.member()

            async def broken(decide: object) -> Refused:
                return Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the cluster's log failed")

            monkeypatch.setattr(group.box.broker.cluster, "alter_configs", broken)
            await fail(member, 4)
            assert ranges(await member.fetch()) == []
            await until_quiet()
            assert not config_of(group).share_delivery_paused
            assert ranges(await member.fetch()) == []
            assert group.box.broker.share_delivery.is_paused(GroupId("g"), config_of(group))

    run(story())


def test_a_dead_letter_topic_that_fails_does_not_keep_the_breaker_from_tripping() -> None:
    async def story() -> None:
        async with a_breaker() as group:
            office = group.box.broker.dead_letters
            await group.configure(errors_deadletterqueue_topic_name="dlq.missing")
            await fail(group.member(), 4)
            await paused_by_breaker(group)
            for _ in range(200):
                if office.counts.failed[GroupId("g")]:
                    break
                await asyncio.sleep(0)
            assert office.counts.failed[GroupId("g")] == 4, "given up, and archived"
            (owner,) = group.box.broker.shares.owners()
            assert owner.machine is not None
            assert owner.machine.failed_count == 4, "once each, whatever became of its letter"
            office.stop()

    run(story())

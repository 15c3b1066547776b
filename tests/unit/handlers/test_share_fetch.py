"""ShareFetch: what a member gets, when, and in which session."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

from handlers.share_member import (
    ACCEPT,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    Group,
    SkippingLoop,
    a_group,
    acknowledge_codes,
    codes,
    configure,
    offsets_sent,
    partition_of,
    ranges,
    run,
    settled,
    skip_ms,
    still_waiting,
)
from leaselog.broker.cluster.cluster import FeatureUpdate
from leaselog.broker.lending.partition_owner import Acquisition
from leaselog.broker.net.api import RequestContext, api_of
from leaselog.broker.runtime.client import Client
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import WriteState, Written
from leaselog.model import ErrorCode
from leaselog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

NOWHERE = UUID(int=77)


def test_records_come_with_the_ranges_that_are_the_members() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            answer = await group.member().fetch()
            assert answer.error_code == 0
            assert answer.acquisition_lock_timeout_ms == LOCK_MS
            assert ranges(answer) == [(0, 9, 1)]
            assert offsets_sent(answer) == list(range(10))

    run(story())


def test_one_fetch_serves_several_partitions() -> None:
    async def story() -> None:
        async with a_group(partitions=3) as group:
            for partition in range(3):
                await group.produce(4, partition=partition)
            answer = await group.member().fetch(partitions=(0, 1, 2))
            assert [ranges(answer, i) for i in range(3)] == [[(0, 3, 1)]] * 3

    run(story())


def test_records_are_never_null() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch()
            found = partition_of(answer)
            assert found is not None
            assert found.records is not None
            assert len(found.records) == 0

    run(story())


def test_without_share_groups_every_request_is_unsupported() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = group.member()
            await member.fetch()
            # 2: a safe downgrade
            update = FeatureUpdate("share.version", 0, 2)
            assert await group.box.broker.cluster.update_features([update]) is None
            assert (await member.fetch()).error_code == ErrorCode.UNSUPPORTED_VERSION
            assert (await member.acknowledge({})).error_code == ErrorCode.UNSUPPORTED_VERSION
            assert len(group.box.broker.shares.sessions) == 0

    run(story())


@pytest.mark.parametrize("member_id", [None, "", "x" * 37])
def test_a_member_id_must_be_usable(member_id: str | None) -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(member_id=member_id)
            assert (answer.error_code, answer.error_message) == (42, "Invalid member id in the request.")

    run(story())


def test_a_group_id_must_be_there() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(group_id=None)
            assert (answer.error_code, answer.error_message) == (42, "Invalid group id in the request.")

    run(story())


# -- sharing ----------------------------------------------------------------------------------------------------------


def test_members_of_a_group_share_the_records() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(5, batches=2)
            a, b = group.member("a"), group.member("b", connection=2)
            assert ranges(await a.fetch(max_records=5)) == [(0, 4, 1)]
            second = await b.fetch(max_records=5)
            assert ranges(second) == [(5, 9, 1)]
            # whole batches, and none that is wholly another member's
            assert offsets_sent(second) == [5, 6, 7, 8, 9]

    run(story())


def test_groups_do_not_share() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(3)
            other = Group(group.box, group.topic_id, "other")
            await other.begin()
            assert ranges(await group.member().fetch()) == [(0, 2, 1)]
            assert ranges(await other.member(connection=2).fetch()) == [(0, 2, 1)]

    run(story())


def test_a_soft_limit_ends_with_the_log_batch_and_a_hard_one_does_not() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            assert ranges(await group.member("a").fetch(max_records=5)) == [(0, 9, 1)]
            await group.produce(10)
            exact = await group.member("b").fetch(max_records=5, share_acquire_mode=1)
            assert ranges(exact) == [(10, 14, 1)]
            assert offsets_sent(exact) == list(range(10, 20))

    run(story())


def test_version_one_knows_no_acquire_mode() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            assert ranges(await group.member().fetch(max_records=5, version=1)) == [(0, 9, 1)]

    run(story())


def test_batch_size_splits_what_is_acquired_between_log_batches() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2, batches=6)
            answer = await group.member().fetch(max_records=100, batch_size=4)
            assert ranges(answer) == [(0, 3, 1), (4, 7, 1), (8, 11, 1)]

    run(story())


def test_max_records_and_batch_size_together() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2, batches=6)
            member = group.member()
            assert ranges(await member.fetch(max_records=4, batch_size=2)) == [(0, 1, 1), (2, 3, 1)]
            assert ranges(await member.fetch(max_records=100, batch_size=100)) == [(4, 11, 1)]

    run(story())


def test_max_records_is_one_budget_for_all_partitions() -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(1, partition=partition, batches=5)
            answer = await group.member().fetch(partitions=(0, 1), max_records=7)
            assert ranges(answer, 0) == [(0, 4, 1)]
            assert ranges(answer, 1) == [(0, 1, 1)]

    run(story())


@pytest.mark.parametrize("bound", ["max_records", "max_bytes"])
def test_no_partition_starves(bound: str) -> None:
    async def story() -> None:
        async with a_group(partitions=3) as group:
            for partition in range(3):
                await group.produce(1, partition=partition, batches=9)
            member = group.member()
            served = []
            for _ in range(9):
                answer = await member.fetch(partitions=(0, 1, 2), **{bound: 1})
                served += [
                    p.partition_index for t in answer.responses for p in t.partitions if p.acquired_records
                ]
            assert {index: served.count(index) for index in range(3)} == {0: 3, 1: 3, 2: 3}

    run(story())


def test_an_acquire_mode_that_is_not_known_is_refused() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(share_acquire_mode=2)
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            assert answer.error_message == "share acquire mode 2, expected 0 or 1"

    run(story())


def test_a_member_over_its_quota_is_leased_nothing_until_its_pause_is_over() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10, batches=4)
            limit = QuotaAlteration((("client-id", "test"),), (("consumer_byte_rate", 10.0),))
            assert await group.box.broker.cluster.alter_quotas([limit]) == {limit.entity: None}
            member = group.member()
            first = await member.fetch(max_records=1)
            assert ranges(first) == [(0, 9, 1)], "a batch comes whole"
            assert first.throttle_time_ms > 0
            over = await member.fetch(acks={0: [(0, 9, [ACCEPT])]}, max_wait_ms=60_000)
            assert over.throttle_time_ms > 0
            assert (ranges(over), acknowledge_codes(over)) == ([], {0: 0})
            await skip_ms(60_000)
            assert ranges(await member.fetch(max_records=1)) == [(10, 19, 1)]

    run(story())


def test_a_batch_larger_than_the_limit_is_delivered_all_the_same() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10, batches=2)
            assert ranges(await group.member().fetch(max_bytes=1)) == [(0, 9, 1)]

    run(story())


def test_max_bytes_bounds_what_comes_back() -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(1, partition=partition, batches=50)
            answer = await group.member().fetch(partitions=(0, 1), max_bytes=1000)
            sizes = [len(p.records or b"") for t in answer.responses for p in t.partitions]
            assert len(sizes) == 2
            assert all(400 < size <= 500 for size in sizes)

    run(story())


@pytest.mark.parametrize("limit", ["max_records", "max_bytes"])
def test_asking_for_nothing_is_answered_at_once_with_nothing(limit: str) -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            answer = await group.member().fetch(max_wait_ms=60_000, **{limit: 0})
            assert (answer.error_code, answer.responses) == (0, [])

    run(story())


# -- waiting ----------------------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_records() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(max_wait_ms=60_000, min_bytes=1))
            await group.produce(1)
            assert ranges(await waiting) == [(0, 0, 1)]

    run(story())


def test_records_that_come_between_the_look_and_the_wait_are_not_missed() -> None:
    """The handler looks in the turn in which the request came, and waits in a later one."""

    async def story() -> None:
        async with a_group() as group:
            member = group.member()
            await member.fetch()
            reply = begin_fetch(group, epoch=1, max_wait_ms=60_000)
            await group.produce(1)
            waiting = asyncio.ensure_future(reply)
            assert await settled(waiting)
            assert ranges(await waiting) == [(0, 0, 1)]

    run(story())


def begin_fetch(group: Group, **wish: int) -> Awaitable[ShareFetchResponse]:
    """The first turn of a fetch; what is left of it has not begun."""
    api = api_of(ShareFetchRequest.API_KEY)
    assert api is not None
    request = ShareFetchRequest(
        group_id=group.name,
        member_id="m",
        share_session_epoch=wish.pop("epoch"),
        max_records=500,
        batch_size=500,
        **wish,
    )
    context = RequestContext(group.box.broker, api, 2, "test", Client(1, "127.0.0.1", 5555))
    reply = api.handler(request, context)
    assert isinstance(reply, Awaitable)
    return reply


def test_a_fetch_that_is_given_up_takes_nothing() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(max_wait_ms=60_000))
            waiting.cancel()
            assert await settled(waiting)
            assert len(group.box.broker.waiting_room) == 0
            await group.produce(1)
            assert ranges(await group.member("b", connection=2).fetch()) == [(0, 0, 1)]

    run(story())


def test_a_fetch_waits_no_longer_than_it_wants() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(max_wait_ms=500, min_bytes=1))
            await skip_ms(501)
            assert ranges(await waiting) == []
            assert group.box.broker.share_metrics.expired_fetches == 1

    run(story())


def test_who_holds_records_is_kept_waiting_for_twice_as_long_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it acknowledges would stand behind the fetch, on the same connection."""
    # a busy machine takes as long for the test itself as these waits are
    monkeypatch.setattr(SkippingLoop, "time", lambda loop: loop.skipped_s)

    async def story() -> None:
        async with a_group() as group:
            await group.produce(2)
            member = group.member()
            assert ranges(await member.fetch()) == [(0, 1, 1)]
            for wait_ms in (5, 10, 20, 40):
                waiting = await still_waiting(member.fetch(max_wait_ms=60_000))
                await skip_ms(wait_ms // 2)
                assert not await settled(waiting)
                await skip_ms(wait_ms - wait_ms // 2 + 1)
                assert ranges(await waiting) == []
            await group.produce(1)
            assert ranges(await member.fetch()) == [(2, 2, 1)]
            waiting = await still_waiting(member.fetch(max_wait_ms=60_000))
            await skip_ms(6)
            assert ranges(await waiting) == []

    run(story())


def test_who_holds_records_waits_no_longer_than_it_wants() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            for _ in range(5):
                waiting = await still_waiting(member.fetch(max_wait_ms=30))
                await skip_ms(31)
                assert ranges(await waiting) == []

    run(story())


def test_whose_records_are_done_by_then_waits_for_more() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2)
            member = group.member()
            await member.fetch()
            # they are on their way to the disk while it begins to wait
            waiting = await still_waiting(member.fetch(acks={0: [(0, 1, [ACCEPT])]}, max_wait_ms=60_000))
            await skip_ms(1_000)
            assert not await settled(waiting)
            await group.produce(1)
            assert ranges(await waiting) == [(2, 2, 1)]

    run(story())


def test_who_holds_records_gets_no_fewer_bytes_than_it_wants() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            await group.produce(1)
            waiting = await still_waiting(member.fetch(max_wait_ms=60_000, min_bytes=150))
            await skip_ms(100)
            assert not await settled(waiting)
            await group.produce(2)
            assert ranges(await waiting) == [(1, 3, 1)]

    run(story())


def test_a_full_window_whose_first_records_are_held_by_one_who_asks_for_more_moves_on() -> None:
    """Java's client asks for more before its application has seen a batch, and sends nothing else meanwhile."""

    async def story() -> None:
        async with a_group() as group:
            await group.configure(share_partition_max_record_locks="100")
            await group.produce(100, batches=2)
            a, b = group.member("a"), group.member("b", connection=2)
            assert ranges(await a.fetch()) == [(0, 99, 1)]
            of_others = await still_waiting(b.fetch(max_wait_ms=60_000))
            in_its_way = await still_waiting(a.fetch(max_wait_ms=60_000))
            await skip_ms(6)
            assert ranges(await in_its_way) == []
            await a.acknowledge({0: [(0, 99, [ACCEPT])]})
            assert ranges(await of_others) == [(100, 199, 1)]

    run(story())


def test_a_fetch_waits_for_min_bytes_and_then_takes_what_there_is() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            waiting = await still_waiting(group.member().fetch(max_wait_ms=500, min_bytes=150))
            await group.produce(1)
            await group.produce(1)
            assert ranges(await waiting) == [(0, 2, 1)]
            late = asyncio.ensure_future(
                group.member("b", connection=2).fetch(max_wait_ms=500, min_bytes=150)
            )
            await group.produce(1)
            assert not await settled(late)
            await skip_ms(501)
            assert ranges(await late) == [(3, 3, 1)]

    run(story())


def test_released_records_wake_a_waiting_fetch() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2)
            a, b = group.member("a"), group.member("b", connection=2)
            await a.fetch()
            waiting = await still_waiting(b.fetch(max_wait_ms=60_000))
            await a.acknowledge({0: [(1, 1, [RELEASE])]})
            assert ranges(await waiting) == [(1, 1, 2)]

    run(story())


def test_a_lease_that_runs_out_wakes_a_waiting_fetch() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            a, b = group.member("a"), group.member("b", connection=2)
            await a.fetch()
            waiting = await still_waiting(b.fetch(max_wait_ms=10 * LOCK_MS))
            await skip_ms(LOCK_MS + 2)
            assert ranges(await waiting) == [(0, 0, 2)]
            # it is not the first member's any more
            assert codes(await a.acknowledge({0: [(0, 0, [ACCEPT])]})) == {0: ErrorCode.INVALID_RECORD_STATE}

    run(story())


def test_room_in_a_full_window_wakes_a_waiting_fetch() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.configure(share_partition_max_record_locks="100")
            await group.produce(50, batches=3)
            a, b = group.member("a"), group.member("b", connection=2)
            assert ranges(await a.fetch()) == [(0, 99, 1)]
            waiting = await still_waiting(b.fetch(max_wait_ms=60_000))
            await a.acknowledge({0: [(0, 49, [ACCEPT])]})
            assert ranges(await waiting) == [(100, 149, 1)]

    run(story())


async def _members_that_wait(group: Group, names: str, **wish: int) -> dict[str, asyncio.Task[Any]]:
    """Each has looked in vain, in this order."""
    waiting = {}
    for number, name in enumerate(names, start=2):
        member = group.member(name, connection=number)
        wish_of_one = {"max_records": 1, "share_acquire_mode": 1, "max_wait_ms": 60_000, **wish}
        waiting[name] = await still_waiting(member.fetch(**wish_of_one))
    return waiting


def test_new_records_go_to_as_many_of_those_who_wait_as_they_are_enough_for() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await _members_that_wait(group, "abc")
            await group.produce(2)
            assert ranges(await waiting["a"]) == [(0, 0, 1)]
            assert ranges(await waiting["b"]) == [(1, 1, 1)]
            assert not await settled(waiting["c"])
            await group.produce(1)
            assert ranges(await waiting["c"]) == [(2, 2, 1)]

    run(story())


def test_who_waits_for_more_than_there_is_keeps_nobody_from_the_rest() -> None:
    async def story() -> None:
        async with a_group() as group:
            patient = await _members_that_wait(group, "a", min_bytes=100_000)
            waiting = await _members_that_wait(group, "b")
            await group.produce(1)
            assert ranges(await waiting["b"]) == [(0, 0, 1)]
            assert not await settled(patient["a"])
            group.box.broker.waiting_room.wake_all()
            patient["a"].cancel()

    run(story())


def test_whose_connection_is_lost_when_records_come_keeps_nobody_from_them() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await _members_that_wait(group, "ab")
            await group.produce(1)
            waiting["a"].cancel()  # woken, and given up before it has looked
            with suppress(asyncio.CancelledError):
                await waiting["a"]
            assert ranges(await waiting["b"]) in ([(0, 0, 1)], [(0, 0, 2)])

    run(story())


def test_each_group_has_one_who_is_woken_by_new_records() -> None:
    async def story() -> None:
        async with a_group() as group:
            other = Group(group.box, group.topic_id, "h")
            await other.begin()
            ours = await _members_that_wait(group, "ab")
            theirs = await _members_that_wait(other, "cd")
            await group.produce(1)
            assert ranges(await ours["a"]) == ranges(await theirs["c"]) == [(0, 0, 1)]
            assert not await settled(ours["b"])
            group.box.broker.waiting_room.wake_all()
            for task in (ours["b"], theirs["d"]):
                task.cancel()

    run(story())


def test_a_stopping_broker_sends_waiting_fetches_home() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(max_wait_ms=60_000))
            group.box.broker.runtime.is_stopping = True
            group.box.broker.waiting_room.wake_all()
            assert ranges(await waiting) == []

    run(story())


# -- where a group begins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "first"), [("latest", 4), ("earliest", 0), ("by_duration:PT1H", 0)])
def test_a_group_without_a_start_offset_begins_where_its_policy_says(policy: str, first: int) -> None:
    async def story() -> None:
        async with a_group(begin=False) as group:
            await group.begin(start_offset=-1)
            await group.configure(share_auto_offset_reset=policy)
            await group.produce(4)
            waiting = asyncio.ensure_future(group.member().fetch(max_wait_ms=60_000))
            if first == 4:
                assert not await settled(waiting)
                await group.produce(1)
            assert ranges(await waiting)[0][0] == first

    run(story())


def test_a_start_by_duration_needs_a_record_that_young() -> None:
    async def story() -> None:
        async with a_group(begin=False) as group:
            await group.begin(start_offset=-1)
            await group.configure(share_auto_offset_reset="by_duration:PT1H")
            await group.box.append("t", 1, 2, 3)
            member = group.member()
            found = partition_of(await member.fetch())
            assert found is not None
            assert found.error_code == ErrorCode.OFFSET_NOT_AVAILABLE
            await group.produce(1)
            assert ranges(await member.fetch()) == [(3, 3, 1)]

    run(story())


def test_a_partition_whose_state_never_began_is_an_error_of_that_partition() -> None:
    async def story() -> None:
        async with a_group(begin=False) as group:
            await group.begin(partitions=1)
            await group.produce(1)
            await group.produce(1, partition=1)
            answer = await group.member().fetch(partitions=(0, 1))
            assert ranges(answer, 0) == [(0, 0, 1)]
            found = partition_of(answer, 1)
            assert found is not None
            assert found.error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    run(story())


def test_state_that_is_there_is_where_the_group_goes_on() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 3, [ACCEPT]), (6, 6, [REJECT]), (7, 7, [RELEASE])]})
            group.box.broker.shares.forget(group.key().group_id)
            assert ranges(await group.member("b", connection=2).fetch()) == [(4, 5, 1), (7, 7, 2), (8, 9, 1)]

    run(story())


def test_state_that_makes_no_sense_is_an_error_of_that_partition() -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(1, partition=partition)
            nonsense = WriteState(group.key(), 0, 0, 0, -1, (StateBatch(0, 1, 7, 1),))
            assert isinstance(await group.box.broker.persister.write(nonsense), Written)
            answer = await group.member().fetch(partitions=(0, 1))
            found = partition_of(answer, 0)
            assert found is not None
            assert found.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert ranges(answer, 1) == [(0, 0, 1)]

    run(story())


# -- topics that are not there ----------------------------------------------------------------------------------------


def test_an_unknown_topic_id_is_an_error_of_its_partitions() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(topic_id=NOWHERE, max_wait_ms=60_000)
            found = partition_of(answer)
            assert found is not None
            assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(story())


def test_an_unknown_partition_hurries_nobody() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(partitions=(0, 9), max_wait_ms=60_000))
            await group.produce(1)
            answer = await waiting
            assert ranges(answer) == [(0, 0, 1)]
            found = partition_of(answer, 9)
            assert found is not None
            assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(story())


def test_a_topic_that_is_deleted_ends_the_wait() -> None:
    async def story() -> None:
        async with a_group() as group:
            waiting = await still_waiting(group.member().fetch(max_wait_ms=60_000))
            await group.box.broker.cluster.delete_topics([group.key().topic_id])
            found = partition_of(await waiting)
            assert found is not None
            assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID
            assert list(group.box.broker.shares.owners()) == []

    run(story())


def test_records_deleted_below_the_window_are_not_waited_for() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(5, batches=2)
            member = group.member()
            assert ranges(await member.fetch(max_records=1)) == [(0, 4, 1)]
            found = group.box.broker.logs.partition("t", 0)
            assert found is not None
            assert found.log.delete_records(7) == 7
            # of the batch that is cut in two the member gets the rest
            assert ranges(await member.fetch()) == [(7, 9, 1)]
            # what is below the window is through, whoever had it
            assert codes(await member.acknowledge({0: [(0, 4, [ACCEPT])]})) == {0: 0}

    run(story())


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_a_session_cannot_begin_with_acknowledgements() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(acks={0: [(0, 0, [ACCEPT])]})
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            assert answer.responses == []

    run(story())


def test_a_session_of_too_many_partitions_is_refused() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(partitions=range(20_001))
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            assert len(group.box.broker.shares.sessions) == 0

    run(story())


def test_a_session_that_is_not_there_is_not_found() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().fetch(epoch=1)
            assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
            assert (await group.member().fetch(epoch=-1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    run(story())


def test_a_wrong_epoch_changes_nothing() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            wrong = await member.fetch(epoch=3, acks={0: [(0, 0, [ACCEPT])]})
            assert (wrong.error_code, wrong.responses) == (ErrorCode.INVALID_SHARE_SESSION_EPOCH, [])
            assert acknowledge_codes(await member.fetch(acks={0: [(0, 0, [ACCEPT])]})) == {0: 0}

    run(story())


def test_an_answer_that_waited_for_its_acknowledgements_is_gone_once_it_is_sent() -> None:
    """A cycle would keep its records until the collector comes, which a broker does not let come often."""

    async def story() -> None:
        async with a_group(durability="fsync") as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            await group.produce(1)
            gc.collect()
            gc.disable()
            try:
                answer = await member.fetch(acks={0: [(0, 0, [ACCEPT])]})
                assert (acknowledge_codes(answer), ranges(answer)) == ({0: 0}, [(1, 1, 1)])
                assert not [
                    one for one in gc.get_objects() if isinstance(one, Acquisition) and one.record_count
                ]
            finally:
                gc.enable()

    run(story())


def test_fetches_and_acknowledgements_share_one_epoch() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            assert (await member.acknowledge({0: [(0, 0, [ACCEPT])]}, epoch=1)).error_code == 0
            assert (await member.fetch(epoch=1)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
            assert (await member.fetch(epoch=2)).error_code == 0

    run(story())


def test_a_fetch_that_was_overtaken_while_it_waited_is_an_error() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = group.member()
            await member.fetch()
            waiting = await still_waiting(member.fetch(max_wait_ms=60_000))
            member.connection = 2
            await member.acknowledge({})
            await group.produce(1)
            assert (await waiting).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
            assert ranges(await member.fetch()) == [(0, 0, 1)], "nothing was leased for the error"

    run(story())


def test_beyond_the_bound_of_sessions_the_answer_waits_first() -> None:
    async def story() -> None:
        async with a_group(group_share_max_share_sessions="1", group_share_max_size="1") as group:
            assert (await group.member("a").fetch()).error_code == 0
            refused = await still_waiting(group.member("b", connection=2).fetch(max_wait_ms=500))
            await skip_ms(501)
            assert (await refused).error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED

    run(story())


def test_closing_the_session_with_a_fetch_applies_acknowledgements_and_gives_back_the_rest() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            a, b = group.member("a"), group.member("b", connection=2)
            await a.fetch()
            closed = await a.fetch(epoch=-1, acks={0: [(0, 3, [ACCEPT])]})
            assert acknowledge_codes(closed) == {0: 0}
            assert ranges(closed) == []
            assert ranges(await b.fetch()) == [(4, 9, 2)]
            assert (await a.fetch(epoch=1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    run(story())


def test_a_connection_that_closes_takes_its_session_along() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            a, b = group.member("a"), group.member("b", connection=2)
            await b.fetch(max_records=0)
            await a.fetch()
            waiting = await still_waiting(b.fetch(max_wait_ms=60_000))
            a.disconnect()
            assert ranges(await waiting) == [(0, 9, 2)]
            assert (await a.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    run(story())


def test_a_stopping_broker_that_hangs_up_counts_no_delivery() -> None:
    """A restart is no fault of the records': each would bring all that are leased nearer to their last delivery."""

    async def story() -> None:
        async with a_group() as group:
            await group.produce(10)
            member = group.member()
            await member.fetch()
            group.box.broker.runtime.is_stopping = True
            written = group.box.broker.share_coordinator.counts.written
            member.disconnect()
            await settled(asyncio.get_running_loop().create_future())
            assert group.box.broker.share_coordinator.counts.written == written
            assert group.box.broker.share_metrics.evicted_sessions == 0

    run(story())


def test_a_session_is_not_bound_to_the_connection_it_is_used_on() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            member.connection = 2
            assert codes(await member.acknowledge({0: [(0, 0, [ACCEPT])]})) == {0: 0}
            member.disconnect()
            assert (await member.fetch()).error_code == 0

    run(story())


def test_without_sessions_a_group_is_forgotten_and_read_anew() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(2)
            a = group.member("a")
            await a.fetch()
            assert len(list(group.box.broker.shares.owners())) == 1
            a.disconnect()
            assert list(group.box.broker.shares.owners()) == []
            # read behind what the old owner is still writing
            again = await group.member("b", connection=2).fetch(max_wait_ms=60_000)
            assert ranges(again) == [(0, 1, 2)]

    run(story())


def test_forgotten_partitions_are_fetched_no_more_and_keep_their_leases() -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(2, partition=partition)
            a, b = group.member("a"), group.member("b", connection=2)
            await a.fetch(partitions=(0, 1))
            for partition in (0, 1):
                await group.produce(2, partition=partition)
            answer = await a.fetch(forget=(0,))
            assert partition_of(answer, 0) is None
            assert ranges(answer, 1) == [(2, 3, 1)]
            await a.fetch(epoch=-1)
            # 0 and 1 of the forgotten partition stay leased until their time is up
            assert ranges(await b.fetch(partitions=(0, 1)), 0) == [(2, 3, 1)]
            after = await b.fetch(max_wait_ms=60_000)
            # b owes acknowledgements: it is sent for them, though the release may not be safe yet
            while not after.responses:
                after = await b.fetch(max_wait_ms=60_000)
            assert partition_of(after, 0) is None
            assert ranges(after, 1) == [(0, 3, 2)]

    run(story())


def test_later_answers_name_a_partition_only_when_there_is_something_to_say() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = group.member()
            first: ShareFetchResponse = await member.fetch(partitions=(0, 1))
            assert {p.partition_index for t in first.responses for p in t.partitions} == {0, 1}
            assert (await member.fetch()).responses == []
            await group.produce(1, partition=1)
            later = await member.fetch()
            assert partition_of(later, 0) is None
            assert ranges(later, 1) == [(0, 0, 1)]

    run(story())


# -- group settings ---------------------------------------------------------------------------------------------------


def test_settings_of_the_group_hold_from_the_next_request_on() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1, batches=2)
            a, b = group.member("a"), group.member("b", connection=2)
            await a.fetch(max_records=1)
            await group.configure(share_record_lock_duration_ms="15000", share_delivery_count_limit="2")
            later = await b.fetch(max_records=1)
            assert later.acquisition_lock_timeout_ms == 15_000
            assert ranges(later) == [(1, 1, 1)]
            await skip_ms(15_002)
            # the second lease was short, the first is as long as it was given
            assert ranges(await b.fetch()) == [(1, 1, 2)]
            await skip_ms(15_002)
            # two deliveries are enough now
            assert ranges(await b.fetch()) == [(0, 0, 2)]

    run(story())


def test_another_groups_settings_are_not_ours() -> None:
    async def story() -> None:
        async with a_group() as group:
            await configure(group.box, "other", share_record_lock_duration_ms="15000")
            await group.produce(1)
            assert (await group.member().fetch()).acquisition_lock_timeout_ms == LOCK_MS

    run(story())


# -- renewing ---------------------------------------------------------------------------------------------------------


def test_a_fetch_that_renews_fetches_nothing() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.produce(1)
            member = group.member()
            await member.fetch()
            await group.produce(1)
            await skip_ms(LOCK_MS - 1000)
            nothing = {"max_records": 0, "max_bytes": 0}
            renewed = await member.fetch(acks={0: [(0, 0, [RENEW])]}, is_renew_ack=True, **nothing)
            assert acknowledge_codes(renewed) == {0: 0}
            assert ranges(renewed) == []
            await skip_ms(LOCK_MS - 1000)
            # still the member's, and still its first delivery
            assert acknowledge_codes(await member.fetch(acks={0: [(0, 0, [ACCEPT])]})) == {0: 0}

    run(story())


@pytest.mark.parametrize("wish", ["max_bytes", "min_bytes", "max_records", "max_wait_ms"])
def test_a_fetch_that_renews_may_not_ask_for_anything(wish: str) -> None:
    async def story() -> None:
        async with a_group() as group:
            member = group.member()
            await member.fetch()
            asked = {"max_records": 0, "max_bytes": 0, "min_bytes": 0, "max_wait_ms": 0, wish: 1}
            assert (await member.fetch(is_renew_ack=True, **asked)).error_code == ErrorCode.INVALID_REQUEST

    run(story())

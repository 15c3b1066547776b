"""Acknowledging, in a request of its own or with a fetch: what it does, when it is answered, what it may not do."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from handlers.share_member import (
    ACCEPT,
    GAP,
    LOCK_MS,
    REJECT,
    RELEASE,
    RENEW,
    Batch,
    Group,
    Member,
    a_group,
    acknowledge_codes,
    codes,
    ranges,
    run,
    settled,
    skip_ms,
)
from leaselog.coordination.share_state_commands import SummarizeState
from leaselog.model import ErrorCode, Refused

NOWHERE = UUID(int=77)
INVALID_STATE, INVALID = ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST


async def holding(group: Group, count: int = 10) -> Member:
    """A member that has been given so many records."""
    await group.produce(count)
    member = group.member()
    assert ranges(await member.fetch()) == [(0, count - 1, 1)]
    return member


async def next_ranges(group: Group) -> list[tuple[int, int, int]]:
    return ranges(await group.member("next", connection=9).fetch())


def test_accepted_records_are_through() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            answer = await member.acknowledge({0: [(0, 9, [ACCEPT])]})
            assert codes(answer) == {0: 0}
            assert answer.acquisition_lock_timeout_ms == LOCK_MS
            await group.produce(1)
            assert await next_ranges(group) == [(10, 10, 1)]

    run(story())


def test_released_records_are_delivered_again_and_counted() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [(0, 9, [RELEASE])]})) == {0: 0}
            assert await next_ranges(group) == [(0, 9, 2)]

    run(story())


def test_rejected_records_are_not_delivered_again() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [(0, 8, [REJECT])]})) == {0: 0}
            await group.produce(1)
            assert await next_ranges(group) == [(10, 10, 1)]

    run(story())


@pytest.mark.parametrize("kind", [ACCEPT, REJECT])
def test_a_fetch_may_carry_acknowledgements(kind: int) -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            await group.produce(1)
            answer = await member.fetch(acks={0: [(0, 9, [kind])]})
            assert acknowledge_codes(answer) == {0: 0}
            assert ranges(answer) == [(10, 10, 1)]

    run(story())


def test_a_fetch_waits_for_what_it_releases_itself() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            answer = await member.fetch(acks={0: [(0, 9, [RELEASE])]}, max_wait_ms=60_000)
            assert acknowledge_codes(answer) == {0: 0}
            assert ranges(answer) == [(0, 9, 2)]

    run(story())


def test_a_record_that_used_up_its_deliveries_is_archived() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.configure(share_delivery_count_limit="2")
            member = await holding(group, 1)
            await member.acknowledge({0: [(0, 0, [RELEASE])]})
            assert ranges(await member.fetch()) == [(0, 0, 2)]
            await member.acknowledge({0: [(0, 0, [RELEASE])]})
            await group.produce(1)
            assert ranges(await member.fetch()) == [(1, 1, 1)]

    run(story())


def test_five_expired_leases_are_enough() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group, 1)
            for count in range(2, 6):
                await skip_ms(LOCK_MS + 2)
                assert ranges(await member.fetch()) == [(0, 0, count)]
            await skip_ms(LOCK_MS + 2)
            await group.produce(1)
            assert ranges(await member.fetch()) == [(1, 1, 1)]

    run(story())


def test_one_type_for_each_record_or_one_for_all() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            types = [ACCEPT, RELEASE, REJECT, GAP]
            assert codes(await member.acknowledge({0: [(0, 3, types), (4, 9, [ACCEPT])]})) == {0: 0}
            assert await next_ranges(group) == [(1, 1, 2)]

    run(story())


# -- when it is answered ----------------------------------------------------------------------------------------------


def test_the_answer_comes_when_the_state_is_on_disk(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_group(str(tmp_path / "data")) as group:
            member = await holding(group)
            await member.acknowledge({0: [(0, 4, [ACCEPT])]})
            summary = await group.box.broker.persister.read_summary(SummarizeState(group.key()))
            assert not isinstance(summary, Refused)
            logs = [
                p.log for p in group.box.broker.logs.partitions() if p.name.topic == "__share_group_state"
            ]
            assert [log.durable_end for log in logs] == [log.end_offset for log in logs]
            state = sum(log.end_offset for log in logs)
            waiting = asyncio.ensure_future(member.acknowledge({0: [(5, 9, [ACCEPT])]}))
            await asyncio.sleep(0)
            assert not waiting.done()
            assert codes(await waiting) == {0: 0}
            assert sum(log.durable_end for log in logs) == state + 1

    run(story())


def test_acknowledgements_of_one_turn_share_one_append(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_group(str(tmp_path / "data"), share_coordinator_state_topic_num_partitions="1") as group:
            await group.produce(1, batches=16)
            members = [group.member(f"m{i}", connection=i) for i in range(16)]
            for i, member in enumerate(members):
                assert ranges(await member.fetch(max_records=1)) == [(i, i, 1)]
            found = group.box.broker.logs.partition("__share_group_state", 0)
            assert found is not None
            end = found.log.end_offset
            position = found.log.size_bytes()
            answers = await asyncio.gather(
                *(m.acknowledge({0: [(i, i, [ACCEPT])]}) for i, m in enumerate(members))
            )
            assert [codes(answer) for answer in answers] == [{0: 0}] * 16
            assert found.log.end_offset == end + 16
            data = found.log.read(end, 1 << 20)
            assert not isinstance(data, Refused)
            # one batch: its length field says that it reaches to the end
            assert len(data) == found.log.size_bytes() - position == int.from_bytes(data[8:12], "big") + 12

    run(story())


def test_accepted_records_stay_accepted_when_the_broker_begins_anew(tmp_path: Path) -> None:
    async def first() -> None:
        async with a_group(str(tmp_path / "data")) as group:
            member = await holding(group)
            assert codes(
                await member.acknowledge({0: [(0, 3, [ACCEPT]), (5, 5, [ACCEPT]), (6, 6, [RELEASE])]})
            ) == {0: 0}

    async def second() -> None:
        async with a_group(str(tmp_path / "data"), begin=False) as group:
            assert ranges(await group.member().fetch()) == [(4, 4, 1), (6, 6, 2), (7, 9, 1)]

    run(first())
    run(second())


# -- errors -----------------------------------------------------------------------------------------------------------


def test_a_session_cannot_begin_with_an_acknowledgement() -> None:
    async def story() -> None:
        async with a_group() as group:
            answer = await group.member().acknowledge({0: [(0, 0, [ACCEPT])]}, epoch=0)
            assert (answer.error_code, answer.responses) == (ErrorCode.INVALID_SHARE_SESSION_EPOCH, [])

    run(story())


def test_a_wrong_epoch_is_refused() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            answer = await member.acknowledge({0: [(0, 9, [ACCEPT])]}, epoch=5)
            assert answer.error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH

    run(story())


def test_without_a_session_nothing_is_acknowledged() -> None:
    async def story() -> None:
        async with a_group() as group:
            await holding(group)
            answer = await group.member("stranger").acknowledge({0: [(0, 9, [ACCEPT])]}, epoch=1)
            assert answer.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    run(story())


def test_closing_the_session_applies_acknowledgements_and_gives_back_the_rest() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [(0, 4, [ACCEPT])]}, epoch=-1)) == {0: 0}
            assert await next_ranges(group) == [(5, 9, 2)]
            again = await member.acknowledge({0: [(5, 5, [ACCEPT])]}, epoch=-1)
            assert again.error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    run(story())


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        ([(3, 2, [ACCEPT])], INVALID),
        ([(0, 4, [ACCEPT]), (3, 6, [ACCEPT])], INVALID),
        ([(0, 4, [])], INVALID),
        ([(0, 4, [ACCEPT, ACCEPT])], INVALID),
        ([(0, 4, [5])], INVALID),
        ([(0, 4, [-1])], INVALID),
        ([(0, 4, [RENEW])], INVALID),
        ([(5, 12, [ACCEPT])], INVALID),
        ([(12, 12, [ACCEPT])], INVALID),
        ([(0, 4, [ACCEPT]), (4, 6, [ACCEPT])], INVALID_STATE),
    ],
)
def test_a_bad_batch_refuses_its_partition_and_nothing_else(batches: list[Batch], code: int) -> None:
    async def story() -> None:
        async with a_group() as group:
            for partition in (0, 1):
                await group.produce(10, partition=partition)
            member = group.member()
            await member.fetch(partitions=(0, 1))
            answer = await member.acknowledge({0: [*batches], 1: [(0, 9, [ACCEPT])]})
            assert codes(answer) == {0: code, 1: 0}
            # all of it is still the member's
            assert codes(await member.acknowledge({0: [(0, 9, [ACCEPT])]})) == {0: 0}

    run(story())


def test_another_members_records_are_not_mine_to_acknowledge() -> None:
    async def story() -> None:
        async with a_group() as group:
            await holding(group)
            stranger = group.member("stranger", connection=2)
            await stranger.fetch()
            assert codes(await stranger.acknowledge({0: [(0, 9, [ACCEPT])]})) == {0: INVALID_STATE}

    run(story())


def test_twice_is_refused_inside_the_window_and_ignored_below_it() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [(4, 5, [ACCEPT])]})) == {0: 0}
            assert codes(await member.acknowledge({0: [(4, 5, [ACCEPT])]})) == {0: INVALID_STATE}
            assert codes(await member.acknowledge({0: [(0, 3, [ACCEPT])]})) == {0: 0}
            assert codes(await member.acknowledge({0: [(0, 5, [ACCEPT])]})) == {0: 0}

    run(story())


def test_while_a_write_is_under_way_its_records_are_taken() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            one = asyncio.ensure_future(member.acknowledge({0: [(4, 5, [ACCEPT])]}))
            two = asyncio.ensure_future(member.acknowledge({0: [(5, 6, [RELEASE])]}))
            assert [codes(a) for a in await asyncio.gather(one, two)] == [{0: 0}, {0: INVALID_STATE}]

    run(story())


def test_unknown_places_have_errors_of_their_own() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            unknown = await member.acknowledge({0: [(0, 0, [ACCEPT])]}, topic_id=NOWHERE)
            assert codes(unknown) == {0: ErrorCode.UNKNOWN_TOPIC_ID}
            nowhere = await member.acknowledge({9: [(0, 0, [ACCEPT])], 0: [(0, 0, [ACCEPT])]})
            assert codes(nowhere) == {9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0: 0}

    run(story())


def test_a_partition_that_the_group_never_fetched_is_unknown() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            answer = await member.acknowledge({1: [(0, 0, [ACCEPT])]})
            assert codes(answer) == {1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}

    run(story())


def test_a_partition_without_batches_is_not_answered() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [], 1: []})) == {}

    run(story())


def test_new_offsets_of_the_group_fence_who_had_the_old_ones() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            await group.begin(start_offset=5, epoch=1)
            answer = await member.acknowledge({0: [(0, 9, [ACCEPT])]})
            assert codes(answer) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
            data = answer.responses[0].partitions[0]
            assert data.current_leader.leader_id == group.box.broker.cluster.node_id
            assert [endpoint.node_id for endpoint in answer.node_endpoints] == [data.current_leader.leader_id]
            # whoever fetches next begins where the group was told to
            assert ranges(await member.fetch()) == [(5, 9, 1)]

    run(story())


def test_offsets_set_anew_in_the_same_epoch_are_where_the_group_goes_on() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            group.box.broker.shares.forget(group.key().group_id, [(group.key().topic_id, 0)])
            await group.begin(start_offset=3, epoch=0, partitions=1)
            # nothing is known of what it held
            answer = await member.acknowledge({0: [(0, 9, [ACCEPT])]})
            assert codes(answer) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            assert ranges(await member.fetch(max_wait_ms=60_000)) == [(3, 9, 1)]

    run(story())


# -- renewing ---------------------------------------------------------------------------------------------------------


def test_renewed_leases_last_longer_and_keep_their_count() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            await skip_ms(LOCK_MS - 1000)
            answer = await member.acknowledge({0: [(0, 4, [RENEW]), (5, 9, [RELEASE])]}, is_renew_ack=True)
            assert codes(answer) == {0: 0}
            assert answer.acquisition_lock_timeout_ms == LOCK_MS
            await skip_ms(LOCK_MS - 1000)
            assert await next_ranges(group) == [(5, 9, 2)]
            await skip_ms(1002)
            assert ranges(await group.member("late", connection=3).fetch()) == [(0, 4, 2)]

    run(story())


def test_renewing_must_be_said_in_the_request() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            assert codes(await member.acknowledge({0: [(0, 9, [RENEW])]})) == {0: INVALID}
            assert codes(await member.acknowledge({0: [(0, 9, [RENEW])]}, version=1)) == {0: INVALID}

    run(story())


def test_a_group_may_forbid_renewing() -> None:
    async def story() -> None:
        async with a_group() as group:
            await group.configure(share_renew_acknowledge_enable="false")
            member = await holding(group)
            answer = await member.acknowledge({0: [(0, 9, [RENEW])]}, is_renew_ack=True)
            assert codes(answer) == {0: INVALID_STATE}
            assert codes(await member.acknowledge({0: [(0, 9, [ACCEPT])]}, is_renew_ack=True)) == {0: 0}

    run(story())


def test_an_acknowledgement_answered_late_is_answered_even_if_the_group_is_gone() -> None:
    async def story() -> None:
        async with a_group() as group:
            member = await holding(group)
            waiting = asyncio.ensure_future(member.acknowledge({0: [(0, 9, [ACCEPT])]}))
            await asyncio.sleep(0)
            member.disconnect()
            await settled(waiting)
            assert codes(await waiting) == {0: 0}
            await group.produce(1)
            assert await next_ranges(group) == [(10, 10, 1)]

    run(story())

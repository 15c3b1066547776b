"""Records that wait for their next delivery: what a group configures, what a client asks for, what a restart leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handlers.share_member import (
    ACCEPT,
    LOCK_MS,
    REJECT,
    RELEASE,
    Group,
    a_group,
    codes,
    ranges,
    run,
    skip_ms,
)
from handlers.test_dead_letters import PERSISTERS, a_group_with_dead_letters, letters
from handlers.test_describe_share_partitions import described
from handlers.test_share_metrics import told
from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.group_config import check_group
from leaselog.broker.lending.due_times import DRIFT_MS
from leaselog.coordination.share_state_commands import ReadState, StateRead

GIVEN_BACK = {"given_back": True}
STEADY = {"share_retry_backoff_ms": "10000", "share_retry_backoff_jitter": "0"}
#: what rounding adds to a pause of 10 s
GRAIN_MS = 128


async def waiting(group: Group) -> list[tuple[int, int, int]]:
    """(start, end, in how many seconds) of the stretches that wait, as they are stored."""
    read = await group.box.broker.persister.read(ReadState(group.key()))
    assert isinstance(read, StateRead)
    now_ms = group.box.broker.now_ms()
    return [(b.start, b.end, round((b.due_ms - now_ms) / 1000)) for b in read.batches if b.due_ms]


def test_a_released_record_comes_again_after_the_pause_and_others_at_once() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(**STEADY)
            await group.produce(2, batches=2)
            member = group.member()
            await member.fetch(max_records=2, batch_size=1)
            assert codes(await member.acknowledge({0: [(0, 1, [RELEASE])]})) == {0: 0}
            assert ranges(await member.fetch()) == [(2, 3, 1)]
            await skip_ms(9_900)
            assert ranges(await member.fetch()) == []
            await skip_ms(200 + GRAIN_MS)
            assert ranges(await member.fetch()) == [(0, 1, 2)]

    run(main())


def test_a_fetch_that_waits_is_woken_when_the_first_record_is_due() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(**STEADY)
            await group.produce(1)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 0, [RELEASE])]})
            waits = asyncio.ensure_future(member.fetch(max_wait_ms=60_000, min_bytes=1))
            await skip_ms(9_900)
            assert not waits.done()
            await skip_ms(200 + GRAIN_MS)
            assert ranges(await waits) == [(0, 0, 2)]

    run(main())


def test_a_record_whose_lease_ran_out_waits() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(**STEADY)
            await group.produce(1)
            member = group.member()
            await member.fetch()
            await skip_ms(LOCK_MS + 100)
            assert ranges(await member.fetch()) == []
            await skip_ms(10_000 + GRAIN_MS)
            assert ranges(await member.fetch()) == [(0, 0, 2)]

    run(main())


def test_a_delay_in_a_release_holds_without_any_config_up_to_the_maximum() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(share_release_delay_max_ms="5000")
            await group.produce(2)
            member = group.member()
            await member.fetch()
            late: Any = {"release_delay_ms": 1_000_000}
            await member.acknowledge({0: [(0, 0, [RELEASE], late), (1, 1, [RELEASE])]})
            assert await waiting(group) == [(0, 1, 5)]
            assert ranges(await member.fetch()) == [(1, 1, 2)]
            await skip_ms(5_100)
            assert ranges(await member.fetch()) == [(0, 0, 2)]

    run(main())


def test_what_is_given_back_is_delivered_as_if_for_the_first_time() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(**STEADY)
            await group.produce(2)
            member = group.member()
            for _ in range(7):  # more often than a record may be delivered
                assert ranges(await member.fetch()) == [(0, 1, 1)]
                assert codes(await member.acknowledge({0: [(0, 1, [RELEASE], GIVEN_BACK)]})) == {0: 0}
            assert await waiting(group) == []

    run(main())


def test_the_reason_of_a_rejection_stands_in_its_dead_letter_cut_to_a_thousand_characters() -> None:
    async def main() -> None:
        async with a_group_with_dead_letters() as group:
            await group.produce(3)
            member = group.member()
            await member.fetch()
            acks: Any = [
                (0, 0, [REJECT], {"reject_reason": "no such customer: Łódź"}),
                (1, 1, [REJECT], {"reject_reason": "é" * 1_001}),
                (2, 2, [ACCEPT], {"reject_reason": "not asked"}),
            ]
            await member.acknowledge({0: acks})
            for _ in range(1_000):
                if len(letters(group)) == 2:
                    break
                await asyncio.sleep(0)
            said = [dict(letter.headers)["__dlq.errors.message"] for letter in letters(group)]
            assert said == ["no such customer: Łódź".encode(), ("é" * 1_000).encode()]

    run(main())


@pytest.mark.parametrize("persister", PERSISTERS)
def test_what_waits_goes_on_waiting_after_a_restart(persister: str, tmp_path: Path) -> None:
    settings = PERSISTERS[persister]

    async def before() -> None:
        async with a_group(str(tmp_path), **settings) as group:
            await group.configure(**STEADY)
            await group.produce(3)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 1, [RELEASE]), (2, 2, [ACCEPT])]})
            assert await waiting(group) == [(0, 2, 10)]

    async def after() -> None:
        async with a_group(str(tmp_path), begin=False, **settings) as group:
            member = group.member()
            # with the state beside the records, the offsets of its own records are handed out, too
            assert all(first > 2 for first, _, _ in ranges(await member.fetch(max_wait_ms=0)))
            await skip_ms(10_000 + GRAIN_MS)
            assert ranges(await member.fetch()) == [(0, 1, 2)]

    run(before())
    run(after())


def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_anything_may() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(
                **STEADY, share_release_delay_max_ms="0", share_retry_backoff_max_ms="20000"
            )
            await group.produce(1)
            broker, member = group.box.broker, group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 0, [RELEASE])]})
            machine = broker.machine
            real = machine.wall_ms
            machine.wall_ms = lambda: real() - 86_400_000  # type: ignore[method-assign]
            broker.shares.forget(group.key().group_id)
            await member.fetch(max_wait_ms=0)
            await skip_ms(20_000 + DRIFT_MS)
            assert ranges(await member.fetch()) == [(0, 0, 2)]

    run(main())


def test_neighbours_that_are_written_at_different_moments_wait_until_one_stored_time() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(share_retry_backoff_ms="80000", share_retry_backoff_max_ms="80000")
            await group.configure(share_retry_backoff_jitter="0")
            await group.produce(20)
            member = group.member()
            await member.fetch()
            for offset in range(20):
                await member.acknowledge({0: [(offset, offset, [RELEASE])]})
                await skip_ms(3)
            assert len(await waiting(group)) <= 3

    run(main())


def test_operators_see_what_waits_and_for_how_long() -> None:
    async def main() -> None:
        async with a_group() as group:
            await group.configure(**STEADY)
            await group.produce(3)
            member = group.member()
            await member.fetch()
            await member.acknowledge({0: [(0, 1, [RELEASE]), (2, 2, [RELEASE], GIVEN_BACK)]})
            seen = await described(group)
            assert (seen.available, seen.waiting, seen.archiving) == (1, 2, 0)
            assert seen.next_due_ms == pytest.approx(10_000, abs=2_000)
            metrics = told(group)
            assert metrics["delayed_records_total"] == 2
            assert metrics["given_back_records_total"] == 1
            group.box.broker.shares.forget(group.key().group_id)  # nobody is here: as stored
            assert (await described(group)).waiting == 2

    run(main())


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"share.retry.backoff.ms": "-1"}, "at least 0"),
        ({"share.retry.backoff.multiplier": "0.5"}, "at least 1"),
        ({"share.retry.backoff.multiplier": "NaN"}, "Not a number"),
        ({"share.retry.backoff.jitter": "1.1"}, "no more than 1"),
        ({"share.release.delay.max.ms": "604800001"}, "no more than 604800000"),
        ({"share.retry.backoff.ms": "70000"}, "share.retry.backoff.max.ms"),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(values: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as refused:
        check_group(BrokerConfig.from_originals({}), values)
    assert next(iter(values)) in str(refused.value)

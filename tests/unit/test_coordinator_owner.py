"""What the owners of all coordinator partitions have in common: loading, failing, beginning anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from handlers.share_member import run, skip_ms

from leaselog.broker.coordinators.log import read_back
from leaselog.broker.coordinators.owner import CoordinatorOwner
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import AppendRefused, LogConfig, MemoryFiles, Origin, PartitionLog
from leaselog.model import BrokenInvariant, ErrorCode, Refused, TopicId, TopicPartition
from leaselog.wire.record_batch import HEADER_BYTES, read_header, rewrite_header
from leaselog.wire.records import Record, build_batch

BAD, BUG = -1, -2


def test_a_log_that_does_not_read_is_told_as_such_and_not_as_a_malformed_request() -> None:
    log = PartitionLog.open(
        MemoryFiles(), "data/t-0", TopicId(UUID(int=7)), LogConfig(), now_ms=0, clean=True
    )
    spoiled = build_batch([Record(b"k", b"v")])
    spoiled[HEADER_BYTES] = 0xFF  # the length of the record; as a disk may give it back
    header = read_header(spoiled)
    rewrite_header(spoiled, 0, header)
    log.append(spoiled, leader_epoch=0, now_ms=0, origin=Origin.COORDINATOR)
    with pytest.raises(BrokenInvariant, match="does not read from 0"):
        list(read_back(log, lambda header: True))


class Owner(CoordinatorOwner[list[int], int]):
    """Its shard is the list of the steps that were replayed."""

    SUBJECT = "a test's state"
    NOT_LOADED = Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    STOPPED = Refused(ErrorCode.NOT_COORDINATOR)

    def __init__(self, steps: list[int]) -> None:
        log = SimpleNamespace(failure=None)
        partition: Any = SimpleNamespace(name=TopicPartition("t", 0), is_gone=False, log=log)
        super().__init__(partition, StructuredLog("test"))
        self.steps = steps
        self.loads = 0
        self.begun = 0
        self.begins_badly = False
        self.refusals: list[Refused] = []

    @property
    def shard(self) -> list[int] | None:
        return self._shard

    def fail_write(self, code: ErrorCode) -> None:
        self._write_failed(AppendRefused(code))

    def break_down(self) -> None:
        self._broken("a test", BrokenInvariant("said so"))

    def _new_shard(self) -> list[int]:
        return []

    def _load_steps(self) -> Iterator[int]:
        self.loads += 1
        return iter(self.steps)

    def _replay_step(self, shard: list[int], step: int) -> None:
        if step == BAD:
            raise BrokenInvariant("no such step")
        if step == BUG:
            raise KeyError(step)
        shard.append(step)

    def _abandon(self, refusal: Refused) -> None:
        self._shard = None
        self.refusals.append(refusal)

    def _begin(self, shard: list[int]) -> None:
        self.begun += 1
        if self.begins_badly:
            raise KeyError("half of it")


@pytest.mark.parametrize("steps", [[], [1], [1, 2], [1, 2, 3, 4]])
def test_what_is_short_is_read_at_once_and_what_is_long_beside_other_work(steps: list[int]) -> None:
    async def story() -> None:
        owner = Owner(steps)
        assert owner.state == "loading"
        owner.load()
        assert owner.is_loading == (len(steps) > 1)
        assert (owner.shard is None) == owner.is_loading
        await owner.loaded()
        assert (owner.shard, owner.begun, owner.state) == (steps, 1, "active")

    asyncio.run(story())


@pytest.mark.parametrize("what", [BAD, BUG])
@pytest.mark.parametrize("at", range(5))
def test_a_log_that_makes_no_sense_anywhere_is_read_again_later(at: int, what: int) -> None:
    async def story() -> None:
        owner = Owner([what if i == at else i for i in range(5)])
        owner.load()
        await owner.loaded()
        assert (owner.shard, owner.begun, owner.state) == (None, 0, "failed")
        assert owner.refusals == [Owner.STOPPED]
        owner.steps = [7]
        await skip_ms(150)
        assert owner.shard is None
        await skip_ms(100)
        assert (owner.shard, owner.begun, owner.state) == ([7], 1, "active")

    run(story())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_after_a_failed_write_the_shard_is_read_anew_and_who_waits_is_told(
    code: ErrorCode, told: ErrorCode
) -> None:
    async def story() -> None:
        owner = Owner([1])
        owner.load()
        owner.steps = [7]
        owner.fail_write(code)
        assert owner.refusals == [Refused(told)]
        assert (owner.shard, owner.begun) == ([7], 2)

    run(story())


def test_a_shard_that_finds_itself_impossible_is_read_anew() -> None:
    async def story() -> None:
        owner = Owner([1])
        owner.load()
        owner.break_down()
        assert owner.refusals == [Refused(ErrorCode.UNKNOWN_SERVER_ERROR)]
        assert (owner.shard, owner.begun) == ([1], 2)

    run(story())


def test_a_shard_that_fails_again_and_again_is_read_after_pauses_that_grow() -> None:
    async def story() -> None:
        owner = Owner([1])
        owner.begins_badly = True
        owner.load()
        assert (owner.loads, owner.shard, owner.state) == (2, None, "failed")
        for seconds in range(1, 121):
            await skip_ms(1_000)
            assert owner.loads <= 2 + 3 + seconds // 3
        assert 8 <= owner.loads <= 12
        owner.begins_badly = False
        await skip_ms(31_000)
        assert owner.state == "active"
        # It lasts, so what fails later has nothing to do with it.
        await skip_ms(61_000)
        owner.break_down()
        assert owner.state == "active"

    run(story())


def test_a_log_that_has_failed_is_not_read() -> None:
    async def story() -> None:
        owner = Owner([1])
        owner.load()
        owner.partition.log.failure = OSError(5, "input/output error")
        owner.fail_write(ErrorCode.KAFKA_STORAGE_ERROR)
        await skip_ms(120_000)
        assert (owner.loads, owner.shard, owner.state) == (1, None, "failed")

    run(story())


def test_an_owner_whose_partition_is_gone_or_a_stopped_one_does_not_begin_anew() -> None:
    async def story(end: Callable[[Owner], None]) -> None:
        owner = Owner([1])
        owner.load()
        end(owner)
        owner.fail_write(ErrorCode.KAFKA_STORAGE_ERROR)
        assert (owner.shard, owner.begun) == (None, 1)

    for end in (lambda o: setattr(o.partition, "is_gone", True), Owner.stop):
        run(story(end))


def test_stopping_ends_a_load_under_way_and_one_that_is_to_come() -> None:
    async def story() -> None:
        owner = Owner([1, 2, 3, 4])
        owner.load()
        owner.stop()
        await owner.loaded()
        assert (owner.shard, owner.begun, owner.state) == (None, 0, "failed")
        later = Owner([BAD])
        later.load()
        later.stop()
        await skip_ms(60_000)
        assert later.loads == 1

    run(story())

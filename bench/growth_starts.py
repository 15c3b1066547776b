"""How long a broker takes to be of use again that has much: rows of `bench.growth` that need a disk and a process.

The broker is killed with SIGKILL behind its last sync, started as anybody starts it, and asked for a record of a share
group. What it has is written by this program's own child, in a broker without sockets, which kills itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from bench import ROOT

sys.path += [str(ROOT / "tests"), str(ROOT / "tests" / "unit")]

from broker_in_a_box import Box, in_a_box
from handlers.share_member import Group

from interop.broker_process import FAST, BrokerProcess
from interop.confluent_io import create_topic
from interop.raw_requests import connected
from interop.share_member import RawShareMember, begin, topic_id_of
from interop.test_share_librdkafka import set_group
from leaselog.wire.records import Record, build_batch

__all__ = ["starts"]

JOBS, MANY, GROUP = "jobs", "many", "workers"
#: appended before the disk is waited for
AT_ONCE = 500


async def starts(is_quick: bool) -> None:
    for batches, partitions, groups in (
        ((1_000, 10, 1),) if is_quick else ((1_000_000, 1, 0), (1, 10_000, 0), (1, 10_000, 10))
    ):
        with tempfile.TemporaryDirectory() as home:
            started_s, lent_s = _killed_and_started(Path(home), batches, partitions, groups)
        print(
            f"| start after SIGKILL: {batches:,} batches of a record, {partitions:,} partitions with records,"
            f" {groups * partitions:,} idle share partitions | {started_s:.2f} s"
            f" | first record leased after {started_s + lent_s:.2f} s |",
            flush=True,
        )


def _killed_and_started(home: Path, batches: int, partitions: int, groups: int) -> tuple[float, float]:
    broker = BrokerProcess(home)
    broker.start()
    create_topic(broker, JOBS, 1)
    create_topic(broker, MANY, partitions)
    begin(broker, set_group(broker, GROUP), [JOBS], 1)
    broker.stop()
    much = [str(broker.data), str(batches), str(partitions), str(groups)]
    code = subprocess.run([sys.executable, "-m", "bench.growth_starts", *much], cwd=ROOT).returncode
    assert code == -signal.SIGKILL, code
    began = perf_counter()
    broker.start()
    started = perf_counter()
    try:
        with connected(broker) as connection:
            member = RawShareMember(connection, GROUP, topic_id_of(broker, JOBS))
            assert member.acquire(max_records=1, batch_size=1, share_acquire_mode=1)[0]
        return started - began, perf_counter() - started
    finally:
        broker.kill()


async def _fill(data_dir: str, batches: int, partitions: int, groups: int) -> None:
    settings = {key.replace(".", "_"): value for key, value in FAST.items()}
    async with in_a_box(data_dir, **settings) as box:
        await box.broker.share_coordinator.start()
        await _append(box, JOBS, [0] * batches)
        await _append(box, MANY, list(range(partitions)))
        topic = box.broker.cluster.topic(MANY)
        assert topic is not None
        for number in range(groups):
            await Group(box, topic.topic_id, f"g{number}").begin(partitions=partitions)
        os.kill(os.getpid(), signal.SIGKILL)


async def _append(box: Box, topic: str, places: list[int]) -> None:
    for at in range(0, len(places), AT_ONCE):
        now_ms = box.broker.now_ms()
        writes = []
        for place in places[at : at + AT_ONCE]:
            partition = box.broker.logs.partition(topic, place)
            assert partition is not None
            batch = build_batch([Record(None, b"x" * 100, timestamp_ms=now_ms)])
            writes.append(partition.append(batch, now_ms=now_ms))
        await asyncio.gather(*writes)


if __name__ == "__main__":
    data_dir, *much = sys.argv[1:]
    asyncio.run(_fill(data_dir, *map(int, much)))

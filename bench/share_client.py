"""Records a second through one share consumer: ours, asyncio and blocking, beside confluent-kafka's on the same broker.

    .venv/bin/python -m bench.share_client                     1 KB records, implicit and explicit, three rounds
    .venv/bin/python -m bench.share_client --rows async/explicit confluent/explicit
    .venv/bin/python -m bench.share_client --profile async/implicit

Each round runs every row once, each on a group of its own over the same records, so that a slow minute of the machine
hits all rows. Implicit: poll again and what came before is accepted. Explicit: every record is acknowledged by a call.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable

from confluent_kafka import ShareConsumer as ConfluentShareConsumer

from bench.brokers import leaselog
from bench.setting import begin_group, fill, make_topic
from leaselog.client import AsyncShareConsumer, ShareConsumer

TOPIC = "records"
VALUE = b"x" * 1024
FIRST_RECORD_PATIENCE_S = 30.0


class Clock:
    """Runs from the first records to the last: joining the group is not what is measured."""

    def __init__(self) -> None:
        self._began, self._used = 0.0, 0.0
        self._patience = time.monotonic() + FIRST_RECORD_PATIENCE_S

    def check(self, seen: int, wanted: int) -> None:
        assert time.monotonic() < self._patience, f"{seen} of {wanted}"

    def saw(self, seen: int) -> None:
        if seen and not self._began:
            self._began, self._used = time.monotonic(), time.process_time()
        if seen:
            self._patience = time.monotonic() + FIRST_RECORD_PATIENCE_S

    def stop(self, records: int) -> tuple[float, float]:
        """Records a second, and microseconds of this process's processor for one."""
        elapsed, used = time.monotonic() - self._began, time.process_time() - self._used
        return records / elapsed, used / records * 1e6


def confluent(address: str, group: str, records: int, *, explicit: bool) -> tuple[float, float]:
    consumer = ConfluentShareConsumer(
        {"bootstrap.servers": address, "group.id": group, "log_level": 2,
         "share.acknowledgement.mode": "explicit" if explicit else "implicit"}
    )  # fmt: skip
    consumer.subscribe([TOPIC])
    seen, clock = 0, Clock()
    while seen < records:
        clock.check(seen, records)
        got = consumer.poll(timeout=1.0)
        clock.saw(len(got))
        for message in got:
            assert message.error() is None, message.error()
            seen += len(message.value() or b"") == len(VALUE)
            if explicit:
                consumer.acknowledge(message)
    measured = clock.stop(seen)
    consumer.close()
    return measured


def blocking(address: str, group: str, records: int, *, explicit: bool) -> tuple[float, float]:
    mode = "explicit" if explicit else "implicit"
    with ShareConsumer(
        bootstrap_servers=address, group_id=group, share_acknowledgement_mode=mode
    ) as consumer:
        consumer.subscribe([TOPIC])
        seen, clock = 0, Clock()
        while seen < records:
            clock.check(seen, records)
            got = consumer.poll(1.0)
            clock.saw(len(got))
            for record in got:
                seen += len(record.value) == len(VALUE)
                if explicit:
                    consumer.acknowledge(record)
        return clock.stop(seen)


async def _asyncio(address: str, group: str, records: int, *, explicit: bool) -> tuple[float, float]:
    mode = "explicit" if explicit else "implicit"
    async with AsyncShareConsumer(
        bootstrap_servers=address, group_id=group, share_acknowledgement_mode=mode
    ) as consumer:
        consumer.subscribe([TOPIC])
        seen, clock = 0, Clock()
        while seen < records:
            clock.check(seen, records)
            got = await consumer.poll(1.0)
            clock.saw(len(got))
            for record in got:
                seen += len(record.value) == len(VALUE)
                if explicit:
                    consumer.acknowledge(record)
        return clock.stop(seen)


def with_asyncio(address: str, group: str, records: int, *, explicit: bool) -> tuple[float, float]:
    return asyncio.run(_asyncio(address, group, records, explicit=explicit))


KINDS: dict[str, Callable[..., tuple[float, float]]] = {
    "confluent": confluent,
    "async": with_asyncio,
    "blocking": blocking,
}
ROWS = [f"{kind}/{mode}" for mode in ("implicit", "explicit") for kind in KINDS]


def measure(address: str, row: str, number: int, records: int) -> tuple[float, float]:
    """Records a second, and microseconds of this process's processor for one."""
    kind, _, mode = row.partition("/")
    group = f"{kind}-{mode}-{number}"
    begin_group(address, group)
    return KINDS[kind](address, group, records, explicit=mode == "explicit")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--durability", default="fsync")
    parser.add_argument("--address", help="a broker that runs already")
    parser.add_argument("--profile", choices=ROWS, help="run this row once under the profiler")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, leaselog(args.durability, home) as own:
        address = args.address or own.address
        make_topic(address, TOPIC)
        fill(address, TOPIC, [VALUE] * args.records, acks="all", linger_ms=20, batch_size=100_000)
        if args.profile:
            with cProfile.Profile() as profile:
                measure(address, args.profile, 0, args.records)
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
            return
        seen: dict[str, list[tuple[float, float]]] = {row: [] for row in args.rows}
        for number in range(args.rounds):
            for row in args.rows:
                seen[row].append(measure(address, row, number, args.records))
    for row, runs in seen.items():
        _, _, mode = row.partition("/")
        rate, used = (statistics.median(column) for column in zip(*runs, strict=True))
        beside = seen.get(f"confluent/{mode}")
        ratio = f"  {rate / statistics.median(run[0] for run in beside):5.2f}x" if beside else ""
        print(f"{row:20s} {rate:10,.0f} records/s  {used:6.1f} us of processor a record{ratio}")


if __name__ == "__main__":
    main()

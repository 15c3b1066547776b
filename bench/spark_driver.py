"""What acquiring costs the Spark driver: bytes received and processor time a record, with the records and without.

    .venv/bin/python -m bench.spark_driver
    .venv/bin/python -m bench.spark_driver --address 127.0.0.1:9092     Apache Kafka sends the records either way

The driver's member of the group acquires and accepts everything on one partition, without Spark and without tasks that
would read it. Bytes are those of its connections, everything included; the time is that of its process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from typing import Any

from bench.brokers import leaselog
from bench.setting import begin_group, fill, make_topic
from leaselog.client import AcknowledgeType
from leaselog.client.connection import Connection
from leaselog.client.share.range_core import RangeCore
from leaselog.spark.group_member import GroupMember
from leaselog.spark.ledger import Settlement
from leaselog.spark.options import SourceOptions

TOPIC = "driver"
DEADLINE_S = 300.0


class CountedBytes:
    """All that arrives on any connection of this process while it is open."""

    def __enter__(self) -> CountedBytes:
        self.received = 0
        self._original = original = Connection.buffer_updated

        def counted(connection: Connection, nbytes: int) -> None:
            self.received += nbytes
            original(connection, nbytes)

        Connection.buffer_updated = counted  # type: ignore[method-assign, assignment]
        return self

    def __exit__(self, *_: object) -> None:
        Connection.buffer_updated = self._original  # type: ignore[method-assign]


def drain(address: str, group: str, *, ranges_only: bool, records: int) -> dict[str, float]:
    options = SourceOptions.of(
        {"kafka.bootstrap.servers": address, "kafka.share.group.id": group, "subscribe": TOPIC}
    )
    original = RangeCore.__init__

    def made(core: RangeCore, *given: Any) -> None:
        original(core, *given)
        core._state.ranges_only = ranges_only

    RangeCore.__init__ = made  # type: ignore[method-assign, assignment]
    member = GroupMember(options)
    try:
        with CountedBytes() as counted:
            done = before = 0
            began, deadline = (0.0, 0.0), time.monotonic() + DEADLINE_S
            while done < records:
                assert time.monotonic() < deadline, f"{done} of {records} records"
                got = member.acquire(0.5, 100_000, 50 << 20)
                settlements = [
                    Settlement(leased.lease, leased.ranges, AcknowledgeType.ACCEPT) for leased in got.leased
                ]
                assert all(told.error is None for told in member.settle(settlements))
                done += sum(run.end - run.start for leased in got.leased for run in leased.ranges)
                if not before:  # joining is no part of it
                    before = done
                    counted.received, began = 0, (time.perf_counter(), time.process_time())
            elapsed, used = time.perf_counter() - began[0], time.process_time() - began[1]
    finally:
        member.close()
        RangeCore.__init__ = original  # type: ignore[method-assign]
    measured = done - before
    return {
        "bytes/record": counted.received / measured,
        "us/record": used / measured * 1e6,
        "records/s": measured / elapsed,
    }


def main() -> None:
    rows: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    with ExitStack() as stack:
        address = ARGUMENTS.address
        if not address:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            address = stack.enter_context(leaselog(ARGUMENTS.durability, home)).address
        make_topic(address, TOPIC)
        payload = os.urandom(ARGUMENTS.size)
        fill(address, TOPIC, (payload for _ in range(ARGUMENTS.records)), linger_ms=5)
        for number in range(ARGUMENTS.rounds):
            for ranges_only in rows:
                group = f"driver-{os.getpid()}-{number}-{ranges_only}"
                begin_group(address, group)
                rows[ranges_only].append(
                    drain(address, group, ranges_only=ranges_only, records=ARGUMENTS.records)
                )
    for ranges_only, runs in rows.items():
        medians = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        told = "ranges alone" if ranges_only else "with records"
        print(f"{told}: " + ", ".join(f"{value:,.2f} {name}" for name, value in medians.items()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--durability", default="fsync")
    parser.add_argument("--address", help="a broker that runs already")
    return parser.parse_args()


if __name__ == "__main__":
    ARGUMENTS = arguments()
    main()

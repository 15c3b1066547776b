"""A real broker with fifty share consumers for some minutes, restarted again and again, watched and judged.

python tests/soak/soak.py --minutes 10

Half of the consumers are librdkafka's, half are leaselog's. They accept, release, reject, are late, go away and are
killed; what fails for good becomes a dead letter. In the first half of the time the broker is stopped and killed in
turn; in the second it runs through, and what it holds must not grow. Exits 1 if the checker finds a violation, if
something is not done in the end, or if memory or descriptors grow beyond what is named here.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from crash.share_workers import ShareWorkers
from crash.storm import Storm
from crash.test_share_sigkill import (
    LIMIT,
    LOCK_MS,
    PARTITIONS,
    SETTINGS,
    dead_letters,
    drain,
    log_ends,
    out_of_deliveries,
    produced,
)
from interop.broker_process import BrokerProcess
from interop.confluent_io import create_topic
from interop.share_state import offsets_of
from interop.test_share_librdkafka import set_group
from leaselog.testing.share_history import BrokerDied, Event
from leaselog.testing.share_history_check import Rules, Verdict, judge
from soak.gauges import Growth, Reading, growth, read_process

PROCESSES, CONSUMERS = 5, 5  # of each library
BURST, PAUSE_S = 4, 0.1
#: share of the time in which the broker is restarted
RESTARTED = 0.5
RESTART_EVERY_S = 20.0
READ_EVERY_S = 2.0
#: In the undisturbed part, once a third of it has passed. What is kept of a record in the log is a few bytes of index.
WARM_UP = 1 / 3
MEMORY_MB_PER_MINUTE = 2.0
DESCRIPTORS_PER_MINUTE = 2.0
#: below that the undisturbed part is too short for a slope to mean anything
LEAST_MINUTES = 2.0
ROWS = 14


@dataclass(slots=True)
class Soak:
    minutes: float
    home: Path
    seed: int
    began_s: float = field(default_factory=time.monotonic)
    readings: list[Reading] = field(default_factory=list)
    history: list[Event] = field(default_factory=list)
    stops: int = 0
    kills: int = 0

    def run(self) -> tuple[Verdict, dict[str, int]]:
        """The checker's verdict, and what is left undone."""
        chance = random.Random(self.seed)
        broker = BrokerProcess(self.home / "broker", SETTINGS)
        broker.start()
        topic = create_topic(broker, "orders", PARTITIONS)
        dead = create_topic(broker, "dlq.orders", 2, {"errors.deadletterqueue.group.enable": "true"})
        group = set_group(
            broker,
            "packing",
            errors_deadletterqueue_topic_name=dead,
            errors_deadletterqueue_copy_record_enable="true",
        )
        storm = Storm(0, broker.address, topic, PARTITIONS, idempotent=True, burst=BURST, pause_s=PAUSE_S)
        workers = ShareWorkers(broker.address, topic, group, self.home / "histories", self.seed)
        try:
            workers.start_librdkafka(PROCESSES, CONSUMERS)
            workers.start_leaselog(PROCESSES, CONSUMERS)
            storm.start()
            workers.wait_until_all_have_records()
            self.began_s = time.monotonic()
            self._restart(broker, storm, workers, chance, group)
            self._watch(broker, storm, group, 60 * self.minutes)
            storm.stop()
            workers.stop()
            self.history += [*produced(storm), *workers.histories(), *drain(broker, group, topic)]
            rules = Rules(
                LIMIT,
                LOCK_MS,
                log_ends(broker, topic),
                out_of_deliveries(broker, group),
                dead_letters=dead_letters(broker, dead),
            )
            left = {
                f"{name}-{partition}": told.lag
                for (name, partition), told in offsets_of(broker, group).items()
            }
            return judge(self.history, rules), {where: lag for where, lag in left.items() if lag}
        finally:
            workers.kill()
            broker.stop()

    def _restart(
        self, broker: BrokerProcess, storm: Storm, workers: ShareWorkers, chance: random.Random, group: str
    ) -> None:
        end_s = 60 * self.minutes * RESTARTED
        while True:
            next_s = self._now_s() + min(RESTART_EVERY_S, end_s / 2) * chance.uniform(0.7, 1.0)
            if next_s > end_s:
                return
            self._watch(broker, storm, group, next_s)
            if (self.stops + self.kills) % 2:
                # A stop keeps its members and loses its leases: as little is held after it as after a death.
                self.history.append(BrokerDied(time.monotonic_ns()))
                broker.stop()
                self.stops += 1
            else:
                self.history.append(BrokerDied(time.monotonic_ns()))
                broker.kill()
                self.kills += 1
                workers.replace_one(chance, CONSUMERS)
            broker.start()

    def _watch(self, broker: BrokerProcess, storm: Storm, group: str, until_s: float) -> None:
        while self._now_s() < until_s:
            assert broker.is_running(), f"the broker has ended by itself\n{broker.log_tail()}"
            lag = sum(told.lag for told in offsets_of(broker, group).values())
            self.readings.append(
                Reading(
                    self._now_s(), self.stops + self.kills, *read_process(broker.pid), lag, storm.sent.total()
                )
            )
            time.sleep(max(0.0, min(READ_EVERY_S, until_s - self._now_s())))

    def _now_s(self) -> float:
        return time.monotonic() - self.began_s


def complaints(verdict: Verdict, left: dict[str, int], grown: Growth | None) -> list[str]:
    found = [
        f"{violation.rule} at {violation.place}: {violation.story}"[:2000]
        for violation in verdict.violations[:5]
    ]
    found += [f"{lag} records of {where} are not done" for where, lag in left.items()]
    if grown is not None and grown.minutes >= LEAST_MINUTES:
        if grown.memory_mb_per_minute > MEMORY_MB_PER_MINUTE:
            found.append(f"memory grows by {grown.memory_mb_per_minute:.2f} MB a minute")
        if grown.descriptors_per_minute > DESCRIPTORS_PER_MINUTE:
            found.append(f"descriptors grow by {grown.descriptors_per_minute:.2f} a minute")
    return found


def tell(soak: Soak, verdict: Verdict, grown: Growth | None, wrong: list[str]) -> None:
    print(f"{'minute':>8}{'life':>6}{'MB':>8}{'open':>6}{'threads':>9}{'lag':>8}{'produced':>11}")
    for reading in soak.readings[:: max(1, len(soak.readings) // ROWS)]:
        print(
            f"{reading.at_s / 60:8.1f}{reading.life:6}{reading.memory_mb:8.1f}{reading.descriptors:6}"
            f"{reading.threads:9}{reading.lag:8}{reading.produced:11,}"
        )
    print(f"{soak.kills} times killed, {soak.stops} times stopped; seed {soak.seed}")
    if grown is not None:
        print(
            f"in the last {grown.minutes:.1f} minutes: {grown.first.memory_mb:.1f} to {grown.last.memory_mb:.1f} MB, "
            f"{grown.memory_mb_per_minute:+.2f} MB and {grown.descriptors_per_minute:+.2f} descriptors a minute"
        )
    print(", ".join(f"{count:,} {what}" for what, count in sorted(verdict.seen.items())))
    print(
        "\n".join(wrong)
        if wrong
        else f"no violation in {len(soak.history):,} events, and nothing is left undone"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--out", type=Path, default=Path("out/soak"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leaselog-soak-", ignore_cleanup_errors=True) as home:
        soak = Soak(args.minutes, Path(home), args.seed)
        verdict, left = soak.run()
    grown = growth(soak.readings, 60 * args.minutes * (1 - RESTARTED) * WARM_UP)
    wrong = complaints(verdict, left, grown)
    tell(soak, verdict, grown, wrong)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "soak.json").write_text(json.dumps(_as_json(soak, verdict, grown, wrong), indent=1) + "\n")
    return 1 if wrong else 0


def _as_json(soak: Soak, verdict: Verdict, grown: Growth | None, wrong: list[str]) -> dict[str, Any]:
    return {
        "minutes": soak.minutes,
        "seed": soak.seed,
        "killed": soak.kills,
        "stopped": soak.stops,
        "events": len(soak.history),
        "seen": dict(verdict.seen),
        "growth": None if grown is None else asdict(grown),
        "wrong": wrong,
        "readings": [reading.as_json() for reading in soak.readings],
    }


if __name__ == "__main__":
    sys.exit(main())

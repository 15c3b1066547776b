"""Single jobs with Java's share consumer, for the rows that are about them: `bench/java/Jobs.java` does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO

from bench.setting import fill
from bench.stage import Stage

__all__ = ["Jobs", "do_jobs", "some_jobs", "topic_of_jobs", "wait_for"]

#: nobody does more in a second on two cores; a topic that runs dry is an error, not a slow broker
MOST_JOBS_S = 4_000
RAMP_S = 6
#: with what a record takes besides, a hundred and more go into a batch of a producer that has much to send
JOB_BYTES = 100
#: seconds of warm-up, and those that count: of a whole run, and of a quick one
FULL, QUICK = (4, 8), (1, 2)


@dataclass(frozen=True, slots=True)
class Jobs:
    accepted: int
    released: int
    seconds: int
    p50_ms: float
    p99_ms: float
    broker_processor_s: float

    @property
    def accepted_s(self) -> float:
        return self.accepted / self.seconds


def topic_of_jobs(stage: Stage, *, each_alone: bool = False) -> tuple[str, int]:
    """One partition of jobs, and how many. Every case's own group begins with the first.

    They lie in batches of 16 KB, as Java's producer sends them when it has many; or each is a batch of its own.
    """
    count = stage.size(MOST_JOBS_S * (sum(FULL) + RAMP_S), 12_000)
    batches = (
        {"linger_ms": 0, "batch_num_messages": 1} if each_alone else {"linger_ms": 5, "batch_size": 16_384}
    )

    def filled() -> str:
        # nothing is produced while the clock runs; Kafka would sync every one of these by itself
        topic = stage.topic(flush_messages=str(2**63 - 1))
        jobs = (b"job %d" % number + bytes(JOB_BYTES) for number in range(count))
        fill(stage.address, topic, jobs, acks=1, **batches)
        return topic

    return stage.once(f"jobs, {each_alone=}", filled), count


def do_jobs(
    stage: Stage,
    topic: str,
    count: int,
    consumers: int,
    *,
    work_us: int = 0,
    release_every: int = 0,
    retry_backoff_ms: int = 0,
    fetch_max_bytes: int = 0,
) -> Jobs:
    """By a group of its own, from the first record; the broker's processor is that of the seconds that count."""
    pause = {"share_retry_backoff_ms": str(retry_backoff_ms)} if retry_backoff_ms else {}
    group = stage.group(topic, 1, **pause)
    warm_s, seconds = stage.size(FULL, QUICK)
    with _consuming(
        stage, topic, group, consumers, warm_s, seconds, work_us, release_every, fetch_max_bytes
    ) as said:
        wait_for(said, "BEGIN")
        with stage.processor() as spent:
            wait_for(said, "END")
        accepted, released, last, p50, p99 = map(int, said.readline().split())
    if last >= count - consumers:
        raise RuntimeError(f"the topic ran dry: offset {last} of {count} was seen")
    if accepted <= 0:
        raise RuntimeError("no job was done while the clock ran")
    return Jobs(accepted, released, seconds, p50 / 1e3, p99 / 1e3, spent.seconds)


def some_jobs(stage: Stage, seconds: int) -> None:
    """Eight consumers at work for so long, and nobody looks at how fast."""
    topic, _ = topic_of_jobs(stage)
    with _consuming(stage, topic, stage.group(topic), consumers=8, warm_s=0, seconds=seconds) as said:
        wait_for(said, "END")
        said.readline()


def _consuming(
    stage: Stage,
    topic: str,
    group: str,
    consumers: int,
    warm_s: int,
    seconds: int,
    work_us: int = 0,
    release_every: int = 0,
    fetch_max_bytes: int = 0,
) -> AbstractContextManager[IO[str]]:
    """What the consumers say; zeros are what Java's has by default."""
    return stage.java.running(
        "bench.Jobs", stage.address, topic, group, consumers, warm_s, seconds, work_us, release_every,
        fetch_max_bytes,
    )  # fmt: skip


def wait_for(said: IO[str], awaited: str) -> None:
    lines: Iterator[str] = iter(said.readline, "")
    if not any(line.strip() == awaited for line in lines):
        raise RuntimeError(f"the consumers ended before {awaited}")

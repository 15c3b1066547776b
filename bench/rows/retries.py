"""What it costs that records come back, at once or after a pause: one in a hundred, one in ten, every one of them."""

from __future__ import annotations

from bench.frame import LEASELOG, Case, Measured, Metric, Row
from bench.single_jobs import do_jobs, topic_of_jobs
from bench.stage import Stage

CONSUMERS = 8
#: short: what waits takes room in the window, which holds 2,000
PAUSE_MS = 100


def measure(stage: Stage, case: Case) -> Measured:
    topic, count = topic_of_jobs(stage)
    every, pause_ms = case.values["every"], case.values["pause_ms"]
    jobs = do_jobs(stage, topic, count, CONSUMERS, release_every=every, retry_backoff_ms=pause_ms)
    if not jobs.released and jobs.accepted > 10 * every:  # a quick run may see none of one in a hundred
        raise RuntimeError("no record was released")
    values = {"jobs/s": jobs.accepted_s, "p50": jobs.p50_ms}
    return Measured(values, jobs.accepted, jobs.broker_processor_s)


ROW = Row(
    name="retries",
    title="records released once, at once again or after a pause, eight consumers",
    client="as the job queue's",
    metrics=(
        Metric("jobs/s", "accepted, 1/s"),
        Metric("p50", "ms of an acknowledgement", bigger_is_better=False),
    ),
    cases=tuple(
        Case(f"{part}, {word}", {"every": every, "pause_ms": pause_ms})
        for part, every in (("1 %", 100), ("10 %", 10), ("100 %", 1))
        for word, pause_ms in (("at once", 0), (f"after {PAUSE_MS} ms", PAUSE_MS))
    ),
    measure=measure,
    case_s=30,
    operation="job",
    kinds=(LEASELOG,),
    only_when_named=True,
)

"""What retries cost: the job queue, with every tenth record released when it comes first, against none."""

from __future__ import annotations

from bench.frame import Case, Measured, Metric, Row
from bench.single_jobs import do_jobs, topic_of_jobs
from bench.stage import Stage

CONSUMERS = 8
EVERY = 10


def measure(stage: Stage, _: Case) -> Measured:
    topic, count = topic_of_jobs(stage)
    without = do_jobs(stage, topic, count, CONSUMERS)
    jobs = do_jobs(stage, topic, count, CONSUMERS, release_every=EVERY)
    if not jobs.released:
        raise RuntimeError("no record was released")
    values = {"jobs/s": jobs.accepted_s, "of without": 100 * jobs.accepted_s / without.accepted_s}
    return Measured(values, jobs.accepted, jobs.broker_processor_s)


ROW = Row(
    name="rejects",
    title="every tenth record released once, eight consumers",
    client="as the job queue's",
    metrics=(Metric("jobs/s", "accepted, 1/s"), Metric("of without", "% of the jobs/s without releases")),
    cases=(Case("every tenth released"),),
    measure=measure,
    case_s=34,
    operation="job",
)

"""How consumers of one partition add up when every job takes five milliseconds."""

from __future__ import annotations

from bench.frame import Case, Measured, Metric, Row
from bench.single_jobs import do_jobs, topic_of_jobs
from bench.stage import Stage

WORK_US = 5_000


def measure(stage: Stage, case: Case) -> Measured:
    consumers = case.values["consumers"]
    topic, count = topic_of_jobs(stage)
    jobs = do_jobs(stage, topic, count, consumers, work_us=WORK_US)
    ideal_s = consumers * 1e6 / WORK_US
    values = {"efficiency": 100 * jobs.accepted_s / ideal_s, "jobs/s": jobs.accepted_s}
    return Measured(values, jobs.accepted, jobs.broker_processor_s)


ROW = Row(
    name="scaling",
    title="5 ms of work a job, one partition; ideal is that a job takes its work and nothing else",
    client="as the job queue's, all consumers in one JVM",
    metrics=(Metric("efficiency", "% of ideal"), Metric("jobs/s", "1/s")),
    cases=tuple(
        Case(f"{consumers} consumer{'s' * (consumers > 1)}", {"consumers": consumers})
        for consumers in (1, 4, 16, 64)
    ),
    measure=measure,
    case_s=16,
    operation="job",
    quick=("4 consumers",),
    durabilities=("os",),  # it is about waiting for each other; what a sync costs a job the job queue tells
)

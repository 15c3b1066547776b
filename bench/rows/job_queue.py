"""The job queue: poll one, accept it, commit, by more and more consumers of one partition."""

from __future__ import annotations

from bench.frame import Case, Measured, Metric, Row
from bench.single_jobs import do_jobs, topic_of_jobs
from bench.stage import Stage


def measure(stage: Stage, case: Case) -> Measured:
    topic, count = topic_of_jobs(stage)
    jobs = do_jobs(stage, topic, count, case.values["consumers"])
    values = {"jobs/s": jobs.accepted_s, "p50": jobs.p50_ms, "p99": jobs.p99_ms}
    return Measured(values, jobs.accepted, jobs.broker_processor_s)


ROW = Row(
    name="job-queue",
    title="one record a poll, acknowledged and committed, one partition",
    client="Java `KafkaShareConsumer`, explicit, record_limit, max.poll.records=1, commitSync for each",
    metrics=(
        Metric("jobs/s", "1/s"),
        Metric("p50", "ms a cycle", bigger_is_better=False),
        Metric("p99", "ms a cycle", bigger_is_better=False, target=10),
    ),
    cases=tuple(
        Case(f"{consumers} consumer{'s' * (consumers > 1)}", {"consumers": consumers}, {"jobs/s": target})
        for consumers, target in ((1, 5.0), (8, 10.0), (32, 10.0))
    ),
    measure=measure,
    case_s=28,
    operation="job",
    quick=("8 consumers",),
)

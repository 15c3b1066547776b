"""The job queue: poll one, accept it, commit, by more and more consumers of one partition."""

from __future__ import annotations

from bench.frame import Case, Measured, Metric, Row
from bench.single_jobs import do_jobs, topic_of_jobs
from bench.stage import Stage


def measure(stage: Stage, case: Case) -> Measured:
    topic, count = topic_of_jobs(stage, each_alone=case.values.get("each_alone", False))
    fetch_max_bytes = case.values.get("fetch_max_bytes", 0)
    jobs = do_jobs(stage, topic, count, case.values["consumers"], fetch_max_bytes=fetch_max_bytes)
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
    cases=(
        Case("1 consumer", {"consumers": 1}, {"jobs/s": 5.0}),
        Case("8 consumers", {"consumers": 8}, {"jobs/s": 10.0}),
        Case("32 consumers", {"consumers": 32}, {"jobs/s": 10.0}),
        # a share fetch of Kafka's goes through all the batches there are up to that many bytes, for one job as for many
        Case("8 consumers, each job a batch", {"consumers": 8, "each_alone": True}, {"jobs/s": 10.0}),
        Case(
            "the same with fetch.max.bytes=16384",
            {"consumers": 8, "each_alone": True, "fetch_max_bytes": 16_384},
            {"jobs/s": 10.0},
        ),
    ),
    measure=measure,
    case_s=18,
    operation="job",
    quick=("8 consumers",),
)

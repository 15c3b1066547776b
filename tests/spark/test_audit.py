"""The pipeline's job on a local Spark, and the audit that has to notice whatever is done to its output afterwards."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from interop.confluent_io import producer_of
from leaselog.cli import audit as command
from leaselog.cli.audit_history import judged
from leaselog.cli.main import main
from leaselog.spark.orders import is_malformed, order
from leaselog.spark.verdicts import ACCEPTED, ARCHIVED, Suspect
from spark.begun import QUERY_S
from spark.queries import Queue

#: on the edge of the outage in which three deliveries fail
NUMBERS = range(89_700, 90_300)


@pytest.fixture
def done(spark: Any, queue: Callable[..., Queue]) -> tuple[Queue, Path]:
    """Orders that the job is through with, and its output."""
    from leaselog.spark import orders_job

    made = queue(0, partitions=2)
    producer = producer_of(made.broker)
    for number in NUMBERS:
        key, value = order(number)
        producer.produce(made.topic, value, key=key, partition=number % 2)
    assert producer.flush(60) == 0
    output = made.home / "orders"
    query = orders_job.start(spark, made.options(parallelism=3), str(output), str(made.home / "checkpoint"))
    try:
        assert query.awaitTermination(QUERY_S), query.lastProgress
    finally:
        query.stop()
    return made, output


def test_every_order_is_accounted_for_and_what_is_done_to_the_output_shows(
    spark: Any, done: tuple[Queue, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from leaselog.spark.audit import audit
    from leaselog.spark.orders_job import expected

    made, output = done
    malformed = sum(map(is_malformed, NUMBERS))
    verdict = audit(spark, made.broker.address, made.topic, made.group, str(output), expected)
    assert not verdict.wrong
    assert (verdict.total(ACCEPTED), verdict.total(ARCHIVED)) == (len(NUMBERS) - malformed, malformed)
    assert set(verdict.by_deliveries) == {1, 2, 4}, "the first delivery fails for some, three in the outage"
    assert sum(verdict.faults.values()) == malformed
    assert len(verdict.faults) == 3
    assert wrong_places(spark, made, output) == set(), "one standard for simulation, SIGKILL and Spark"

    found = sabotage(output)
    verdict = audit(spark, made.broker.address, made.topic, made.group, str(output), expected)
    assert verdict.wrong == {why: len(places) for why, places in found.items()}
    every_place = {Suspect(why, *place) for why, places in found.items() for place in places}
    assert verdict.suspects
    assert set(verdict.suspects) <= every_place
    assert wrong_places(spark, made, output) == {place for places in found.values() for place in places}

    @contextmanager
    def session(*_: object) -> Iterator[Any]:
        yield spark

    monkeypatch.setattr(command, "spark_session", session)
    options = {"--topic": made.topic, "--group": made.group, "--output": str(output)}
    words = [word for pair in options.items() for word in pair]
    words += ["--history", str(made.home / "history.jsonl")]
    assert main(["audit", "--bootstrap-server", made.broker.address, *words]) == 1
    printed = capsys.readouterr()
    assert (
        f"{len(found['in the output more than once']):,} records in the output more than once" in printed.err
    )
    assert "accepted, not in the output" in printed.out
    assert f"the history has {len(found['in the output more than once']):,} records undone" in printed.err
    assert len((made.home / "history.jsonl").read_text().splitlines()) > 3 * len(NUMBERS)


def wrong_places(spark: Any, made: Queue, output: Path) -> set[tuple[int, int]]:
    """Where the checker of the simulations finds something in what the audit saw."""
    from leaselog.spark.audit import overlaid, records_seen
    from leaselog.spark.orders_job import expected

    found = overlaid(spark, made.broker.address, made.topic, made.group, str(output), expected)
    verdict, _ = judged(records_seen(found))
    assert verdict.seen["records"] == len(NUMBERS)
    return {(violation.place.partition, violation.place.offset) for violation in verdict.violations}


def sabotage(output: Path) -> dict[str, list[tuple[int, int]]]:
    """Deletes a file, doubles one, changes a row and moves one to an offset that never was; which records they hold."""
    for checksum in output.rglob(".*.crc"):
        checksum.unlink()
    files = sorted(output.rglob("*.parquet"), key=lambda file: -pq.read_metadata(file).num_rows)
    deleted, doubled, changed, moved = files[:4]
    found = {
        "accepted, not in the output": places(deleted),
        "in the output more than once": places(doubled),
        "in the output, but changed": places(changed)[:1],
        "in the output, not in the topic": [(places(moved)[0][0], 1_000_000)],
    }
    found["accepted, not in the output"] += places(moved)[:1]
    deleted.unlink()
    shutil.copy(doubled, doubled.with_name("part-once-more.parquet"))
    rewrite(changed, "total_cents", lambda cents: cents + 1)
    rewrite(moved, "offset", lambda offset: 1_000_000)
    return found


def places(file: Path) -> list[tuple[int, int]]:
    rows = pq.read_table(file, columns=["partition", "offset"], partitioning=None).to_pylist()
    return [(row["partition"], row["offset"]) for row in rows]


def rewrite(file: Path, column: str, change: Callable[[int], int]) -> None:
    """Changes the first row."""
    table = pq.read_table(file, partitioning=None)
    first, *rest = table.column(column).to_pylist()
    at = table.schema.get_field_index(column)
    field = table.schema.field(at)
    changed = table.set_column(at, field, pa.array([change(first), *rest], field.type))
    pq.write_table(changed, file, use_deprecated_int96_timestamps=True)  # as Spark writes them

"""What the tasks of kafka-dead-letters read, without Spark, of letters as brokers write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import Sent, create_topic, produce
from interop.test_redrive import letters
from leaselog.admin import Admin
from leaselog.client import ConfigError
from leaselog.spark.letter_options import LetterOptions
from leaselog.spark.letter_reader import LetterReader, look_up_letter_tasks


def rows(broker: BrokerProcess, **given: str) -> list[dict[str, Any]]:
    named = {name.replace("_", "."): value for name, value in given.items()}
    options = LetterOptions.of({"kafka.bootstrap.servers": broker.address, "parallelism": "3", **named})
    reader, tasks = LetterReader(options), look_up_letter_tasks(options)
    assert len(tasks) == 3
    found = [row for task in tasks for batch in reader.batches(task) for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["letter_partition"], row["letter_offset"]))


@pytest.mark.on_kafka
def test_letters_are_rows_with_what_the_records_know_and_whether_they_were_put_back(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    topic, dead = (
        create_topic(broker, fresh("topic"), partitions=2),
        create_topic(broker, fresh("dead"), partitions=2),
    )
    group, other = fresh("group"), fresh("other")
    sent = [Sent(b"k%d" % n, b"v%d" % n, (("n", b"%d" % n),), n % 2) for n in range(10)]
    produce(broker, topic, sent)
    copied = letters(topic, group, sent, count=4)
    bare = [Sent(None, None, one.headers, one.partition) for one in letters(topic, other, sent[:2])]
    produce(
        broker, dead, [*(Sent(one.key, one.value, one.headers, n % 2) for n, one in enumerate(copied)), *bare]
    )
    with Admin(broker.address) as admin:
        assert admin.redrive(group, topic=dead, where=["partition=1"]).redriven == 5
    mine = rows(broker, kafka_share_group_id=group, topic=dead)
    assert [row["value"] for row in mine] == [b"v%d" % n for n in (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)]
    assert {(r["group_id"], r["topic"], r["delivery_count"], r["letter_topic"]) for r in mine} == {
        (group, topic, 4, dead)
    }
    assert [(row["partition"], row["offset"]) for row in mine] == [(p, n) for p in range(2) for n in range(5)]
    assert [row["settled"] for row in mine] == [False] * 5 + [True] * 5
    assert mine[3]["headers"] == [{"key": "n", "value": b"6"}]
    everybodys = rows(broker, topic=dead)
    assert len(everybodys) == 12
    assert {row["settled"] for row in everybodys} == {None}
    theirs = [row for row in everybodys if row["group_id"] == other]
    assert [(row["key"], row["value"]) for row in theirs] == [(b"k0", b"v0"), (b"k1", b"v1")]
    unread = [row for row in rows(broker, topic=dead, readOriginals="false") if row["group_id"] == other]
    assert [(row["value"], row["headers"]) for row in unread] == [(None, None), (None, None)]


def test_a_group_without_a_dead_letter_topic_is_an_error_that_names_the_option(
    broker: BrokerProcess, fresh: Callable[[str], str]
) -> None:
    with pytest.raises(
        ConfigError, match=r"has no dead-letter topic: .* is not set; the option topic names one"
    ):
        rows(broker, kafka_share_group_id=fresh("group"))

"""Options of kafka-dead-letters, and its columns."""

from __future__ import annotations

import pytest
from dead_letter_box import a_letter

from leaselog.admin.dead_letters.letter import read_letter
from leaselog.client import ConfigError
from leaselog.model import TopicPartition
from leaselog.spark.letter_options import LetterOptions
from leaselog.spark.letter_rows import letter_arrow_schema, letter_batch, letter_row
from leaselog.wire.records import Record

SERVERS = {"kafka.bootstrap.servers": "host:9092"}


def test_a_group_or_a_topic_says_which_letters() -> None:
    options = LetterOptions.of({**SERVERS, "kafka.share.group.id": "g", "parallelism": "3"})
    assert (options.group_id, options.topic, options.parallelism, options.read_originals) == (
        "g",
        None,
        3,
        True,
    )
    options = LetterOptions.of({**SERVERS, "TOPIC": "dlq", "readoriginals": "false"})
    assert (options.group_id, options.topic, options.read_originals) == (None, "dlq", False)
    with pytest.raises(ConfigError, match=r"the option kafka\.share\.group\.id is missing, or topic"):
        LetterOptions.of(SERVERS)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("subscribe", "t", "use topic"),
        ("startingOffsets", "earliest", "all letters that the topic has"),
        ("kafka.group.id", "g", "kafka.share.group.id"),
        ("includeHeaders", "true", "always there"),
        ("readOriginals", "yes", "expected true or false"),
        ("kafka.security.protocol", "SASL_SSL", "sasl.mechanism is missing"),
        ("readOriginal", "true", r"readOriginals\?"),
    ],
)
def test_options_that_would_lie_are_refused_by_name(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        LetterOptions.of({**SERVERS, "topic": "dlq", name: value})


def test_a_row_has_what_the_letter_says_and_what_only_the_record_knows() -> None:
    place = TopicPartition("dlq", 2)
    found = read_letter(a_letter("orders", 1, 7, None)._replace(offset=99), place)
    assert found is not None
    own = [("trace", b"1"), ("b\udcff", None), ("__dlq.redrive.hops", b"2"), ("__dlq.redrive.letter", b"x")]
    batch = letter_batch([letter_row(found, None, None), letter_row(found, Record(b"k", b"v", own), True)])
    assert batch.schema == letter_arrow_schema()
    bare, full = batch.to_pylist()
    assert full | {"time": None} == {
        "group_id": "packing",
        "topic": "orders",
        "partition": 1,
        "offset": 7,
        "delivery_count": 5,
        "cause": "Offset rejected by client.",
        "time": None,
        "key": b"k",
        "value": b"v",
        "headers": [{"key": "trace", "value": b"1"}, {"key": "b�", "value": None}],
        "redrive_hops": 2,
        "settled": True,
        "letter_topic": "dlq",
        "letter_partition": 2,
        "letter_offset": 99,
    }
    lacks = {"key": None, "value": None, "headers": None, "redrive_hops": 0, "settled": None}
    assert bare == {**full, **lacks}
    assert full["time"].timestamp() == 1_700_000_000

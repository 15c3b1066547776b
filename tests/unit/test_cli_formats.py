"""Text in and out of the console tools, in Apache's formats."""

from __future__ import annotations

import json
import os
import sys

import pytest

from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.cli.line_reader import LineFormat, read_line
from leaselog.cli.output import check_reader, print_table, progress_line
from leaselog.cli.producer_perf_test import Latencies, Throttle
from leaselog.cli.record_format import RecordFormat, as_json, as_line, shown
from leaselog.model import TopicPartition
from leaselog.wire.record_batch import BatchHeader, read_header
from leaselog.wire.records import Record, build_batch

WHERE = TopicPartition("orders", 2)
RECORD = Record(b"k", b"v", (("h1", b"x"), ("h2", None)), 1000, 7)
EVERYTHING = {
    f"print.{what}": "true" for what in ("timestamp", "partition", "offset", "epoch", "headers", "key")
}


def header(log_append_time_ms: int | None = None) -> BatchHeader:
    return read_header(build_batch([RECORD], leader_epoch=3, log_append_time_ms=log_append_time_ms))


def line(record: Record, **properties: str) -> bytes:
    form = RecordFormat.from_properties({key.replace("_", "."): value for key, value in properties.items()})
    return as_line(shown(WHERE, header(), record), form)


def test_a_record_is_its_value_unless_more_is_asked_for() -> None:
    assert line(RECORD) == b"v\n"


def test_everything_of_a_record_in_apaches_order() -> None:
    form = RecordFormat.from_properties(EVERYTHING)
    text = as_line(shown(WHERE, header(), RECORD), form)
    assert text == b"CreateTime:1000\tPartition:2\tOffset:7\tEpoch:3\th1:x,h2:null\tk\tv\n"
    assert as_line(shown(WHERE, header(5), RECORD), form).startswith(b"LogAppendTime:1000\t")


def test_what_is_not_there_has_a_name() -> None:
    bare = Record(None, None)
    shown = line(bare, print_key="true", print_headers="true", print_timestamp="true", null_literal="NIL")
    assert shown == b"NO_TIMESTAMP\tNO_HEADERS\tNIL\tNIL\n"


def test_separators_are_the_users_and_bytes_pass_unchanged() -> None:
    shown = line(Record(b"\xff", b"\xfe"), print_key="true", key_separator="|", line_separator=";")
    assert shown == b"\xff|\xfe;"


def test_json_says_what_is_base64() -> None:
    told = json.loads(as_json(shown(WHERE, header(), Record(None, b"\xff", (("h", b"\xfe"),), 5, 1))))
    assert told == {
        "topic": "orders",
        "partition": 2,
        "offset": 1,
        "timestamp": 5,
        "timestampType": "CreateTime",
        "key": None,
        "valueBase64": "/w==",
        "headers": [{"key": "h", "valueBase64": "/g=="}],
    }


def test_java_deserializers_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="Java classes cannot be loaded"):
        RecordFormat.from_properties({"value.deserializer": "org.example.Avro"})


@pytest.mark.parametrize(
    ("text", "properties", "record"),
    [
        (b"just a value", {}, Record(None, b"just a value")),
        (b"k\tv\tw", {"parse.key": "true"}, Record(b"k", b"v\tw")),
        (b"k=v", {"parse.key": "true", "key.separator": "="}, Record(b"k", b"v")),
        (b"h1:v1,h2:v2\tk\tv", {"parse.key": "true", "parse.headers": "true"},
         Record(b"k", b"v", (("h1", b"v1"), ("h2", b"v2")))),
        (b"-\tv", {"parse.key": "true", "null.marker": "-"}, Record(None, b"v")),
        (b"k\t-", {"parse.key": "true", "null.marker": "-"}, Record(b"k", None)),
        (b"h:-\tv", {"parse.headers": "true", "null.marker": "-"}, Record(None, b"v", (("h", None),))),
        (b"no key", {"parse.key": "true", "ignore.error": "true"}, Record(None, b"no key")),
        (b"", {}, Record(None, b"")),
    ],
)  # fmt: skip
def test_a_line_becomes_a_record(text: bytes, properties: dict[str, str], record: Record) -> None:
    assert read_line(text, 1, LineFormat.from_properties(properties)) == record


def test_a_line_without_its_separator_is_named() -> None:
    form = LineFormat.from_properties({"parse.key": "true"})
    with pytest.raises(CommandFailed, match="No key separator found on line number 3: 'abc'"):
        read_line(b"abc", 3, form)


def test_separators_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(UsageError, match="must differ"):
        LineFormat.from_properties({"parse.headers": "true", "headers.separator": ":"})
    with pytest.raises(UsageError, match="must differ"):
        LineFormat.from_properties({"null.marker": ","})


def test_a_table_where_nobody_looks_is_aligned_by_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("Name", "Count"), [("a", 5), ("longer", 1234)], right=("Count",))
    assert capsys.readouterr().out == "Name    Count\na           5\nlonger   1234\n"


def test_a_progress_line_knows_how_far_it_is() -> None:
    assert progress_line("sent", 5000, 20000, 2.0) == "sent: 5,000 of 20,000 (25 %), 2,500/s"
    assert progress_line("read", 10, None, 5.0) == "read: 10, 2/s"


def test_half_a_record_a_second_waits_two_seconds_for_each() -> None:
    throttle = Throttle(0.5, began_s=100.0)
    assert throttle.wait_s(sent=1, now_s=100.0) == 2.0
    assert throttle.wait_s(sent=3, now_s=105.5) == 0.5
    assert throttle.wait_s(sent=3, now_s=109.0) == 0.0
    assert Throttle(-1, began_s=100.0).wait_s(sent=10**9, now_s=100.0) == 0.0


def test_percentiles_are_exact_below_a_second_and_close_above() -> None:
    seen = Latencies()
    for ms in range(1, 1001):
        seen.add(ms)
    assert [seen.percentile(share) for share in (0.5, 0.95, 0.99, 0.999)] == [500, 950, 990, 999]
    assert (seen.average_ms, seen.max_ms) == (500.5, 1000)
    slow = Latencies()
    slow.add(10_000)
    slow.add(20_000)
    assert 10_000 <= slow.percentile(0.5) <= 10_200
    assert slow.percentile(0.99) == 20_000


def test_latencies_take_a_bounded_room_and_any_number() -> None:
    seen = Latencies()
    for ms in (0, 10**9):
        seen.add(ms)
    assert seen.percentile(0.999) <= seen.max_ms == 10**9


def test_a_reader_that_left_is_noticed_without_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        check_reader()
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            check_reader()
        monkeypatch.undo()

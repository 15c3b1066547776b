"""The console share consumer on records that are handed to it: what is printed, and what becomes of each."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.console_share_consumer import Printing, _group_id, add_arguments, printer, share_consumer
from leaselog.cli.text_deserializers import NAMES, to_text
from leaselog.client import AcknowledgeType, ShareRecord, TopicIdPartition
from leaselog.client.share.acknowledgements import Lease, SessionLife
from leaselog.model import TopicId

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
WHERE = TopicIdPartition("t", 3, TopicId(UUID(int=1)))


def records(*values: bytes | None, key: bytes | None = b"k", delivery_count: int = 1) -> list[Any]:
    lease = Lease(WHERE, 0, SessionLife(), deadline_ms=30_000)
    return [
        ShareRecord(lease, i, delivery_count, raw_key=key, raw_value=value, timestamp_ms=1000)
        for i, value in enumerate(values)
    ]


class Source:
    """Hands out these records, a list a poll, and notes what is said of each."""

    def __init__(self, *polls: Sequence[Any]) -> None:
        self.polls = list(polls)
        self.said = dict[int, AcknowledgeType]()
        self.waited = list[float]()

    async def poll(self, timeout: float) -> list[Any]:
        self.waited.append(timeout)
        return list(self.polls.pop(0)) if self.polls else []

    def acknowledge(self, record: Any, type: AcknowledgeType, /) -> None:
        self.said[record.offset] = type


def options(*words: str) -> argparse.Namespace:
    parser = Parser(prog="console-share-consumer")
    add_arguments(parser)
    return parser.parse_args(["--bootstrap-server", "x:1", "--topic", "t", *words])


def printed(source: Source, capsysbinary: pytest.CaptureFixture[bytes], *words: str) -> bytes:
    args = options(*words)
    asyncio.run(Printing(source, args, printer(args)).run())
    return capsysbinary.readouterr().out


@pytest.fixture(autouse=True)
def readers_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaselog.cli.print_loop.check_reader", lambda: None)


@pytest.mark.parametrize(
    ("words", "kind"), [((), ACCEPT), (("--release",), RELEASE), (("--reject",), REJECT)]
)
def test_what_was_printed_is_acknowledged_as_asked_for(
    words: tuple[str, ...], kind: AcknowledgeType, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = Source(records(b"a", b"b"))
    assert printed(source, capsysbinary, "--max-messages", "2", *words) == b"a\nb\n"
    assert source.said == {0: kind, 1: kind}


def test_what_is_more_than_was_wanted_is_not_acknowledged(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    source = Source(records(b"a", b"b", b"c"))
    assert printed(source, capsysbinary, "--max-messages", "1") == b"a\n"
    assert source.said == {0: ACCEPT}


def test_it_ends_when_nothing_came_for_so_long(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    source = Source(records(b"a"))
    assert printed(source, capsysbinary, "--timeout-ms", "20") == b"a\n"
    assert max(source.waited) <= 0.02


def test_everything_of_a_record_in_apaches_order(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    wanted = ("timestamp", "partition", "offset", "delivery", "epoch", "headers", "key")
    properties = [word for name in wanted for word in ("--formatter-property", f"print.{name}=true")]
    source = Source(records(b"v", delivery_count=4))
    assert printed(source, capsysbinary, "--max-messages", "1", *properties) == (
        b"CreateTime:1000\tPartition:3\tOffset:0\tDelivery:4\tEpoch:NOT_PRESENT\tNO_HEADERS\tk\tv\n"
    )


def test_json_tells_the_delivery_count(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    out = printed(Source(records(None, delivery_count=2)), capsysbinary, "--max-messages", "1", "--json")
    assert b'"deliveryCount": 2, "key": "k", "value": null' in out


def test_a_formatter_that_prints_nothing_acknowledges(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    source = Source(records(b"a"))
    silent = ("--formatter", "org.apache.kafka.tools.consumer.NoOpMessageFormatter")
    assert printed(source, capsysbinary, "--max-messages", "1", *silent) == b""
    assert source.said == {0: ACCEPT}


NUMBERS = ("--value-deserializer", "org.apache.kafka.common.serialization.IntegerDeserializer")


def test_a_record_that_cannot_be_shown_ends_it_unacknowledged(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    source = Source(records(b"\0\0\0\5", b"?", b"\0\0\0\6"))
    with pytest.raises(CommandFailed, match="t-3 offset 1: 1 bytes, expected 4"):
        printed(source, capsysbinary, *NUMBERS, "--timeout-ms", "20")
    assert capsysbinary.readouterr().out == b"5\n"
    assert source.said == {0: ACCEPT}


def test_or_it_is_rejected_and_the_rest_goes_on(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    source = Source(records(b"\0\0\0\5", b"?", b"\0\0\0\6"))
    words = (*NUMBERS, "--reject-message-on-error", "--release", "--max-messages", "3")
    assert printed(source, capsysbinary, *words) == b"5\n6\n"
    assert source.said == {0: RELEASE, 1: REJECT, 2: RELEASE}


def test_nothing_is_acknowledged_that_could_not_be_written(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    class Gone:
        def write(self, data: bytes) -> int:
            return len(data)

        def flush(self) -> None:
            raise BrokenPipeError

    class Stdout:
        buffer = Gone()

        def isatty(self) -> bool:
            return False

    source = Source(records(b"a"))
    monkeypatch.setattr("sys.stdout", Stdout())
    with pytest.raises(BrokenPipeError):
        printed(source, capsysbinary, "--max-messages", "1")
    assert source.said == {}


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("String", "grün".encode(), "grün".encode()),
        ("ByteArray", b"\xff", b"\xff"),
        ("Short", b"\xff\xfe", b"-2"),
        ("Long", b"\0\0\0\0\0\0\1\0", b"256"),
        ("Double", b"\x3f\xf8\0\0\0\0\0\0", b"1.5"),
        ("Boolean", b"\1", b"true"),
        ("UUID", b"00000000-0000-0000-0000-000000000001", b"00000000-0000-0000-0000-000000000001"),
    ],
)
def test_javas_deserializers_go_by_their_names(name: str, data: bytes, text: bytes) -> None:
    for spelled in (f"{name}Deserializer", f"org.apache.kafka.common.serialization.{name}Deserializer"):
        assert to_text("--value-deserializer", spelled)(data) == text


@pytest.mark.parametrize(
    ("name", "data"), [("String", b"\xff"), ("Long", b"1"), ("Boolean", b"\2"), ("UUID", b"1")]
)
def test_bytes_of_another_kind_are_an_error(name: str, data: bytes) -> None:
    with pytest.raises(ValueError):
        to_text("--value-deserializer", name)(data)


def test_a_deserializer_nobody_knows_is_refused_with_those_that_are() -> None:
    with pytest.raises(UsageError, match=NAMES[0]):
        to_text("--value-deserializer", "org.example.AvroDeserializer")


def test_the_group_is_named_once() -> None:
    assert _group_id(None, {}) == "console-share-consumer"
    assert _group_id(None, {"group.id": "g"}) == _group_id("g", {"group.id": "g"}) == "g"
    with pytest.raises(UsageError, match=r"--group g and group.id=h do not match"):
        _group_id("g", {"group.id": "h"})


def test_the_consumer_is_explicit_whatever_its_properties_say() -> None:
    values = {
        "share.acknowledgement.mode": "implicit",
        "max.poll.records": "7",
        "key.deserializer": "org.example.X",
    }
    config = share_consumer("x:1", "g", values).config
    assert (config.is_explicit, config.max_poll_records, config.client_id) == (True, 7, "g")
    with pytest.raises(UsageError, match=r"isolation.level cannot be set"):
        share_consumer("x:1", "g", {"isolation.level": "read_committed"})

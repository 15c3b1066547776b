"""`share-consumer-perf-test`: its lines, and when it is over."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest

from leaselog.cli.arguments import CommandFailed, Parser, UsageError
from leaselog.cli.main import main
from leaselog.cli.share_consumer_perf_test import (
    Span,
    _PerfTest,
    add_arguments,
    consumer_values,
    line,
    run,
    shown_time,
    strftime_of,
)
from leaselog.client import ConnectionLost

DEFAULT = strftime_of("yyyy-MM-dd HH:mm:ss:SSS")
RECORD = SimpleNamespace(raw_key=b"k", raw_value=b"x" * 1023)


class Source:
    """A share consumer with so many records to give, five a poll."""

    def __init__(self, count: int, *, explicit: bool = False, error: Exception | None = None) -> None:
        self.left = count
        self.acknowledged = 0
        self.committed = False
        self.config = SimpleNamespace(is_explicit=explicit)
        self.error = error

    def subscribe(self, topics: list[str]) -> None:
        assert topics == ["t"]

    async def __aenter__(self) -> Source:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def poll(self, timeout: float) -> list[Any]:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        given = min(5, self.left)
        self.left -= given
        return [RECORD] * given

    def acknowledge(self, record: object) -> None:
        self.acknowledged += 1

    async def commit_sync(self) -> None:
        self.committed = True

    def metrics(self) -> dict[tuple[str, str], float]:
        return {("g", "m"): 1.5}


def perf_test(*words: str) -> _PerfTest:
    parser = Parser(prog="perf")
    add_arguments(parser)
    args = parser.parse_args(["--bootstrap-server", "x:1", "--topic", "t", *words])
    args.strftime = DEFAULT
    return _PerfTest(args)


def test_options_win_over_properties_and_a_fetch_has_the_size_that_is_asked_for() -> None:
    properties = ("--command-property", "fetch.max.bytes=1", "--command-property", "client.id=me")
    test = perf_test("--num-records", "1", *properties, "--fetch-size", "4096")
    assert consumer_values(test._args) == {"client.id": "me", "fetch.max.bytes": "4096"}


def consumed(test: _PerfTest, *sources: Source) -> None:
    async def main() -> None:
        await asyncio.gather(*(test.consume(i, s) for i, s in enumerate(sources, 1)))  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_line_is_apaches() -> None:
    span = Span(1_000_000_000.25, record_count=2000, byte_count=2 * 1024 * 1024)
    text = line(span, 1_000_000_004.25, DEFAULT)
    time = r"2001-09-\d\d \d\d:46:4\d:250"
    assert re.fullmatch(rf"{time}, {time}, 2\.0000, 0\.5000, 500\.0000, 2000, 4000", text), text
    assert line(span, 1_000_000_004.25, DEFAULT, 3) == text + " for share consumer 3"


def test_dates_are_written_as_java_says() -> None:
    assert shown_time(0.007, strftime_of("SSS 'T'ss {%}")) == "007 T00 {%}"
    with pytest.raises(UsageError, match="EEE is not one of yyyy"):
        strftime_of("EEE dd")


def test_it_ends_with_enough_records_and_has_them_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    test, source = perf_test("--num-records", "12", "--print-metrics"), Source(100)
    consumed(test, source)
    test.print_totals()
    assert source.committed
    out = capsys.readouterr().out
    assert out.split(",")[5] == " 15"  # whole polls
    assert "g:m" in out


def test_consumers_share_the_work_and_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    test = perf_test("--num-records", "20", "--show-consumer-stats")
    consumed(test, Source(100), Source(100))
    test.print_totals()
    *each, everything = capsys.readouterr().out.splitlines()
    assert [text.rpartition(" for ")[2] for text in each] == ["share consumer 1", "share consumer 2"]
    assert sum(int(text.split(",")[5]) for text in each) == int(everything.split(",")[5]) >= 20


def test_in_explicit_mode_each_record_is_acknowledged() -> None:
    source = Source(7, explicit=True)
    consumed(perf_test("--num-records", "7"), source)
    assert source.acknowledged == 7


def test_it_gives_up_when_nothing_comes(capsys: pytest.CaptureFixture[str]) -> None:
    test = perf_test("--num-records", "9", "--timeout", "300")
    consumed(test, Source(5))
    test.print_totals()
    assert not test.is_enough
    assert capsys.readouterr().err.startswith("5 of 9 records came: nothing more in 300 ms")


def test_a_consumer_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> int:
        raise ExceptionGroup("", [ConnectionLost("gone"), ConnectionLost("gone too")])

    monkeypatch.setattr("leaselog.cli.share_consumer_perf_test._main", fail)
    parser = Parser(prog="perf")
    add_arguments(parser)
    args = parser.parse_args(["--bootstrap-server", "x:1", "--topic", "t", "--num-records", "1"])
    with pytest.raises(CommandFailed, match="gone"):
        run(args)


def test_wrong_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["share-consumer-perf-test", "--bootstrap-server", "x:1", "--topic", "t", "--num-records", "1"]
    assert main([*words, "--date-format", "QQQ"]) == 2
    assert main([*words, "--command-property", "enable.auto.commit=true"]) == 2
    assert "enable.auto.commit cannot be set when using a share group" in capsys.readouterr().err

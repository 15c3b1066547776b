"""`leaselog worker`: its options, how a handler is found, what it tells of itself. No broker, no process."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leaselog.cli.arguments import UsageError
from leaselog.cli.handler_name import find_handler
from leaselog.cli.main import command_parser, main
from leaselog.cli.worker import arguments_of
from leaselog.cli.worker_endpoint import parse_listen
from leaselog.cli.worker_group import Prepared, told_dead_letters, told_retries
from leaselog.cli.worker_job import job_of
from leaselog.cli.worker_tally import SILENT_AFTER_S, Tally, counted, metrics_text, why_unwell
from leaselog.client.share.calling import is_async
from leaselog.client.share.metrics import ShareMetrics

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "worker.md"
NEEDED = ["--bootstrap-server", "127.0.0.1:9092", "--group", "g", "--topic", "t"]

MODULE = """
import functools

def pack(record): return None
async def ship(record): return None
def two(record, other): return None
def many(record):
    yield record
class Packer:
    def __call__(self, record): return None
    async def later(self, record): return None
packer = Packer()
part = functools.partial(two, other=1)
number = 7
from leaselog.client import Worker
empty = Worker()
worker = Worker("here:1", group="own", concurrency=3, retry_delays=(7,), begins=None, max_poll_records=9)
worker.handler("b", "a")(pack)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current directory with modules in it, which no other test has imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    before = set(sys.modules)
    (tmp_path / "handlers_here.py").write_text(MODULE)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("handlers_here", "broken_here", "package_here")):
            del sys.modules[name]


@pytest.fixture(autouse=True)
def log_stays_as_it_is() -> Iterator[None]:
    """The command sends the log of its process to stderr; other tests of this one listen to it otherwise."""
    ours = logging.getLogger("leaselog")
    before = ours.handlers[:], ours.level, ours.propagate
    yield
    ours.handlers[:], ours.propagate = before[0], before[2]
    ours.setLevel(before[1])


# handlers


@pytest.mark.parametrize("name", ["pack", "ship", "packer", "packer.later", "part"])
def test_a_handler_is_found_in_the_current_directory(folder: Path, name: str) -> None:
    assert callable(find_handler(f"handlers_here:{name}"))


def test_a_handler_is_found_in_a_package(folder: Path) -> None:
    (folder / "package_here").mkdir()
    (folder / "package_here" / "tasks.py").write_text("def pack(record): pass\n")
    assert callable(find_handler("package_here.tasks:pack"))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("handlers_here", "expected MODULE:HANDLER, as tasks:pack"),
        (":pack", "expected MODULE:HANDLER"),
        ("handlers_here.py:pack", "expected the name of a module, as tasks, not of a file"),
        ("handlers_away:pack", "there is no module handlers_away in "),
        ("handlers_here.deeper:pack", "handlers_here.deeper cannot be imported|there is no module"),
        ("handlers_here:pakc", "there is no pakc in .*handlers_here.py; pack\\?$"),
        ("handlers_here:packer.nothing", "there is no nothing in "),
        ("handlers_here:number", "7 is no handler: expected a function of one record"),
        ("handlers_here:many", "many yields: expected a function that is done when it returns"),
        ("handlers_here:two", "expected a function of one record, this one takes \\(record, other\\)"),
    ],
)
def test_what_is_wrong_with_a_name_is_one_line_and_exit_code_2(
    folder: Path, capfd: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    assert main(["worker", name, *NEEDED]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert re.search(told, line)
    assert line.startswith(f"leaselog worker: {name}: ")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "\n\nraise RuntimeError('no settings')",
            "RuntimeError: no settings \\(.*broken_here.py, line 3\\)$",
        ),
        ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all' \\(.*, line 1\\)$"),
        ("def pack(record)\n", "SyntaxError: .*broken_here.py, line 1\\)$"),
        ("import sys\nsys.exit('goodbye')\n", "SystemExit: goodbye \\(.*broken_here.py, line 2\\)$"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_with_its_line(folder: Path, text: str, told: str) -> None:
    (folder / "broken_here.py").write_text(text)
    with pytest.raises(UsageError, match=told):
        find_handler("broken_here:pack")


# options


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--retry-delays", "1,soon"], "1,soon: expected seconds with commas, as 1,10,60"),
        (["--retry-delays", "1,-1"], "expected seconds with commas"),
        (["--begins", "somewhere"], "expected earliest, latest or by_duration:PT1H"),
        (["--drain-timeout", "-1"], "expected seconds"),
        (["--concurrency", "0"], "0 is not above zero"),
        (["--processes", "0"], "0 is not above zero"),
        (["--value", "xml"], "invalid choice"),
        (["--metrics", "9090"], "expected HOST:PORT"),
        (["--metrics", ":65535", "--processes", "2"], "there are not as many ports as processes"),
        (["--consumer-property", "auto.offset.reset=latest"], "cannot be set when using a share group"),
        (["--consumer-property", "group.id=other"], "--group g and group.id=other do not match"),
        (["--consumer-property", "max.poll.recods=1"], "max.poll.records?"),
    ],
)
def test_what_is_wrong_with_an_option_is_one_line_and_exit_code_2(
    folder: Path, capfd: pytest.CaptureFixture[str], option: list[str], told: str
) -> None:
    assert main(["worker", "handlers_here:pack", *NEEDED, *option]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert told in line


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["handlers_here:pack"], "is a function, so it needs --bootstrap-server, --group, --topic"),
        (["handlers_here:worker", "--topic", "t"], "--topic: the handlers of handlers_here:worker say so"),
        (["handlers_here:worker", "--value", "json"], "--value: the handlers of handlers_here:worker say so"),
        (["handlers_here:empty", *NEEDED[:4]], "handlers_here:empty has no handler"),
    ],
)
def test_what_is_missing_or_said_twice_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], line: list[str], told: str
) -> None:
    assert main(["worker", *line]) == 2
    (said,) = capfd.readouterr().err.splitlines()
    assert told in said


def test_what_the_command_line_says_goes_before_what_the_worker_says(folder: Path) -> None:
    found = find_handler("handlers_here:worker")
    parser = command_parser("worker")
    own = job_of(parser.parse_args(["handlers_here:worker"]), found)
    assert (own.topics, own.concurrency, own.retry_delays, own.begins) == (("a", "b"), 3, (7.0,), None)
    assert own.config == {
        "client.id": "leaselog-worker", "bootstrap.servers": "here:1", "group.id": "own", "max.poll.records": 9
    }  # fmt: skip
    options = ["--bootstrap-server", "there:1", "--group", "g", "--concurrency", "1", "--retry-delays", "0"]
    line = [
        "handlers_here:worker",
        *options,
        "--begins",
        "latest",
        "--consumer-property",
        "max.poll.records=1",
    ]
    said = job_of(parser.parse_args(line), found)
    assert (said.concurrency, said.retry_delays, said.begins) == (1, (0.0,), "latest")
    assert said.config == {
        "client.id": "leaselog-worker", "bootstrap.servers": "there:1", "group.id": "g", "max.poll.records": "1"
    }  # fmt: skip


def test_a_process_is_told_all_that_the_command_was_told() -> None:
    given = [
        "tasks:pack", *NEEDED, "--topic", "other", "--concurrency", "3", "--retry-delays", "1,0.5",
        "--dead-letter-topic", "dlq.t", "--begins", "by_duration:PT1H", "--drain-timeout", "2", "--value", "json",
        "--command-config", "a file", "--consumer-property", "a=-b", "--metrics", ":0", "--log-format", "json",
    ]  # fmt: skip
    parser = command_parser("worker")
    asked = parser.parse_args([*given, "--processes", "4", "--reload"])
    told = parser.parse_args(arguments_of(asked))
    assert (told.processes, told.reload) == (1, False)
    assert {**vars(told), "processes": 4, "reload": True} == vars(asked)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (":9100", ("127.0.0.1", 9100)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:80", ("::1", 80)),
        ("box:65535", ("box", 65535)),
    ],
)
def test_metrics_are_served_on_loopback_unless_a_host_is_given(text: str, where: tuple[str, int]) -> None:
    assert parse_listen(text) == where


# what it tells


def test_the_first_line_says_that_there_are_no_dead_letters_and_what_that_means() -> None:
    none = told_dead_letters(Prepared(True, 5, ""))
    assert none == "none, so a record that has failed 5 times is gone (--dead-letter-topic keeps it)"
    no_such_thing = told_dead_letters(Prepared(True, 5, None))
    assert no_such_thing == "none, so a record that has failed 5 times is gone (the cluster knows none)"
    assert told_dead_letters(Prepared(True, 5, "dlq.g")) == "dlq.g"
    assert told_dead_letters(Prepared()) == "unknown: the cluster does not say"


@pytest.mark.parametrize(
    ("delays", "has_backoff", "told"),
    [
        (None, False, "after about 1, 10, 60, 600 s"),
        (None, True, "as the group's share.retry.backoff.ms says"),
        ((0.5, 3), True, "after about 0.5, 3 s"),
        ((0,), False, "at once"),
        ((), False, "at once"),
    ],
)
def test_the_first_line_says_when_a_record_comes_again(
    delays: tuple[float, ...] | None, has_backoff: bool, told: str
) -> None:
    assert told_retries(delays, Prepared(has_backoff=has_backoff)) == told


def numbers_of(polled_ms: int | None, beaten_ms: int | None, now_ms: int) -> Any:
    metrics = ShareMetrics(0)
    if polled_ms is not None:
        metrics.polled(polled_ms)
    if beaten_ms is not None:
        metrics.heartbeat(beaten_ms, 1)
    return metrics.snapshot(now_ms)


@pytest.mark.parametrize(
    ("polled_ms", "beaten_ms", "why"),
    [
        (0, 0, None),
        (None, None, "it has not joined its group yet"),
        (0, None, "it has not joined its group yet"),
        (0, -SILENT_AFTER_S * 1000, "the group's coordinator has not answered for 20 s"),
        (-SILENT_AFTER_S * 1000, 0, "it has not asked for records for 20 s"),
    ],
)
def test_a_worker_is_well_while_it_polls_and_its_coordinator_answers(
    polled_ms: int | None, beaten_ms: int | None, why: str | None
) -> None:
    at_ms = 100_000
    polled = None if polled_ms is None else at_ms + polled_ms
    beaten = None if beaten_ms is None else at_ms + beaten_ms
    assert why_unwell(numbers_of(polled, beaten, at_ms)) == why


def test_a_worker_that_no_broker_has_answered_is_not_well() -> None:
    assert why_unwell(None) == "no broker has answered yet"


def test_a_handler_that_is_counted_stays_of_its_kind_and_keeps_its_name() -> None:
    tally = Tally()

    def pack(record: Any) -> str:
        return f"packed {record}"

    async def ship(record: Any) -> str:
        raise ValueError(record)

    packing, shipping = counted(pack, tally), counted(ship, tally)
    assert (is_async(packing), is_async(shipping)) == (False, True)
    assert packing("a") == "packed a"
    made: Any = shipping("b")
    with pytest.raises(ValueError, match="b"):
        asyncio.run(made)
    assert getattr(packing, "__qualname__", "").endswith("pack")
    assert tally.outcomes == {"processed": 1, "released": 0, "rejected": 0, "kept": 0}


def test_metrics_are_what_was_done_how_long_it_took_and_the_consumers_own() -> None:
    tally = Tally()
    work: Callable[[Any], object] = counted(lambda record: None, tally)
    work(SimpleNamespace())
    tally.count("released")
    text = metrics_text(tally, numbers_of(0, 0, 0), is_well=True).decode()
    for line in (
        'leaselog_worker_records_total{outcome="processed"} 1.0',
        'leaselog_worker_records_total{outcome="released"} 1.0',
        "leaselog_worker_handler_seconds_count 1.0",
        'leaselog_worker_handler_seconds_bucket{le="+Inf"} 1.0',
        "leaselog_worker_running 0.0",
        "leaselog_worker_healthy 1.0",
        "# TYPE kafka_consumer_share_coordinator_heartbeat_total counter",
        "kafka_consumer_share_last_poll_seconds_ago 0.0",
    ):
        assert f"{line}\n" in text
    assert " NaN" not in text


def test_the_guide_names_every_metric_of_a_worker() -> None:
    text = metrics_text(Tally(), None, is_well=False).decode()
    ours = set(re.findall(r"^# TYPE (leaselog_\w+)", text, re.MULTILINE))
    assert len(ours) == 4
    assert {name for name in ours if f"`{name}" not in GUIDE.read_text()} == set()

"""The command line itself: what is understood, what is not, and how it is said."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from importlib.metadata import version

import pytest

from leaselog.cli.configs import parse_added
from leaselog.cli.main import COMMANDS, main

SERVER = ["--bootstrap-server", "127.0.0.1:9092"]
RESET = ["share-groups", *SERVER, "--reset-offsets", "--group", "g"]
PERF_TEST = ["producer-perf-test", *SERVER, "--topic", "t", "--num-records", "1", "--throughput", "-1"]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: leaselog {command}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS)])
def test_every_command_tells_the_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with suppress(SystemExit):
        assert main([*words, "--version"]) == 0
    assert capsys.readouterr().out == version("leaselog") + "\n"


def test_help_imports_nothing_that_takes_time() -> None:
    code = (
        "import sys, leaselog.cli.main as m\n"
        "try: m.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([n for n in ('asyncio', 'rich', 'leaselog.client', 'leaselog.broker') if n in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["tpoics"], "leaselog: unknown command 'tpoics' (see leaselog --help)"),
        (["topics", *SERVER], "one of the arguments --create --alter --delete --list --describe is required"),
        (["topics", "--list"], "required: --bootstrap-server (see leaselog topics --help)"),
        (["topics", *SERVER, "--create"], "--topic NAME is missing"),
        (
            ["topics", *SERVER, "--create", "--topic", "t", "--partitions", "0"],
            "--partitions: 0 is not above zero",
        ),
        (["topics", *SERVER, "--create", "--topic", "t", "--config", "x"], "--config x: expected KEY=VALUE"),
        (["topics", *SERVER, "--create", "--topic", "t", "--replica-assignment", "a"], "expected broker ids"),
        (["topics", *SERVER, "--alter", "--topic", "t"], "--alter needs --partitions N"),
        (["topics", *SERVER, "--list", "--topics-with-overrides"], "goes with --describe only"),
        (["topics", "--bootstrap-server", "nowhere", "--list"], "'nowhere' is not HOST:PORT"),
        (["configs", *SERVER, "--describe"], "--entity-type is missing"),
        (
            ["configs", *SERVER, "--describe", "--entity-type", "acls"],
            "--entity-type acls is not supported",
        ),
        (["configs", *SERVER, "--alter", "--topic", "t"], "--alter needs --add-config"),
        (["configs", *SERVER, "--alter", "--topic", "t", "--add-config", "x"], "expected KEY=VALUE"),
        (
            ["configs", *SERVER, "--describe", "--entity-type", "brokers", "--entity-name", "a"],
            "id, a number",
        ),
        (
            ["console-consumer", *SERVER, "--topic", "t", "--partition", "0", "--group", "g"],
            "--group and --partition exclude each other",
        ),
        (
            [
                "console-consumer",
                *SERVER,
                "--topic",
                "t",
                "--group",
                "g",
                "--consumer-property",
                "group.id=h",
            ],
            "--group g and group.id=h do not match",
        ),
        (
            [
                "console-consumer",
                *SERVER,
                "--topic",
                "t",
                "--from-beginning",
                "--consumer-property",
                "auto.offset.reset=latest",
            ],
            "--from-beginning and auto.offset.reset=latest exclude each other",
        ),
        (
            ["console-consumer", *SERVER, "--topic", "t", "--consumer-property", "auto.offset.reset=none"],
            "auto.offset.reset=none needs --group",
        ),
        (
            [
                "console-consumer",
                *SERVER,
                "--topic",
                "t",
                "--group",
                "g",
                "--consumer-property",
                "session.timeout.ms=3000",
            ],
            "heartbeat.interval.ms must be above zero and below session.timeout.ms",
        ),
        (["console-consumer", *SERVER, "--topic", "t", "--offset", "3"], "--offset needs --partition N"),
        (["console-consumer", *SERVER, "--include", "("], "not a regular expression"),
        (
            ["console-consumer", *SERVER, "--topic", "t", "--property", "print.kye=true"],
            "print.kye: expected one of",
        ),
        (
            ["console-producer", *SERVER, "--topic", "t", "--property", "parse.key=1"],
            "expected true or false",
        ),
        (["console-producer", *SERVER, "--topic", "t", "--compression-codec", "rar"], "compression.type=rar"),
        (
            ["console-producer", *SERVER, "--topic", "t", "--request-required-acks", "2"],
            "acks=2: expected one of",
        ),
        (
            ["console-producer", *SERVER, "--topic", "t", "--producer-property", "security.protocol=TLS"],
            "security.protocol=TLS: expected one of plaintext, ssl, sasl_plaintext, sasl_ssl",
        ),
        (
            PERF_TEST,
            "--record-size --payload-file --payload-monotonic is required",
        ),
        (
            [*PERF_TEST, "--record-size", "1", "--transactional-id", "x"],
            "--transactional-id is not supported",
        ),
        (
            ["share-groups", *SERVER],
            "--list --describe --delete --reset-offsets --delete-offsets --pause --resume"
            " --inspect --redrive is required",
        ),
        (["share-groups", *SERVER, "--describe"], "missing: --group ID or --all-groups"),
        (
            ["share-groups", *SERVER, "--delete", "--group", "g", "--all-groups"],
            "either --group ID or --all-groups",
        ),
        (
            ["share-groups", *SERVER, "--describe", "--group", "g", "--topic", "t"],
            "--topic goes with --reset-offsets",
        ),
        (["share-groups", *SERVER, "--list", "--verbose"], "--verbose goes with --describe only"),
        (["share-groups", *SERVER, "--list", "--state", "Sleepy"], "expected some of Stable, Empty, Dead"),
        (["share-groups", *SERVER, "--describe", "--group", "g", "--state", "Empty"], "takes no value"),
        (
            ["share-groups", *SERVER, "--describe", "--group", "g", "--members", "--offsets"],
            "--members and --offsets exclude each other",
        ),
        (
            ["share-groups", *SERVER, "--delete-offsets", "--group", "g"],
            "--delete-offsets needs --topic TOPIC",
        ),
        (
            ["share-groups", *SERVER, "--delete-offsets", "--topic", "t"],
            "--delete-offsets needs one --group ID",
        ),
        ([*RESET, "--topic", "t", "--to-latest"], "needs --dry-run to see the result, or --execute"),
        ([*RESET, "--topic", "t", "--to-latest", "--dry-run", "--execute"], "needs --dry-run"),
        ([*RESET, "--to-latest", "--dry-run"], "needs either --topic TOPIC or --all-topics"),
        ([*RESET, "--topic", "t", "--execute"], "needs one of --to-earliest, --to-latest, --to-datetime"),
        ([*RESET, "--topic", "t", "--execute", "--to-latest", "--to-earliest"], "needs one of --to-earliest"),
        ([*RESET, "--topic", "t", "--execute", "--to-datetime", "noon"], "--to-datetime noon: expected YYYY"),
        ([*RESET, "--group", "h", "--topic", "t", "--execute", "--to-latest"], "needs one --group ID"),
        (["dump-log"], "required: --files"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
    assert err.startswith("leaselog")
    assert err.count("\n") == 1


def test_a_failure_is_one_line_and_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump-log", "--files", "/nonexistent/00000000000000000000.log"]) == 1
    err = capsys.readouterr().err
    assert err == "leaselog dump-log: /nonexistent/00000000000000000000.log: No such file or directory\n"


def test_interrupting_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("leaselog.cli.docs.run", interrupted)
    assert main(["config-docs"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_leaves_is_quiet() -> None:
    command = f"{sys.executable} -m leaselog.cli.main config-docs | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("# Configuration\n", "")


def test_a_file_is_not_blamed_for_a_reader_that_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("leaselog.cli.dump_log._dump", gone)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    assert main(["dump-log", "--files", "x.log"]) == 141


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1", {"a": "1"}),
        ("a=1,b=2", {"a": "1", "b": "2"}),
        ("cleanup.policy=[compact,delete],b=x", {"cleanup.policy": "compact,delete", "b": "x"}),
        ("a=,b=x=y", {"a": "", "b": "x=y"}),
    ],
)
def test_square_brackets_hold_values_with_commas(text: str, expected: dict[str, str]) -> None:
    assert parse_added(text) == expected

"""What commands say where an extra was not installed, and what works all the same."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

import pytest

from leaselog.cli import extras, output
from leaselog.cli.main import main

WORKER = ["worker", "tasks:pack", "--bootstrap-server", "127.0.0.1:9", "--group", "g", "--topic", "t"]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has these modules not installed."""

    def hide(*modules: str) -> None:
        find = extras.find_spec
        monkeypatch.setattr(extras, "find_spec", lambda name: None if name in modules else find(name))

    return hide


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (["uvloop", "prometheus_client"], "uvloop and prometheus-client, which are not installed"),
        (["uvloop"], "uvloop, which is not installed"),
    ],
)
@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_broker_without_its_extra_says_what_to_install(
    command: str,
    missing: list[str],
    words: str,
    without: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    without(*missing)
    assert main([command]) == 1
    assert (
        capsys.readouterr().err
        == f"leaselog {command}: a broker needs {words}: pip install 'leaselog[server]'\n"
    )


def test_a_broker_on_windows_says_that_it_cannot_run_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert main(["serve"]) == 1
    assert "a broker runs on Linux and macOS, and this is Windows" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("module", "option", "words"),
    [
        (
            "prometheus_client",
            ["--metrics", ":0"],
            "--metrics needs prometheus-client, which is not installed: pip install 'leaselog[server]'",
        ),
        (
            "watchfiles",
            ["--reload"],
            "--reload needs watchfiles, which is not installed: pip install 'leaselog[reload]'",
        ),
    ],
)
def test_an_option_of_a_worker_without_its_extra_says_what_to_install(
    module: str,
    option: list[str],
    words: str,
    without: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    without(module)
    assert main([*WORKER, *option]) == 1
    assert capsys.readouterr().err == f"leaselog worker: {words}\n"


@pytest.mark.parametrize(("is_there", "is_plain"), [(False, True), (True, False)])
def test_a_table_at_a_terminal_is_plain_where_there_is_nothing_to_draw_it_with(
    monkeypatch: pytest.MonkeyPatch, without: Callable[..., None], is_there: bool, is_plain: bool
) -> None:
    if not is_there:
        without("rich")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    output.print_table(["name", "count"], [["a", 1], ["bb", 22]], right=["count"])
    assert (shown.getvalue() == "name  count\na         1\nbb       22\n") is is_plain
    assert "22" in shown.getvalue()

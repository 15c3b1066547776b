"""The ways for a run of tests to be green without having been about anything, and that each of them is red."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tiers import floors

ROOT = Path(__file__).parents[2]
ON_KAFKA = ROOT / "tests" / "interop" / "on-kafka"
#: what the scripts of the tiers call before they know whether they can run
PLAIN = ("bash", "dirname", "sed", "head", "grep", "mkdir", "cmp", "env", "find", "cp", "rm", "touch")

#: those of the project take a second to load
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run_tests(where: Path, text: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """These tests under the project's own settings."""
    (where / "test_them.py").write_text(f"import pytest\n\n\n{text}")
    (where / "test_others.py").write_text("def test_another(): pass\n")
    plugins = ("-p", "tiers", "-p", "pytest_timeout")
    settings = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(where), *plugins)
    return subprocess.run(
        [sys.executable, "-m", "pytest", *settings, *args, str(where)],
        env={
            **os.environ,
            "CI": "",
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTEST_ADDOPTS": "",
            **NO_PLUGINS,
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder to be the whole PATH: nothing but what every machine has."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PLAIN:
        (found,) = [path for path in (Path("/usr/bin") / name, Path("/bin") / name) if path.exists()][:1]
        (folder / name).symlink_to(found)
    return folder


def pretend(folder: Path, name: str, does: str) -> Path:
    program = folder / name
    program.write_text(f"#!{folder / 'bash'}\n{does}\n")
    program.chmod(0o755)
    return program


def run_script(path: Path, tools: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    told = {"PATH": str(tools), "HOME": os.environ.get("HOME", "/"), **env}
    return subprocess.run([str(path), *args], env=told, capture_output=True, text=True, check=False)


def test_a_test_whose_cases_have_gone_fails(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, "@pytest.mark.parametrize('case', [])\ndef test_it(case): pass\n")
    assert ended.returncode == pytest.ExitCode.INTERRUPTED, ended.stdout


def test_a_tier_with_fewer_tests_than_its_floor_fails(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, "def test_it(): pass\n", "--tier", "check")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert f"tier check: 2 tests, and there have to be {floors()['check']}" in ended.stdout


def test_a_tier_without_a_floor_fails(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, "def test_it(): pass\n", "--tier", "nobody-counted")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "tier nobody-counted has no floor" in ended.stdout


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip(reason='no Go')\ndef test_it(): pass\n",
        "def test_it(): pytest.skip('no Go')\n",
        "@pytest.fixture\ndef go(): pytest.skip('no Go')\n\ndef test_it(go): pass\n",
        "pytest.skip('no Go', allow_module_level=True)\n",
    ],
    ids=["mark", "test", "fixture", "module"],
)
def test_what_is_skipped_has_failed_in_ci_and_only_there(tmp_path: Path, text: str) -> None:
    assert run_tests(tmp_path, text).returncode == pytest.ExitCode.OK
    ended = run_tests(tmp_path, text, CI="true")
    assert ended.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert "in CI nothing may be: Skipped: no Go" in ended.stdout


def test_a_known_failure_is_no_test_that_was_skipped(tmp_path: Path) -> None:
    ended = run_tests(tmp_path, "@pytest.mark.xfail\ndef test_it(): assert False\n", CI="true")
    assert ended.returncode == pytest.ExitCode.OK, ended.stdout


def test_deep_properties_look_somewhere_new_each_time_in_ci_too() -> None:
    look = "import conftest, props.test_share_machine as m, props.test_dispatch_fuzz as f\n"
    look += "print(m.TestShareMachine.settings.derandomize, m.TestShareMachineDeep.settings.derandomize)\n"
    look += "print(f.quick.derandomize, f.long.derandomize)\n"
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "unit")))
    ended = subprocess.run(
        [sys.executable, "-c", look],
        env={**os.environ, "CI": "true", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout.split() == ["True", "False"] * 2


def test_ci_says_that_it_is_ci(tools: Path) -> None:
    pretend(tools, "make", 'echo "$CI $*"')
    ended = run_script(ROOT / ".ci" / "run", tools)
    assert ended.stdout == "true test\n", ended.stderr


@pytest.mark.parametrize(
    "script",
    ["conformance/check", "interop/on-kafka", "interop/on-kafka-4.4", "spark/check"],
)
def test_a_tier_without_java_fails_in_ci_and_says_so_elsewhere(script: str, tools: Path) -> None:
    path, python = ROOT / "tests" / script, pretend(tools, "python", "exit 7")
    elsewhere = run_script(path, tools, str(python))
    assert (elsewhere.returncode, "skipped" in elsewhere.stderr) == (0, True), elsewhere.stderr
    assert run_script(path, tools, str(python), CI="true").returncode == 1


def test_a_python_that_is_not_here_is_named_and_nothing_fails_for_it(tools: Path) -> None:
    ended = run_script(
        ROOT / "tests" / "pythons" / "check",
        tools,
        str(pretend(tools, "python", "echo 3.12")),
        PYENV_ROOT=str(tools),
    )
    assert ended.returncode == 0
    assert ended.stderr == (
        "not on this machine, and not tried: Python 3.11 3.13 3.14\nno other Python here\n"
    )


def run_on_kafka(tools: Path, *args: str) -> str:
    """What the script has pytest run."""
    for name in ("java", "javac", "mvn"):
        pretend(tools, name, "exit 0")
    python = pretend(tools, "python", 'echo "$@"')
    work = {"CONFORMANCE_WORK": str(tools.parent), "KAFKA_LIBS": str(tools.parent)}
    return run_script(ON_KAFKA, tools, *args, str(python), **work).stdout


def test_every_test_that_is_marked_runs_on_apache_kafka(tools: Path) -> None:
    assert "-m pytest tests/interop -m on_kafka --" in run_on_kafka(tools, "--quick")
    assert "-m pytest tests/interop -m (on_kafka or all_on_kafka) and not deep --" in run_on_kafka(tools)


def commands(target: str) -> str:
    """What `make` would do."""
    ended = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True)
    return ended.stdout


def test_every_tier_of_a_change_is_counted_and_the_bugs_that_are_put_in_are_one_of_them() -> None:
    text = commands("test")
    runs = [line for line in text.replace("\\\n", " ").splitlines() if "-m pytest" in line]
    tiers = {match[1] for run in runs if (match := re.search(r"--tier (\S+)", run))}
    assert len(tiers) == len(runs) == 5
    assert tiers == {"check", "mutants", "interop", "interop-alone", "crash"}
    assert tiers | {"on-kafka-quick", "spark"} <= set(floors())
    for script in ("tests/interop/on-kafka --quick", "tests/spark/check", "tests/conformance/check"):
        assert script in text

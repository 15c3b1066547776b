"""The applications of examples/, each with its own tests, as somebody has one who copies it beside a wheel."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interop.broker_process import CHECKOUT
from interop.installed import Environment, build_wheel, constraints

pytestmark = [
    pytest.mark.deep,
    pytest.mark.only_leaselog("the applications bring their broker"),
    pytest.mark.timeout(600),
]
NEEDS = {"fastapi_app": ("fastapi", "httpx", "uvicorn"), "django_app": ("django",)}


def test_there_is_a_test_of_every_example() -> None:
    assert {path.name for path in (CHECKOUT / "examples").iterdir() if path.is_dir()} == set(NEEDS)


@pytest.mark.parametrize("example", NEEDS)
def test_an_example_passes_its_tests_where_it_is_copied_to(example: str, tmp_path: Path) -> None:
    locks = constraints(tmp_path, "requirements.lock", "requirements-examples.lock")
    environment = Environment(tmp_path, locks)
    environment.install(str(build_wheel(tmp_path / "wheel")), "pytest", *NEEDS[example])
    copied = tmp_path / example
    shutil.copytree(CHECKOUT / "examples" / example, copied, ignore=shutil.ignore_patterns("__pycache__"))
    passed = environment.run("python", "-m", "pytest", "-q", cwd=copied, timeout_s=300).stdout
    assert " passed" in passed
    assert "failed" not in passed

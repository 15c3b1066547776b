"""compat/: what each client can do with leaselog is written down, and the list only grows."""

from __future__ import annotations

import ast
import re
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENTS = sorted(path for path in (ROOT / "compat").iterdir() if path.is_dir())


def named_in(name: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / "interop" / name).read_text())
    functions = (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))
    return {f"{name}::{f.name}" for f in functions if f.name.startswith("test_")}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda p: p.name)
def test_every_test_of_a_client_is_on_its_allow_list_and_none_has_gone(client: Path) -> None:
    listed = set((client / "tests.allow").read_text().split())
    files = {line.split("::")[0] for line in listed}
    assert files, "a client without tests"
    assert listed == set().union(*map(named_in, files))


@pytest.mark.parametrize("client", CLIENTS, ids=lambda p: p.name)
def test_a_client_has_its_page_and_its_findings(client: Path) -> None:
    assert (client / "README.md").read_text().startswith(f"# {client.name}\n")
    assert (client / "FINDINGS.md").is_file()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda p: p.name)
def test_the_versions_said_are_the_versions_used(client: Path) -> None:
    said = (client / "versions.txt").read_text().split()
    if client.name == "java":
        pom = (client / "pom.xml").read_text()
        used = re.search(r"<(?:kv|kafka\.version)>([^<]+)<", pom)
        assert used is not None
        assert {line.rpartition(":")[2] for line in said} == {used[1]}
    elif (client / "go.mod").exists():
        assert " ".join(said) in (client / "go.mod").read_text()
    else:
        assert f"{client.name}=={version(client.name)}" in said

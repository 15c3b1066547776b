"""What is published: a wheel that says what it is, a source distribution that it is built from, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both, the wheel being built from what the source distribution has."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "sdist")
    with tarfile.open(*folder.glob("*.tar.gz")) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    build(unpacked, folder, "wheel")
    return folder


def build(source: Path, folder: Path, target: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def wheel(dist: Path) -> ZipFile:
    (path,) = dist.glob("*.whl")
    return ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Metadata:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Metadata.from_email(wheel.read(name), validate=True)


def brought_by(metadata: Metadata, extra: str) -> set[str]:
    requirements = metadata.requires_dist or []
    wanted = {"extra": extra, "sys_platform": "linux"}
    return {one.name for one in requirements if one.marker is None or one.marker.evaluate(wanted)}


def test_a_client_gets_two_compiled_libraries_and_nothing_of_the_server(metadata: Metadata) -> None:
    assert brought_by(metadata, "") == {"cramjam", "crc32c"}


def test_who_installs_it_is_offered_no_development_tools(metadata: Metadata) -> None:
    assert sorted(metadata.provides_extra or []) == ["fast", "pipeline", "reload", "server", "spark"]
    published = {Requirement(str(one)).name for one in metadata.requires_dist or []}
    assert published.isdisjoint({"pytest", "mypy", "ruff", "hypothesis", "hatchling"})


def test_what_starts_a_broker_brings_all_of_it(metadata: Metadata) -> None:
    server = brought_by(metadata, "server")
    assert server == {
        "cramjam",
        "crc32c",
        "cryptography",
        "google-re2",
        "prometheus-client",
        "pyjwt",
        "rich",
        "uvloop",
    }
    assert server < brought_by(metadata, "pipeline")


def test_the_page_of_the_index_has_links_that_lead_from_there_to_the_files_of_the_readme(
    metadata: Metadata,
) -> None:
    assert metadata.description_content_type == "text/markdown"
    shown = LINK.findall(CODE.sub("", metadata.description or ""))
    written = LINK.findall(CODE.sub("", (ROOT / "README.md").read_text()))
    assert len(shown) == len(written) > 10
    version = metadata.version
    places = (
        f"{PROJECT['project']['urls']['Source']}/blob/v{version}/",
        f"https://raw.githubusercontent.com/leaselog/leaselog/v{version}/",
    )
    for link, source in zip(shown, written, strict=True):
        if re.match(r"[a-z]+:", source):
            assert link == source
            continue
        (path,) = [link.removeprefix(place) for place in places if link.startswith(place)]
        assert path.removeprefix("README.md") == source if source.startswith("#") else path == source
        assert (ROOT / path.partition("#")[0]).exists()


def test_pictures_are_linked_as_files_and_not_as_pages_about_them(metadata: Metadata) -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", metadata.description or "")
    assert pictures
    assert all(link.startswith("https://raw.githubusercontent.com/") for link in pictures)


def test_the_wheel_has_the_package_with_its_types_and_nothing_beside_it(wheel: ZipFile) -> None:
    names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    there = {
        str(path.relative_to(source))
        for path in (source / "leaselog").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert "leaselog/py.typed" in names
    assert names == there


def test_the_source_distribution_has_what_a_build_needs_and_no_more(dist: Path) -> None:
    with tarfile.open(*dist.glob("*.tar.gz")) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    beside = {name for name in names if not name.startswith("src/leaselog/")}
    assert beside == {".gitignore", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}


def test_what_is_locked_for_development_has_all_that_is_published_but_spark() -> None:
    project = PROJECT["project"]
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    extras = project["optional-dependencies"]
    wanted = [
        *project["dependencies"],
        *(one for name in ("server", "fast", "reload") for one in extras[name]),
    ]
    wanted += PROJECT["dependency-groups"]["dev"]
    assert {Requirement(one).name for one in wanted} <= locked

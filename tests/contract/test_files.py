"""One contract for every file system the log may stand on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from leaselog.log import Files, MemoryFiles, OsFiles, read_whole, remove_tree, replace_whole
from leaselog.testing.disk import SimDisk


@pytest.fixture(params=["os", "memory", "sim"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Files, str]:
    """A file system and a directory in it that exists."""
    made: dict[str, Files] = {"os": OsFiles(), "memory": MemoryFiles(), "sim": SimDisk()}
    files = made[request.param]
    directory = str(tmp_path / "data")
    files.make_directory(directory)
    return files, directory


def test_what_is_written_is_read(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"hello ")
    file.write_at(6, memoryview(bytearray(b"world")))
    assert file.read_at(0, 100) == b"hello world"
    assert file.read_at(6, 3) == b"wor"
    assert file.size_bytes() == files.size_bytes(f"{directory}/a") == 11


def test_reading_past_the_end_is_short(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"abc")
    assert file.read_at(2, 5) == b"c"
    assert file.read_at(3, 5) == b""


def test_writing_past_the_end_leaves_zeros_between(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(3, b"x")
    assert file.read_at(0, 10) == b"\0\0\0x"


def test_overwriting_leaves_the_rest(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"abcdef")
    file.write_at(2, b"XY")
    assert file.read_at(0, 10) == b"abXYef"


def test_truncate_cuts_and_grows(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"abcdef")
    file.truncate(2)
    assert file.read_at(0, 10) == b"ab"
    file.truncate(4)
    assert file.read_at(0, 10) == b"ab\0\0"


def test_two_handles_see_one_file(place: tuple[Files, str]) -> None:
    files, directory = place
    writer = files.open(f"{directory}/a", writable=True, create=True)
    reader = files.open(f"{directory}/a")
    writer.write_at(0, b"abc")
    assert reader.read_at(0, 3) == b"abc"


def test_a_reader_cannot_write(place: tuple[Files, str]) -> None:
    files, directory = place
    files.open(f"{directory}/a", writable=True, create=True).close()
    with pytest.raises(OSError):
        files.open(f"{directory}/a").write_at(0, b"x")


def test_opening_what_is_not_there_fails(place: tuple[Files, str]) -> None:
    files, directory = place
    with pytest.raises(FileNotFoundError):
        files.open(f"{directory}/a")
    with pytest.raises(FileNotFoundError):
        files.open(f"{directory}/none/a", writable=True, create=True)


def test_an_open_file_outlives_its_name(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"abc")
    files.remove(f"{directory}/a")
    assert file.read_at(0, 3) == b"abc"
    assert not files.exists(f"{directory}/a")


def test_a_closed_file_refuses(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.close()
    file.close()
    with pytest.raises(OSError):
        file.read_at(0, 1)


def test_rename_replaces_the_target(place: tuple[Files, str]) -> None:
    files, directory = place
    files.open(f"{directory}/a", writable=True, create=True).write_at(0, b"new")
    files.open(f"{directory}/b", writable=True, create=True).write_at(0, b"older")
    files.rename(f"{directory}/a", f"{directory}/b")
    assert files.names(directory) == ["b"]
    assert read_whole(files, f"{directory}/b") == b"new"


def test_a_directory_moves_with_its_files(place: tuple[Files, str]) -> None:
    files, directory = place
    files.make_directory(f"{directory}/t-0")
    files.open(f"{directory}/t-0/a", writable=True, create=True).write_at(0, b"abc")
    files.rename(f"{directory}/t-0", f"{directory}/t-0.x-delete")
    assert files.names(directory) == ["t-0.x-delete"]
    assert read_whole(files, f"{directory}/t-0.x-delete/a") == b"abc"
    remove_tree(files, f"{directory}/t-0.x-delete")
    assert files.names(directory) == []


def test_a_directory_with_files_is_not_removed(place: tuple[Files, str]) -> None:
    files, directory = place
    files.open(f"{directory}/a", writable=True, create=True).close()
    with pytest.raises(OSError):
        files.remove_directory(directory)


def test_names_are_those_of_one_directory_in_order(place: tuple[Files, str]) -> None:
    files, directory = place
    files.make_directory(f"{directory}/d")
    for name in ("b", "a", "d/inner"):
        files.open(f"{directory}/{name}", writable=True, create=True).close()
    assert files.names(directory) == ["a", "b", "d"]
    assert files.exists(f"{directory}/d")
    with pytest.raises(FileNotFoundError):
        files.names(f"{directory}/none")


def test_making_a_directory_twice_is_fine(place: tuple[Files, str]) -> None:
    files, directory = place
    files.make_directory(f"{directory}/x/y")
    files.make_directory(f"{directory}/x/y")
    assert files.names(f"{directory}/x") == ["y"]


def test_replace_whole_leaves_no_trace_of_the_old(place: tuple[Files, str]) -> None:
    files, directory = place
    replace_whole(files, f"{directory}/c", b"a long first version").sync()
    replace_whole(files, f"{directory}/c", b"short").sync()
    files.sync_directory(directory)
    assert read_whole(files, f"{directory}/c") == b"short"
    assert files.names(directory) == ["c"]


def test_removing_what_is_not_there_fails(place: tuple[Files, str]) -> None:
    files, directory = place
    with pytest.raises(FileNotFoundError):
        files.remove(f"{directory}/a")
    with pytest.raises(FileNotFoundError):
        files.rename(f"{directory}/a", f"{directory}/b")
    with pytest.raises(FileNotFoundError):
        files.sync_directory(f"{directory}/none")


#: A process of its own: in this one others' threads and the collector close descriptors at any time.
OUT_OF_DESCRIPTORS = """
import os, resource, sys
from contextlib import suppress
from leaselog.log import OsFiles

directory = sys.argv[1]
files = OsFiles(spare=2)
first = files.open(f"{directory}/a", writable=True, create=True)
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (first.fileno(), hard))
with suppress(OSError):
    while True:
        os.open(os.devnull, os.O_RDONLY)
opened = [files.open(f"{directory}/a")]
files.sync_directory(directory)  # gives its own back, and nobody else takes it
opened.append(files.open(f"{directory}/a"))
try:
    files.open(f"{directory}/a")
except OSError as why:
    print(why.strerror)
opened.clear()
print(files.open(f"{directory}/a").size_bytes())
"""


def test_spare_descriptors_are_for_files_when_there_are_no_others(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_DESCRIPTORS, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["Too many open files", "0"]


def test_a_sync_of_the_whole_file_system_is_done_or_refused(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    file.write_at(0, b"abc")
    with suppress(OSError):  # of some file systems nobody knows whether it is done
        file.sync_file_system()
    file.forget_cached(read_ahead=True)
    assert file.read_at(0, 10) == b"abc"


def test_files_of_one_directory_are_beside_each_other(place: tuple[Files, str]) -> None:
    files, directory = place
    file = files.open(f"{directory}/a", writable=True, create=True)
    assert file.is_beside(directory)
    assert file.is_beside(f"{directory}/a")


def test_a_file_is_not_beside_one_of_another_file_system(tmp_path: Path) -> None:
    file = OsFiles().open(f"{tmp_path}/a", writable=True, create=True)
    assert not file.is_beside("/proc")


def test_a_file_system_that_is_not_known_to_keep_the_promise_is_not_trusted() -> None:
    with pytest.raises(OSError):
        OsFiles().open("/proc/self/status").sync_file_system()

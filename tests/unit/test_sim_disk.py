"""The simulated disk: what a sync promises, and to whom."""

from __future__ import annotations

import pytest

from leaselog.testing.disk import SimDisk


def kept(disk: SimDisk) -> set[bytes]:
    """What may be there after a power cut, by fifty draws of each."""
    found = set()
    for seed in range(50):
        disk.crash(seed)
        found.add(disk.open("f").read_at(0, 100))
    return found


def begun() -> SimDisk:
    disk = SimDisk()
    disk.open("f", writable=True, create=True)
    disk.sync_directory("")
    return disk


def test_a_sync_covers_what_was_written_when_it_began() -> None:
    disk = begun()
    file = disk.open("f", writable=True)
    file.write_at(0, b"before")
    file.begin_sync()  # type: ignore[attr-defined]
    file.write_at(6, b" after")
    file.sync()
    disk.crash(seed=1)
    assert disk.open("f").read_at(0, 100).startswith(b"before")
    outcomes = set()
    for seed in range(50):
        disk = begun()
        file = disk.open("f", writable=True)
        file.begin_sync()  # type: ignore[attr-defined]
        file.write_at(0, b"later")
        file.sync()
        disk.crash(seed)
        outcomes.add(disk.open("f").read_at(0, 100))
    assert len(outcomes) > 1, "nobody promised it"


def test_a_sync_that_a_killed_process_left_takes_nothing_from_the_next_ones() -> None:
    """Found by simulation: an answered record was gone, because the disk had forgotten a sync that was done."""
    disk = begun()
    killed = disk.open("f", writable=True)
    killed.begin_sync()  # type: ignore[attr-defined]
    killed.write_at(0, b"in the page cache")
    disk.open("f").sync()  # whoever recovers
    assert kept(disk) == {b"in the page cache"}


def test_a_failed_sync_loses_what_can_still_be_read() -> None:
    """As after a write-back error on Linux: the next sync says that all is well, and writes nothing of it."""
    disk = begun()
    file = disk.open("f", writable=True)
    file.write_at(0, b"lost")
    disk.fails = lambda operation, path: operation == "sync"
    with pytest.raises(OSError):
        file.sync()
    disk.fails = lambda operation, path: False
    file.sync()
    assert file.read_at(0, 100) == b"lost"
    file.forget_cached()
    assert file.read_at(0, 100) == b""
    file.write_at(2, b"kept")
    file.sync()
    assert kept(disk) == {b"\0\0kept"}


def test_who_has_no_descriptors_left_opens_nothing_until_one_is_closed() -> None:
    disk = begun()
    disk.descriptors = disk.open_files + 1
    file = disk.open("f")
    with pytest.raises(OSError, match="Too many open files"):
        disk.open("f")
    with disk.looked_at():
        disk.open("f")
    file.close()
    disk.open("f")


def test_a_whole_sync_while_another_is_under_way_is_whole() -> None:
    disk = begun()
    slow = disk.open("f", writable=True)
    slow.write_at(0, b"one")
    slow.begin_sync()  # type: ignore[attr-defined]
    slow.write_at(3, b"two")
    disk.open("f").sync()
    slow.sync()
    assert kept(disk) == {b"onetwo"}


def test_a_sync_of_everything_keeps_bytes_and_names() -> None:
    for seed in range(20):
        disk = SimDisk()
        disk.make_directory("d")
        file = disk.open("d/f", writable=True, create=True)
        file.write_at(0, b"kept")
        disk.open("g", writable=True, create=True)
        file.sync_file_system()
        disk.crash(seed)
        assert disk.open("d/f").read_at(0, 100) == b"kept"
        assert disk.exists("g")


def test_what_a_sync_of_everything_has_lost_is_told_once_and_by_the_files_own_next_sync() -> None:
    disk = begun()
    since_before, file = disk.open("f"), disk.open("f", writable=True)
    file.write_at(0, b"lost")
    disk.fails = lambda operation, path: operation == "sync"
    with pytest.raises(OSError):
        since_before.sync_file_system()
    disk.fails = lambda operation, path: False
    since_before.sync_file_system()
    with pytest.raises(OSError):
        disk.open("f").sync()
    disk.open("f").sync()
    assert file.read_at(0, 100) == b"lost"
    assert kept(disk) == {b""}


def test_a_sync_of_everything_tells_whoever_was_there_of_another_sync_that_failed() -> None:
    disk = begun()
    since_before, file = disk.open("f"), disk.open("f", writable=True)
    file.write_at(0, b"lost")
    disk.fails = lambda operation, path: operation == "sync"
    with pytest.raises(OSError):
        file.sync()
    disk.fails = lambda operation, path: False
    disk.open("f").sync_file_system()
    with pytest.raises(OSError):
        since_before.sync_file_system()


def test_a_sync_of_everything_leaves_out_another_file_system() -> None:
    outcomes = set()
    for seed in range(50):
        disk = begun()
        disk.make_directory("other")
        disk.sync_directory("")
        disk.elsewhere = ("other",)
        disk.open("other/f", writable=True, create=True)
        here = disk.open("f")
        assert here.is_beside("f")
        assert not here.is_beside("other/f")
        here.sync_file_system()
        disk.crash(seed)
        outcomes.add(disk.exists("other/f"))
    assert outcomes == {True, False}, "nobody promised it"

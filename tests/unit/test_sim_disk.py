"""The simulated disk: what a sync promises, and to whom."""

from __future__ import annotations

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


def test_a_whole_sync_while_another_is_under_way_is_whole() -> None:
    disk = begun()
    slow = disk.open("f", writable=True)
    slow.write_at(0, b"one")
    slow.begin_sync()  # type: ignore[attr-defined]
    slow.write_at(3, b"two")
    disk.open("f").sync()
    slow.sync()
    assert kept(disk) == {b"onetwo"}

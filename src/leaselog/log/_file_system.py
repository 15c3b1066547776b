"""One sync for a whole file system, where it promises what a sync of each file does. Private to this room.

That is not so everywhere. POSIX's `sync` tells of no failure, and need not wait. Linux tells of one by `syncfs`, from
5.8 on; but a file system above another (overlay) does not hear of that one's failures, and one with a server behind it
(FUSE, NFS) need not ask the server for what an fsync asks. So this is for those that are known; for all others files
are synced one by one.
"""

from __future__ import annotations

import errno
import os
import re
import sys

__all__ = ["sync_file_system"]

#: since when what could not be written is told by `syncfs`, to each descriptor that was open by then
_TOLD_SINCE = (5, 8)
#: by what `statfs` calls them: ext4, which has also taken over ext2 and ext3; xfs; btrfs
_KNOWN = (0xEF53, 0x58465342, 0x9123683E)
#: what `statfs` fills has 120 bytes, its first word says what it is
_STATFS_BYTES = 512


def sync_file_system(fd: int) -> None:
    """Raises ``OSError`` if something was not written since the file was opened, or if this system cannot tell."""
    if sys.platform != "linux" or _release() < _TOLD_SINCE:
        raise _error(errno.ENOTSUP)
    # Here, as hardly anybody has so many logs, and a start would be 10 ms longer.
    import ctypes

    system = ctypes.CDLL(None, use_errno=True)
    about = (ctypes.c_long * (_STATFS_BYTES // ctypes.sizeof(ctypes.c_long)))()
    try:
        has_failed = system.fstatfs(fd, about)
        if not has_failed and about[0] not in _KNOWN:
            raise _error(errno.ENOTSUP)
        has_failed = has_failed or system.syncfs(fd)
    except AttributeError:  # a C library without it
        raise _error(errno.ENOTSUP) from None
    if has_failed:
        raise _error(ctypes.get_errno())
    # Of a file, for what `syncfs` may leave out: xfs does not flush the drive's cache if its journal has nothing new,
    # and before 5.17 nobody was told that a journal had failed.
    os.fsync(fd)


def _release() -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))

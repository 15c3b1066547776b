"""What another operating system would be to a program: run first, in a process of its own, with the system's name.

Nothing of leaselog is imported before. The standard library is: there it would look at what it runs on, and find Linux.
"""

from __future__ import annotations

import asyncio
import fcntl
import http.server
import importlib
import multiprocessing.synchronize
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import unittest.mock
import urllib.request
import uuid

import cramjam
import crc32c

#: so that a formatter does not take away what is imported to be there
LOADED = (
    http.server, multiprocessing.synchronize, subprocess, tempfile, unittest.mock, urllib.request, uuid, cramjam,
    crc32c,
)  # fmt: skip

#: modules and names that only Linux and macOS have
POSIX_MODULES = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "uvloop")
POSIX_NAMES = {
    os: (
        "O_CLOEXEC", "O_DIRECTORY", "O_NONBLOCK", "chown", "fork", "forkpty", "geteuid", "getgid", "getloadavg",
        "getpgid", "getuid", "killpg", "mkfifo", "nice", "pread", "pwrite", "preadv", "pwritev", "register_at_fork",
        "sendfile", "setsid", "statvfs", "sysconf", "uname", "wait3", "waitid",
    ),
    select: ("poll",),
    signal: ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "SIGUSR2", "alarm", "pthread_sigmask"),
    socket: ("SO_REUSEPORT",),
}  # fmt: skip
#: what Linux has and macOS has not
LINUX_NAMES = {
    os: (
        "fdatasync", "posix_fadvise", "posix_fallocate", "sched_getaffinity", "sched_setaffinity", "splice",
        "memfd_create", "eventfd", "pidfd_open",
    ),
    select: ("epoll",),
    socket: ("TCP_QUICKACK", "TCP_USER_TIMEOUT", "SO_PEERCRED"),
}  # fmt: skip
#: of macOS's `fcntl`: a sync that goes past the drive's cache
F_FULLFSYNC = 51


def pretend_windows() -> None:
    for name in POSIX_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # as if it were not there
    _take_away(POSIX_NAMES)
    _take_away(LINUX_NAMES)
    loop = asyncio.SelectorEventLoop
    for name in ("add_signal_handler", "remove_signal_handler"):
        setattr(loop, name, getattr(asyncio.AbstractEventLoop, name))  # it raises NotImplementedError
    sys.platform = "win32"


def pretend_macos(syncs: list[int]) -> None:
    """Whole syncs are kept in ``syncs``."""
    _take_away(LINUX_NAMES)
    real = fcntl.fcntl

    def call(fd: int, what: int, *more: object) -> object:
        if what != F_FULLFSYNC:
            return real(fd, what, *more)  # type: ignore[call-overload]
        syncs.append(fd)
        return os.fsync(fd)

    fcntl.F_FULLFSYNC = F_FULLFSYNC  # type: ignore[attr-defined]
    fcntl.fcntl = call  # type: ignore[assignment]
    sys.platform = "darwin"


def _take_away(names: dict[object, tuple[str, ...]]) -> None:
    for module, gone in names.items():
        for name in gone:
            if hasattr(module, name):
                delattr(module, name)


def import_all(*packages: str) -> int:
    """How many modules these have, every one of which can be imported."""
    import pkgutil

    count = 0
    for package in packages:
        found = importlib.import_module(package)
        for module in pkgutil.walk_packages(found.__path__, f"{package}."):
            importlib.import_module(module.name)
            count += 1
    return count

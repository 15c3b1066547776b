"""What a command needs that a plain `pip install leaselog` does not bring, and what it says where that is missing.

A plain installation is a client. Which extra brings what is in pyproject.toml (ADR 0034).
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from leaselog.cli.arguments import CommandFailed

__all__ = ["can_draw", "need", "need_posix", "need_server"]

#: what is imported, by how it is installed
_PACKAGES = {
    "cryptography": "cryptography",
    "prometheus_client": "prometheus-client",
    "rich": "rich",
    "uvloop": "uvloop",
    "watchfiles": "watchfiles",
}


def need(what: str, extra: str, *modules: str) -> None:
    """Raises ``CommandFailed`` unless all of ``modules``, which ``extra`` brings, can be imported."""
    missing = [_PACKAGES[module] for module in modules if find_spec(module) is None]
    if missing:
        is_or_are = "is" if len(missing) == 1 else "are"
        raise CommandFailed(
            f"{what} needs {' and '.join(missing)}, which {is_or_are} not installed: "
            f"pip install 'leaselog[{extra}]'"
        )


def need_server() -> None:
    """Raises ``CommandFailed`` where no broker can run."""
    need_posix("a broker")
    need("a broker", "server", "uvloop", "prometheus_client")


def need_posix(what: str) -> None:
    """Raises ``CommandFailed`` on Windows."""
    if sys.platform == "win32":
        raise CommandFailed(f"{what} runs on Linux and macOS, and this is Windows")


def can_draw() -> bool:
    """Whether there is something to draw tables with; without it they are columns, aligned by blanks."""
    return find_spec("rich") is not None

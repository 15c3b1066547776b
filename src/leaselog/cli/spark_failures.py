"""Failures of Spark as one line and the end of its log, instead of a hundred lines of stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from leaselog.cli.arguments import CommandFailed
from leaselog.client import ClientError
from leaselog.spark.session import CannotRun, SparkFailed, tail

__all__ = ["spoken"]


@contextmanager
def spoken(log: Path) -> Iterator[None]:
    """Raises ``CommandFailed`` for what a cluster, Spark or its absence has to say."""
    try:
        yield
    except (CannotRun, ClientError) as failed:
        raise CommandFailed(str(failed)) from failed
    except SparkFailed as failed:
        raise CommandFailed(f"{failed}\nThe end of what Spark said:\n{tail(log)}") from failed

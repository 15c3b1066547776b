"""`leaselog config-docs`: prints the page that ``config_docs`` makes."""

from __future__ import annotations

import argparse
import sys

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(args: argparse.Namespace) -> int:
    from leaselog.cli.config_docs import config_docs

    sys.stdout.write(config_docs())
    return 0

"""`leaselog`: one command, a sub-command for each of Apache's scripts. Only what is asked for is imported."""

from __future__ import annotations

import argparse
import sys

from leaselog.cli import serve

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="leaselog")
    commands = parser.add_subparsers(dest="command", required=True)
    serve_parser = commands.add_parser("serve", help="run a broker")
    serve.add_arguments(serve_parser)
    args = parser.parse_args()
    sys.exit(serve.run(args))


if __name__ == "__main__":
    main()

"""Where a command has a password from: a file, the environment or a prompt, as every user sees its arguments."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path

from leaselog.cli.arguments import UsageError

__all__ = ["add_password_arguments", "password_from", "says_password"]


def add_password_arguments(parser: argparse.ArgumentParser, whose: str) -> None:
    parser.add_argument(
        "--password-file", metavar="FILE", help=f"{whose}: the first line of a file; - is standard input"
    )
    parser.add_argument(
        "--password-env", metavar="NAME", help=f"{whose}: the value of an environment variable"
    )


def says_password(args: argparse.Namespace) -> bool:
    return args.password_file is not None or args.password_env is not None


def password_from(args: argparse.Namespace, what: str) -> str:
    """Asks for it, twice, where neither option is given. Raises ``UsageError``; never says what it has read."""
    if args.password_file is not None and args.password_env is not None:
        raise UsageError("--password-file and --password-env exclude each other")
    if args.password_file is not None:
        return _some(_first_line(args.password_file), f"--password-file {args.password_file}")
    if args.password_env is not None:
        return _some(os.environ.get(args.password_env, ""), f"--password-env {args.password_env}")
    return _asked(what)


def _first_line(path: str) -> str:
    try:
        text = sys.stdin.readline() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as unreadable:
        raise UsageError(f"--password-file {path}: {unreadable.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"--password-file {path}: this is no text in UTF-8") from None
    return text.partition("\n")[0].removesuffix("\r")


def _some(password: str, where: str) -> str:
    if not password:
        raise UsageError(f"{where}: there is no password in it")
    return password


def _asked(what: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError(f"{what} needs a password: --password-file FILE or --password-env NAME")
    password = getpass.getpass(f"{what}: ")
    if not password:
        raise UsageError("a password has at least one character")
    if getpass.getpass("The same again: ") != password:
        raise UsageError("the two passwords are not the same")
    return password

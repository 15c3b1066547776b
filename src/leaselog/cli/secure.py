"""`leaselog secure DIR`: keys, certificates, passwords and properties of a secured broker and its clients, in one step.

What is written is for one broker and its users, by an authority that nobody else trusts. Everything is readable by its
owner alone. What is there is not overwritten unasked: a new authority would lock out whoever trusts the old one.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from leaselog.cli.arguments import CommandFailed, UsageError, positive
from leaselog.cli.extras import need
from leaselog.cli.output import print_json
from leaselog.cli.secure_files import ADMIN, CLIENT, FIRST_USERS, Layout, properties_files

__all__ = ["add_arguments", "run"]

_PORT = 9092
_DAYS = 365
_PASSWORD_BYTES = 24
#: always among the broker's names: who is on the same machine
_HERE = ("localhost", "127.0.0.1", "::1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="where the files go; made if it is not there")
    parser.add_argument(
        "--name", action="append", default=[], metavar="HOST",
        help="a name or address under which clients find the broker, as often as needed; the first is the one they are "
        "told, and with one the broker listens on every address (localhost, and listens there)",
    )  # fmt: skip
    parser.add_argument(
        "--port", type=positive, default=_PORT,
        help="where clients with passwords connect; those with certificates at the next one (9092)",
    )  # fmt: skip
    parser.add_argument("--days", type=positive, default=_DAYS, help="how long the certificates last (365)")
    parser.add_argument(
        "--renew", action="store_true",
        help="only new certificates, by the authority that is there: passwords and properties stay",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="overwrite what is there, the authority too")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    if args.renew and args.force:
        raise UsageError("--renew keeps the authority, --force makes another one: expected one of them")
    if args.port > 65_534:
        raise UsageError(f"--port {args.port}: two ports are needed, this one and the next")
    need("leaselog secure", "server", "cryptography")
    directory = Path(args.directory).absolute()
    names = _names(args.name)
    layout = Layout(directory, "0.0.0.0" if args.name else "127.0.0.1", names[0], args.port)
    try:
        files = _renewed(directory, names, args) if args.renew else _all(layout, names, args)
        if not (args.renew or args.force):
            _refuse_overwriting(directory, files)
        _write(directory, files)
    except OSError as failed:
        raise CommandFailed(f"{failed.filename or directory}: {failed.strerror}") from failed
    _tell(layout, files, args)
    return 0


def _names(given: list[str]) -> list[str]:
    """Of the broker: what was said, and how it is found from here."""
    from leaselog.cli.own_authority import is_name

    for name in given:
        if not is_name(name):
            raise UsageError(f"--name {name}: expected a host name in ASCII or an address, without a port")
    return list(dict.fromkeys([*given, *_HERE, *filter(is_name, [socket.gethostname()])]))


def _all(layout: Layout, names: list[str], args: argparse.Namespace) -> dict[str, bytes]:
    from leaselog.cli.own_authority import Authority

    now = datetime.now(UTC)
    authority = Authority.new(f"leaselog secure, {now:%Y-%m-%d}", now=now)
    passwords = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in (ADMIN, CLIENT)}
    return {
        "ca.key": authority.key_pem,
        "ca.pem": authority.certificate_pem,
        "broker.pem": authority.broker("broker", names, now=now, days=args.days),
        "client.pem": authority.client(CLIENT, now=now, days=args.days),
        **{name: text.encode() for name, text in properties_files(layout, passwords).items()},
    }


def _renewed(directory: Path, names: list[str], args: argparse.Namespace) -> dict[str, bytes]:
    """Certificates by the authority that is there, for the names that the broker has, and more if some are said."""
    from leaselog.cli.own_authority import Authority, names_of

    now = datetime.now(UTC)
    key, root, broker = ((directory / name).read_bytes() for name in ("ca.key", "ca.pem", "broker.pem"))
    try:
        authority, before = Authority.load(key, root), names_of(broker)
    except ValueError as wrong:
        raise CommandFailed(f"{directory}: the authority cannot be used: {wrong}") from None
    return {
        "broker.pem": authority.broker("broker", dict.fromkeys([*before, *names]), now=now, days=args.days),
        "client.pem": authority.client(CLIENT, now=now, days=args.days),
    }


def _refuse_overwriting(directory: Path, files: Mapping[str, bytes]) -> None:
    there = [name for name in files if (directory / name).exists()]
    if there:
        raise CommandFailed(
            f"{directory} has {', '.join(there)} already. --renew makes new certificates; --force overwrites all, and"
            " nobody who trusts the old authority trusts the new one"
        )


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in files.items():
        temporary = directory / f".{name}.new"
        temporary.unlink(missing_ok=True)
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        os.replace(temporary, directory / name)  # whoever reads sees the old one or the new one, whole


def _tell(layout: Layout, files: Mapping[str, bytes], args: argparse.Namespace) -> None:
    from leaselog.cli.own_authority import expiry_of

    ends = expiry_of(files["broker.pem"])
    if args.json:
        print_json({
            "directory": str(layout.directory),
            "files": list(files),
            "certificatesEnd": ends.isoformat(),
        })  # fmt: skip
        return
    there = shlex.quote(min(os.path.relpath(layout.directory), str(layout.directory), key=len))
    print(f"Wrote {', '.join(files)} into {there}. The certificates end on {ends:%Y-%m-%d}.")
    if args.renew:
        print("The broker takes them up when it is started again.")
        return
    print(f"""
Start the broker, with its first users ({FIRST_USERS} is needed once, and may be deleted then):

  leaselog serve --config {there}/broker.properties --data-dir {there}/data --add-scram @{there}/{FIRST_USERS}

Then administer it:

  leaselog topics --bootstrap-server {layout.sasl_address} --command-config {there}/{ADMIN}.properties --list""")

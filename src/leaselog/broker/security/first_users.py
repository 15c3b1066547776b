"""The SCRAM users that a broker is started with, so that there is somebody who can log in and make the others.

What `--add-scram` takes is what `kafka-storage format --add-scram` takes:

    SCRAM-SHA-256=[name=admin,password=secret]
    SCRAM-SHA-512=[name=admin,salt="c2FsdA==",saltedpassword="…",iterations=8192]

A value with a comma stands in quotes. No error quotes what was written: it has a password in it.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable

from leaselog.coordination.cluster_records import ScramCredentialSet
from leaselog.sasl.scram import (
    MAX_ITERATIONS,
    MECHANISMS,
    MIN_ITERATIONS,
    Mechanism,
    credential_of_salted_password,
    salted_password,
)

__all__ = ["read_first_user", "read_first_users"]

_WHOLE = re.compile(r"(?P<mechanism>[^=\[]+)=\[(?P<options>.*)\]", re.DOTALL)
_OPTION = re.compile(r'\s*(?P<name>[a-z]+)=(?:"(?P<quoted>[^"]*)"|(?P<bare>[^,"]*))\s*(?:,|$)', re.DOTALL)
_KNOWN = {"name", "password", "salt", "saltedpassword", "iterations"}


def read_first_users(lines: Iterable[str], new_salt: Callable[[], bytes]) -> list[ScramCredentialSet]:
    """One user a line; empty lines, and lines that begin with a #, are nobody. Raises ValueError in one line."""
    wanted = (line.strip() for line in lines)
    return [read_first_user(line, new_salt) for line in wanted if line and not line.startswith("#")]


def read_first_user(text: str, new_salt: Callable[[], bytes]) -> ScramCredentialSet:
    """Takes the time of one PBKDF2 if it names a password. Raises ValueError in one line."""
    whole = _WHOLE.fullmatch(text.strip())
    mechanism = MECHANISMS.get(whole["mechanism"].strip()) if whole else None
    if whole is None or mechanism is None:
        raise ValueError(
            f"a SCRAM user is written as {' or '.join(MECHANISMS)}=[name=NAME,password=PASSWORD]: "
            "what was written is not"
        )
    options = _options(whole["options"])
    if not options.get("name"):
        raise ValueError("a SCRAM user has no name")
    user = options["name"]
    iterations = _iterations(user, options.get("iterations", str(MIN_ITERATIONS)))
    if ("password" in options) == ("saltedpassword" in options):
        raise ValueError(f"SCRAM user {user}: expected one of password and saltedpassword")
    salt = _decoded(user, "salt", options["salt"]) if "salt" in options else new_salt()
    if "password" in options:
        salted = _salted(user, mechanism, options["password"], salt, iterations)
    elif "salt" not in options:
        raise ValueError(f"SCRAM user {user}: a saltedpassword needs the salt that it was made with")
    else:
        salted = _decoded(user, "saltedpassword", options["saltedpassword"])
    return ScramCredentialSet(
        user, mechanism.code, credential_of_salted_password(mechanism, salted, salt, iterations)
    )


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    at = 0
    while at < len(text):
        found = _OPTION.match(text, at)
        if found is None or found["name"] not in _KNOWN or found["name"] in options:
            raise ValueError(
                f"the options of a SCRAM user cannot be read from character {at + 1} on: "
                f"expected each of {', '.join(sorted(_KNOWN))} once at most"
            )
        options[found["name"]] = found["bare"] if found["quoted"] is None else found["quoted"]
        at = found.end()
    return options


def _iterations(user: str, text: str) -> int:
    iterations = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise ValueError(f"SCRAM user {user}: expected {MIN_ITERATIONS} to {MAX_ITERATIONS} iterations")
    return iterations


def _salted(user: str, mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    if not password:
        raise ValueError(f"SCRAM user {user}: the password is empty")
    return salted_password(mechanism, password, salt, iterations)


def _decoded(user: str, option: str, text: str) -> bytes:
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        value = b""
    if not value:
        raise ValueError(f"SCRAM user {user}: expected {option} in base64")
    return value

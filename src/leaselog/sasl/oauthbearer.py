"""OAUTHBEARER (RFC 7628, KIP-255, KIP-342): a token in the client's first message, and what a server says of it.

    n,[a=AUTHZID],^Aauth=Bearer TOKEN^A[NAME=VALUE^A]...^A

A server that takes the token answers with nothing. One that does not answers with a JSON object, and the client
says one ^A, upon which the exchange fails.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from leaselog.sasl.errors import MalformedMessage, WrongCredentials
from leaselog.sasl.names import unescaped

__all__ = ["ACKNOWLEDGED", "OAUTHBEARER", "BearerLogin", "check", "message", "read", "refusal"]

OAUTHBEARER = "OAUTHBEARER"
#: what a client says to a refusal, so that the exchange can end
ACKNOWLEDGED = b"\x01"

_HEADER = re.compile(r"n,(?:a=(?P<authorization_id>[^,]*))?,\x01", re.DOTALL)
_NAME = re.compile("[A-Za-z]+")
_VALUE = re.compile("[\\x21-\\x7e \t\r\n]+")
_BEARER = re.compile(r"bearer +([-_~+/.A-Za-z0-9]+=*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BearerLogin:
    token: str = field(repr=False)
    #: what the client says beside its token (KIP-342): a logical cluster's name, say
    extensions: dict[str, str] = field(default_factory=dict)
    authorization_id: str = ""


def message(token: str, extensions: dict[str, str] | None = None) -> bytes:
    """All that a client with a good token says."""
    if not _BEARER.fullmatch(f"bearer {token}"):
        raise ValueError("the token is empty, or has characters that no bearer token has")
    parts = [f"auth=Bearer {token}"]
    for name, value in (extensions or {}).items():
        if not _NAME.fullmatch(name) or name == "auth" or not _VALUE.fullmatch(value):
            raise ValueError(
                f"the SASL extension {name!r} has a name of other than letters, or an impossible value"
            )
        parts.append(f"{name}={value}")
    return ("n,,\x01" + "".join(f"{part}\x01" for part in parts) + "\x01").encode()


def read(said: bytes) -> BearerLogin:
    try:
        text = said.decode("ascii")
    except UnicodeDecodeError:
        raise MalformedMessage("Invalid OAUTHBEARER client first message: it is not ASCII") from None
    header = _HEADER.match(text)
    if header is None or not text.endswith("\x01\x01"):
        raise MalformedMessage("Invalid OAUTHBEARER client first message")
    values: dict[str, str] = {}
    for pair in text[header.end() : -2].split("\x01"):
        name, equals, value = pair.partition("=")
        if not equals or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or name in values:
            raise MalformedMessage(
                "Invalid OAUTHBEARER client first message: a pair is no NAME=VALUE, or comes twice"
            )
        values[name] = value
    bearer = _BEARER.fullmatch(values.pop("auth", ""))
    if bearer is None:
        raise MalformedMessage(
            "Invalid OAUTHBEARER client first message: 'auth' is missing, or no bearer token"
        )
    return BearerLogin(bearer[1], values, unescaped(header["authorization_id"] or ""))


def refusal(status: str, scope: str | None = None, openid_configuration: str | None = None) -> bytes:
    """What a server says of a token that it does not take."""
    told = {"status": status, "scope": scope, "openid-configuration": openid_configuration}
    return json.dumps({name: value for name, value in told.items() if value}, separators=(",", ":")).encode()


def check(server_first: bytes) -> None:
    """What a client makes of the server's answer: nothing is good, and anything else is why not."""
    if not server_first:
        return
    try:
        told = json.loads(server_first)
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise MalformedMessage("the server's answer to the token is neither empty nor a JSON object")
    scope = told.get("scope")
    wanted = f", it asks for the scope {str(scope)[:200]}" if scope else ""
    raise WrongCredentials(f"the server does not take the token: {str(told.get('status'))[:200]}{wanted}")

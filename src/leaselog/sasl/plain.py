"""PLAIN (RFC 4616): one message with a user name and a password in clear text."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from leaselog.sasl.errors import MalformedMessage

__all__ = ["PLAIN", "PlainLogin", "are_same", "message", "read"]

PLAIN = "PLAIN"


@dataclass(frozen=True, slots=True)
class PlainLogin:
    user: str
    password: str = field(repr=False)
    #: whom the user wants to act as; empty: itself
    authorization_id: str = ""


def message(user: str, password: str, authorization_id: str = "") -> bytes:
    """All that a client says."""
    if not user or not password:
        raise ValueError("PLAIN takes a user name and a password")
    if "\0" in user + password + authorization_id:
        raise ValueError("neither a user name nor a password of PLAIN has a zero byte")
    return f"{authorization_id}\0{user}\0{password}".encode()


def read(said: bytes) -> PlainLogin:
    """What a client said; the texts are those of Apache Kafka, which its clients show to people."""
    try:
        tokens = said.decode().split("\0")
    except UnicodeDecodeError:
        raise MalformedMessage("Invalid SASL/PLAIN response: it is not UTF-8") from None
    if len(tokens) != 3:
        raise MalformedMessage(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(tokens)}")
    authorization_id, user, password = tokens
    if not user:
        raise MalformedMessage("Authentication failed: username not specified")
    if not password:
        raise MalformedMessage("Authentication failed: password not specified")
    return PlainLogin(user, password, authorization_id)


def are_same(expected: str | None, given: str) -> bool:
    """Whether the password is right, at the same cost for a wrong one, a longer one, and a user nobody knows (None)."""
    digests = [
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (expected or "", given)
    ]
    return hmac.compare_digest(*digests) and expected is not None

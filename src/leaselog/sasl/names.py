"""Names inside of SASL messages, where a comma and an equals sign are taken (RFC 5802, saslname)."""

from __future__ import annotations

import re

from leaselog.sasl.errors import MalformedMessage

__all__ = ["escaped", "unescaped"]

_ESCAPES = {"=2C": ",", "=3D": "="}
_ESCAPE = re.compile("=.{0,2}", re.DOTALL)


def escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescaped(saslname: str) -> str:
    """The name that was meant; an equals sign that begins no escape is an error of who wrote it."""

    def one(found: re.Match[str]) -> str:
        meant = _ESCAPES.get(found.group())
        if meant is None:
            raise MalformedMessage("a name has an equals sign that is not written as =3D")
        return meant

    return _ESCAPE.sub(one, saslname)

"""Which names a topic may have: Kafka's rule, which holds on both sides of the wire."""

from __future__ import annotations

import re

__all__ = ["why_illegal_topic"]

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def why_illegal_topic(name: str) -> str | None:
    """Why no topic may have this name, in Kafka's words; None if one may."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None

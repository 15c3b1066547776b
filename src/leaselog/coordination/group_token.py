"""What ties an answer of a group shard to its command."""

from __future__ import annotations

from typing import NewType

__all__ = ["Token"]

#: made up by the asker, never twice
Token = NewType("Token", int)

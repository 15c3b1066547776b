"""Who is at the other end of a connection."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Client"]


@dataclass(frozen=True, slots=True)
class Client:
    connection_id: int
    host: str
    port: int

"""Who is at the other end of a connection."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.model import ANONYMOUS, Principal

__all__ = ["Client"]


@dataclass(frozen=True, slots=True)
class Client:
    """One that authenticates becomes another `Client` of the same connection; until then it may ask for nothing."""

    connection_id: int
    host: str
    port: int
    #: the name of the listener that it came by
    listener: str = "PLAINTEXT"
    principal: Principal = ANONYMOUS

"""Who asks: the principal that ACLs, quotas and log lines name."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ANONYMOUS", "Principal"]


class Principal(NamedTuple):
    """Kafka knows no type but ``User``; ``str()`` is how ACLs and `super.users` write it."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


#: of a connection that nobody authenticated
ANONYMOUS = Principal("User", "ANONYMOUS")

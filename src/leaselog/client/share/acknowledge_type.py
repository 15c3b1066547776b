"""What a consumer can say of a record."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["AcknowledgeType"]


class AcknowledgeType(IntEnum):
    """KIP-932's three outcomes and KIP-1222's wish for more time."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4

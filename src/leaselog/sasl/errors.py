"""What goes wrong in a SASL exchange: one family, so that a caller can be sure of having caught everything."""

from __future__ import annotations

__all__ = ["MalformedMessage", "SaslError", "WrongCredentials"]


class SaslError(Exception):
    """An exchange ends here. The text is for the log of the side that raises it, and names no secret."""


class MalformedMessage(SaslError):
    """What the other side said cannot be understood."""


class WrongCredentials(SaslError):
    """The other side does not know what it says it knows."""

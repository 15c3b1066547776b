"""What a share consumer raises beside the answers of brokers: wrong use, bad configuration, bad records, a wake-up."""

from __future__ import annotations

from leaselog.client.errors import ClientError

__all__ = [
    "ConcurrentAccess",
    "IllegalState",
    "RecordDeserializationError",
    "Transient",
    "WakeupError",
]


class IllegalState(RuntimeError):
    """The call does not fit what the consumer is doing: Java's IllegalStateException."""


class ConcurrentAccess(IllegalState):
    """Two threads, or two tasks, use one consumer at once. Only ``wakeup`` may be called from anywhere."""


class WakeupError(Exception):
    """Somebody called ``wakeup``. Nothing is lost: the next call goes on where this one stopped."""


class RecordDeserializationError(ClientError):
    """A key or value that its deserialiser refused; the refusal is the ``__cause__``."""

    def __init__(self, part: str, where: str, offset: int, cause: Exception) -> None:
        self.part = part
        super().__init__(f"{part} of {where} at offset {offset}: {type(cause).__name__}: {cause}")
        self.__cause__ = cause


class Transient(Exception):
    """Raise it, or a subclass, from a handler: the record is not at fault, it is released and comes again.

    With a ``delay`` it comes no earlier than after so many seconds; a time that has passed means at once. Without, the
    group's configuration says when. A subclass may have a ``delay`` for all of its kind.
    """

    delay: float | None = None

    def __init__(self, *args: object, delay: float | None = None) -> None:
        super().__init__(*args)
        if delay is not None:
            self.delay = delay

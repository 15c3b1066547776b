"""What a share consumer raises beside the answers of brokers: wrong use, bad configuration, bad records, a wake-up."""

from __future__ import annotations

from leaselog.client.errors import ClientError, IllegalState

__all__ = [
    "ConcurrentAccess",
    "IllegalState",
    "RecordDeserializationError",
    "Reject",
    "Transient",
    "WakeupError",
]


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


class Reject(Exception):
    """Raise it, or a subclass, from a handler: the record will never be dealt with, and is not to come again.

    Its text is the reason that the dead letter names; without one it is the exception that it was raised ``from``.
    """


class Transient(Exception):
    """Raise it, or a subclass, from a handler: the record is not at fault, it is released and comes again.

    So it is with any exception but `Reject`; this one can say when: with a ``delay`` the record comes no earlier than
    after so many seconds, and a time that has passed means at once. A subclass may have a ``delay`` for all its kind.
    """

    delay: float | None = None

    def __init__(self, *args: object, delay: float | None = None) -> None:
        super().__init__(*args)
        if delay is not None:
            self.delay = delay

"""What both consumers say of a record in a word each: accept, release, reject, renew, give back.

The same as `acknowledge` with a type, in its two forms: of a record, or of a topic, a partition and an offset.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.extras import Extra, extra_of
from leaselog.client.share.record import ShareRecord

__all__ = ["Reason", "Acknowledging"]

K = TypeVar("K")
V = TypeVar("V")

#: a text, or the exception that says it
Reason = str | BaseException

_ASKED_BACK = Extra(given_back=True, is_asked=True)


class Acknowledging(Generic[K, V]):
    """Each raises ``IllegalState`` in implicit mode, and for a record that is not waiting for it."""

    def _say(self, of: tuple[Any, ...], kind: AcknowledgeType, extra: Extra | None) -> None:
        """``of`` a record, or of topic, partition, offset."""
        raise NotImplementedError

    def _acknowledge_with(
        self,
        of: tuple[Any, ...],
        kind: AcknowledgeType | None,
        delay: float | None,
        reason: Reason | None,
    ) -> None:
        """`acknowledge` in full: ``of`` may end with the type."""
        if kind is None and isinstance(of[-1], AcknowledgeType):
            *names, kind = of
            of = tuple(names)
        kind = AcknowledgeType.ACCEPT if kind is None else AcknowledgeType(kind)
        self._say(of, kind, extra_of(kind, delay, reason))

    @overload
    def accept(self, record: ShareRecord[K, V], /) -> None: ...

    @overload
    def accept(self, topic: str, partition: int, offset: int, /) -> None: ...

    def accept(self, *of: Any) -> None:
        """The record is processed: the group does not get it again."""
        self._say(of, AcknowledgeType.ACCEPT, None)

    @overload
    def release(self, record: ShareRecord[K, V], /, *, delay: float | None = None) -> None: ...

    @overload
    def release(self, topic: str, partition: int, offset: int, /, *, delay: float | None = None) -> None: ...

    def release(self, *of: Any, delay: float | None = None) -> None:
        """The record is delivered again, to any member; with a ``delay``, not before so many seconds have passed.

        Without a ``delay`` the group's backoff holds. Only leaselog brokers have delays; others deliver at once.
        """
        self._say(of, AcknowledgeType.RELEASE, extra_of(AcknowledgeType.RELEASE, delay, None))

    @overload
    def reject(self, record: ShareRecord[K, V], /, *, reason: Reason | None = None) -> None: ...

    @overload
    def reject(self, topic: str, partition: int, offset: int, /, *, reason: Reason | None = None) -> None: ...

    def reject(self, *of: Any, reason: Reason | None = None) -> None:
        """The record is archived: the group does not get it again.

        The ``reason``, a text or an exception, becomes the cause of its dead letter, a thousand characters of it at
        most. Only leaselog brokers keep a reason.
        """
        self._say(of, AcknowledgeType.REJECT, extra_of(AcknowledgeType.REJECT, None, reason))

    @overload
    def renew(self, record: ShareRecord[K, V], /) -> None: ...

    @overload
    def renew(self, topic: str, partition: int, offset: int, /) -> None: ...

    def renew(self, *of: Any) -> None:
        """The record needs more time: its lease begins anew, and the next `poll` returns it again."""
        self._say(of, AcknowledgeType.RENEW, None)

    @overload
    def give_back(self, record: ShareRecord[K, V], /) -> None: ...

    @overload
    def give_back(self, topic: str, partition: int, offset: int, /) -> None: ...

    def give_back(self, *of: Any) -> None:
        """Nobody has begun to work on the record: it is delivered again, and this delivery does not count.

        Only leaselog brokers can do that; for others it is a release, whose delivery counts.
        """
        self._say(of, AcknowledgeType.RELEASE, _ASKED_BACK)

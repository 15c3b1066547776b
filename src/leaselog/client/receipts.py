"""What a producer gives for a record that it has taken: where it went, once that is known."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from leaselog.client.errors import RequestTimedOut
from leaselog.client.producer import Delivered
from leaselog.client.undelivered import Undelivered

__all__ = ["AsyncReceipt", "Receipt", "RecordMetadata", "settle"]


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    topic: str
    partition: int
    #: -1 if the broker does not say: with acks=0, and for a batch that had arrived before
    offset: int


class _Receipt:
    __slots__ = ("_outcome", "_untold")

    def __init__(self, untold: Undelivered) -> None:
        self._outcome: RecordMetadata | BaseException | None = None
        #: where a failure counts until somebody has asked; None if it does not, or not any more
        self._untold: Undelivered | None = untold

    @property
    def is_done(self) -> bool:
        return self._outcome is not None

    def put(self, outcome: RecordMetadata | BaseException) -> None:
        self._outcome = outcome
        if isinstance(outcome, BaseException):
            if self._untold is not None:
                self._untold.add(outcome)
        else:
            self._untold = None

    def disown(self, why: BaseException) -> None:
        """Nobody here will ever know: in the child of a fork, whose parent sent the record."""
        self._untold, self._outcome = None, why

    def _get(self) -> RecordMetadata:
        assert self._outcome is not None, "not delivered yet"
        if isinstance(self._outcome, BaseException):
            if self._untold is not None:
                self._untold.looked_at(self._outcome)
                self._untold = None
            raise self._outcome
        return self._outcome


class AsyncReceipt(_Receipt):
    """Await it for the record's place; raises the error for which it was given up."""

    __slots__ = ("_waiting",)

    def __init__(self, untold: Undelivered) -> None:
        super().__init__(untold)
        self._waiting: asyncio.Future[None] | None = None

    def put(self, outcome: RecordMetadata | BaseException) -> None:
        super().put(outcome)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        yield from self.settled().__await__()
        return self._get()

    async def settled(self) -> None:
        """Returns when it is known what became of the record, for better or worse."""
        if not self.is_done:
            if self._waiting is None:
                self._waiting = asyncio.get_running_loop().create_future()
            # Shielded: who stops waiting must not stop others that wait for the same record.
            await asyncio.shield(self._waiting)


class Receipt(_Receipt):
    """Ask it for the ``result``, from any thread."""

    __slots__ = ("_settled",)

    def __init__(self, settled: threading.Condition, untold: Undelivered) -> None:
        super().__init__(untold)
        #: of the whole producer: a lock for each record would be most of its cost
        self._settled = settled

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """The record's place; raises the error for which it was given up, or ``RequestTimedOut``."""
        if not self.is_done:
            with self._settled:
                if not self._settled.wait_for(lambda: self.is_done, timeout):
                    raise RequestTimedOut(f"not delivered in {timeout} s")
        return self._get()


def settle(delivered: Delivered) -> list[_Receipt]:
    """Tell the receipts of a batch what became of it; returns them."""
    receipts = [tag for tag in delivered.tags if isinstance(tag, _Receipt)]
    topic, partition = delivered.where
    for index, receipt in enumerate(receipts):
        offset = delivered.base_offset + index if delivered.base_offset >= 0 else -1
        receipt.put(delivered.error or RecordMetadata(topic, partition, offset))
    return receipts

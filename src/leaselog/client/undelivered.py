"""Records that were given up and of which nobody knows yet: neither was a receipt asked, nor did a call raise it.

Nothing of the records is kept: a cluster that refuses millions of them costs a number, and an error of each kind.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from leaselog.client.errors import DeliveryFailed

__all__ = ["FIRST_PAUSE_S", "Undelivered"]

#: who wants to ask a receipt has asked it by then; and between two lines in the log, twice as long each time
FIRST_PAUSE_S = 5.0
MAX_PAUSE_S = 60.0

_log = logging.getLogger("leaselog.client")


@dataclass(slots=True)
class _Kind:
    first: BaseException
    count: int = 0


class Undelivered:
    """For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds = dict[type[BaseException], _Kind]()
        #: how many of them the log has heard of
        self._logged = 0
        self._pause_s = FIRST_PAUSE_S
        #: somebody will call `say` when the pause is over
        self._is_due = False

    @property
    def count(self) -> int:
        return sum(kind.count for kind in self._kinds.values())

    def add(self, why: BaseException, records: int = 1) -> None:
        with self._lock:
            self._kinds.setdefault(type(why), _Kind(why)).count += records

    def looked_at(self, why: BaseException) -> None:
        """Somebody asked the receipt of one that failed so."""
        with self._lock:
            kind = self._kinds.get(type(why))
            if kind is None:
                return
            kind.count -= 1
            self._logged = min(self._logged, self.count)
            if not kind.count:
                del self._kinds[type(why)]

    def take(self) -> DeliveryFailed | None:
        """What to raise, once: afterwards somebody knows."""
        with self._lock:
            kinds, self._kinds, self._logged = self._kinds, {}, 0
        return DeliveryFailed({kind.first: kind.count for kind in kinds.values()}) if kinds else None

    def raise_them(self) -> None:
        if (failed := self.take()) is not None:
            raise failed from failed.errors[0]

    def log_them(self) -> None:
        """Where nothing can be raised, since something else is already."""
        if (failed := self.take()) is not None:
            _log.error("%s", failed)

    # of a producer whose receipts nobody asks, and that is never flushed nor closed

    def pause_s(self) -> float | None:
        """When to `say` it; None if that is agreed already, or there is nothing to be said."""
        if self._is_due or self.count <= self._logged:
            return None
        self._is_due = True
        return self._pause_s

    def say(self) -> None:
        """Into the log, what is new; a flush raises it nevertheless."""
        with self._lock:
            self._is_due = False
            count, kinds = self.count, {kind.first: kind.count for kind in self._kinds.values()}
            fresh, self._logged = count - self._logged, count
        if fresh > 0:
            self._pause_s = min(self._pause_s * 2, MAX_PAUSE_S)
            _log.error("%s; nobody has asked their receipts", DeliveryFailed(kinds))
        else:
            self._pause_s = FIRST_PAUSE_S

"""One ShareFetch under way: what its partitions can give, and waiting for it.

A request looks at those of its partitions that may have something, in its session's order; when there is enough, it
acquires there and then, as nothing else runs in between. Otherwise it waits until something happens that may change its
mind, and looks again. The records wanted are one budget for all partitions. Of the bytes each gets an even part, and
what it leaves goes to those after it; the first that has anything gets at least one batch, however large.

Who has records to acknowledge is not kept waiting for `max_wait_ms`: what it says of them stands behind this request on
the connection, and the others may be waiting for just that. It is answered with nothing when the patience of its
session ends.

Bounds: one answer has records of `MOST_GIVING` partitions at most, so that taking them does not hold up the loop. The
others come first the next time.
"""

from __future__ import annotations

from collections.abc import Callable

from leaselog.broker.lending.errors import as_fetch_error
from leaselog.broker.lending.fetch_line import FetchLine, UnfinishedError
from leaselog.broker.lending.local_group import Waking
from leaselog.broker.lending.partition_owner import Acquisition, SharePartitionOwner
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.quotas.held_bytes import PETTY_BYTES
from leaselog.model import ErrorCode, Refused
from leaselog.share import AcquireMode, TopicIdPartition
from leaselog.wire.messages.share_fetch import ShareFetchRequest

__all__ = ["ShareFetching"]

#: as the wire has them
MODES = {mode.value: mode for mode in AcquireMode}

MOST_GIVING = 200


class ShareFetching:
    """``allowed_bytes`` is what the request wants, or less when its client's quota says so; ``room_bytes`` tells what
    may still be handed to the sockets of clients that do not keep up."""

    __slots__ = (
        "_allowed_bytes",
        "_deadline_ms",
        "_group",
        "_is_behind",
        "_patience_end_ms",
        "_request",
        "_room_bytes",
        "_session",
        "_shares",
        "_started_ms",
        "bytes_given",
        "errors",
        "given",
        "is_done",
        "line",
        "waking",
        "wants_records",
    )

    def __init__(
        self,
        shares: SharePartitions,
        line: FetchLine,
        request: ShareFetchRequest,
        allowed_bytes: int,
        room_bytes: Callable[[], int],
        *,
        wants_records: bool,
    ) -> None:
        self.line = line
        #: what each partition has given that has given anything
        self.given: list[tuple[SharePartitionOwner, Acquisition]] = []
        #: of records, by all of them
        self.bytes_given = 0
        #: partitions that had none for other reasons than having none
        self.errors: dict[TopicIdPartition, ErrorCode] = {}
        self.waking: Waking | None = None
        self._shares = shares
        self._room_bytes = room_bytes
        self._group = line.group
        self._session = line.session
        self._request = request
        self._allowed_bytes = allowed_bytes
        self.wants_records = wants_records and bool(self._session.partitions)
        self._started_ms = shares.support.runtime.monotonic_ms()
        self._deadline_ms = self._started_ms + max(request.max_wait_ms, 0)
        #: when to answer if the member has records to acknowledge then
        self._patience_end_ms = self._started_ms + self._session.patience_ms
        #: what there is to say is the answer
        self.is_done = not self.wants_records
        #: the last look has not come to its end
        self._is_behind = False

    def try_first(self) -> bool:
        """The first look, right after the start."""
        if self.wants_records:
            self.line.begin()
            self._try_at(self._started_ms)
        return self.is_done

    def try_now(self) -> bool:
        """Looks once, and takes what there is if it is enough. False: nothing was taken, and it is worth waiting."""
        self._try_at(self._shares.support.runtime.monotonic_ms())
        return self.is_done

    def _try_at(self, now_ms: float) -> None:
        if not self._is_session_alive():
            return self._end(is_late=True)
        is_late = now_ms >= self._deadline_ms or self._shares.support.runtime.is_stopping
        try:
            self.line.catch_up()
            first = self.line.first()
            if first is not None:
                if is_late or self._is_enough():
                    self._take(first)
            elif not is_late and now_ms >= self._patience_end_ms:
                is_late = self.line.owes_something()
            self._is_behind = False
        except UnfinishedError:
            self._is_behind = (
                not self.given and not self.errors
            )  # or else the others come first the next time
        finally:
            self.line.end_look()
        # an error that taking met is an answer, as records are
        refused = self.line.refused
        is_refused = len(refused) == len(self._session.partitions)
        if is_refused and ErrorCode.TOPIC_AUTHORIZATION_FAILED in refused.values():
            # Clients ask again at once, as of Apache Kafka, 1,400 times a second: this can wait (ADR 0038).
            is_refused = False
        if not self._is_behind and (is_late or self.given or self.errors or is_refused):
            self._end(is_late=is_late)
        return None

    def _end(self, *, is_late: bool) -> None:
        self.is_done = True
        if self.line.refused:
            self.errors.update(self.line.refused)
        self.errors.update(self.line.forbidden())
        self._session.fetched(has_records=bool(self.given))
        elapsed_s = (self._shares.support.runtime.monotonic_ms() - self._started_ms) / 1000
        self._shares.support.metrics.fetched(
            self._session.key.group_id,
            len(self._session.partitions),
            len(self.given),
            elapsed_s,
            is_late=is_late,
        )

    async def wait(self) -> None:
        """Looks again whenever something happened, until it is enough or the time is up.

        Those who wait for one owner look one after the other: the first mostly takes all there is.
        """
        if await self._look():
            return  # it happened between the first look, in the request's turn, and this one
        owes_something = self.line.owes_something()  # if not, it will not before this is answered
        while True:
            now_ms = self._shares.support.runtime.monotonic_ms()
            left_ms = self._deadline_ms - now_ms
            if owes_something and now_ms < self._patience_end_ms:
                left_ms = min(left_ms, self._patience_end_ms - now_ms)
            try:
                await self._group.wait(self, max(left_ms, 0) / 1000)
                if self.try_now() or await self._look():
                    return
            finally:
                self._pass_on()

    async def _look(self) -> bool:
        """A look that was not finished, or at what has happened since, to its end."""
        while self._is_behind or self.line.has_news or self._shares.support.runtime.is_stopping:
            if self.try_now():
                return True
            await self._shares.support.runtime.turns.step_back()
        return False

    def _pass_on(self) -> None:
        """Whatever it has taken or not: what can still be had is for the next."""
        waking, self.waking = self.waking, None
        if waking is not None and waking.owner.can_give():
            self._group.pass_on(waking)

    def _is_session_alive(self) -> bool:
        """A session that ended meanwhile has given back what its member held: nothing more is to be taken for it. Nor
        for a request that another one of the session has overtaken, which will be answered with an error."""
        session = self._session
        is_there = self._shares.sessions.get(session.key) is session
        return is_there and session.is_current(self._request.share_session_epoch)

    def _is_enough(self) -> bool:
        if self._request.min_bytes <= 1:
            return True
        max_bytes = self._max_bytes()
        min_bytes = min(self._request.min_bytes, max_bytes)
        if min_bytes <= 1 or self.line.length > MOST_GIVING:
            return True
        # a partition with more than its even part counts for that much only
        part, found_bytes = max(1, max_bytes // max(1, self.line.length)), 0
        while found_bytes < min_bytes and (owner := self.line.first()) is not None:
            found_bytes += owner.readable_bytes(part)
            self.line.step_aside()
        self.line.end_look()
        return found_bytes >= min_bytes

    def _max_bytes(self) -> int:
        wanted_bytes = min(self._allowed_bytes, self._shares.support.runtime.config.fetch_max_bytes)
        return min(wanted_bytes, max(self._room_bytes(), PETTY_BYTES))

    def _take(self, owner: SharePartitionOwner) -> None:
        """Acquires from it, as it is the first, then from the others, for a session that is alive."""
        request, line = self._request, self.line
        left_records, left_bytes = request.max_records, self._max_bytes()
        for asked in range(min(line.length, MOST_GIVING), 0, -1):
            is_first = not self.given
            outcome = owner.acquire(
                self._session.key.member,
                max_records=left_records,
                batch_size=request.batch_size,
                mode=MODES[request.share_acquire_mode],
                # for the first at least one: of fewer bytes than partitions only the last would get any, every time
                max_bytes=max(int(is_first), left_bytes // asked),
                min_one_batch=is_first,
            )
            line.step_aside()
            if isinstance(outcome, Refused):
                self.errors[owner.at] = as_fetch_error(outcome.code)
            elif outcome.record_count:
                self.given.append((owner, outcome))
                line.has_acquired(owner)
                size_bytes = len(outcome.records)
                left_records -= outcome.record_count
                left_bytes -= size_bytes
                self.bytes_given += size_bytes
            if left_records <= 0 or (left_bytes <= 0 and self.given):
                return
            following = line.first()
            if following is None or not self._is_session_alive():
                return
            owner = following

"""The loop of a worker: takes records as fast as handlers finish them, and says of each how it went.

It holds as many records as there are handlers, and a few more so that none has to wait. Records wait under renewed
leases. When it ends, what a handler has begun is finished and acknowledged, and what none has touched goes back.

What fails goes back with a delay. A broker that knows of none leases it for as long: the record is kept, its lease
renewed, and then released. While everything fails one record at a time is tried (`retrying.Outage`).
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from leaselog.client.errors import BrokerError, ClientError
from leaselog.client.machine import monotonic_ms as _now_ms
from leaselog.client.machine import monotonic_s, new_chance
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.calling import WrongHandler
from leaselog.client.share.errors import RecordDeserializationError, Reject, Transient, WakeupError
from leaselog.client.share.extras import Extra, reason_of
from leaselog.client.share.group_terms import GroupTerms, learn_terms, meet_group
from leaselog.client.share.processing import Acknowledgement, ExceptionTypes, Judgement
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.retrying import DEFAULT_DELAYS_S, Outage, RetryDelays
from leaselog.client.share.worked_consumer import WorkedConsumer
from leaselog.model import ErrorCode

__all__ = ["DRAIN_TIMEOUT_S", "EARLIEST", "OnError", "WorkLoop", "WorkerOptions", "tell_error"]

#: how long handlers may take to finish when the worker is asked to end
DRAIN_TIMEOUT_S = 30.0
#: for the last words to brokers of a worker that is to end at once
_AT_ONCE_S = 1.0
#: where a group begins that nobody has configured: a queue has what was put into it
EARLIEST = "earliest"
#: While handlers run, fetches do not wait longer for records: acknowledgements would have to wait behind them.
_BUSY_WAIT_MS = 100
_IDLE_WAIT_MS = 500
#: held while everything fails: one to try, and one that may be better
_HELD_IN_OUTAGE = 2
#: what a broker without delays can be asked to wait for, as leaselog's share.release.delay.max.ms
_LONGEST_KEPT_MS = 3_600_000
_WARN_EVERY_MS = 60_000
_ASK_AGAIN_MS = 1_000

AnyRecord = ShareRecord[Any, Any]
OnError = Callable[[AnyRecord, Exception, AcknowledgeType], None]
#: what became of the work on a record: an error, or None
Handle = Callable[[AnyRecord], Awaitable[BaseException | None]]
Tell = Callable[[AnyRecord, Exception, AcknowledgeType], Awaitable[BaseException | None]]

_log = logging.getLogger("leaselog.client.share")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What `run` was told. Made with `of`, which raises ``TypeError`` and ``ValueError``."""

    concurrency: int
    judgement: Judgement
    #: None: the group's, or the usual ones
    retry_delays_s: tuple[float, ...] | None
    begins: str | None
    drain_timeout_s: float

    @classmethod
    def of(
        cls,
        concurrency: int,
        reject: ExceptionTypes,
        transient: ExceptionTypes,
        retry_delays: Iterable[float] | None,
        begins: str | None,
        drain_timeout: float,
    ) -> WorkerOptions:
        if concurrency < 1:
            raise ValueError(f"concurrency={concurrency}: expected at least one")
        if begins not in (None, EARLIEST, "latest") and not str(begins).startswith("by_duration:"):
            raise ValueError(f"begins={begins!r}: expected earliest, latest, by_duration:PnDTnHnMnS, or None")
        delays = None if retry_delays is None else RetryDelays.checked(retry_delays)
        judgement = Judgement.of(reject=reject, transient=transient)
        return cls(concurrency, judgement, delays, begins, drain_timeout)


@dataclass(slots=True, order=True)
class _Kept:
    """A record that failed and is held until a time: then it is released, or tried again within its delivery."""

    due_ms: int
    number: int
    record: AnyRecord = field(compare=False)
    acknowledgement: Acknowledgement = field(compare=False)
    is_to_be_tried: bool = field(default=False, compare=False)

    def is_lost(self, now_ms: int) -> bool:
        lease = self.record.lease
        return lease.life.ended is not None or lease.deadline_ms <= now_ms


class WorkLoop:
    """`run` it once. ``handle`` gets one record at a time in up to ``concurrency`` tasks."""

    def __init__(self, consumer: WorkedConsumer, handle: Handle, tell: Tell, options: WorkerOptions) -> None:
        self._consumer = consumer
        self._core = consumer.core
        self._handle = handle
        self._tell = tell
        self._options = options
        self._terms = GroupTerms()
        self._terms_asked_ms = 0
        self._asking: asyncio.Task[None] | None = None
        delays_s = DEFAULT_DELAYS_S if options.retry_delays_s is None else options.retry_delays_s
        self._delays = RetryDelays(delays_s, new_chance())
        self._outage = Outage()
        self._waiting = deque[AnyRecord]()
        #: of those, what a handler has tried already
        self._tried = set[AnyRecord]()
        #: a heap
        self._kept = list[_Kept]()
        self._kept_ever = 0
        self._running = set[asyncio.Task[None]]()
        self._trial: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        #: what a handler raised that is not about its record, or a bug of ours
        self._ended_by: BaseException | None = None
        self._is_ending = False
        #: handlers were told to leave off
        self._is_cut = False
        self._is_in_haste = False
        self._warned_ms: int | None = None
        self._lost_unsaid = 0

    async def run(self) -> BaseException | None:
        """Returns when the consumer is woken up, or with what a handler raised that ends everything.

        Raises what the application has to know of its brokers, or its cancellation.
        """
        self._loop = asyncio.get_running_loop()
        try:
            await self._meet_group()
            while self._ended_by is None:
                await self._turn()
            await self._drain()
        except WakeupError:
            await self._drain()
        except BaseException:
            self._cut()
            raise
        finally:
            # However it ends: nobody works on what is left.
            self._is_ending = True
            await asyncio.gather(*self._running, return_exceptions=True)
            if self._asking is not None:
                self._asking.cancel()
            self._give_back()
            await self._consumer.end_work(_AT_ONCE_S if self._is_in_haste else self._options.drain_timeout_s)
        return self._ended_by

    def stop_at_once(self) -> None:
        """Handlers are left where they are, and their records go back. From any thread, and from a signal's handler."""
        self._is_in_haste = True
        self._consumer.wakeup()
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody works in it
                self._loop.call_soon_threadsafe(self._cut)

    def _cut(self) -> None:
        self._is_cut = self._is_ending = True
        for task in self._running:
            task.cancel()

    # the group

    async def _meet_group(self) -> None:
        """Before joining. A cluster that is away is waited for, as everywhere."""
        cluster, group = self._consumer.cluster, self._consumer.config.group_id

        async def meet() -> GroupTerms:
            while True:
                try:
                    return await meet_group(cluster, group, self._options.begins)
                except ClientError as away:
                    _log.debug("group %s: %s", group, away)
                    await asyncio.sleep(_ASK_AGAIN_MS / 1000)

        self._consumer.check_woken()
        asking = asyncio.create_task(meet())
        asking.add_done_callback(lambda _: self._consumer.notify())
        try:
            while not asking.done():
                await self._consumer.changed(_IDLE_WAIT_MS / 1000)
                self._consumer.check_woken()
            self._take_terms(asking.result())
        finally:
            asking.cancel()

    def _take_terms(self, terms: GroupTerms) -> None:
        self._terms = terms
        self._terms_asked_ms = _now_ms()
        self._core.limit_deliveries(terms.delivery_limit)

    def _look_at_terms(self, now_ms: int) -> None:
        """A limit may be raised, and a dead-letter topic set, while the worker runs."""
        age_ms = max(_ASK_AGAIN_MS, self._consumer.config.metadata_max_age_ms)
        is_due = now_ms - self._terms_asked_ms >= age_ms
        if is_due and self._asking is None:
            self._asking = asyncio.create_task(self._ask_terms())

    async def _ask_terms(self) -> None:
        try:
            self._take_terms(await learn_terms(self._consumer.cluster, self._consumer.config.group_id))
        except ClientError as refused:
            _log.debug("group %s: %s", self._consumer.config.group_id, refused)
            self._terms_asked_ms = _now_ms()
        finally:
            self._asking = None

    # records come and go

    async def _turn(self) -> None:
        consumer, core = self._consumer, self._core
        consumer.check_woken()
        consumer.tell_completed()
        now_ms = _now_ms()
        self._look_at_terms(now_ms)
        self._look_after(now_ms)
        core.begin_work(now_ms)
        self._begin_handlers(now_ms)
        if (room := self._room()) > 0 and self._take(room):
            self._begin_handlers(now_ms)
        if (room := self._room()) > 0:
            wait_ms = _BUSY_WAIT_MS if self._running else _IDLE_WAIT_MS
            core.want_records(wait_ms, min(room, consumer.config.max_poll_records))
        else:
            core.want_nothing()
        consumer.pump()
        await consumer.changed(self._wait_s(now_ms))

    def _room(self) -> int:
        if len(self._kept) >= self._consumer.config.max_poll_records:
            return 0
        limit = _HELD_IN_OUTAGE if self._outage.is_open else self._options.concurrency
        return limit - len(self._waiting)

    def _wait_s(self, now_ms: int) -> float:
        due = [now_ms + _IDLE_WAIT_MS]
        if self._kept:
            due.append(self._kept[0].due_ms)
        if self._outage.is_open and self._waiting and self._trial is None:
            due.append(self._outage.next_ms)
        return max(1, min(due) - now_ms) / 1000

    def _take(self, room: int) -> bool:
        try:
            records = self._core.take(_now_ms(), room)
        except BrokerError as failed:
            if failed.code is not ErrorCode.CORRUPT_MESSAGE:
                raise
            _log.warning("rejected: %s", failed)  # the rest of the partition is as good as ever
            return False
        self._waiting += records
        return bool(records)

    def _look_after(self, now_ms: int) -> None:
        """What waits for its time is held on purpose, and what is due is released."""
        if self._outage.is_open and self._trial is None:
            # And else no longer than usual: a handler that hangs would keep its record for ever.
            self._core.keep(self._waiting, now_ms)
        self._core.keep((one.record for one in self._kept), now_ms)
        if any(one.is_lost(now_ms) for one in self._kept):
            self._kept = [one for one in self._kept if not one.is_lost(now_ms)]
            heapq.heapify(self._kept)
            self._core.holdings.forget_lost()
        while self._kept and self._kept[0].due_ms <= now_ms:
            one = heapq.heappop(self._kept)
            if one.is_to_be_tried:
                self._waiting.append(one.record)
            else:
                self._release(one)
        if late := [one for one in self._kept if not self._core.may_keep(one.record, now_ms)]:
            self._kept = [one for one in self._kept if one not in late]
            heapq.heapify(self._kept)
            for one in late:
                self._release(one)

    def _keep(
        self, record: AnyRecord, acknowledgement: Acknowledgement, delay_ms: int, *, is_to_be_tried: bool
    ) -> None:
        self._kept_ever += 1
        due_ms = _now_ms() + delay_ms
        heapq.heappush(self._kept, _Kept(due_ms, self._kept_ever, record, acknowledgement, is_to_be_tried))

    def _release(self, kept: _Kept) -> None:
        self._tried.discard(kept.record)
        self._consumer.end_work_on(kept.record, kept.acknowledgement, insist=True)

    def _begin_handlers(self, now_ms: int) -> None:
        while self._waiting and self._may_begin(now_ms):
            record = self._waiting.popleft()
            lease = record.lease
            if lease.life.ended is not None or lease.deadline_ms <= now_ms:
                self._tried.discard(record)
                continue  # it is somebody else's by now
            lease.delivered_ms = now_ms
            task = asyncio.create_task(self._work_on(record, is_trial=self._outage.is_open))
            if self._outage.is_open:
                self._trial = task
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _may_begin(self, now_ms: int) -> bool:
        if self._outage.is_open:
            return self._trial is None and self._outage.next_ms <= now_ms
        return len(self._running) < self._options.concurrency

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if task is self._trial:
            self._trial = None
        if not task.cancelled() and (broken := task.exception()) is not None:
            self._ended_by = self._ended_by or broken  # a bug of ours
        self._consumer.notify()

    # one record

    async def _work_on(self, record: AnyRecord, *, is_trial: bool) -> None:
        error: BaseException | None = record.error
        if error is None:
            try:
                error = await self._handle(record)
            except BaseException as failed:  # noqa: BLE001 - no exception of a handler's may end its task
                error = failed
        self._tried.discard(record)
        if error is not None and self._is_cut:
            self._consumer.end_work_on(record, Acknowledgement(AcknowledgeType.RELEASE), insist=True)
        elif error is not None and _ends_everything(error):
            self._ended_by = self._ended_by or error
            self._release_later(record, Acknowledgement(AcknowledgeType.RELEASE))
        elif (kind := self._judge(record, error, is_trial)) is not AcknowledgeType.ACCEPT:
            assert error is not None
            told = error if isinstance(error, Exception) else _as_exception(error)
            raised = await self._tell(record, told, kind)
            if raised is not None:
                self._ended_by = self._ended_by or raised

    def _judge(self, record: AnyRecord, error: BaseException | None, is_trial: bool) -> AcknowledgeType:
        """Says what becomes of the record, and returns it."""
        acknowledgement = self._options.judgement.acknowledgement(record, error)
        if error is not None and acknowledgement.kind is AcknowledgeType.RELEASE:
            return self._failed(record, error, acknowledgement, is_trial)
        if self._outage.worked():
            seconds = (_now_ms() - self._outage.begun_ms) / 1000
            _log.warning("records succeed again, after %.0f s in which all of them failed", seconds)
        self._consumer.end_work_on(record, acknowledgement, insist=True)
        return acknowledgement.kind

    def _failed(
        self, record: AnyRecord, error: BaseException, acknowledgement: Acknowledgement, is_trial: bool
    ) -> AcknowledgeType:
        now_ms = _now_ms()
        if acknowledgement.extra is not None and record.delivery_count == 1:
            self._release_later(record, acknowledgement)  # sent on to another time rather than failed
            return AcknowledgeType.RELEASE
        if self._outage.failed((record.where, record.offset), now_ms, is_trial=is_trial):
            _log.warning(
                "one record after the other fails, the last with %s: they are tried one at a time until one succeeds",
                reason_of(error),
            )
        if is_trial and self._outage.is_open and not self._is_ending and self._outage.may_try_again(record):
            self._tried.add(record)
            self._keep(record, acknowledgement, _delay_ms_of(acknowledgement), is_to_be_tried=True)
            return AcknowledgeType.RENEW
        if self._is_hopeless(error):
            return self._reject(record, error)
        if record.is_last_attempt:
            return self._failed_at_last(record, error)
        self._release_later(record, acknowledgement)
        return AcknowledgeType.RELEASE

    def _is_hopeless(self, error: BaseException) -> bool:
        """What nobody can read will be no better next time, and a dead letter keeps it (ADR 0032)."""
        is_unreadable = isinstance(error, RecordDeserializationError)
        stays = isinstance(error, self._options.judgement.transient)
        return is_unreadable and not stays and bool(self._terms.dead_letter_topic)

    def _reject(self, record: AnyRecord, error: BaseException) -> AcknowledgeType:
        extra = Extra(reason=reason_of(error)) if self._core.knows_extras(record) else None
        self._consumer.end_work_on(record, Acknowledgement(AcknowledgeType.REJECT, extra), insist=True)
        return AcknowledgeType.REJECT

    def _failed_at_last(self, record: AnyRecord, error: BaseException) -> AcknowledgeType:
        """It will not come again, whatever is said. Where there are dead letters, its own says why."""
        if self._terms.dead_letter_topic and self._core.knows_extras(record):
            return self._reject(record, error)
        if not self._terms.dead_letter_topic:
            self._warn_of_loss(record, _now_ms())
        self._consumer.end_work_on(record, Acknowledgement(AcknowledgeType.RELEASE), insist=True)
        return AcknowledgeType.RELEASE

    def _release_later(self, record: AnyRecord, acknowledgement: Acknowledgement) -> None:
        if not self._core.holdings.is_open(record):
            return
        extra = acknowledgement.extra
        if extra is None and not (self._terms.has_backoff and self._options.retry_delays_s is None):
            extra = Extra(self._delays.delay_ms(record.delivery_count))
        delay_ms = _delay_ms_of(Acknowledgement(acknowledgement.kind, extra))
        if self._core.knows_extras(record):
            self._consumer.end_work_on(record, Acknowledgement(acknowledgement.kind, extra), insist=True)
        elif delay_ms > 0 and not self._is_ending:
            self._keep(record, Acknowledgement(acknowledgement.kind), delay_ms, is_to_be_tried=False)
        else:
            self._consumer.end_work_on(record, Acknowledgement(acknowledgement.kind), insist=True)

    def _warn_of_loss(self, record: AnyRecord, now_ms: int) -> None:
        if self._warned_ms is not None and now_ms - self._warned_ms < _WARN_EVERY_MS:
            self._lost_unsaid += 1
            return
        knows_letters = self._terms.dead_letter_topic is not None
        _log.warning(
            "%s offset %s failed at delivery %s of %s and is not delivered again to group %s, which has no dead-letter"
            " topic.%s %s",
            record.where,
            record.offset,
            record.delivery_count,
            self._terms.delivery_limit,
            self._consumer.config.group_id,
            f" So did {self._lost_unsaid} more records since the last warning." if self._lost_unsaid else "",
            "Set the group's errors.deadletterqueue.topic.name or raise its share.delivery.count.limit."
            if knows_letters
            else "Raise the cluster's group.share.delivery.count.limit, or have the handler keep what is_last_attempt.",
        )
        self._warned_ms, self._lost_unsaid = now_ms, 0

    # the end

    def _give_back(self) -> None:
        tried = [record for record in self._waiting if record in self._tried]
        for record in tried:
            self._release_later(record, Acknowledgement(AcknowledgeType.RELEASE))
        self._core.give_back_unbegun(record for record in self._waiting if record not in self._tried)
        for one in self._kept:
            if one.is_to_be_tried:
                self._release_later(one.record, one.acknowledgement)
            else:
                self._release(one)
        self._waiting.clear()
        self._tried.clear()
        self._kept.clear()

    async def _drain(self) -> None:
        """No more records; handlers finish what they have begun, and it is acknowledged."""
        self._is_ending = True
        self._give_back()
        deadline = monotonic_s() + self._options.drain_timeout_s
        while self._running and not self._is_cut and (remaining := deadline - monotonic_s()) > 0:
            self._core.begin_work(_now_ms())
            self._core.want_nothing()
            self._consumer.pump()
            await self._consumer.changed(min(remaining, _IDLE_WAIT_MS / 1000))
        if self._running:
            _log.warning(
                "%s handlers have not finished in time: their records are released", len(self._running)
            )
            self._cut()


def _delay_ms_of(acknowledgement: Acknowledgement) -> int:
    return min(
        0 if acknowledgement.extra is None else max(0, acknowledgement.extra.delay_ms), _LONGEST_KEPT_MS
    )


def _ends_everything(error: BaseException) -> bool:
    """Not about the record: the process is to end, or no record could be worked on."""
    if isinstance(error, WrongHandler):
        return True
    return not isinstance(error, (Exception, GeneratorExit, asyncio.CancelledError))


def _as_exception(error: BaseException) -> Exception:
    told = RuntimeError(f"the handler raised {type(error).__name__}")
    told.__cause__ = error
    return told


def tell_error(
    on_error: OnError | None, record: AnyRecord, error: Exception, kind: AcknowledgeType
) -> BaseException | None:
    """Somebody hears of a failed record: who asked for it, or the log. What ends everything is returned."""
    if on_error is None:
        expected = isinstance(error, (Transient, Reject, ClientError))
        _log.warning(
            "%s of %r: %s", kind.name, record, reason_of(error), exc_info=None if expected else error
        )
        return None
    try:
        on_error(record, error, kind)
    except BaseException as failed:  # noqa: BLE001 - what was decided of the record stands
        if _ends_everything(failed):
            return failed
        _log.exception("on_error raised")
    return None

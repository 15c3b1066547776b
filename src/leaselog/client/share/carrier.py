"""Carries a core's requests to the brokers and their answers back, with asyncio.

Whatever the core asks for is a task of its own; there is no loop that could stand still. An answer goes back into
the core, which may want to send something else, and whoever waits is told to look again.

A request to a broker that is connected leaves at once, before the loop turns again: an application that works between
two polls without ever awaiting has its next records fetched meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from leaselog.client.cluster import Cluster
from leaselog.client.connection import Connection
from leaselog.client.errors import ClientError, UnsupportedVersion
from leaselog.client.machine import monotonic_ms
from leaselog.client.share.config import BATCH_OPTIMIZED, ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.steps import CoordinatorAsk, MetadataAsk, Step
from leaselog.client.topology import Topology
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from leaselog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from leaselog.wire.schema import Message
from leaselog.wire.share_fetch_ranges import RangesShareFetchResponse, wants_ranges_only

__all__ = ["Carrier", "SentNow"]

#: versions of ShareFetch and ShareAcknowledge before it know neither record_limit nor renewal
_RENEWING_VERSION = 2

#: where a request went, and what will be its answer
SentNow = tuple[Connection, asyncio.Future[Message]]

_log = logging.getLogger("leaselog.client.share")


class Carrier:
    """`pump` after every call of the core's that may have something sent; `stop` ends it."""

    def __init__(self, core: ShareCore, config: ShareConsumerConfig, notify: Callable[[], None]) -> None:
        self.cluster = Cluster(
            config.bootstrap_servers,
            security=config.security,
            client_id=config.client_id,
            request_timeout_ms=config.request_timeout_ms,
            api_timeout_ms=config.default_api_timeout_ms,
        )
        #: a bug of ours, for the application to hear of wherever it looks next
        self.broken: BaseException | None = None
        self._core = core
        self._config = config
        self._notify = notify
        self._has_warned = False
        self._coordinator: Connection | None = None
        # an ordered set: a simulated world must find them in the same order every time
        self._tasks = dict[asyncio.Task[None], None]()
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def pump(self) -> None:
        """Send what the core wants to send now, and come back when it may want to send something later."""
        if self._stopped:
            return
        now_ms = monotonic_ms()
        for step in self._core.step(now_ms):
            self.begin(step)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_ms = self._core.next_ms(now_ms)
        if next_ms is not None:
            loop = asyncio.get_running_loop()
            # A millisecond is the core's finest time: anything less would find it not yet due.
            self._timer = loop.call_later(max(next_ms - now_ms, 1) / 1000, self.pump)

    def begin(self, step: Step) -> None:
        """Carry out this one."""
        sent = self._send_now(step) if isinstance(step, NodeAsk) else None
        task = asyncio.create_task(self._carry_out(step, sent))
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    async def stop(self, why: ClientError) -> None:
        """No more requests and no more answers; what the core waits for has failed for this reason."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._core.abandon(why, monotonic_ms())
        self._forget_coordinator()
        await self.cluster.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (broken := task.exception()) is not None:
            self.broken = self.broken or broken
            self._notify()

    async def _carry_out(self, step: Step, sent: SentNow | None) -> None:
        try:
            answer = await self._answer(step, sent)
        except ClientError as failed:
            _log.debug("%s: %s", type(step).__name__, failed)
            self._core.unheard(step, failed, monotonic_ms())
        else:
            self._core.heard(step, answer, monotonic_ms())
        self.pump()
        self._notify()

    async def _answer(self, step: Step, sent: SentNow | None) -> Message | Topology:
        match step:
            case CoordinatorAsk():
                return await self._ask_coordinator(step)
            case MetadataAsk():
                return await self.cluster.fetch_topology(
                    step.topics, auto_create=self._config.allow_auto_create_topics
                )
            case NodeAsk():
                return await self._ask_node(step, sent)

    def _send_now(self, ask: NodeAsk) -> SentNow | None:
        """None if that has to wait for a connection, or fails: a task of its own finds out again."""
        connection = self.cluster.open_now(ask.node_id)
        if connection is None:
            return None
        try:
            self._meet(connection, ask)
            return connection, connection.send_now(ask.request, _answer_kind(ask))
        except ClientError:
            return None

    async def _ask_node(self, ask: NodeAsk, sent: SentNow | None) -> Message:
        timeout_ms = ask.wait_ms + self._config.request_timeout_ms
        if sent is not None:
            connection, answer = sent
            return await connection.answer_to(ask.request, answer, timeout_ms=timeout_ms)
        connection = await self.cluster.connection(ask.node_id)
        self._meet(connection, ask)
        return await connection.request(ask.request, _answer_kind(ask), timeout_ms=timeout_ms)

    def _meet(self, connection: Connection, ask: NodeAsk) -> None:
        """Raises ``UnsupportedVersion``; what this broker does without is told once."""
        _check_version(connection, ask)
        is_ours = connection.is_to_leaselog
        self._core.met(ask.node_id, knows_extras=is_ours)
        if not is_ours and not self._has_warned and ask.has_asked_extras:
            self._has_warned = True
            _log.warning(
                "%s is no leaselog broker: it ignores delays and reasons, and there giving back is a plain release",
                connection.address,
            )

    async def _ask_coordinator(self, ask: CoordinatorAsk) -> ShareGroupHeartbeatResponse:
        if ask.find_again:
            self._forget_coordinator()
        if self._coordinator is None or self._coordinator.is_closed:
            # A connection of its own: a heartbeat must not wait behind a fetch that waits for records.
            node = await self.cluster.coordinator(self._config.group_id)
            self._coordinator = await self.cluster.open_connection(node)
        return await self._coordinator.request(
            ask.request, ShareGroupHeartbeatResponse, timeout_ms=self._config.request_timeout_ms
        )

    def _forget_coordinator(self) -> None:
        if self._coordinator is not None:
            self._coordinator.close()
            self._coordinator = None


def _answer_kind(ask: NodeAsk) -> type[Message]:
    if not isinstance(ask.request, ShareFetchRequest):
        return ShareAcknowledgeResponse
    return RangesShareFetchResponse if wants_ranges_only(ask.request) else ShareFetchResponse


def _check_version(connection: Connection, ask: NodeAsk) -> None:
    """Raises ``UnsupportedVersion`` for what this broker would misunderstand."""
    request = ask.request
    renews = request.is_renew_ack
    limits = isinstance(request, ShareFetchRequest) and request.share_acquire_mode != BATCH_OPTIMIZED
    if (renews or limits) and connection.version_for(type(request)) < _RENEWING_VERSION:
        what = "renewal" if renews else "share.acquire.mode=record_limit"
        raise UnsupportedVersion(f"{connection.address} does not know {what}: Apache Kafka 4.2 is the first")

"""Which requests are to be sent now, and when to look again. Pure."""

from __future__ import annotations

from leaselog.client.share.config import RECORD_LIMIT
from leaselog.client.share.core_state import CoreState
from leaselog.client.share.fetch_buffer import FetchBuffer
from leaselog.client.share.node_session import FetchWish, NodeAsk, NodeSession
from leaselog.client.share.renewing import Renewals
from leaselog.client.share.settling import Settling
from leaselog.client.share.steps import CoordinatorAsk, MetadataAsk, Step

__all__ = ["Asking"]

#: polls further apart than this part of the lock mean slow work: nothing is fetched ahead of it
_PREFETCH_BELOW = 1 / 4


class Asking:
    def __init__(self, state: CoreState, buffer: FetchBuffer, settling: Settling, renewals: Renewals) -> None:
        self._state = state
        self._buffer = buffer
        self._settling = settling
        self._renewals = renewals
        #: how long the next fetches may wait at the broker; None: nobody wants records
        self._fetch_wait_ms: int | None = None
        self._fetch_limit = state.config.max_poll_records
        self._last_fetched_node = -1

    def want_records(self, wait_ms: int, limit: int) -> None:
        """The next `step` fetches; brokers with nothing to give may think about it for so long."""
        self._fetch_wait_ms = min(wait_ms, self._state.config.fetch_max_wait_ms)
        self._fetch_limit = limit

    def want_nothing(self) -> None:
        """No more fetches until somebody wants records again."""
        self._fetch_wait_ms = None

    def end_poll(self, returned: int) -> None:
        """The application got this many records and will come back: fetch ahead if that seems wise.

        Not in record_limit mode, where locks begin when the application asks. Not while the work is slow against
        the lock, nor when the partitions seem to be drained. Such a fetch never waits at the broker, since a commit
        would have to wait behind it.
        """
        self._fetch_wait_ms = None
        full = returned >= self._state.config.max_poll_records
        if full and not self._buffer.queue and self._may_fetch_ahead():
            self.want_records(0, self._state.config.max_poll_records)

    def _may_fetch_ahead(self) -> bool:
        state = self._state
        if state.config.acquire_mode == RECORD_LIMIT or state.is_worked_on:
            return False
        slow = state.metrics.between_polls.latest
        return slow is not None and slow < state.lock_ms * _PREFETCH_BELOW

    def _fetches_behind_buffer(self) -> bool:
        """The poll that waits will take all of the buffer: the broker may work while the records are decoded."""
        count = sum(acquired.count for acquired in self._buffer.queue)
        return self._fetch_limit <= count < 2 * self._fetch_limit and self._may_fetch_ahead()

    def next_ms(self, now_ms: int) -> int | None:
        """When `step` should be called again although nothing happened; None if there is no need."""
        state = self._state
        times = [state.membership.next_ms, state.routes.next_ms]
        for node in state.nodes.values():
            if node.outbox and node.under_way is None:
                times.append(_speaks_at_ms(node))
            if self._fetch_wait_ms is not None and node.not_before_ms > now_ms:
                times.append(node.not_before_ms)
            times += [bundle.deadline_ms for bundle in node.outbox]
        times.append(self._buffer.late_ms)
        if state.one_by_one_until_ms is not None:
            times.append(state.one_by_one_until_ms)
        if state.is_worked_on:
            times += [self._renewals.at_ms(lease) for lease, _ in state.holdings.leases()]
        due = [at for at in times if at is not None]
        return max(now_ms, min(due)) if due else None

    def step(self, now_ms: int) -> list[Step]:
        """The requests to send now."""
        state = self._state
        steps = list[Step]()
        beat = state.membership.heartbeat(now_ms)
        if beat is not None:
            state.heartbeat_sent_ms = now_ms
            steps.append(CoordinatorAsk(beat, state.must_find_coordinator))
            state.must_find_coordinator = False
        state.routes.follow(state.membership.assignment, now_ms)
        if (topics := state.routes.take_question(now_ms)) is not None:
            steps.append(MetadataAsk(topics))
        self._buffer.give_back_late(now_ms)
        if state.one_by_one_until_ms is not None and now_ms >= state.one_by_one_until_ms:
            state.one_by_one_until_ms = None
            self._settling.queue_said(now_ms, None, state.deadline_ms(now_ms), is_urgent=True)
        if state.is_worked_on:
            self._renewals.renew_due(now_ms)
        fetch_nodes = self._choose_fetch_nodes(now_ms)
        for node in list(state.nodes.values()):
            self._settling.drop_hopeless(node, now_ms)
            if (ask := self._ask_of(node, node.node_id in fetch_nodes, now_ms)) is not None:
                state.sent_ms[node.node_id] = now_ms
                steps.append(ask)
        return steps

    def _ask_of(self, node: NodeSession, may_fetch: bool, now_ms: int) -> NodeAsk | None:
        state = self._state
        if node.under_way is not None or now_ms < node.not_before_ms:
            return None
        must_speak = any(bundle.is_urgent or bundle.renews for bundle in node.outbox)
        if may_fetch and not must_speak:
            is_ahead = node.node_id in self._buffer.node_ids
            wish = FetchWish(
                max_wait_ms=0 if is_ahead else self._fetch_wait_ms or 0,
                min_bytes=state.config.fetch_min_bytes,
                max_bytes=state.config.fetch_max_bytes,
                max_records=self._fetch_limit,
                acquire_mode=state.config.acquire_mode,
                ranges_only=state.ranges_only,
            )
            return node.fetch(state.routes.by_node.get(node.node_id, ()), wish, now_ms)
        if node.outbox and now_ms >= _speaks_at_ms(node):
            return node.acknowledge(now_ms)
        return None

    def _choose_fetch_nodes(self, now_ms: int) -> set[int]:
        """Brokers to fetch from now: all that lead something, or in record_limit mode one after the other."""
        state = self._state
        wait_ms = self._fetch_wait_ms
        if wait_ms is None or state.is_closing or state.holdings.is_renewing:
            return set()
        for node_id in state.routes.by_node:
            if node_id not in state.nodes:
                state.nodes[node_id] = NodeSession(node_id, state.config.group_id, state.member_id)
        buffered = self._buffer.node_ids
        if buffered and self._fetches_behind_buffer():
            buffered = set()
        ready = [n for n in sorted(state.routes.by_node) if n not in buffered]
        if wait_ms == 0 and not any(state.nodes[n].under_way for n in ready):
            self._fetch_wait_ms = None  # asked for once; a poll that waits asks again each time it looks
        if state.config.acquire_mode != RECORD_LIMIT or not ready:
            return set(ready)
        under_way = [node.under_way for node in state.nodes.values()]
        if any(ask is not None and ask.fetches for ask in under_way) or buffered:
            return set()
        after = [n for n in ready if n > self._last_fetched_node]
        self._last_fetched_node = (after or ready)[0]
        return {self._last_fetched_node}

    def end_sessions(self, now_ms: int) -> list[NodeAsk]:
        """The last request to each broker that is free for it: what is held of it and not accepted goes back.

        The delivery of what the application has seen counts, as on Apache Kafka 4.3.
        """
        self._fetch_wait_ms = None
        self._buffer.give_back_all(now_ms)
        asks = list[NodeAsk]()
        for node in self._state.nodes.values():
            if node.is_open and node.under_way is None:
                asks.append(node.close(now_ms))
                self._state.sent_ms[node.node_id] = now_ms
        return asks


def _speaks_at_ms(node: NodeSession) -> int:
    """When what waits to be said goes out by itself, unless a fetch takes it along before."""
    at_ms = min(
        max(bundle.not_before_ms, 0 if bundle.is_urgent or bundle.renews else bundle.rides_until_ms)
        for bundle in node.outbox
    )
    return max(node.not_before_ms, at_ms)

"""What was said of records, from the word to what became of it. Pure.

What is said of one lease travels as a bundle in the outbox of its broker, until the broker decides or time runs out.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.client.errors import BrokerError, ClientError, RequestTimedOut, is_retriable
from leaselog.client.share.acknowledgements import Bundle, Commit, TopicIdPartition
from leaselog.client.share.core_state import RIDE_MS, CoreState
from leaselog.client.share.node_session import NodeAsk, NodeSession
from leaselog.client.share.renewing import Renewals
from leaselog.client.share.steps import Acknowledged
from leaselog.model import ErrorCode

__all__ = ["FINAL_FOR_ACKNOWLEDGEMENTS", "Settling"]

#: the broker that leased the records can no longer decide about them: trying again is in vain
FINAL_FOR_ACKNOWLEDGEMENTS = frozenset({
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
})  # fmt: skip


class Settling:
    def __init__(self, state: CoreState, renewals: Renewals) -> None:
        self._state = state
        self._renewals = renewals

    def queue_said(self, now_ms: int, commit: Commit | None, deadline_ms: int, *, is_urgent: bool) -> None:
        state = self._state
        for lease, types, extras in state.holdings.take_said():
            bundle = Bundle(lease, types, deadline_ms, commit, is_urgent, now_ms + RIDE_MS, extras=extras)
            if commit is not None:
                commit.waiting.add(bundle)
            state.metrics.acknowledgements.record(len(types), now_ms)
            if lease.life.ended is not None:
                self.settle(bundle, lease.life.ended, now_ms)
            else:
                state.send(bundle)

    def drop_hopeless(self, node: NodeSession, now_ms: int) -> None:
        """What waits to be said and can no longer be said is told now."""
        kept = list[Bundle]()
        for bundle in node.outbox:
            if (ended := bundle.lease.life.ended) is not None:
                self.settle(bundle, ended, now_ms)
            elif bundle.deadline_ms <= now_ms:
                self.settle(
                    bundle, RequestTimedOut(f"{bundle.lease.where}: not acknowledged in time"), now_ms
                )
            else:
                kept.append(bundle)
        node.outbox = kept

    def abandon(self, why: ClientError, now_ms: int) -> None:
        """Whatever is still undecided will never be: the connections go now."""
        for node in self._state.nodes.values():
            waiting = [*node.outbox]
            if node.under_way is not None:
                waiting += [bundle for some in node.under_way.bundles.values() for bundle in some]
            node.outbox = []
            node.lost()
            for bundle in waiting:
                self.settle(bundle, why, now_ms)

    def undecided(self, node: NodeSession, ask: NodeAsk, decided: set[TopicIdPartition], now_ms: int) -> None:
        """Java's rule: what an answer passes over in silence was not done."""
        for where, some in ask.bundles.items():
            if where not in decided:
                error = BrokerError(ErrorCode.INVALID_RECORD_STATE, f"{where} is not in the broker's answer")
                for bundle in some:
                    self.settle(bundle, error, now_ms)

    def decided(
        self, node: NodeSession, some: Sequence[Bundle], error: BrokerError | None, now_ms: int
    ) -> None:
        """What a broker said of bundles of one partition: settle them, or try again what may yet succeed."""
        for bundle in some:
            if error is not None and error.code is ErrorCode.INVALID_RECORD_STATE and len(some) > 1:
                bundle.is_alone = True  # one stale lease fails all that travels with it
                node.outbox.append(bundle)
            elif error is not None and _may_pass(error) and bundle.lease.life.ended is None:
                bundle.is_urgent = True
                bundle.failures += 1
                bundle.not_before_ms = now_ms + self._state.backoff_ms(bundle.failures)
                node.outbox.append(bundle)
            else:
                self.settle(bundle, error, now_ms)

    def settle(self, bundle: Bundle, error: ClientError | None, now_ms: int) -> None:
        state = self._state
        if bundle.renews:
            self._renewals.renewed(bundle, error, state.sent_ms.get(bundle.lease.node_id, now_ms))
        if bundle.commit is not None:
            bundle.commit.settle(bundle, error)
        if bundle.is_visible:
            if error is not None:
                state.metrics.acknowledgement_errors.record(len(bundle.types), now_ms)
            state.completed.append(Acknowledged(bundle.lease.where, frozenset(bundle.types), error))


def _may_pass(error: BrokerError) -> bool:
    return is_retriable(error.code) and error.code not in FINAL_FOR_ACKNOWLEDGEMENTS

"""Leases that are renewed, on the application's behalf and by its own wish. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.client.errors import ClientError
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.acknowledgements import Bundle, Lease
from leaselog.client.share.core_state import CoreState

__all__ = ["Renewals"]

#: an automatic renewal leaves when less than this part of the lock is left
_RENEW_AT = 1 / 2


class Renewals:
    def __init__(self, state: CoreState) -> None:
        self._state = state

    def at_ms(self, lease: Lease) -> int | None:
        """When this lease is to be renewed next; None if it is on its way or not to be renewed any more."""
        if lease.is_renewing or lease.life.ended is not None or not lease.is_renewable:
            return None
        at_ms = lease.deadline_ms - int(self._state.lock_ms * _RENEW_AT)
        # What hangs for longer than Kafka lets a consumer hang is not worked on any more.
        return at_ms if at_ms <= lease.delivered_ms + self._state.config.max_poll_interval_ms else None

    def renew_due(self, now_ms: int) -> None:
        for lease, offsets in self._state.holdings.leases():
            at_ms = self.at_ms(lease)
            if at_ms is not None and at_ms <= now_ms:
                self.renew(lease, offsets, now_ms)

    def renew(self, lease: Lease, offsets: Sequence[int], now_ms: int) -> None:
        lease.is_renewing = True
        self._state.metrics.renewals.record(len(offsets), now_ms)
        types = dict.fromkeys(offsets, int(AcknowledgeType.RENEW))
        self._state.send(Bundle(lease, types, lease.deadline_ms, is_urgent=True, is_visible=False))

    def renewed(self, bundle: Bundle, error: ClientError | None, sent_ms: int) -> None:
        state = self._state
        if not bundle.is_visible:
            bundle.lease.is_renewing = False
            if error is None:
                bundle.lease.deadline_ms = sent_ms + state.lock_ms
            else:
                bundle.lease.is_renewable = False
            return
        old = bundle.lease
        lease = Lease(
            old.where,
            old.node_id,
            old.life,
            sent_ms + state.lock_ms,
            sent_ms,
            delivery_limit=old.delivery_limit,
        )
        state.holdings.renewed(bundle, lease if error is None else None)

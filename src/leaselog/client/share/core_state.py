"""What the parts of a share consumer's core have in common. Pure.

Each part decides about what is its own and reads the rest; what only one of them needs is not here.
"""

from __future__ import annotations

from collections import deque

from leaselog.client.errors import AuthorizationFailed, ClientError
from leaselog.client.share.acknowledgements import Bundle
from leaselog.client.share.backoff import backoff_ms
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.holdings import Holdings
from leaselog.client.share.membership import ShareMembership
from leaselog.client.share.metrics import ShareMetrics
from leaselog.client.share.node_session import NodeSession
from leaselog.client.share.routes import Routes
from leaselog.client.share.steps import Acknowledged

__all__ = ["GIVE_BACK_AT", "RIDE_MS", "CoreState"]

#: what was fetched ahead goes back when less than this part of the lock is left: there would be no time to work on it
GIVE_BACK_AT = 1 / 4
#: what nobody waits for may wait for a fetch this long; short against any lock, long against a round trip
RIDE_MS = 50
MAX_ERRORS = 16
_FIRST_LOCK_GUESS_MS = 30_000


class CoreState:
    __slots__ = (
        "completed",
        "config",
        "delivery_limit",
        "denied",
        "errors",
        "heartbeat_sent_ms",
        "holdings",
        "is_closing",
        "is_worked_on",
        "lock_timeout_ms",
        "member_id",
        "membership",
        "metrics",
        "must_find_coordinator",
        "nodes",
        "one_by_one_until_ms",
        "ranges_only",
        "routes",
        "sent_ms",
        "subscription",
    )

    def __init__(self, config: ShareConsumerConfig, member_id: str, holdings: Holdings, now_ms: int) -> None:
        self.config = config
        self.member_id = member_id
        self.holdings = holdings
        self.metrics = ShareMetrics(now_ms)
        self.membership = ShareMembership(
            config.group_id,
            member_id,
            rack_id=config.client_rack,
            max_poll_interval_ms=config.max_poll_interval_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            retry_backoff_max_ms=config.retry_backoff_max_ms,
            user=config.security.user,
        )
        self.routes = Routes(
            now_ms,
            max_age_ms=config.metadata_max_age_ms,
            backoff_ms=config.retry_backoff_ms,
            patience_ms=config.retry_backoff_max_ms,
            user=config.security.user,
        )
        self.subscription = frozenset[str]()
        self.nodes = dict[int, NodeSession]()
        #: when each broker was sent what is under way
        self.sent_ms = dict[int, int]()
        #: for the next poll to raise; the oldest goes when nobody polls
        self.errors = deque[ClientError](maxlen=MAX_ERRORS)
        #: what the application was told it has no right to, until that works again
        self.denied = set[str]()
        self.completed = list[Acknowledged]()
        self.lock_timeout_ms: int | None = None
        #: open records are being worked on: they are renewed until the next poll
        self.is_worked_on = False
        #: after how many deliveries the group gives up a record, if somebody has asked
        self.delivery_limit: int | None = None
        #: until then what is accepted record by record is not queued; then it is, with the next step
        self.one_by_one_until_ms: int | None = None
        #: ask brokers to leave the records out
        self.ranges_only = False
        self.must_find_coordinator = False
        self.heartbeat_sent_ms = 0
        self.is_closing = False

    @property
    def lock_ms(self) -> int:
        """How long the group's records were leased, at the last answer that said so, or a guess while none has."""
        return self.lock_timeout_ms or _FIRST_LOCK_GUESS_MS

    def deadline_ms(self, now_ms: int) -> int:
        """Until when what is said now is tried again."""
        return now_ms + self.config.default_api_timeout_ms

    def backoff_ms(self, failures: int) -> int:
        return backoff_ms(failures, self.config.retry_backoff_ms, self.config.retry_backoff_max_ms)

    def tell(self, error: ClientError, what: str = "") -> None:
        """For the next poll to raise; that there is no right to ``what`` once, until it is `allowed`."""
        if isinstance(error, AuthorizationFailed):
            if what in self.denied:
                return
            self.denied.add(what)
        self.errors.append(error)

    def allowed(self, what: str) -> None:
        self.denied.discard(what)

    def send(self, bundle: Bundle) -> None:
        """With the next request to its broker."""
        self.nodes[bundle.lease.node_id].outbox.append(bundle)

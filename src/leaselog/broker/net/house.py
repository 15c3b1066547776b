"""What handlers reach through their context: the rooms of a broker, by the names they have there."""

from __future__ import annotations

from typing import Protocol

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.config import BrokerConfig
from leaselog.broker.fetching.sessions import FetchSessions
from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.delivery import ShareDelivery
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.mutation_quotas import MutationQuotas
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.log_work import LogWork
from leaselog.broker.records.waiting_room import WaitingRoom
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.turns import Turns
from leaselog.broker.security.guard import Guard
from leaselog.broker.security.logins import Logins
from leaselog.broker.share_groups.administration import ShareGroups
from leaselog.broker.share_groups.members import ShareMembers
from leaselog.broker.share_state.coordinator import ShareCoordinator
from leaselog.broker.transactions.coordinator import TransactionCoordinator

__all__ = ["House"]


class House(Protocol):
    runtime: Runtime
    metrics: Metrics
    turns: Turns
    quotas: ClientQuotas
    mutation_quotas: MutationQuotas
    #: None: everybody may do everything
    guard: Guard | None
    logs: LogStore
    log_work: LogWork
    waiting_room: WaitingRoom
    fetch_sessions: FetchSessions
    cluster: Cluster
    logins: Logins
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    share_groups: ShareGroups
    share_members: ShareMembers
    share_coordinator: ShareCoordinator
    shares: SharePartitions
    share_delivery: ShareDelivery

    @property
    def config(self) -> BrokerConfig: ...

    def now_ms(self) -> int:
        """The wall clock."""

    def monotonic_ms(self) -> float:
        """A clock that never jumps."""

    def room_for_answers_bytes(self, client: Client) -> int:
        """What may still be handed to sockets while clients do not keep up; 0: only what is petty."""

    def answer_grew(self, client: Client, by_bytes: int) -> None:
        """An answer holds so much more, or is handed over and is counted with the socket's from now on."""

    def connection_closed(self, client: Client) -> None:
        """A client's connection is gone: whatever is tied to it ends here."""

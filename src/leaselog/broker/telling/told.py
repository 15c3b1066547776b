"""What is told of a broker: the rooms that count, and those whose sizes are read."""

from __future__ import annotations

from typing import Protocol

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.dead_letters.office import DeadLetterOffice
from leaselog.broker.fetching.sessions import FetchSessions
from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.delivery import ShareDelivery
from leaselog.broker.lending.metrics import ShareMetrics
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.waiting_room import WaitingRoom
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.turns import Turns
from leaselog.broker.share_state.coordinator import ShareCoordinator
from leaselog.broker.share_state.persister import Persister

__all__ = ["Told"]


class Told(Protocol):
    runtime: Runtime
    metrics: Metrics
    turns: Turns
    logs: LogStore
    waiting_room: WaitingRoom
    fetch_sessions: FetchSessions
    cluster: Cluster
    groups: GroupCoordinator
    share_coordinator: ShareCoordinator
    persister: Persister
    shares: SharePartitions
    share_metrics: ShareMetrics
    share_delivery: ShareDelivery
    dead_letters: DeadLetterOffice

    def now_ms(self) -> int: ...

    def connection_count(self) -> int: ...

    def unsent_bytes(self) -> int: ...

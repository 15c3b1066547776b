"""What share partitions lean on: one object for all owners and sessions of a broker, as there may be thousands."""

from __future__ import annotations

from dataclasses import dataclass

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.dead_letters.office import DeadLetterOffice
from leaselog.broker.lending.delivery import ShareDelivery
from leaselog.broker.lending.due_times import DueTimes
from leaselog.broker.lending.kept_reads import KeptReads
from leaselog.broker.lending.metrics import ShareMetrics
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.waiting_room import WaitingRoom
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.share_state.persister import Persister

__all__ = ["LendingSupport"]


@dataclass(slots=True)
class LendingSupport:
    runtime: Runtime
    cluster: Cluster
    logs: LogStore
    waiting_room: WaitingRoom
    persister: Persister
    dead_letters: DeadLetterOffice
    delivery: ShareDelivery
    metrics: ShareMetrics
    due_times: DueTimes
    kept_reads: KeptReads

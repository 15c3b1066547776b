"""One broker, put together: what handlers reach through their context, and the order of starting and stopping.

Start: lock, logs of the cluster, topics, groups, then the socket; so whoever can connect finds everything there.
Stop: the socket first, then what is under way, then the sync, the checkpoints and the clean marker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence

from leaselog.broker.cluster.cluster import Cluster, Topic
from leaselog.broker.config import BrokerConfig, GroupConfig
from leaselog.broker.config.listeners import Address, Listener
from leaselog.broker.dead_letters.office import DeadLetterOffice
from leaselog.broker.fetching.sessions import FetchSessions
from leaselog.broker.groups.coordinator import GroupCoordinator
from leaselog.broker.lending.delivery import ShareDelivery
from leaselog.broker.lending.due_times import DueTimes
from leaselog.broker.lending.kept_reads import KeptReads
from leaselog.broker.lending.metrics import ShareMetrics
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.broker.lending.support import LendingSupport
from leaselog.broker.net.api import NOT_THE_GROUP, load_handlers
from leaselog.broker.net.server import Server
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.mutation_quotas import MutationQuotas
from leaselog.broker.records.cleaner import Cleaner
from leaselog.broker.records.data_dir import DataDirectory
from leaselog.broker.records.flusher import Flusher
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.log_work import LogWork
from leaselog.broker.records.partition import Partition
from leaselog.broker.records.waiting_room import WaitingRoom
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.machine import Machine, RealMachine
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.security.authorizer_choice import choose_guard
from leaselog.broker.security.logins import Logins
from leaselog.broker.share_groups.administration import ShareGroups
from leaselog.broker.share_groups.group_turns import GroupTurns
from leaselog.broker.share_groups.members import ShareMembers
from leaselog.broker.share_groups.reconciling import reconcile
from leaselog.broker.share_groups.states import GroupStates
from leaselog.broker.share_state.colocated_persister import ColocatedPersister
from leaselog.broker.share_state.coordinator import ShareCoordinator
from leaselog.broker.share_state.persister import Persister
from leaselog.broker.share_state.persister_choice import choose_persister
from leaselog.broker.transactions.coordinator import TransactionCoordinator
from leaselog.coordination.cluster_records import QuotaEntity, ScramCredentialSet
from leaselog.log import Durability
from leaselog.model import AclBinding, GroupId

__all__ = ["Broker"]

#: how long requests under way may take to be answered when the broker stops
DRAIN_PATIENCE_S = 10.0
CHECKPOINT_S = 60.0

log = StructuredLog("broker")


class Broker:
    """Everything that runs in one process on one data directory (or, ephemeral, on none)."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        data_dir: str | None,
        machine: Machine | None = None,
        first_users: Sequence[ScramCredentialSet] = (),
    ) -> None:
        """On this computer's ``data_dir`` (None: in memory), or on another ``machine`` that has one of its own.

        ``first_users`` are there once the broker has started, unless they have such credentials already.
        """
        load_handlers()
        self.machine: Machine = RealMachine(data_dir) if machine is None else machine
        runtime = self.runtime = Runtime(config, self.machine)
        self.now_ms, self.monotonic_ms = runtime.now_ms, runtime.monotonic_ms
        self.metrics, self.turns = runtime.metrics, runtime.turns
        self.waiting_room = WaitingRoom()
        self.log_work = LogWork(self.turns)
        files = self.machine.files
        files.make_directory(self.machine.data_dir)
        durability = Durability(config.durability)
        self.flusher = Flusher(
            pause_s=config.durability_interval_ms / 1000 if durability is Durability.INTERVAL else 0.0,
            observe_sync=self.metrics.sync_seconds.observe,
            syncs=self.machine.syncs(),
        )
        self.logs = LogStore(
            DataDirectory(files, self.machine.data_dir, new_uuid=self.machine.new_uuid),
            self.flusher,
            log_settings=self._log_settings,
            wake=self.waiting_room.wake,
            now_ms=self.now_ms,
            work=self.log_work,
            few_syncs=self.machine.few_syncs,
        )
        self.logs.on_return = self._on_partition_returned
        self.fetch_sessions = FetchSessions(
            slots=config.max_incremental_fetch_session_cache_slots,
            evict_after_ms=120_000,
            new_id=lambda: self.machine.random_below(2**31 - 1) + 1,
        )
        self.quotas = ClientQuotas(
            samples=config.quota_window_num, sample_ms=config.quota_window_size_seconds * 1000
        )
        self.mutation_quotas = MutationQuotas(
            samples=config.controller_quota_window_num,
            sample_ms=config.controller_quota_window_size_seconds * 1000,
        )
        self.guard = choose_guard(config, self.monotonic_ms)
        self.cluster = Cluster(runtime, self.logs, self)
        self.logins = Logins(runtime, self.cluster)
        self.groups = GroupCoordinator(runtime, self.cluster, self.logs)
        self.transactions = TransactionCoordinator(
            runtime, self.cluster, self.logs, self.groups.end_transaction
        )
        self.share_coordinator = ShareCoordinator(runtime, self.cluster, self.logs)
        self.persister: Persister = choose_persister(runtime, self.cluster, self.logs, self.share_coordinator)
        self.share_metrics = ShareMetrics()
        self.dead_letters = DeadLetterOffice(runtime, self.cluster, self.logs)
        self.share_delivery = ShareDelivery(
            runtime, self.cluster, wake=lambda group_id: self.shares.wake(group_id)
        )
        self.shares = SharePartitions(
            LendingSupport(
                runtime=runtime,
                cluster=self.cluster,
                logs=self.logs,
                waiting_room=self.waiting_room,
                persister=self.persister,
                dead_letters=self.dead_letters,
                delivery=self.share_delivery,
                metrics=self.share_metrics,
                due_times=DueTimes(runtime),
                kept_reads=KeptReads(),
            )
        )
        turns = GroupTurns()
        self._group_states = GroupStates(self.groups, self.shares)
        self.share_members = ShareMembers(self.groups, self.shares, self._group_states, turns)
        self.share_groups = ShareGroups(self.groups, self.shares.support, self._group_states, turns)
        self._cleaner = Cleaner(
            self.logs, backoff_ms=lambda: self.config.log_cleaner_backoff_ms, now_ms=self.now_ms
        )
        self._server = Server(self)
        self._first_users = first_users
        self._tasks: list[asyncio.Task[None]] = []
        self._metrics_server: asyncio.Server | None = None

    def _log_settings(self) -> dict[str, object]:
        """What the broker's config says of every log, beside what its topic's does."""
        return {
            "durability": Durability(self.config.durability),
            "producer.id.expiration.ms": self.config.producer_id_expiration_ms,
            "recovery.point.interval.bytes": self.config.recovery_point_interval_bytes,
        }

    @property
    def config(self) -> BrokerConfig:
        """As it is now."""
        return self.runtime.config

    # -- what changes in the cluster ------------------------------------------------------------------------

    def quotas_changed(self, quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> None:
        """These are the limits of each entity that has any, from now on."""
        self.quotas.changed(quotas)
        self.mutation_quotas.changed(quotas)

    def acls_changed(self, added: Sequence[AclBinding], removed: Sequence[AclBinding]) -> None:
        if self.guard is not None:
            self.guard.acls_changed(added, removed)
            # Whoever waits because it was refused may have been given what it lacked.
            self.waiting_room.wake(NOT_THE_GROUP)
            self.shares.wake_all()

    def group_config_changed(self, group_id: GroupId, before: GroupConfig) -> None:
        self.share_delivery.config_changed(group_id, before)

    def broker_config_changed(self) -> None:
        self.shares.wake_all()  # it has the defaults of groups
        self._server.config_changed()

    def topic_deleted(self, topic: Topic) -> None:
        self.metrics.topic_gone(topic.name)
        self.groups.topic_deleted(topic.name)
        self.transactions.topic_deleted(topic.name)
        self.share_coordinator.topic_deleted(topic.name)
        self.shares.partitions_gone(topic.topic_id, range(topic.partition_count))

    # -- life -----------------------------------------------------------------------------------------------

    async def start(self, listeners: Sequence[Listener]) -> list[Address]:
        """Recovers, opens everything, then listens; the address that each listener got. Raises OSError."""
        await (
            self._serve_metrics()
        )  # first: it needs nothing, and a port in use is found before anything is opened
        self._run(self.flusher.run())
        self.logs.begin()
        await self.cluster.start()
        await self.cluster.add_users(self._first_users)
        await self.share_coordinator.start()
        await self.groups.start()
        await self.transactions.start()
        if not self.logs.is_clean and self.config.durability != Durability.FSYNC.value:
            await reconcile(self)
        self.logins.open(listeners)
        places = await self._server.listen(listeners)
        self.cluster.configuration.further_check = self._server.check
        self.cluster.advertised.listening_on(
            {listener.name: place for listener, place in zip(listeners, places, strict=True)}
        )
        self._run(self._server.close_idle())
        self._run(self.logs.revival.run())
        self._run(self._server.keep_room())
        self._run(
            self.logs.keep_house(
                self.config.log_retention_check_interval_ms / 1000,
                CHECKPOINT_S,
            )
        )
        self._run(self.logs.expire_producers(self.config.producer_id_expiration_check_interval_ms / 1000))
        self._run(
            self.share_coordinator.keep_house(
                self.config.share_coordinator_state_topic_prune_interval_ms / 1000,
                self.config.share_coordinator_cold_partition_snapshot_interval_ms / 1000,
            )
        )
        self._run(
            self.transactions.keep_house(
                self.config.transaction_abort_timed_out_transaction_cleanup_interval_ms / 1000,
                self.config.transaction_remove_expired_transaction_cleanup_interval_ms / 1000,
            )
        )
        if isinstance(self.persister, ColocatedPersister):
            self.logs.may_cut = self.persister.make_way
            self._run(
                self.persister.keep_house_every(
                    self.config.share_coordinator_cold_partition_snapshot_interval_ms / 1000
                )
            )
        if self.config.log_cleaner_enable:
            self._run(self._cleaner.run())
        return places

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Where metrics are served; None if they are not."""
        if self._metrics_server is None:
            return None
        host, port = self._metrics_server.sockets[0].getsockname()[:2]
        return host, port

    async def _serve_metrics(self) -> None:
        if self.config.metrics_listener:
            # Here, as it would cost every start some 15 ms, and a broker that nobody scrapes has no use for it.
            from leaselog.broker.telling.server import serve_metrics

            host, _, port = self.config.metrics_listener.rpartition(":")
            self._metrics_server = await serve_metrics(self, host.strip("[]"), int(port))

    async def stop(self) -> None:
        """Finishes what is under way, syncs and closes everything."""
        self.runtime.is_stopping = True
        self.waiting_room.wake_all()
        self._group_states.stop()
        self.transactions.stop()
        await self.groups.stop()
        await self._server.drain(DRAIN_PATIENCE_S)
        self.shares.clear()
        self.dead_letters.stop()
        self.share_coordinator.stop()
        if isinstance(self.persister, ColocatedPersister):
            self.persister.stop()
        if self._metrics_server is not None:
            self._metrics_server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._cleaner.close()
        self.log_work.close()
        await self.flusher.sync_all()
        self.flusher.close()
        self.logs.close()
        self.cluster.close()
        self.logins.close()
        self.machine.release()

    def connection_count(self) -> int:
        return len(self._server)

    def unsent_bytes(self) -> int:
        """What is on its way to clients that do not keep up."""
        return self._server.answers_held.total_bytes

    def room_for_answers_bytes(self, client: Client) -> int:
        """What may still be handed to sockets while clients do not keep up; 0: only what is petty."""
        return self._server.answers_held.room_bytes(client.host)

    def answer_grew(self, client: Client, by_bytes: int) -> None:
        """An answer holds so much more, or is handed over and is counted with the socket's from now on."""
        self._server.answers_held.change(client.host, by_bytes)

    def connection_closed(self, client: Client) -> None:
        """A client's connection is gone: whatever is tied to it ends here."""
        self.shares.connection_closed(client)

    def _on_partition_returned(self, partition: Partition) -> None:
        """What was read of it before may be ahead of what its log has now."""
        self.groups.partition_returned(partition)
        self.transactions.partition_returned(partition)
        self.share_coordinator.partition_returned(partition)
        self.shares.partitions_gone(partition.topic_id, (partition.name.partition,))

    def _run(self, work: Coroutine[object, object, None]) -> None:
        """Keeps a background task; the broker does not go on without one that dies."""
        name: str = work.__qualname__  # type: ignore[attr-defined]  # every coroutine has it, its type does not say so
        task = asyncio.get_running_loop().create_task(self.turns.measured(name, work))
        task.add_done_callback(_report_death)
        self._tasks.append(task)


def _report_death(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (failure := task.exception()) is not None:
        log.error("background task died", task=task.get_coro(), failure=repr(failure))
        raise SystemExit(1) from failure

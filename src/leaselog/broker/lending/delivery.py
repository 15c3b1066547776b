"""Which share groups are given no records now: those that are paused, by an operator or by their breaker.

A pause is a group config (`share.delivery.paused`), durable as configs are, and looked at by the owners of the group's
share partitions whenever somebody asks them for records. Nobody is refused: fetches wait as they do for a topic without
records. What is acquired already may be finished, renewed and released, leases end as ever, members stay members.

The breaker pauses a group that fails at more than its share (`errors.deadletterqueue.breaker.*`). It counts on the node
that leads the group's partitions, in memory: a restart begins an empty window, the pause that it leads to stays. From
the moment it trips nothing is handed out, whether or not the pause is written down by then.

Bounds: one window of fixed size for each group that has a breaker and finished something within it. Those that have
not since are found as new ones come, a few each time, so there are never many more of them than of the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.config import GroupConfig
from leaselog.broker.config.pauses import BREAKER, pause
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, TopicPartition
from leaselog.share import Breaker, BreakerRule, FinishedCounts

__all__ = ["ShareDelivery"]

#: breakers that may be idle, looked at when a new one comes
LOOKED_AT = 2

#: share partitions whose given-up records are counted apart
MOST_GIVEN_UP = 10_000
WARNING_PAUSE_MS = 60_000

log = StructuredLog("share")


class ShareDelivery:
    def __init__(self, runtime: Runtime, cluster: Cluster, *, wake: Callable[[GroupId], None]) -> None:
        """``wake`` has those look again who wait for records of the group."""
        self._runtime = runtime
        self._cluster = cluster
        self._wake = wake
        self._breakers: dict[GroupId, Breaker] = {}
        #: whose pause is not written down yet, or could not be
        self._tripped: set[GroupId] = set()
        #: how often the breaker paused each group, since the broker began
        self.trips = Counter[GroupId]()
        #: records that each group gave up, since the broker began
        self.given_up = Counter[GroupId]()
        #: the same of share partitions, who gave up last the last
        self._given_up_at: dict[SharePartitionKey, int] = {}
        #: by group: until when nothing more is said of it
        self._quiet_until_ms: dict[GroupId, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def is_paused(self, group_id: GroupId, config: GroupConfig) -> bool:
        """``config`` is the group's now."""
        return config.share_delivery_paused or group_id in self._tripped

    def paused(self) -> Iterator[tuple[GroupId, GroupConfig]]:
        """The groups that are, as far as it is written down."""
        configuration = self._cluster.configuration
        for resource in configuration.resources():
            if resource.type is ResourceType.GROUP:
                config = configuration.group(resource.name)
                if config.share_delivery_paused:
                    yield GroupId(resource.name), config

    def config_changed(self, group_id: GroupId, before: GroupConfig) -> None:
        """Configs of the group have other values now: whoever waits for its records looks again."""
        now = self._cluster.configuration.group(group_id)
        if now.share_delivery_paused:
            self._tripped.discard(group_id)
        if now.share_delivery_paused is not before.share_delivery_paused:
            self._breakers.pop(group_id, None)  # what was before a pause says nothing of what comes after it
            _tell(group_id, before, now, self._runtime.now_ms())
        self._wake(group_id)

    # -- what is given up -----------------------------------------------------------------------------------

    def gave_up(self, key: SharePartitionKey, place: TopicPartition, count: int) -> None:
        """So many more records have had all their deliveries, and the group keeps no dead letters: nobody gets them
        again. Said once a minute for a group."""
        self.given_up[key.group_id] += count
        self._given_up_at[key] = self._given_up_at.pop(key, 0) + count
        if len(self._given_up_at) > MOST_GIVEN_UP:
            del self._given_up_at[next(iter(self._given_up_at))]
        now_ms = self._runtime.monotonic_ms()
        if now_ms < self._quiet_until_ms.get(key.group_id, now_ms):
            return
        self._quiet_until_ms[key.group_id] = now_ms + WARNING_PAUSE_MS
        log.warning(
            "records are given up: they had all their deliveries, and the group has no dead-letter topic",
            group=key.group_id,
            partition=place,
            records_so_far=self.given_up[key.group_id],
            to_keep_them="set errors.deadletterqueue.topic.name of the group",
        )

    def given_up_at(self, key: SharePartitionKey) -> int:
        """Records of the share partition that were given up since the broker began."""
        return self._given_up_at.get(key, 0)

    # -- the breaker ----------------------------------------------------------------------------------------

    def finished(self, group_id: GroupId, accepted: int, failed: int) -> None:
        """So many more records have been accepted, and have failed."""
        config = self._cluster.configuration.group(group_id)
        rule = _rule(config)
        if rule is None or self.is_paused(group_id, config):
            self._breakers.pop(group_id, None)
            return
        now_ms = int(self._runtime.monotonic_ms())
        counts = self._breaker(group_id, rule, now_ms).finished(accepted, failed, now_ms)
        if counts is not None:
            self._trip(group_id, rule, counts)

    def _breaker(self, group_id: GroupId, rule: BreakerRule, now_ms: int) -> Breaker:
        breaker = self._breakers.get(group_id)
        if breaker is None or breaker.rule != rule:
            self._drop_idle(now_ms)
            breaker = self._breakers[group_id] = Breaker(rule)
        return breaker

    def _drop_idle(self, now_ms: int) -> None:
        """Looks at those that were looked at longest ago."""
        for group_id in list(islice(self._breakers, LOOKED_AT)):
            breaker = self._breakers.pop(group_id)
            if not breaker.is_idle(now_ms):
                self._breakers[group_id] = breaker

    def _trip(self, group_id: GroupId, rule: BreakerRule, counts: FinishedCounts) -> None:
        self._tripped.add(group_id)
        del self._breakers[group_id]
        self.trips[group_id] += 1
        reason = (
            f"{counts.failed} of {counts.total} records failed within {rule.window_ms} ms,"
            f" more than {rule.ratio:g} of them"
        )
        log.warning("the breaker pauses a share group", group=group_id, why=reason)
        task = asyncio.get_running_loop().create_task(self._write_pause(group_id, reason))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write_pause(self, group_id: GroupId, reason: str) -> None:
        def decide() -> tuple[ConfigChanged, ...]:
            if self._cluster.configuration.group(group_id).share_delivery_paused:
                return ()  # an operator was quicker
            return pause(group_id, by=BREAKER, reason=reason)

        refused = await self._cluster.alter_configs(decide)
        if refused is not None:
            log.error(
                "the pause of a share group cannot be written down and ends with this process",
                group=group_id,
                why=refused.message or refused.code.name,
            )


def _rule(config: GroupConfig) -> BreakerRule | None:
    ratio = config.errors_deadletterqueue_breaker_ratio
    if not ratio:
        return None
    return BreakerRule(
        ratio,
        config.errors_deadletterqueue_breaker_window_ms,
        config.errors_deadletterqueue_breaker_min_records,
    )


def _tell(group_id: GroupId, before: GroupConfig, now: GroupConfig, now_ms: int) -> None:
    if now.share_delivery_paused:
        by, why = now.share_delivery_paused_by, now.share_delivery_paused_reason
        log.info("share group paused", group=group_id, by=by, why=why)
        return
    paused_ms = max(0, now_ms - before.share_delivery_paused_since_ms)
    log.info(
        "share group resumed",
        group=group_id,
        was_paused_by=before.share_delivery_paused_by,
        paused_s=f"{paused_ms / 1000:.1f}",
    )

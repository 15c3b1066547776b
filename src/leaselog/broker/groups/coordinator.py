"""Groups, for the handlers: which partition of ``__consumer_offsets`` looks after a group, and asking its owner.

The topic is made when somebody first looks for a coordinator.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.coordinators.markers import Marker
from leaselog.broker.coordinators.partitions import CoordinatorPartitions, coordinator_partition
from leaselog.broker.groups.cluster_view import CurrentClusterView
from leaselog.broker.groups.owner import GroupCounts, GroupOwner
from leaselog.broker.records.log_store import LogStore
from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.runtime import Runtime
from leaselog.coordination.cluster_names import CONSUMER_OFFSETS_TOPIC
from leaselog.coordination.group_commands import (
    Answer,
    DropTopics,
    GroupCommand,
    GroupListing,
    ListedGroup,
    ListGroups,
    Token,
)
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_group_facts import Assignment
from leaselog.log import Appended, AppendRefused
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, Refused, TopicPartition
from leaselog.wire.primitives import LONGEST_TEXT_BYTES

if TYPE_CHECKING:
    from leaselog.broker.config import BrokerConfig

__all__ = ["GroupCoordinator"]

A = TypeVar("A")

NOT_HERE = Refused(ErrorCode.NOT_COORDINATOR)


class GroupCoordinator:
    def __init__(self, runtime: Runtime, cluster: Cluster, logs: LogStore) -> None:
        self._runtime = runtime
        self._limits = group_limits(runtime.config)
        self.counts = GroupCounts()
        self._cluster = CurrentClusterView(runtime, cluster)
        self._started_ms = 0.0
        self._owners = CoordinatorPartitions(cluster, logs, CONSUMER_OFFSETS_TOPIC, self._new_owner)

    async def start(self) -> None:
        """Loads every group there is."""
        await self._owners.start()

    async def stop(self) -> None:
        """Refuses whoever waits in a rebalance, so that connections can end."""
        self._owners.stop()

    # -- asking ---------------------------------------------------------------------------------------------

    async def ask(
        self, group_id: GroupId, make: Callable[[Token], GroupCommand], expected: type[A]
    ) -> A | Refused:
        """The answer of the group's owner, once it is there and safe. NOT_COORDINATOR without an owner."""
        return _expect(await self.ask_any(group_id, make), expected)

    async def ask_any(self, group_id: GroupId, make: Callable[[Token], GroupCommand]) -> Answer:
        """Like ``ask``, for who can do with several kinds of answer."""
        return await self.tell(group_id, make)

    def tell(self, group_id: GroupId, make: Callable[[Token], GroupCommand]) -> asyncio.Future[Answer]:
        """Decided when this returns: whatever is asked next of the group builds on it, and is answered no earlier."""
        owner = self._owner(group_id)
        if owner is not None:
            return owner.ask(make)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.set_result(NOT_HERE)
        return answer

    def partition_of(self, group_id: GroupId) -> TopicPartition | None:
        """Which partition keeps the group's offsets; None while there is none."""
        count = self._owners.count()
        if not count:
            return None
        return TopicPartition(CONSUMER_OFFSETS_TOPIC, coordinator_partition(group_id, count))

    def end_transaction(self, index: int, marker: Marker) -> asyncio.Future[Appended | AppendRefused]:
        """Writes the marker into a partition of ``__consumer_offsets`` and carries it out on the offsets there."""
        owner = self._owners.owner(index)
        if owner is not None:
            return owner.end_transaction(marker)
        answer: asyncio.Future[Appended | AppendRefused] = asyncio.get_running_loop().create_future()
        answer.set_result(AppendRefused(ErrorCode.NOT_COORDINATOR))
        return answer

    async def list_groups(
        self, states: frozenset[str], types: frozenset[str]
    ) -> tuple[list[ListedGroup], ErrorCode]:
        """All groups that match; the code tells if some could not be seen."""
        answers = await self._ask_all(lambda token: ListGroups(token, states, types))
        groups: list[ListedGroup] = []
        code = ErrorCode.NONE
        for answer in answers:
            found = _expect(answer, GroupListing)
            if isinstance(found, Refused):
                code = found.code
            else:
                groups += found.groups
        return groups, code

    def topic_deleted(self, name: str) -> None:
        """Forgets the offsets committed to it. Nobody waits for that: what a crash leaves is never told of a topic
        with another id, and goes with its group."""
        if name == CONSUMER_OFFSETS_TOPIC:
            self._owners.drop()
        for owner in self._owners.every():
            owner.ask(lambda token: DropTopics(token, frozenset({name})))

    def partition_returned(self, partition: Partition) -> None:
        """A log that had failed is back: the groups of its partition are read again."""
        self._owners.returned(partition)

    async def _ask_all(self, make: Callable[[Token], GroupCommand]) -> list[Answer]:
        return list(await asyncio.gather(*(owner.ask(make) for owner in self._owners.every())))

    def fresh_member_id(self, prefix: str) -> MemberId:
        """An id nobody has: what the member calls itself, cut where that is as long as a text may be, and chance."""
        chance = f"-{self._runtime.machine.new_uuid()}"
        room = LONGEST_TEXT_BYTES - len(chance)
        if len(prefix) * 4 > room:
            prefix = prefix.encode()[:room].decode(errors="ignore")
        return MemberId(prefix + chance)

    # -- what is told of them -------------------------------------------------------------------------------

    def owner_states(self) -> list[str]:
        return [owner.state for owner in self._owners.made()]

    def listed(self) -> Iterator[ListedGroup]:
        """All groups as they are now, safe or not."""
        return (group for owner in self._owners.made() for group in owner.listed())

    def by_owner(self) -> Iterator[tuple[Iterator[ListedGroup], int]]:
        """The same a part at a time, each with the number of partitions that its share groups have state for."""
        return ((owner.listed(), owner.share_partition_count()) for owner in self._owners.made())

    def revoked_from(self, group_id: GroupId, member_id: MemberId) -> Assignment:
        """What the member of a share group has lost while it had no session; safe or not."""
        owner = self._owner(group_id)
        return {} if owner is None else owner.revoked_from(group_id, member_id)

    # -- owners ---------------------------------------------------------------------------------------------

    def _owner(self, group_id: GroupId) -> GroupOwner | None:
        count = self._owners.count()
        return self._owners.owner(coordinator_partition(group_id, count)) if count else None

    def _new_owner(self, partition: Partition) -> GroupOwner:
        return GroupOwner(partition, self._limits, self._cluster, now_ms=self._now_ms, counts=self.counts)

    def _now_ms(self) -> int:
        """The wall clock as it was when first asked, moved on by one that never jumps: a member must not expire
        because somebody set the clock."""
        elapsed_ms = self._runtime.monotonic_ms()
        if not self._started_ms:
            self._started_ms = self._runtime.now_ms() - elapsed_ms
        return int(self._started_ms + elapsed_ms)


def _expect(answer: Answer, expected: type[A]) -> A | Refused:
    if isinstance(answer, (expected, Refused)):
        return answer
    raise BrokenInvariant(f"a group owner answered {answer!r:.200}, expected {expected.__name__}")


def group_limits(config: BrokerConfig) -> GroupLimits:
    return GroupLimits(
        min_session_timeout_ms=config.group_min_session_timeout_ms,
        max_session_timeout_ms=config.group_max_session_timeout_ms,
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        max_size=config.group_max_size,
        offset_metadata_bytes_max=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * 60_000,
        retention_check_interval_ms=config.offsets_retention_check_interval_ms,
    )

"""Groups, for the handlers: which partition of ``__consumer_offsets`` looks after a group, and asking its owner.

The topic is made when somebody first looks for a coordinator. Its partition count is fixed from then on: a group
belongs to the partition that Java's hash of its name falls on, and must be found there by every broker to come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from leaselog.broker.group_owner import GroupCounts, GroupOwner
from leaselog.broker.group_surroundings import ClusterSurroundings
from leaselog.broker.partition import Partition
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
from leaselog.model import BrokenInvariant, ErrorCode, GroupId, MemberId, Refused

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker
    from leaselog.broker.config import BrokerConfig

__all__ = ["GroupCoordinator", "coordinator_partition"]

A = TypeVar("A")

NOT_HERE = Refused(ErrorCode.NOT_COORDINATOR)


@lru_cache(4096)
def coordinator_partition(key: str, count: int) -> int:
    """Which of ``count`` partitions looks after ``key``: the absolute value of Java's String.hashCode.

    Not the hash without its sign bit, which is what Kafka's producers use for record keys. The one value that
    has no absolute one counts as 0.
    """
    value = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    signed = value - (1 << 32) if value & 0x80000000 else value
    return 0 if signed == -(1 << 31) else abs(signed) % count


class GroupCoordinator:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._owners: dict[int, GroupOwner] = {}
        self._limits = group_limits(broker.config)
        self.counts = GroupCounts()
        self._around = ClusterSurroundings(broker)
        self._started_ms = 0.0
        self._is_stopped = False

    async def start(self) -> None:
        """Loads every group there is."""
        for owner in self._all_owners():
            await owner.loaded()

    async def stop(self) -> None:
        """Refuses whoever waits in a rebalance, so that connections can end."""
        self._is_stopped = True
        for owner in self._owners.values():
            owner.stop()

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
        count = self._partition_count()
        owner = self._owner(coordinator_partition(group_id, count)) if count else None
        if owner is not None:
            return owner.ask(make)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        answer.set_result(NOT_HERE)
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
            self._drop_owners()
        for owner in self._all_owners():
            owner.ask(lambda token: DropTopics(token, frozenset({name})))

    async def _ask_all(self, make: Callable[[Token], GroupCommand]) -> list[Answer]:
        return list(await asyncio.gather(*(owner.ask(make) for owner in self._all_owners())))

    def fresh_member_id(self, prefix: str) -> MemberId:
        """An id nobody has: what the member calls itself, and chance."""
        return MemberId(f"{prefix}-{uuid4()}")

    # -- what is told of them -------------------------------------------------------------------------------

    def owner_states(self) -> list[str]:
        return [owner.state for owner in self._owners.values()]

    def listed(self) -> Iterator[ListedGroup]:
        """All groups as they are now, safe or not."""
        return (group for owner in self._owners.values() for group in owner.listed())

    def share_partition_count(self) -> int:
        return sum(owner.share_partition_count() for owner in self._owners.values())

    # -- owners ---------------------------------------------------------------------------------------------

    def _partition_count(self) -> int:
        """As the cluster has it: some of them may not be open yet."""
        topic = self._broker.cluster.topic(CONSUMER_OFFSETS_TOPIC)
        return 0 if topic is None else topic.partition_count

    def _all_owners(self) -> list[GroupOwner]:
        return [owner for i in range(self._partition_count()) if (owner := self._owner(i)) is not None]

    def _owner(self, index: int) -> GroupOwner | None:
        """The owner of the partition as it is now; a topic that was made anew gets new owners."""
        partition = self._broker.logs.partition(CONSUMER_OFFSETS_TOPIC, index)
        if partition is None or self._is_stopped:
            return None
        owner = self._owners.get(index)
        if owner is None or owner.partition is not partition:
            if owner is not None:
                owner.stop()
            owner = self._owners[index] = self._new_owner(partition)
            owner.load()
        return owner

    def _new_owner(self, partition: Partition) -> GroupOwner:
        return GroupOwner(partition, self._limits, self._around, now_ms=self._now_ms, counts=self.counts)

    def _drop_owners(self) -> None:
        owners, self._owners = self._owners, {}
        for owner in owners.values():
            owner.stop()

    def _now_ms(self) -> int:
        """The wall clock as it was when first asked, moved on by one that never jumps: a member must not expire
        because somebody set the clock."""
        elapsed_ms = self._broker.monotonic_ms()
        if not self._started_ms:
            self._started_ms = self._broker.now_ms() - elapsed_ms
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

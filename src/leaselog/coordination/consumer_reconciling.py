"""How a member of a consumer group gets from what it has to what it is to have, without a partition in two hands.

What it is to lose it has to let go of first, in its old epoch; then it comes to the target's epoch and gets what nobody
else has. For what others have yet to let go of it waits, a heartbeat at a time (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from leaselog.coordination.consumer_group_facts import Assigned, ConsumerCurrent, Standing
from leaselog.coordination.share_group_facts import Assignment, PartitionKey
from leaselog.model import TopicId

__all__ = ["has_let_go", "partitions_of", "reconciled"]

Table = dict[TopicId, dict[int, int]]


def reconciled(
    current: ConsumerCurrent,
    target: Assignment,
    target_epoch: int,
    owned: frozenset[PartitionKey] | None,
    is_free: Callable[[PartitionKey], bool],
) -> ConsumerCurrent:
    """Where the member stands after this heartbeat.

    ``owned`` is what it says it has, None if it did not say; ``is_free`` tells what nobody has, itself included.
    """
    match current.standing:
        case Standing.STABLE:
            if current.epoch == target_epoch:
                return current
            return _next(current, current.epoch, target, target_epoch, owned, is_free)
        case Standing.REVOKING:
            if not has_let_go(current.revoking, owned):
                return current
            # An epoch further: whoever commits in the old one has nothing of it any more.
            return _next(
                current, current.epoch + 1, target, target_epoch, owned, is_free, is_freed=current.revoking
            )
        case Standing.WAITING:
            return _next(current, current.epoch, target, target_epoch, owned, is_free)


def has_let_go(revoking: Assigned, owned: frozenset[PartitionKey] | None) -> bool:
    """Who does not say what he has may have it still."""
    return not revoking or (owned is not None and owned.isdisjoint(partitions_of(revoking)))


def partitions_of(assigned: Assigned) -> Iterator[PartitionKey]:
    return ((topic, i) for topic, partitions in assigned.items() for i in partitions)


def _next(
    current: ConsumerCurrent,
    epoch: int,
    target: Assignment,
    target_epoch: int,
    owned: frozenset[PartitionKey] | None,
    is_free: Callable[[PartitionKey], bool],
    is_freed: Assigned | None = None,
) -> ConsumerCurrent:
    """``is_freed``: what the member lets go of with this heartbeat; it may have it back at once."""
    kept: Table = {}
    lost: Table = {}
    for topic, partitions in current.assigned.items():
        for i, since in partitions.items():
            table = kept if i in target.get(topic, ()) else lost
            table.setdefault(topic, {})[i] = since
    freed = frozenset(partitions_of(is_freed or {}))
    gained: Table = {}
    has_to_wait = False
    for topic, wanted in target.items():
        for i in sorted(wanted):
            if i in kept.get(topic, {}):
                continue
            if is_free((topic, i)) or (topic, i) in freed:
                gained.setdefault(topic, {})[i] = target_epoch
            else:
                has_to_wait = True
    if lost and not has_let_go(lost, owned):
        return ConsumerCurrent(epoch, current.epoch, Standing.REVOKING, kept, lost)
    standing = Standing.WAITING if has_to_wait else Standing.STABLE
    return ConsumerCurrent(target_epoch, current.epoch, standing, _joined(kept, gained), {})


def _joined(some: Mapping[TopicId, Mapping[int, int]], more: Mapping[TopicId, Mapping[int, int]]) -> Assigned:
    topics = sorted({*some, *more})
    return {topic: dict(sorted({**some.get(topic, {}), **more.get(topic, {})}.items())) for topic in topics}

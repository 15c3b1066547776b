"""Where new partitions go, and which wishes about it are refused. With one node the answer is "here".

The order of the checks and their words are Kafka's: its tools show them to people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from leaselog.model import ErrorCode, NodeId, Refused

__all__ = [
    "MAX_NEW_PARTITIONS",
    "Assignments",
    "NewPartitions",
    "place",
    "refuse_more_partitions",
    "refuse_replicas",
]

#: partitions made by one request
MAX_NEW_PARTITIONS = 10_000
#: (partition, its replicas) pairs, as a request wishes them
Assignments: TypeAlias = Sequence[tuple[int, Sequence[int]]]


@dataclass(frozen=True, slots=True)
class NewPartitions:
    partition_count: int
    replication_factor: int
    assignments: Assignments
    default_partition_count: int
    default_replication_factor: int


def place(wish: NewPartitions, node_id: NodeId) -> int | Refused:
    """How many partitions the new topic gets."""
    if wish.assignments:
        return _place_by_hand(wish, node_id)
    if wish.replication_factor < -1 or wish.replication_factor == 0:
        return _bad_replication("Replication factor must be larger than 0, or -1 to use the default value.")
    if wish.partition_count < -1 or wish.partition_count == 0:
        return Refused(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    copies = wish.default_replication_factor if wish.replication_factor == -1 else wish.replication_factor
    if copies != 1:
        return _bad_replication(
            f"Unable to replicate the partition {copies} time(s): The target replication factor of {copies} "
            "cannot be reached because only 1 broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )
    return wish.default_partition_count if wish.partition_count == -1 else wish.partition_count


def _bad_replication(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _place_by_hand(wish: NewPartitions, node_id: NodeId) -> int | Refused:
    by_hand = "A manual partition assignment was specified, but "
    if wish.replication_factor != -1:
        return Refused(ErrorCode.INVALID_REQUEST, by_hand + "replication factor was not set to -1.")
    if wish.partition_count != -1:
        return Refused(ErrorCode.INVALID_REQUEST, by_hand + "numPartitions was not set to -1.")
    seen = set[int]()
    for partition, replicas in wish.assignments:
        if partition in seen:
            return _bad_assignment(f"Found multiple manual partition assignments for partition {partition}")
        seen.add(partition)
        refused = refuse_replicas(replicas, node_id)
        if refused is not None:
            return refused
    if seen != set(range(len(seen))):
        return _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    return len(seen)


def refuse_replicas(replicas: Sequence[int], node_id: NodeId) -> Refused | None:
    """Why a partition may not have these replicas, or None."""
    by_hand = "The manual partition assignment includes "
    if not replicas:
        return _bad_assignment(by_hand + "an empty replica list.")
    for broker in sorted(replicas):
        if broker != node_id:
            return _bad_assignment(f"{by_hand}broker {broker}, but no such broker is registered.")
    if len(replicas) > 1:
        return _bad_assignment(f"{by_hand}the broker {node_id} more than once.")
    return None


def _bad_assignment(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def refuse_more_partitions(
    topic: str, current: int, count: int, assignments: Sequence[Sequence[int]] | None, node_id: NodeId
) -> Refused | None:
    """Why a topic of ``current`` partitions may not get ``count``, or None."""
    if count == current:
        return Refused(ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
    if count < current:
        return Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic} currently has {current} partition(s); {count} would not be an increase.",
        )
    if assignments is None:
        return None
    if len(assignments) != count - current:
        return _bad_assignment(
            f"Attempted to add {count - current} additional partition(s), but only {len(assignments)} "
            "assignment(s) were specified."
        )
    refusals = (refuse_replicas(replicas, node_id) for replicas in assignments)
    return next((refused for refused in refusals if refused is not None), None)

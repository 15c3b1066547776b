"""What a power cut would leave of share state now: read off what is safe of its logs, without waiting for one.

Whether what is safe is enough shows only if the power goes right then, which chance does once in a hundred worlds. So
here it is looked at whenever a log is cut at its beginning: what took the place of that part has to be safe, so what is
safe has to come to the same before the cut and behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leaselog.broker.broker import Broker
from leaselog.broker.share_state.owner import ShareStateOwner
from leaselog.coordination.share_state_facts import ShareFact, SharePartitionKey, ShareSnapshot
from leaselog.coordination.share_state_shard import ShareStateShard
from leaselog.testing.sim_world import World

__all__ = ["safe_states", "watch_pruning"]

#: with their offsets
_Facts = Sequence[tuple[int, ShareFact]]


def safe_states(world: World, broker: Broker) -> Iterator[ShareSnapshot]:
    coordinator: Any = broker.share_coordinator
    for owner in coordinator._owners.made():
        end = owner.partition.log.durable_end
        yield from _state(owner, [told for told in _facts(world, owner) if told[0] < end]).values()


def watch_pruning(world: World, broker: Broker) -> None:
    """To be called before the broker starts."""
    coordinator: Any = broker.share_coordinator
    prune = coordinator.prune
    watched = set[ShareStateOwner]()

    async def prune_watched() -> None:
        for owner in coordinator._owners.every():
            if owner not in watched:
                watched.add(owner)
                _watch(world, owner)
        await prune()

    coordinator.prune = prune_watched


def _watch(world: World, owner: Any) -> None:
    prune, partition_log = owner.prune, owner.partition.log

    def prune_compared() -> bool:
        facts = _facts(world, owner)
        if not prune():
            return False
        start, end = partition_log.start_offset, partition_log.durable_end
        safe = [(offset, fact) for offset, fact in facts if offset < end]
        before, now = _state(owner, safe), _state(owner, [told for told in safe if told[0] >= start])
        if before != now:
            lost = [key for key, state in before.items() if now.get(key) != state]
            world.impossible.append(
                f"{partition_log.directory} is cut at {start} and safe to {end}: a power cut would take {lost[:3]}"
            )
        return True

    owner.prune = prune_compared


def _facts(world: World, owner: Any) -> _Facts:
    with world.disk.looked_at():
        return [told for step in owner._ledger.load_steps() for told in step]


def _state(owner: Any, facts: _Facts) -> dict[SharePartitionKey, ShareSnapshot]:
    shard: ShareStateShard = owner._new_shard()
    for offset, fact in facts:
        shard.replay(fact, offset)
    return shard.snapshots()

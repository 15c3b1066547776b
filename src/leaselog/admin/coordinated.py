"""Questions about groups: each goes to the node that coordinates the group, and follows it when it moves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from leaselog.admin.outcome import COORDINATOR_TROUBLE, Outcomes, try_each
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.client.topology import Node
from leaselog.model import ErrorCode

__all__ = ["ask_coordinators"]

V = TypeVar("V")

#: groups in one request; more go into several
MAX_GROUPS = 1000
#: look-ups of coordinators under way at a time
_LOOKUPS = 50


async def ask_coordinators(
    cluster: Cluster,
    group_ids: Iterable[str],
    ask: Callable[[Node, Sequence[str]], Awaitable[Mapping[str, V | BrokerError]]],
) -> Outcomes[str, V]:
    """The outcome for each group, from one request to each coordinator."""

    async def attempt(wanted: Sequence[str]) -> Outcomes[str, V]:
        found, by_node = Outcomes[str, V](), dict[Node, list[str]]()
        for group_id, node in (await _coordinators(cluster, wanted)).items():
            if isinstance(node, BrokerError):
                found[group_id] = node
            else:
                by_node.setdefault(node, []).append(group_id)
        asked = [
            ask(node, ids[start : start + MAX_GROUPS])
            for node, ids in by_node.items()
            for start in range(0, len(ids), MAX_GROUPS)
        ]
        for answer in await asyncio.gather(*asked):
            found.update(answer)
        silence = BrokerError(ErrorCode.UNKNOWN_SERVER_ERROR, "the coordinator says nothing of it")
        return {group_id: found.get(group_id, silence) for group_id in wanted}

    return await try_each(cluster, group_ids, attempt, passing=COORDINATOR_TROUBLE)


async def _coordinators(cluster: Cluster, group_ids: Sequence[str]) -> dict[str, Node | BrokerError]:
    room = asyncio.Semaphore(_LOOKUPS)

    async def find(group_id: str) -> Node | BrokerError:
        async with room:
            try:
                return await cluster.coordinator(group_id)
            except BrokerError as failed:
                return failed

    return dict(zip(group_ids, await asyncio.gather(*map(find, group_ids)), strict=True))

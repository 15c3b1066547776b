"""Share groups that are given no records: pausing, resuming, and who paused a group, since when and why.

Through group configs that leaselog brokers have. Any other broker refuses to pause a group, in its own words, and has
none that is paused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaselog.admin.configs import Resource, ResourceType, describe_configs
from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client.cluster import Cluster
from leaselog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["SharePause", "list_share_pauses", "pause_share_groups", "resume_share_groups"]

PAUSED = "share.delivery.paused"
REASON, BY, SINCE = f"{PAUSED}.reason", f"{PAUSED}.by", f"{PAUSED}.since.ms"
_SET = 0


@dataclass(frozen=True, slots=True)
class SharePause:
    #: "operator" or "breaker"
    by: str
    #: since 1970, by the broker's clock
    since_ms: int
    #: empty if nobody gave one
    reason: str


async def pause_share_groups(
    cluster: Cluster, group_ids: Iterable[str], *, reason: str | None = None
) -> Outcomes[str, None]:
    """Hand out no more records; a group need not exist. One that is paused already stays so, with its first stamps."""
    values = {PAUSED: "true"} if reason is None else {PAUSED: "true", REASON: reason}
    return await _alter(cluster, group_ids, values)


async def resume_share_groups(cluster: Cluster, group_ids: Iterable[str]) -> Outcomes[str, None]:
    """Hand out records again, whoever paused the groups."""
    return await _alter(cluster, group_ids, {PAUSED: "false"})


async def list_share_pauses(cluster: Cluster, group_ids: Iterable[str]) -> dict[str, SharePause | None]:
    """None for a group that is not paused."""
    asked = [Resource(ResourceType.GROUP, group_id) for group_id in dict.fromkeys(group_ids)]
    found = await describe_configs(cluster, asked, keys=(PAUSED, REASON, BY, SINCE)) if asked else {}
    pauses = dict[str, SharePause | None]()
    for where, entries in found.items():
        values = {entry.name: entry.value or "" for entry in entries}
        is_paused = values.get(PAUSED) == "true"
        pauses[where.name] = SharePause(values[BY], int(values[SINCE]), values[REASON]) if is_paused else None
    return pauses


async def _alter(
    cluster: Cluster, group_ids: Iterable[str], values: Mapping[str, str]
) -> Outcomes[str, None]:
    wanted = [AlterableConfig(name=n, config_operation=_SET, value=v) for n, v in values.items()]
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=ResourceType.GROUP, resource_name=group_id, configs=wanted)
            for group_id in dict.fromkeys(group_ids)
        ]
    )
    if not request.resources:
        return {}
    answer = await cluster.request(request, IncrementalAlterConfigsResponse)
    return {r.resource_name: outcome(r.error_code, r.error_message, None) for r in answer.responses}

"""A group's dead-letter topic cannot be a topic that it consumes: refused when somebody names it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from leaselog.broker.share_groups.administration import ShareGroups
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import ErrorCode, GroupId, Refused

__all__ = ["refuse_own_topics"]

TOPIC_KEY = "errors.deadletterqueue.topic.name"


class NamedConfig(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> str | None: ...


class NamedConfigs(Protocol):
    """A resource of either request that alters configs."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[NamedConfig]: ...


async def refuse_own_topics(
    share_groups: ShareGroups, resources: Iterable[NamedConfigs]
) -> dict[tuple[int, str], Refused]:
    """The groups whose dead-letter topic would be one they consume: what they fail at would come back, for ever."""
    refused: dict[tuple[int, str], Refused] = {}
    for resource in resources:
        topic = next((config.value for config in resource.configs if config.name == TOPIC_KEY), None)
        if not topic or resource.resource_type != ResourceType.GROUP:
            continue
        consumed = await share_groups.topics_with_state(GroupId(resource.resource_name))
        if not isinstance(consumed, Refused) and topic in {states.name for states in consumed}:
            why = f"{TOPIC_KEY}: the group consumes {topic}, which cannot be its dead-letter topic"
            refused[resource.resource_type, resource.resource_name] = Refused(ErrorCode.INVALID_CONFIG, why)
    return refused

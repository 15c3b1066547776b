"""Which topic a group's dead letters go to, and why they may not (KIP-1191): read when a letter is to be written.

What Apache Kafka checks only then is checked only then here: a group may name a topic that comes later. One thing is
checked earlier than there: a topic that the group consumes is refused when it is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from leaselog.broker.cluster.cluster import NewTopic
from leaselog.coordination.cluster_names import is_internal
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import ErrorCode, GroupId, Refused

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["dead_letter_topic", "refuse_own_topics"]

TOPIC_KEY = "errors.deadletterqueue.topic.name"
ALLOW_KEY = "errors.deadletterqueue.group.enable"


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


async def dead_letter_topic(broker: Broker, group_id: GroupId) -> str | Refused:
    """The topic of the group's dead letters, made if it is missing and may be."""
    name = broker.cluster.configuration.group(group_id).errors_deadletterqueue_topic_name
    refused = _refuse(broker, group_id, name)
    if refused is not None:
        return refused
    if broker.cluster.topic(name) is None:
        wish = NewTopic(name, configs=((ALLOW_KEY, "true"), ("message.timestamp.type", "CreateTime")))
        (made,) = await broker.cluster.create_topics([wish])
        if isinstance(made, Refused) and broker.cluster.topic(name) is None:
            return made
    return name


def _refuse(broker: Broker, group_id: GroupId, name: str) -> Refused | None:
    prefix = broker.config.errors_deadletterqueue_topic_name_prefix
    if not name:
        why = "the group has no dead-letter topic"
    elif name.startswith("__") or is_internal(name):
        why = f"{name} is a name for internal topics"
    elif not name.startswith(prefix):
        why = f"{name} does not begin with {prefix}, as errors.deadletterqueue.topic.name.prefix wants it"
    elif broker.cluster.topic(name) is not None:
        if broker.cluster.configuration.topic(name).errors_deadletterqueue_group_enable:
            return None
        why = f"{name} takes no dead letters: it has not {ALLOW_KEY}=true"
    elif broker.config.errors_deadletterqueue_auto_create_topics_enable:
        return None
    else:
        why = f"{name} does not exist, and errors.deadletterqueue.auto.create.topics.enable is false"
    return Refused(ErrorCode.INVALID_CONFIG, f"group {group_id}: {why}")


async def refuse_own_topics(
    broker: Broker, resources: Iterable[NamedConfigs]
) -> dict[tuple[int, str], Refused]:
    """The groups whose dead-letter topic would be one they consume: what they fail at would come back, for ever."""
    refused: dict[tuple[int, str], Refused] = {}
    for resource in resources:
        topic = next((config.value for config in resource.configs if config.name == TOPIC_KEY), None)
        if not topic or resource.resource_type != ResourceType.GROUP:
            continue
        consumed = await broker.share_groups.topics_with_state(GroupId(resource.resource_name))
        if not isinstance(consumed, Refused) and topic in {states.name for states in consumed}:
            why = f"{TOPIC_KEY}: the group consumes {topic}, which cannot be its dead-letter topic"
            refused[resource.resource_type, resource.resource_name] = Refused(ErrorCode.INVALID_CONFIG, why)
    return refused

"""Which topic a group's dead letters go to, and why they may not (KIP-1191): read when a letter is to be written.

What Apache Kafka checks only then is checked only then here: a group may name a topic that comes later. One thing is
checked earlier than there: a topic that the group consumes is refused when it is named
(`broker.share_groups.own_topics`).
"""

from __future__ import annotations

from leaselog.broker.cluster.cluster import Cluster, NewTopic
from leaselog.broker.runtime.runtime import Runtime
from leaselog.coordination.cluster_names import is_internal
from leaselog.model import ErrorCode, GroupId, Refused

__all__ = ["dead_letter_topic"]

ALLOW_KEY = "errors.deadletterqueue.group.enable"


async def dead_letter_topic(runtime: Runtime, cluster: Cluster, group_id: GroupId) -> str | Refused:
    """The topic of the group's dead letters, made if it is missing and may be."""
    name = cluster.configuration.group(group_id).errors_deadletterqueue_topic_name
    refused = _refuse(runtime, cluster, group_id, name)
    if refused is not None:
        return refused
    if cluster.topic(name) is None:
        wish = NewTopic(name, configs=((ALLOW_KEY, "true"), ("message.timestamp.type", "CreateTime")))
        (made,) = await cluster.create_topics([wish])
        if isinstance(made, Refused) and cluster.topic(name) is None:
            return made
    return name


def _refuse(runtime: Runtime, cluster: Cluster, group_id: GroupId, name: str) -> Refused | None:
    prefix = runtime.config.errors_deadletterqueue_topic_name_prefix
    if not name:
        why = "the group has no dead-letter topic"
    elif name.startswith("__") or is_internal(name):
        why = f"{name} is a name for internal topics"
    elif not name.startswith(prefix):
        why = f"{name} does not begin with {prefix}, as errors.deadletterqueue.topic.name.prefix wants it"
    elif cluster.topic(name) is not None:
        if cluster.configuration.topic(name).errors_deadletterqueue_group_enable:
            return None
        why = f"{name} takes no dead letters: it has not {ALLOW_KEY}=true"
    elif runtime.config.errors_deadletterqueue_auto_create_topics_enable:
        return None
    else:
        why = f"{name} does not exist, and errors.deadletterqueue.auto.create.topics.enable is false"
    return Refused(ErrorCode.INVALID_CONFIG, f"group {group_id}: {why}")

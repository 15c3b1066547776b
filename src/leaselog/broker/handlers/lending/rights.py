"""What ShareFetch and ShareAcknowledge may do: both need leave to READ the group, and each topic they touch."""

from __future__ import annotations

from collections.abc import Callable

from leaselog.broker.net.api import RequestContext
from leaselog.model import AclOperation, AclResourceType, ErrorCode, Refused
from leaselog.share import SessionKey, TopicIdPartition

__all__ = ["deny_group", "topic_reader"]


def deny_group(group_id: str | None, key: SessionKey | Refused, context: RequestContext) -> Refused | None:
    """Said before anything that is wrong with the request, but that there are no share groups here."""
    if isinstance(key, Refused) and (key.code is ErrorCode.UNSUPPORTED_VERSION or group_id is None):
        return None
    return context.refuse_group(AclOperation.READ, group_id or "")


def topic_reader(context: RequestContext) -> Callable[[TopicIdPartition], bool]:
    """Whether the client may read a partition's topic now. What has no name is nobody's to forbid: it is unknown."""
    cluster = context.broker.cluster

    def may_read(at: TopicIdPartition) -> bool:
        name = cluster.topic_name_of(at.topic_id)
        return name is None or context.may(AclOperation.READ, AclResourceType.TOPIC, name)

    return may_read

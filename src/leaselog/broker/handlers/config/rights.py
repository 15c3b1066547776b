"""Which right a resource's configs need: one about the topic or group itself, and about the cluster for all else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from leaselog.broker.net.api import RequestContext
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import AclOperation, Refused

__all__ = ["refuse_rights"]


class _Resource(Protocol):
    @property
    def resource_type(self) -> int: ...

    @property
    def resource_name(self) -> str: ...


_OF_THE_CLUSTER = (ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.CLIENT_METRICS)


def refuse_rights(
    operation: AclOperation, resources: Iterable[_Resource], context: RequestContext
) -> dict[tuple[int, str], Refused]:
    """The refusal of each resource whose configs the client may not describe or alter."""
    refused: dict[tuple[int, str], Refused] = {}
    for resource in resources:
        denied = _refuse(operation, resource.resource_type, resource.resource_name, context)
        if denied is not None:
            refused[resource.resource_type, resource.resource_name] = denied
    return refused


def _refuse(operation: AclOperation, type_: int, name: str, context: RequestContext) -> Refused | None:
    if type_ == ResourceType.TOPIC:
        return context.refuse_topic(operation, name)
    if type_ == ResourceType.GROUP:
        return context.refuse_group(operation, name)
    # A type that nobody knows is refused as such, which tells nothing.
    return context.refuse_cluster(operation) if type_ in _OF_THE_CLUSTER else None

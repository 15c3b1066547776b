"""From what was asked of a resource to the values it should have: SET, DELETE, APPEND, SUBTRACT, and replacement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leaselog.broker.config.definitions import BROKER, GROUP, TOPIC, Definition
from leaselog.broker.config.resources import Alteration, AlterOp, Resource
from leaselog.broker.config.values import ConfigType, format_value
from leaselog.coordination.cluster_records import ResourceType
from leaselog.model import ErrorCode, Refused

__all__ = ["altered", "check_shape", "replaced"]

#: the tables whose lists can be appended to; Kafka knows no types for subscriptions
_TABLES: Mapping[ResourceType, Mapping[str, Definition]] = {
    ResourceType.TOPIC: TOPIC,
    ResourceType.GROUP: GROUP,
    ResourceType.BROKER: BROKER,
}
_EMPTY_NAME = {
    ResourceType.TOPIC: "Default topic resources are not allowed.",
    ResourceType.GROUP: "Default group resources are not allowed.",
    ResourceType.CLIENT_METRICS: "Subscription name can't be empty",
}


def check_shape(resource: Resource, alterations: Sequence[Alteration]) -> Refused | None:
    """What is wrong with the request before any value is looked at; None if nothing is."""
    names = [alteration.key for alteration in alterations]
    if len(set(names)) != len(names):
        return Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    nulls = [a.key for a in alterations if a.value is None and a.op is not AlterOp.DELETE]
    if nulls:
        return Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    return check_name(resource)


def check_name(resource: Resource) -> Refused | None:
    if not resource.name and resource.type in _EMPTY_NAME:
        return Refused(ErrorCode.INVALID_REQUEST, _EMPTY_NAME[resource.type])
    return None


def altered(
    resource: Resource, current: Mapping[str, str], alterations: Sequence[Alteration]
) -> dict[str, str | None] | Refused:
    """The text each named key should have afterwards, None for none at all."""
    wanted: dict[str, str | None] = {}
    for alteration in alterations:
        match alteration.op:
            case AlterOp.SET:
                wanted[alteration.key] = alteration.value
            case AlterOp.DELETE:
                wanted[alteration.key] = None
            case AlterOp.APPEND | AlterOp.SUBTRACT:
                entries = _list_of(resource, current, alteration)
                if isinstance(entries, Refused):
                    return entries
                wanted[alteration.key] = ",".join(entries)
    return wanted


def _list_of(resource: Resource, current: Mapping[str, str], alteration: Alteration) -> list[str] | Refused:
    """The entries of a list key after an APPEND or SUBTRACT."""
    definition = _TABLES.get(resource.type, {}).get(alteration.key)
    if definition is None or definition.type is not ConfigType.LIST:
        return Refused(ErrorCode.INVALID_CONFIG, _not_a_list(resource, definition, alteration))
    text = current.get(alteration.key)
    if text is None:
        text = format_value(definition.default)
    entries = [entry for entry in (text or "").split(",") if entry]
    named = (alteration.value or "").split(",")
    if alteration.op is AlterOp.SUBTRACT:
        return [entry for entry in entries if entry not in named]
    return [*entries, *(entry for entry in dict.fromkeys(named) if entry not in entries)]


def _not_a_list(resource: Resource, definition: Definition | None, alteration: Alteration) -> str:
    """Kafka's broker says it in other words than its controller."""
    key, op = alteration.key, alteration.op
    if resource.type is not ResourceType.BROKER:
        return f"Can't {op.name} to key {key} because its type is not LIST."
    if definition is None:
        return f"Unknown config name: {key}"
    return f"Config value {op.name.lower()} is not allowed for config key: {key}"


def replaced(
    resource: Resource, current: Mapping[str, str], values: Sequence[tuple[str, str | None]]
) -> dict[str, str | None] | Refused:
    """The text each key should have if only ``values`` are to remain."""
    refusal = check_shape(resource, [Alteration(key, AlterOp.SET, text) for key, text in values])
    if refusal is not None:
        return refusal
    return dict(values) | {key: None for key in current if key not in dict(values)}

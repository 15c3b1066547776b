"""Rules of access as JSON: `leaselog acls --list --json` prints it, `--add --from FILE` reads it on another cluster."""

from __future__ import annotations

import json
from enum import IntEnum
from typing import Any, TypeVar

from leaselog.model import AclBinding, AclOperation, AclPermission, AclResourceType, PatternType

__all__ = ["as_json", "parse_rules"]

E = TypeVar("E", bound=IntEnum)


def as_json(rule: AclBinding) -> dict[str, str]:
    return {
        "resourceType": rule.resource_type.name,
        "resourceName": rule.resource_name,
        "patternType": rule.pattern_type.name,
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation.name,
        "permission": rule.permission.name,
    }


def parse_rules(text: str) -> list[AclBinding]:
    """Raises ``ValueError``."""
    said: Any = json.loads(text)
    if not isinstance(said, list):
        raise ValueError("expected a list of rules, as leaselog acls --list --json prints it")
    return [_rule(entry, number) for number, entry in enumerate(said, 1)]


def _rule(entry: Any, number: int) -> AclBinding:
    keys = set(as_json(AclBinding(AclResourceType.TOPIC, "", "", AclOperation.READ)))
    if not isinstance(entry, dict) or set(entry) != keys or not all(map(_is_text, entry.values())):
        raise ValueError(f"rule {number}: expected {', '.join(sorted(keys))}, each a text")
    return AclBinding(
        _named(AclResourceType, entry["resourceType"], number),
        entry["resourceName"],
        entry["principal"],
        _named(AclOperation, entry["operation"], number),
        _named(AclPermission, entry["permission"], number),
        _named(PatternType, entry["patternType"], number),
        entry["host"],
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _named(kind: type[E], name: str, number: int) -> E:
    """Those that a rule can have: no ANY, which is a filter's."""
    if name in ("UNKNOWN", "ANY", "MATCH") or name not in kind.__members__:
        raise ValueError(f"rule {number}: {name} is no {kind.__name__}")
    return kind[name]

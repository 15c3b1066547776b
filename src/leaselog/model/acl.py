"""The vocabulary of access control lists: who may do what to which resources, and filters over such rules.

The numbers are those of Kafka's protocol and of its AccessControlEntry records. Who is asked, and what follows from
several rules together (deny over allow, super users), is the authorizer's, not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "CLUSTER_NAME",
    "SUPPORTED_OPERATIONS",
    "WILDCARD",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AclResourceType",
    "PatternType",
]

#: the one resource of type CLUSTER
CLUSTER_NAME = "kafka-cluster"
#: every name as a literal resource's name; every user in ``User:*``; every address as a host
WILDCARD = "*"


class _Known(IntEnum):
    """A number that a newer broker knows is UNKNOWN here."""

    @classmethod
    def _missing_(cls, value: object) -> _Known:
        return cls(0)


class AclResourceType(_Known):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Known):
    """LITERAL and PREFIXED are of rules; ANY and MATCH of filters alone.

    ANY takes rules of each type that have this very name, MATCH those that say something of a resource of this name.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(_Known):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(_Known):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


#: what can be done to a resource of each type, beside ALL
SUPPORTED_OPERATIONS = {
    AclResourceType.TOPIC: frozenset({
        AclOperation.READ, AclOperation.WRITE, AclOperation.CREATE, AclOperation.DESCRIBE, AclOperation.DELETE,
        AclOperation.ALTER, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS,
    }),
    AclResourceType.GROUP: frozenset({
        AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE, AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    }),
    AclResourceType.CLUSTER: frozenset({
        AclOperation.CREATE, AclOperation.CLUSTER_ACTION, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE, AclOperation.ALTER, AclOperation.DESCRIBE,
    }),
    AclResourceType.TRANSACTIONAL_ID: frozenset({
        AclOperation.DESCRIBE, AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT,
    }),
    AclResourceType.DELEGATION_TOKEN: frozenset({AclOperation.DESCRIBE}),
    AclResourceType.USER: frozenset({AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS}),
}  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class AclBinding:
    """One rule: this principal may, or may not, do this to these resources, from this host."""

    resource_type: AclResourceType
    #: a resource's name, how it begins (PREFIXED), or ``*`` for all of the type
    resource_name: str
    #: as ``User:alice``; ``User:*`` is everybody
    principal: str
    operation: AclOperation
    permission: AclPermission = AclPermission.ALLOW
    pattern_type: PatternType = PatternType.LITERAL
    #: an address, or ``*``
    host: str = WILDCARD


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Some of the rules: those that have all that is said here. None and ANY say nothing."""

    resource_type: AclResourceType = AclResourceType.ANY
    resource_name: str | None = None
    principal: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY
    pattern_type: PatternType = PatternType.ANY
    host: str | None = None

    @classmethod
    def of(cls, binding: AclBinding) -> AclFilter:
        """The filter for this rule alone."""
        return cls(
            binding.resource_type,
            binding.resource_name,
            binding.principal,
            binding.operation,
            binding.permission,
            binding.pattern_type,
            binding.host,
        )

    def matches(self, binding: AclBinding) -> bool:
        return (
            self.resource_type in (AclResourceType.ANY, binding.resource_type)
            and self._takes_pattern(binding)
            and self.principal in (None, binding.principal)
            and self.host in (None, binding.host)
            and self.operation in (AclOperation.ANY, binding.operation)
            and self.permission in (AclPermission.ANY, binding.permission)
        )

    def _takes_pattern(self, binding: AclBinding) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, binding.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return self.resource_name == binding.resource_name
        if binding.pattern_type is PatternType.PREFIXED:
            return self.resource_name.startswith(binding.resource_name)
        return binding.resource_name in (self.resource_name, WILDCARD)

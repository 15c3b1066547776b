"""What follows from the access control lists: who may do what, as Apache Kafka's StandardAuthorizer has it.

- A super user may do everything. Otherwise the entries count whose pattern fits the resource (its name, a prefix of it,
  or ``*``), whose principal is the client's or ``User:*``, and whose host is the client's or ``*``.
- One entry that denies outweighs all that allow. Leave to READ, WRITE, DELETE or ALTER is leave to DESCRIBE, leave to
  ALTER_CONFIGS is leave to DESCRIBE_CONFIGS; a denial implies nothing.
- A resource that no entry at all is about is everybody's with ``allow.everyone.if.no.acl.found``, and else nobody's.

Entries lie in a table by pattern, in each by principal and host, as two sets of bits; so a decision costs a few
look-ups, one for each length that prefixes have, and not what there is. What was decided is kept until an entry
changes: a client asks the same again with every request.

Bounds: `MAX_KEPT` decisions, about names that a topic could have; beyond that all are forgotten and made anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Protocol, TypeAlias

from leaselog.model import (
    WILDCARD,
    AclBinding,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    Principal,
)

__all__ = ["MAX_KEPT", "AclAuthorizer", "Authorizer"]

MAX_KEPT = 10_000
#: of a name in a kept decision, as of a topic; a group's may be much longer
_MAX_KEPT_CHARS = 249

EVERYBODY = f"User:{WILDCARD}"

_O = AclOperation
#: by operation, the bits of which one in an entry that allows it is enough
_ALLOWED_BY = {op: 1 << op | 1 << _O.ALL for op in AclOperation}
_ALLOWED_BY[_O.DESCRIBE] |= 1 << _O.READ | 1 << _O.WRITE | 1 << _O.DELETE | 1 << _O.ALTER
_ALLOWED_BY[_O.DESCRIBE_CONFIGS] |= 1 << _O.ALTER_CONFIGS
_DENIED_BY = {op: 1 << op | 1 << _O.ALL for op in AclOperation}

_Pattern: TypeAlias = tuple[AclResourceType, PatternType, str]
_Holder: TypeAlias = tuple[str, str]
_Question: TypeAlias = tuple[Principal, str, AclOperation, AclResourceType, str | None]


class Authorizer(Protocol):
    """Who may do what. The answer is for now: it may be another one the next time."""

    def allows(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> bool: ...

    def allows_some(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType
    ) -> bool:
        """Whether there is any resource of the type that it may be done to."""

    def changed(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        """So the access control lists have changed."""


class _Entries:
    """Those of one pattern, principal and host."""

    __slots__ = ("allowed", "bindings", "denied")

    def __init__(self) -> None:
        self.bindings: set[AclBinding] = set()
        #: a bit for each operation
        self.allowed = self.denied = 0

    def changed(self) -> None:
        self.allowed = self.denied = 0
        for acl in self.bindings:
            if acl.permission is AclPermission.DENY:
                self.denied |= 1 << acl.operation
            else:
                self.allowed |= 1 << acl.operation


class AclAuthorizer:
    def __init__(self, *, super_users: Collection[str] = (), allows_by_default: bool = False) -> None:
        """``allows_by_default``: what no entry is about, everybody may do."""
        self._super_users = frozenset(super_users)
        self._allows_by_default = allows_by_default
        self._patterns: dict[_Pattern, dict[_Holder, _Entries]] = {}
        #: of each type: how many prefixes have each length, in the order of the lengths
        self._lengths: dict[AclResourceType, dict[int, int]] = {}
        self._kept: dict[_Question, bool] = {}

    def changed(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        for acl in removed:
            self._remove(acl)
        for acl in added:
            self._add(acl)
        self._kept.clear()

    def _add(self, acl: AclBinding) -> None:
        pattern = (acl.resource_type, acl.pattern_type, acl.resource_name)
        held = self._patterns.get(pattern)
        if held is None:
            held = self._patterns[pattern] = {}
            if acl.pattern_type is PatternType.PREFIXED:
                lengths = self._lengths.get(acl.resource_type, {})
                size = len(acl.resource_name)
                self._lengths[acl.resource_type] = dict(
                    sorted({**lengths, size: lengths.get(size, 0) + 1}.items())
                )
        entries = held.setdefault((acl.principal, canonical_host(acl.host)), _Entries())
        entries.bindings.add(acl)
        entries.changed()

    def _remove(self, acl: AclBinding) -> None:
        pattern, holder = (
            (acl.resource_type, acl.pattern_type, acl.resource_name),
            (acl.principal, canonical_host(acl.host)),
        )
        held = self._patterns[pattern]
        entries = held[holder]
        entries.bindings.remove(acl)
        entries.changed()
        if not entries.bindings:
            del held[holder]
        if not held:
            del self._patterns[pattern]
            if acl.pattern_type is PatternType.PREFIXED:
                lengths, size = self._lengths[acl.resource_type], len(acl.resource_name)
                lengths[size] -= 1
                if not lengths[size]:
                    del lengths[size]

    # -- deciding -------------------------------------------------------------------------------------------

    def allows(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> bool:
        question = (principal, host, operation, resource, name)
        kept = self._kept.get(question)
        if kept is None:
            kept = self._decide(str(principal), canonical_host(host), operation, resource, name)
            if len(name) <= _MAX_KEPT_CHARS:
                self._keep(question, kept)
        return kept

    def allows_some(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType
    ) -> bool:
        question = (principal, host, operation, resource, None)
        kept = self._kept.get(question)
        if kept is None:
            kept = self._decide_some(str(principal), canonical_host(host), operation, resource)
            self._keep(question, kept)
        return kept

    def _keep(self, question: _Question, answer: bool) -> None:
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[question] = answer

    def _decide(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> bool:
        if principal in self._super_users:
            return True
        allowed = 0
        is_about_it = False
        for held in self._fitting(resource, name):
            is_about_it = True
            for entries in _of(held, principal, host):
                if entries.denied & _DENIED_BY[operation]:
                    return False
                allowed |= entries.allowed
        if not is_about_it:
            return self._allows_by_default
        return bool(allowed & _ALLOWED_BY[operation])

    def _fitting(self, resource: AclResourceType, name: str) -> Iterator[dict[_Holder, _Entries]]:
        """The entries of every pattern that fits the name."""
        patterns = self._patterns
        for literal in {name, WILDCARD}:
            held = patterns.get((resource, PatternType.LITERAL, literal))
            if held is not None:
                yield held
        for length in self._lengths.get(resource, ()):
            if length > len(name):
                return
            held = patterns.get((resource, PatternType.PREFIXED, name[:length]))
            if held is not None:
                yield held

    def _decide_some(
        self, principal: str, host: str, operation: AclOperation, resource: AclResourceType
    ) -> bool:
        """As Apache Kafka's: the operation itself or ALL, as what implies another is of no use to who asks this."""
        if self._decide(principal, host, operation, resource, "hardcode"):
            return True  # a super user, or a pattern that fits everything
        wanted = 1 << operation | 1 << AclOperation.ALL
        allowed: list[tuple[PatternType, str]] = []
        denied: set[tuple[PatternType, str]] = set()
        for (type_, pattern, name), held in self._patterns.items():
            if type_ is not resource:
                continue
            for entries in _of(held, principal, host):
                if entries.denied & wanted:
                    denied.add((pattern, name))
                if entries.allowed & wanted:
                    allowed.append((pattern, name))
        everything = (PatternType.LITERAL, WILDCARD)
        if everything in denied:
            return False
        return everything in allowed or any(not _is_outweighed(one, denied) for one in allowed)


def _of(held: dict[_Holder, _Entries], principal: str, host: str) -> Iterator[_Entries]:
    for holder in ((principal, host), (principal, WILDCARD), (EVERYBODY, host), (EVERYBODY, WILDCARD)):
        entries = held.get(holder)
        if entries is not None:
            yield entries


def _is_outweighed(allowed: tuple[PatternType, str], denied: set[tuple[PatternType, str]]) -> bool:
    """Whether all that a pattern allows is denied by one other."""
    pattern, name = allowed
    if pattern is PatternType.LITERAL and allowed in denied:
        return True
    return any((PatternType.PREFIXED, name[:length]) in denied for length in range(1, len(name) + 1))


@lru_cache(maxsize=1024)
def canonical_host(host: str) -> str:
    """One text for each address, however it was written: Java writes all eight groups of an IPv6 address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host  # the wildcard, or what no client ever is
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address)

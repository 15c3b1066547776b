"""The one who is asked before anything is done: an authorizer's answer, and a line in the audit log.

A broker without an authorizer has no guard, so that a request costs it one look at an attribute.
"""

from __future__ import annotations

from collections.abc import Iterable

from leaselog.broker.runtime.client import Client
from leaselog.broker.security.audit import AuditLog
from leaselog.broker.security.authorizer import Authorizer
from leaselog.model import SUPPORTED_OPERATIONS, AclBinding, AclOperation, AclResourceType

__all__ = ["Guard"]


class Guard:
    def __init__(self, authorizer: Authorizer, audit: AuditLog, *, keeps_acls: bool) -> None:
        self._authorizer = authorizer
        self._audit = audit
        #: the access control lists are what it goes by; a plug-in has rules of its own
        self.keeps_acls = keeps_acls

    def acls_changed(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        self._authorizer.changed(added, removed)

    def allows(
        self,
        client: Client,
        api: str,
        operation: AclOperation,
        resource: AclResourceType,
        name: str,
        *,
        is_probe: bool = False,
    ) -> bool:
        """``is_probe``: nothing is refused by it, as with one right of two or a filter; then no line says so."""
        is_allowed = self._authorizer.allows(client.principal, client.host, operation, resource, name)
        if is_allowed:
            self._audit.allowed(client, api, operation, resource, name)
        elif not is_probe:
            self._audit.refused(client, api, operation, resource, name)
        return is_allowed

    def allows_some(
        self, client: Client, api: str, operation: AclOperation, resource: AclResourceType
    ) -> bool:
        is_allowed = self._authorizer.allows_some(client.principal, client.host, operation, resource)
        if not is_allowed:
            self._audit.refused(client, api, operation, resource, "*")
        return is_allowed

    def operations(self, client: Client, resource: AclResourceType, name: str) -> int:
        """What may be done to a resource, a bit for each operation (KIP-430)."""
        allows, principal, host = self._authorizer.allows, client.principal, client.host
        return sum(
            1 << operation
            for operation in SUPPORTED_OPERATIONS[resource]
            if allows(principal, host, operation, resource, name)
        )

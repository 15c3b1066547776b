"""Which authorizer a broker has: `authorizer.class.name`, Apache Kafka's own one or a plug-in of somebody's own.

A plug-in is a callable, named by its Python path. It is called once, with the broker's settings as they were written.
What it gives has ``allows(principal, host, operation, resource_type, name) -> bool``, asked before each thing that is
done, on the loop: what takes long holds up everybody. It may have ``allows_some(principal, host, operation,
resource_type) -> bool``, too: whether there is any resource of the type that this may be done to. Without it an
idempotent producer needs leave to IDEMPOTENT_WRITE to the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.security.audit import AuditLog
from leaselog.broker.security.authorizer import AclAuthorizer
from leaselog.broker.security.guard import Guard
from leaselog.broker.security.plugins import load_plugin
from leaselog.model import AclBinding, AclOperation, AclResourceType, Principal

__all__ = ["STANDARD_AUTHORIZER", "choose_guard"]

KEY = "authorizer.class.name"
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SUPER_USERS = "super.users"


def choose_guard(config: BrokerConfig, monotonic_ms: Callable[[], float]) -> Guard | None:
    """None: everybody may do everything. Raises ``ConfigError``."""
    name = config.authorizer_class_name
    if not name:
        return None
    audit = AuditLog(monotonic_ms)
    if name == STANDARD_AUTHORIZER:
        authorizer = AclAuthorizer(
            super_users=frozenset(_super_users(config.super_users)),
            allows_by_default=config.allows_everyone_without_acls,
        )
        return Guard(authorizer, audit, keeps_acls=True)
    return Guard(_Plugged(load_plugin(KEY, name)(config.originals)), audit, keeps_acls=False)


def _super_users(text: str) -> Iterator[str]:
    for user in filter(None, map(str.strip, text.split(";"))):
        if ":" not in user:
            raise ConfigError(f"{SUPER_USERS}: {user!r}, expected User:NAME;User:NAME")
        yield user


class _Plugged:
    """What a plug-in gave, with what it need not have."""

    def __init__(self, plugin: object) -> None:
        allows = getattr(plugin, "allows", None)
        if not callable(allows):
            raise ConfigError(f"{KEY}: the plug-in gave {plugin!r}, which has no method allows")
        self._allows: Callable[..., object] = allows
        self._allows_some: Callable[..., object] | None = getattr(plugin, "allows_some", None)

    def allows(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> bool:
        return self._allows(principal, host, operation, resource, name) is True

    def allows_some(
        self, principal: Principal, host: str, operation: AclOperation, resource: AclResourceType
    ) -> bool:
        return (
            self._allows_some is not None and self._allows_some(principal, host, operation, resource) is True
        )

    def changed(self, added: Iterable[AclBinding], removed: Iterable[AclBinding]) -> None:
        """It has rules of its own."""

"""The audit log: who was refused what, and, at DEBUG, who was allowed what. Lines of JSON, of ``leaselog.authorizer``.

Each refusal is a line, whatever became of others before it; but an address that asks for what it may not have as fast
as it can does not fill the disk. Bounds: `LINES_A_SECOND` of one address, then one line that says how many were left
out; `MAX_HOSTS` addresses are counted, and one more takes the place of the one unused for longest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.model import AclOperation, AclResourceType

__all__ = ["LINES_A_SECOND", "MAX_HOSTS", "AuditLog"]

LINES_A_SECOND = 100
MAX_HOSTS = 10_000

log = StructuredLog("authorizer")


class _Second:
    """What one address was refused in the second that began then."""

    __slots__ = ("began_ms", "left_out", "written")

    def __init__(self, began_ms: float) -> None:
        self.began_ms = began_ms
        self.written = self.left_out = 0


class AuditLog:
    def __init__(self, monotonic_ms: Callable[[], float]) -> None:
        self._monotonic_ms = monotonic_ms
        #: least recently used first
        self._seconds: OrderedDict[str, _Second] = OrderedDict()

    def refused(
        self, client: Client, api: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> None:
        if log.is_on_for_info() and self._has_room(client.host):
            log.info("refused", **_facts(client, api, operation, resource, name))

    def allowed(
        self, client: Client, api: str, operation: AclOperation, resource: AclResourceType, name: str
    ) -> None:
        if log.is_on_for_debug():
            log.debug("allowed", **_facts(client, api, operation, resource, name))

    def _has_room(self, host: str) -> bool:
        now_ms = self._monotonic_ms()
        second = self._seconds.get(host)
        if second is None:
            if len(self._seconds) >= MAX_HOSTS:
                self._seconds.popitem(last=False)
            second = self._seconds[host] = _Second(now_ms)
        self._seconds.move_to_end(host)
        if now_ms - second.began_ms >= 1000:
            if second.left_out:
                log.info("more refusals than are written", host=host, left_out=second.left_out)
            second.began_ms, second.written, second.left_out = now_ms, 0, 0
        if second.written >= LINES_A_SECOND:
            second.left_out += 1
            return False
        second.written += 1
        return True


def _facts(
    client: Client, api: str, operation: AclOperation, resource: AclResourceType, name: str
) -> dict[str, object]:
    return {
        "principal": str(client.principal),
        "host": client.host,
        "listener": client.listener,
        "operation": operation.name,
        "resource": resource.name,
        # The pattern is what the resource was asked by: always its own name.
        "pattern": "LITERAL",
        "name": name,
        "api": api,
    }

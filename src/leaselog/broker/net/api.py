"""What the broker serves: one registration per API, from which ApiVersions, dispatch and the docs are read.

A handler module registers itself with one line:

    @serves(MetadataRequest, versions=(0, 13), kips="…")
    async def metadata(request: MetadataRequest, context: RequestContext) -> MetadataResponse: ...

A handler that is a generator yields after each piece of work; it answers at once if that takes no longer than a turn of
the loop, and otherwise lets others have theirs. An ``async def`` handler asks `Turns` itself.

A plain ``def`` handler may also return an awaitable: its synchronous part then runs in the connection's order and
the next request of the connection starts before the answer is there. Produce does, so that pipelined produces
share one sync. An ``async def`` handler, a generator, or one that says ``exclusive``, has its connection to itself
until it answers, as with Apache Kafka.
Answers go out in the order of the requests, always. ``None`` is "no answer": a produce with acks=0.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from inspect import iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from leaselog.broker.config.listeners import Address
from leaselog.broker.net.house import House
from leaselog.broker.runtime.client import Client
from leaselog.broker.security.sasl_session import SaslSession
from leaselog.model import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    AclOperation,
    AclResourceType,
    ErrorCode,
    Refused,
)
from leaselog.wire.schema import Message, Versions

if TYPE_CHECKING:
    from leaselog.broker.quotas.mutation_quotas import MutationAllowance

__all__ = ["NOT_ASKED", "Api", "RequestContext", "Reply", "api_of", "apis", "load_handlers", "serves"]

NOT_THE_CLUSTER = Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
NOT_THE_GROUP = Refused(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed.")
NOT_THE_TOPIC = Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
NOT_THE_TRANSACTION = Refused(
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed."
)

#: what may be done to a resource of each type, a bit for each operation
ALL_OPERATIONS = {
    resource: sum(1 << operation for operation in operations)
    for resource, operations in SUPPORTED_OPERATIONS.items()
}
#: in the place of such bits, where a client did not ask for them
NOT_ASKED = -(2**31)

#: what a handler gives back
Reply: TypeAlias = "Message | Awaitable[Message | None] | None"
Handler: TypeAlias = "Callable[[Any, RequestContext], Reply]"
H = TypeVar("H", bound="Callable[..., Any]")


@dataclass(slots=True)
class RequestContext:
    """What a handler may know beside its request."""

    broker: House
    api: Api
    version: int
    client_id: str | None
    client: Client
    #: of a connection whose listener asks for a login
    login: SaslSession | None = None
    #: set by a handler: the connection starts nothing else before this is answered
    is_exclusive: bool = False
    #: set by a handler: the connection is not read for this long (KIP-219)
    throttle_ms: int = 0
    #: of an answer that is being made, counted among what slow clients make the broker hold until it is handed over
    held_bytes: int = 0

    @property
    def user(self) -> str:
        """The name that quotas go by."""
        return self.client.principal.name

    def hold(self, size_bytes: int) -> None:
        """So much more is in memory for the answer: others are to know before it is on its way."""
        self.held_bytes += size_bytes
        self.broker.answer_grew(self.client, size_bytes)

    def room_for_answers_bytes(self) -> int:
        """What may still be handed to sockets while clients do not keep up; 0: only what is petty."""
        return self.broker.room_for_answers_bytes(self.client)

    @property
    def address(self) -> Address:
        """Where this client is told to connect, which is by the listener that it came by."""
        return self.broker.cluster.advertised.of(self.client.listener)

    def mutations(self, *, is_strict: bool) -> MutationAllowance:
        """What the client may change of the cluster; with ``is_strict`` what it may not is refused (KIP-599)."""
        now_ms = self.broker.monotonic_ms()
        return self.broker.mutation_quotas.allowance(self.user, self.client_id, now_ms, is_strict=is_strict)

    # -- what the client may do

    def may(
        self, operation: AclOperation, resource: AclResourceType, name: str, *, is_probe: bool = False
    ) -> bool:
        """``is_probe``: a no is not a refusal, and the audit log says nothing of it."""
        guard = self.broker.guard
        return guard is None or guard.allows(
            self.client, self.api.name, operation, resource, name, is_probe=is_probe
        )

    def may_cluster(self, operation: AclOperation, *, is_probe: bool = False) -> bool:
        guard = self.broker.guard
        return guard is None or guard.allows(
            self.client, self.api.name, operation, AclResourceType.CLUSTER, CLUSTER_NAME, is_probe=is_probe
        )

    def refuse_cluster(self, operation: AclOperation) -> Refused | None:
        """Why the client may not do this to the cluster; refusals have the words that Kafka's tools show."""
        return None if self.may_cluster(operation) else NOT_THE_CLUSTER

    def refuse_group(self, operation: AclOperation, group_id: str) -> Refused | None:
        return None if self.may(operation, AclResourceType.GROUP, group_id) else NOT_THE_GROUP

    def refuse_topic(self, operation: AclOperation, name: str) -> Refused | None:
        return None if self.may(operation, AclResourceType.TOPIC, name) else NOT_THE_TOPIC

    def refuse_transaction(self, operation: AclOperation, name: str) -> Refused | None:
        return None if self.may(operation, AclResourceType.TRANSACTIONAL_ID, name) else NOT_THE_TRANSACTION

    def may_some(self, operation: AclOperation, resource: AclResourceType) -> bool:
        """Whether there is any resource of the type that it may do this to."""
        guard = self.broker.guard
        return guard is None or guard.allows_some(self.client, self.api.name, operation, resource)

    def cluster_operations(self) -> int:
        """The same of the cluster, for those alone who may describe it."""
        if not self.may_cluster(AclOperation.DESCRIBE):
            return 0
        return self.operations(AclResourceType.CLUSTER, CLUSTER_NAME)

    def operations(self, resource: AclResourceType, name: str) -> int:
        """All that the client may do to a resource, as fields of answers have it: a bit for each operation."""
        guard = self.broker.guard
        return ALL_OPERATIONS[resource] if guard is None else guard.operations(self.client, resource, name)


@dataclass(frozen=True, slots=True)
class Api:
    key: int
    name: str
    versions: Versions
    request: type[Message]
    handler: Handler
    kips: str
    #: the connection starts nothing else before this API has answered
    exclusive: bool
    #: the oldest version told to clients, where that is not the oldest served
    advertised_from: int
    #: the handler counts the error codes of its answers itself: walking them would cost the hot path too much
    counts_errors: bool
    #: what it waits for is of use to its client alone: given up once that has gone, and not begun then
    only_reads: bool


_apis: dict[int, Api] = {}


def serves(
    request: type[Message],
    *,
    versions: tuple[int, int],
    kips: str = "",
    advertised_from: int | None = None,
    counts_errors: bool = False,
    exclusive: bool | None = None,
    only_reads: bool = False,
) -> Callable[[H], H]:
    """Registers the decorated handler for every version in the inclusive range ``versions``.

    ``exclusive`` is for a handler that may answer at once and yet has its connection to itself when it waits.
    """

    def register(handler: H) -> H:
        if request.API_KEY in _apis:
            raise ValueError(f"{request.NAME} has a handler already")
        has_steps = isgeneratorfunction(handler)
        _apis[request.API_KEY] = Api(
            key=request.API_KEY,
            name=request.NAME.removesuffix("Request"),
            versions=Versions(*versions),
            request=request,
            handler=_in_steps(handler) if has_steps else handler,
            kips=kips,
            exclusive=has_steps or iscoroutinefunction(handler) if exclusive is None else exclusive,
            advertised_from=versions[0] if advertised_from is None else advertised_from,
            counts_errors=counts_errors,
            only_reads=only_reads,
        )
        return handler

    return register


def _in_steps(handler: Callable[[Any, RequestContext], Generator[object, None, Message]]) -> Handler:
    def start(request: Any, context: RequestContext) -> Reply:
        return context.broker.turns.start(handler(request, context))

    return start


def load_handlers() -> None:
    """Imports every handler module, so that each has registered itself."""
    package = importlib.import_module("leaselog.broker.handlers")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


def apis() -> list[Api]:
    """Every API served, by key."""
    return [_apis[key] for key in sorted(_apis)]


def api_of(key: int) -> Api | None:
    return _apis.get(key)

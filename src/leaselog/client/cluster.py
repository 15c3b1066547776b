"""A cluster as a client sees it: a connection to each node, metadata, and trying again.

Owns the connections. Whatever may pass by itself (a leader moving, a coordinator loading, a broker restarting)
is tried again until the caller's deadline; what cannot pass is raised at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import TypeVar

from leaselog.client.connection import Connection
from leaselog.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    IllegalState,
    Unreachable,
    is_retriable,
    raise_for,
    refusal,
)
from leaselog.client.machine import monotonic_ms
from leaselog.client.security.config import PLAINTEXT, SecurityConfig
from leaselog.client.security.login import Login
from leaselog.client.topology import Node, TopicInfo, Topology, parse_bootstrap, read_topology
from leaselog.client.trouble import Trouble
from leaselog.model import ErrorCode
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from leaselog.wire.schema import Message

__all__ = ["DEFAULT_API_TIMEOUT_MS", "REQUEST_TIMEOUT_MS", "Cluster"]

_log = logging.getLogger("leaselog.client")

M = TypeVar("M", bound=Message)
T = TypeVar("T")

#: Java's request.timeout.ms and default.api.timeout.ms
REQUEST_TIMEOUT_MS = 30_000
DEFAULT_API_TIMEOUT_MS = 60_000
CONNECT_TIMEOUT_MS = 10_000
#: of `wait_until_ready`: a broker that is being started has answered by then
READY_TIMEOUT_S = 30.0
#: Java's retry.backoff.ms and retry.backoff.max.ms
RETRY_BACKOFF_MS = 100
RETRY_BACKOFF_MAX_MS = 1_000

_NODE_GONE = "It is waited for until it is back, or another one has taken over."

#: a topic that is just being made, and a coordinator that is just loading, are nobody's trouble yet
PATIENCE_MS = 1_000

#: FindCoordinator's key types
GROUP_COORDINATOR = 0
TRANSACTION_COORDINATOR = 1
SHARE_COORDINATOR = 2


class Cluster:
    """Use as ``async with Cluster("host:9092") as cluster``. Raises ``ValueError`` for a malformed address.

    ``api_timeout_ms`` bounds a call with all its tries, ``request_timeout_ms`` a single one. What is tried again is
    said in the log, for somebody who wonders why nothing happens; that no connection can be made, after
    ``patience_ms``, as a command that fails at once has its own words. It belongs to the event loop that first asks it.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        client_id: str = "leaselog",
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS,
        patience_ms: int = 0,
        security: SecurityConfig = PLAINTEXT,
    ) -> None:
        self._bootstrap = parse_bootstrap(bootstrap_servers)
        self.client_id = client_id
        self.request_timeout_ms = request_timeout_ms
        self.api_timeout_ms = api_timeout_ms
        self.security = security
        self._login = None if security.sasl is None else Login(security.sasl)
        #: by address: one for each bootstrap address and node at most; a closed one makes room for its successor
        self._connections = dict[tuple[str, int], Connection]()
        self._opening = dict[tuple[str, int], asyncio.Lock]()
        self._nodes = dict[int, Node]()
        self._topics = dict[str, TopicInfo]()
        self._trouble = Trouble()
        self._patience_ms = patience_ms
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        await asyncio.sleep(0)  # lets the transports say goodbye before the loop may end

    # connections

    @property
    def _connect_timeout_ms(self) -> int:
        return min(CONNECT_TIMEOUT_MS, self.api_timeout_ms)

    async def any_connection(self) -> Connection:
        """A connection to whichever node answers, known nodes before the bootstrap addresses."""
        self._check_loop()
        for connection in self._connections.values():
            if not connection.is_closed:
                return connection
        known = [(node.host, node.port) for node in self._nodes.values()]
        failures = dict[str, None]()
        for address in dict.fromkeys([*known, *self._bootstrap]):
            try:
                return await self._connect(address)
            except Unreachable as failed:
                failures[str(failed)] = None
        raise Unreachable("; ".join(failures))

    def open_now(self, node_id: int) -> Connection | None:
        """The connection to this node if there is one already."""
        node = self._nodes.get(node_id)
        known = None if node is None else self._connections.get((node.host, node.port))
        return None if known is None or known.is_closed else known

    async def connection(self, node: Node | int) -> Connection:
        """A connection to this node, made now if there is none."""
        self._check_loop()
        if isinstance(node, int):
            if node not in self._nodes:
                await self.fetch_topology(())
            if node not in self._nodes:  # for now: it may come back, or somebody else have its part
                raise Unreachable(f"node {node} is not in the cluster", _NODE_GONE)
            node = self._nodes[node]
        return await self._connect((node.host, node.port))

    async def _connect(self, address: tuple[str, int]) -> Connection:
        async with self._opening.setdefault(address, asyncio.Lock()):
            known = self._connections.get(address)
            if known is not None and not known.is_closed:
                return known
            self._connections.pop(address, None)
            made = await self._open(address)
            self._connections[address] = made
            return made

    async def _open(self, address: tuple[str, int]) -> Connection:
        host, port = address
        try:
            made = await Connection.open(
                host,
                port,
                client_id=self.client_id,
                timeout_ms=self._connect_timeout_ms,
                security=self.security,
                login=self._login,
            )
        except Unreachable as failed:
            words = f"{failed}. {self._advice(address, failed)}"
            self._complain(f"{host}:{port}", words, patience_ms=self._patience_ms)
            raise
        except AuthenticationFailed as failed:
            self._complain(f"{host}:{port}", str(failed), patience_ms=self._patience_ms)
            raise
        made.on_silence = lambda late: self._complain(f"{host}:{port}", late)
        self._is_well(f"{host}:{port}", f"{host}:{port} answers again")
        return made

    def _check_loop(self) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise IllegalState(
                "This client began in another event loop, and asyncio.run makes a new one each time:"
                " make a client in each, or call asyncio.run once."
            )

    async def open_connection(self, node: Node) -> Connection:
        """A connection of the caller's own, to close when done: what is asked behind a parked request waits with it."""
        self._check_loop()
        return await self._open((node.host, node.port))

    # what somebody should know who wonders why nothing happens

    def _complain(self, what: str, words: str, *, patience_ms: int = 0) -> None:
        for_ms = self._trouble.ails(what, monotonic_ms(), patience_ms=patience_ms)
        if for_ms is not None:
            since = f" (for {for_ms // 1000} s)" if for_ms >= 1000 else ""
            _log.warning("%s%s: %s", self.client_id, since, words)

    def _is_well(self, what: str, words: str) -> None:
        for_ms = self._trouble.is_well(what, monotonic_ms())
        if for_ms is not None:
            _log.info("%s: %s, after %.1f s", self.client_id, words, for_ms / 1000)

    def _advice(self, address: tuple[str, int], failed: Unreachable) -> str:
        if address in self._bootstrap:
            return failed.advice
        return (
            "The cluster itself says that a broker is there: its advertised.listeners have to name what can be reached"
            " from here."
        )

    # asking

    async def request(self, message: Message, kind: type[M], *, node: Node | int | None = None) -> M:
        """One try on this node, or on any. Errors inside the answer are the caller's to read."""
        connection = await (self.any_connection() if node is None else self.connection(node))
        return await connection.request(message, kind, timeout_ms=self.request_timeout_ms)

    async def retrying(self, attempt: Callable[[], Awaitable[T]], *, timeout_ms: int | None = None) -> T:
        """The result of ``attempt``, called again after each retriable error until the deadline.

        At the deadline the last error is raised: it says more than a time-out would.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.api_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        backoff_ms = RETRY_BACKOFF_MS
        while True:
            try:
                return await attempt()
            except ClientError as failed:
                if not failed.is_retriable or loop.time() + backoff_ms / 1000 >= deadline:
                    raise
            await asyncio.sleep(backoff_ms / 1000)
            backoff_ms = min(backoff_ms * 2, RETRY_BACKOFF_MAX_MS)

    # metadata

    async def fetch_topology(
        self, topics: Iterable[str] | None = None, *, auto_create: bool = False
    ) -> Topology:
        """The cluster and these topics (None: all), as one node says now; what is wrong with a topic is inside."""
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer = await self.request(
            MetadataRequest(topics=asked, allow_auto_topic_creation=auto_create), MetadataResponse
        )
        raise_for(answer.error_code)
        topology = read_topology(answer)
        self._nodes = dict(topology.nodes)
        self._topics.update(topology.topics)
        for gone in topology.errors:
            self._topics.pop(gone, None)
        for name in topics or ():
            self._look_at(name, topology)
        return topology

    def _look_at(self, name: str, found: Topology) -> None:
        code = found.errors.get(name)
        if code is None:
            self._is_well(f"topic {name}", f"topic '{name}' is there")
        elif is_retriable(code):
            words = f"topic '{name}' cannot be used ({code.name}), and is waited for"
            if code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                words = (
                    f"topic '{name}' does not exist, and is waited for. Are name and cluster the right ones?"
                )
            self._complain(f"topic {name}", words, patience_ms=PATIENCE_MS)

    async def topology(self, topics: Sequence[str], *, auto_create: bool = False) -> Topology:
        """These topics with a leader for every partition, waited for within the deadline.

        Raises ``BrokerError`` for a topic that does not exist and does not come into being.
        """
        return await self.retrying(lambda: self._led(topics, auto_create))

    async def _led(self, topics: Sequence[str], auto_create: bool) -> Topology:
        found = await self.fetch_topology(topics, auto_create=auto_create)
        for name in topics:
            for info in found.topic(name).partitions:
                if info.leader not in found.nodes:
                    raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"Partition {name}-{info.partition}")
        return found

    async def wait_until_ready(
        self, timeout_s: float | None, topics: Sequence[str] = (), *, auto_create: bool = False
    ) -> None:
        """Returns when a broker answers, and knows a leader for each partition of these topics.

        Raises what was the matter last when the time is up (None: never), and at once what trying again would not mend.
        """
        last: ClientError | None = None
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        await self._led(topics, auto_create)
                        return
                    except ClientError as failed:
                        if not failed.is_retriable:
                            raise
                        last = failed
                    await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        except TimeoutError:
            where = ",".join(f"{host}:{port}" for host, port in self._bootstrap)
            raise last or Unreachable(f"{where}: no answer in {timeout_s} s") from None

    async def coordinator(self, key: str, key_type: int = GROUP_COORDINATOR) -> Node:
        """The node that coordinates this group (or share partition), waited for while the cluster finds one."""
        what = f"coordinator of '{key}'"
        what_for = f"transactional id '{key}'" if key_type == TRANSACTION_COORDINATOR else f"group '{key}'"

        async def attempt() -> Node:
            try:
                found = await ask()
            except BrokerError as failed:
                if failed.is_retriable:
                    self._complain(
                        what, f"no {what} yet, it is waited for: {failed}", patience_ms=PATIENCE_MS
                    )
                raise
            self._is_well(what, f"there is a {what}")
            return found

        async def ask() -> Node:
            answer = await self.request(
                FindCoordinatorRequest(key=key, key_type=key_type, coordinator_keys=[key]),
                FindCoordinatorResponse,
            )
            self._check_coordinator(answer.error_code, answer.error_message, what_for)
            if not answer.coordinators:  # versions before 4 answer for one key
                return Node(answer.node_id, answer.host, answer.port)
            found = answer.coordinators[0]
            self._check_coordinator(found.error_code, found.error_message, what_for)
            return Node(found.node_id, found.host, found.port)

        return await self.retrying(attempt)

    def _check_coordinator(self, code: int, message: str | None, what_for: str) -> None:
        if code:
            raise refusal(code, message, f"DESCRIBE {what_for}", self.security.user)

"""Listens, admits connections within the bounds, closes the idle ones, and ends them all in good order."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.listeners import Address, Listener, settings_of
from leaselog.broker.net.connection import Connection
from leaselog.broker.net.house import House
from leaselog.broker.net.tls_layer import TlsLayer
from leaselog.broker.quotas.connection_bounds import ConnectionBounds
from leaselog.broker.quotas.held_bytes import HeldBytes
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.security.certificates import subject_name
from leaselog.broker.security.principals import PrincipalBuilder, PrincipalContext, make_principal_builder
from leaselog.broker.security.tls import TlsListeners
from leaselog.model import ANONYMOUS, Principal

__all__ = ["Server"]

#: what one read from a socket may bring; one of each, shared by all connections, since each read is used up at once
RECEIVE_BUFFER_BYTES = 256 * 1024
TLS_BUFFER_BYTES = 128 * 1024
#: Kafka's default of 50 makes a crowd of clients wait for the kernel to try again, a second each, and saves nothing
MIN_BACKLOG = 1024
IDLE_SWEEP_S = 5.0
SHORTEST_SWEEP_S = 0.1
#: a client that is refused tries again at once, and so do its neighbours: one line for a host in so long
REFUSAL_PAUSE_S = 10.0
MAX_REFUSED_HOSTS = 1024
#: of handshakes under way, some 50 KB each; one more takes the place of the oldest
MAX_HANDSHAKES = 512
#: clients that have gone and have requests that were not started yet
MAX_LEFT_BEHIND = 256
#: for so long nobody may hold what others wait for and not move
STANDSTILL_S = 5.0

log = StructuredLog("server")


class Newcomer(Protocol):
    """A connection, or what is to become one, while it is judged whether it may."""

    listener: Listener
    transport: asyncio.Transport

    def pause(self, pause_ms: int) -> None: ...


class Server:
    def __init__(self, broker: House) -> None:
        self.broker = broker
        self.metrics = broker.metrics
        self.turns = broker.turns
        self.receive_buffer = memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.tls_buffer = memoryview(b"")
        config = broker.config
        self.max_frame_bytes = config.socket_request_max_bytes
        self._backlog = max(config.socket_listen_backlog_size, MIN_BACKLOG)
        self._socket_buffers = (
            (socket.SO_SNDBUF, config.socket_send_buffer_bytes),
            (socket.SO_RCVBUF, config.socket_receive_buffer_bytes),
        )
        self.handshake_timeout_s = config.connection_authentication_timeout_ms / 1000
        self._idle_s = config.connections_max_idle_ms / 1000
        self.quotas = broker.quotas
        self._bounds = ConnectionBounds(lambda: broker.config, broker.quotas, broker.monotonic_ms)
        self._connections: dict[Connection, None] = {}
        #: of connections and strangers, by listener and by address
        self._open: Counter[str] = Counter()
        self._hosts: Counter[str] = Counter()
        #: those that shake hands; oldest first
        self._handshakes: dict[TlsLayer, None] = {}
        self._strangers: set[TlsLayer] = set()
        self._tls: TlsListeners | None = None
        self._builders: dict[str, PrincipalBuilder] = {}
        self._ids = itertools.count(1)
        self._sockets: list[asyncio.Server] = []
        self._nobody_left = asyncio.Event()
        self._is_draining = False
        #: host to when a refusal of it was last told, and how many were not told since; oldest first
        self._refusals: dict[str, tuple[float, int]] = {}
        self.requests_held = HeldBytes(_no_less_than_one_request(config))
        #: what connections whose clients do not keep up have yet to send
        self.answers_held = HeldBytes(config.queued_max_response_bytes)
        #: who has gone and had requests to be started; oldest first
        self._left_behind: deque[Connection] = deque()

    def __len__(self) -> int:
        return len(self._connections)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    async def listen(self, listeners: Sequence[Listener]) -> list[Address]:
        """Accepts connections from now on; the addresses are told, as port 0 becomes a free one. ConfigError if one of
        the listeners cannot be what it is to be."""
        self.prepare(listeners)
        return [await self._listen(listener) for listener in listeners]

    def prepare(self, listeners: Sequence[Listener]) -> None:
        """Reads keys, and finds who makes principals."""
        config = self.broker.config
        if any(listener.protocol.has_tls for listener in listeners):
            self._tls = TlsListeners(config, listeners)
            self.tls_buffer = memoryview(bytearray(TLS_BUFFER_BYTES))
        self._builders = {
            listener.name: make_principal_builder(settings_of(config, listener)) for listener in listeners
        }

    def greet(self, listener: Listener) -> asyncio.BufferedProtocol:
        """Who talks to a new connection of the listener."""
        connection = Connection(self, listener)
        return TlsLayer(self, listener, connection) if listener.protocol.has_tls else connection

    async def _listen(self, listener: Listener) -> Address:
        opened = await asyncio.get_running_loop().create_server(
            partial(self.greet, listener),
            *listener.address,
            backlog=self._backlog,
            family=socket.AF_UNSPEC,
        )
        self._sockets.append(opened)
        name = opened.sockets[0].getsockname()
        return Address(name[0], name[1])

    def check(self, config: BrokerConfig) -> None:
        """ConfigError if what is listened on could not go on with these values."""
        if self._tls is not None:
            self._tls.check(config)

    def config_changed(self) -> None:
        """New connections get new keys; those that are open keep theirs."""
        if self._tls is not None:
            try:
                renewed = self._tls.reload(self.broker.config)
            except ConfigError as wrong:  # a file that was there when the change was checked
                log.error("the keys of TLS stay as they are", why=str(wrong))
                return
            for name in renewed:
                log.info("new connections get a new key or new trust", listener=name)

    # -- who comes and goes -----------------------------------------------------------------------------------

    def admit(self, connection: Connection) -> int:
        """The id of a new connection. One past the bounds is closed at once, with a line in the log."""
        if not connection.listener.protocol.has_tls:
            self._judge(connection, (connection.transport.get_extra_info("peername") or ("?",))[0])
        self._connections[connection] = None
        self._nobody_left.clear()
        return next(self._ids)

    def identify(self, connection: Connection, host: str) -> Principal | None:
        """Who it is, as far as that is known without SASL; None if nobody: it is to be closed."""
        listener = connection.listener
        build = self._builders.get(listener.name)
        if build is None or listener.protocol.needs_sasl:
            return ANONYMOUS
        tls = connection.transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        try:
            subject = None if certificate is None else subject_name(certificate)
            return build(PrincipalContext(listener.name, listener.protocol, host, subject, certificate))
        except Exception as wrong:  # noqa: BLE001 - whatever a builder of somebody's own raises
            self._tell_refusal("closing a connection that has no principal", host, why=str(wrong))
            return None

    def _judge(self, newcomer: Newcomer, host: str) -> None:
        """Counts a new connection, before anything is held for it, and closes it if it may not be."""
        listener = newcomer.listener.name
        sock = newcomer.transport.get_extra_info("socket")
        for option, size_bytes in self._socket_buffers:
            if size_bytes != -1:
                sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)
        self._open[listener] += 1
        self._hosts[host] += 1
        self.metrics.connection_accepted()
        verdict = self._bounds.judge(
            host, self._open.total(), self._hosts[host], listener, self._open[listener]
        )
        if verdict.pause_ms:
            newcomer.pause(verdict.pause_ms)
        if verdict.refusal:
            self._refuse(newcomer, host, verdict.refusal, after_ms=verdict.pause_ms)
        elif not self.broker.runtime.machine.has_room_for(sock):
            self._refuse(newcomer, host, "few descriptors are left, closing the newest connection")
        elif self._is_draining:
            newcomer.transport.abort()

    def _refuse(self, newcomer: Newcomer, host: str, why: str, *, after_ms: int = 0) -> None:
        self._tell_refusal(why, host, open=self._open.total())
        if after_ms:
            asyncio.get_running_loop().call_later(after_ms / 1000, newcomer.transport.abort)
        else:
            newcomer.transport.abort()

    def _tell_refusal(self, what: str, host: str, **facts: object) -> None:
        self.metrics.connection_refused()
        untold = self.untold_refusals(host)
        if untold is not None:
            log.warning(what, client=host, **facts, untold_before=untold)

    def dismiss(self, connection: Connection) -> None:
        if connection in self._connections:
            del self._connections[connection]
            if not self._connections:
                self._nobody_left.set()
            self._discount(connection.listener, connection.client.host)
            self.broker.connection_closed(connection.client)

    def _discount(self, listener: Listener, host: str) -> None:
        self._open[listener.name] -= 1
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    # -- who has not shaken hands yet -------------------------------------------------------------------------

    def admit_stranger(self, layer: TlsLayer) -> None:
        self._strangers.add(layer)
        self._judge(layer, layer.host)

    def begin_handshake(self, layer: TlsLayer) -> ssl.SSLContext:
        if len(self._handshakes) >= MAX_HANDSHAKES:
            next(iter(self._handshakes)).give_way()
        self._handshakes[layer] = None
        assert self._tls is not None, "made before anybody could connect"
        return self._tls.context(layer.listener)

    def end_handshake(self, layer: TlsLayer) -> None:
        self._handshakes.pop(layer, None)
        self._strangers.discard(layer)

    def lose_stranger(self, layer: TlsLayer) -> None:
        self.end_handshake(layer)
        self._discount(layer.listener, layer.host)

    def turn_away(self, layer: TlsLayer, why: str) -> None:
        self._handshakes.pop(layer, None)
        self._tell_refusal("closing a connection", layer.host, listener=layer.listener.name, why=why)

    def leave_behind(self, lost: Connection) -> None:
        """A client has gone, and what it asked before is still to be done. At the bound the oldest of these is not."""
        self._left_behind.append(lost)
        if len(self._left_behind) > MAX_LEFT_BEHIND:
            self._left_behind.popleft().forget_requests()

    def untold_refusals(self, host: str) -> int | None:
        """How many refusals of the host went untold since the last line; None if this one is to go untold too."""
        told_s, untold = self._refusals.get(host, (None, 0))
        if told_s is not None and self.now() - told_s < REFUSAL_PAUSE_S:
            self._refusals[host] = (told_s, untold + 1)
            return None
        self._refusals.pop(host, None)
        if len(self._refusals) >= MAX_REFUSED_HOSTS:
            del self._refusals[next(iter(self._refusals))]
        self._refusals[host] = (self.now(), 0)
        return untold

    async def keep_room(self) -> None:
        """Closes whoever stands still and is in others' way, until cancelled.

        While no more bytes of answers may be held, that is who takes none of his own; while others wait for room for
        their requests, whoever's request does not come to its end.
        """
        while True:
            await asyncio.sleep(STANDSTILL_S / 2)
            moment_s = self.now() - STANDSTILL_S
            for connection in list(self._connections):
                if self.turns.is_spent():
                    await self.turns.step_back()
                if connection.has_unread_answers_since(moment_s) and self.answers_held.is_full:
                    self._close_in_the_way(connection, "does not read its answers")
                elif self.requests_held.has_waiting and connection.has_half_a_request_since(moment_s):
                    self._close_in_the_way(connection, "does not finish its request")

    def _close_in_the_way(self, connection: Connection, why: str) -> None:
        self.metrics.connection_refused()
        if (untold := self.untold_refusals(connection.client.host)) is not None:
            facts = {"client": f"{connection.client.host}:{connection.client.port}", "untold_before": untold}
            log.warning("closing a connection that is in others' way", why=why, **facts)
        connection.transport.abort()

    async def close_idle(self) -> None:
        """Closes connections on which nothing has moved for `connections.max.idle.ms`, until cancelled."""
        if self._idle_s < 0:
            return  # as with Apache Kafka: they may be idle for ever
        while True:
            await asyncio.sleep(min(IDLE_SWEEP_S, max(self._idle_s, SHORTEST_SWEEP_S)))
            oldest = self.now() - self._idle_s
            for connection in list(self._connections):
                if self.turns.is_spent():
                    await self.turns.step_back()
                if connection in self._connections and not connection.has_moved_since(oldest):
                    log.info(
                        "closing idle connection", client=connection.client.host, port=connection.client.port
                    )
                    connection.transport.abort()

    async def drain(self, patience_s: float) -> None:
        """Takes no new requests, lets those under way be answered, then closes every connection."""
        self._is_draining = True
        for opened in self._sockets:
            opened.close()
        for stranger in list(self._strangers):
            stranger.transport.abort()
        for connection in list(self._connections):
            connection.drain()
        if self._connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await self._nobody_left.wait()
        for connection in list(self._connections):
            connection.transport.abort()
        await asyncio.sleep(0)


def _no_less_than_one_request(config: BrokerConfig) -> int:
    limit_bytes = config.queued_max_request_bytes
    return max(limit_bytes, config.socket_request_max_bytes) if limit_bytes > 0 else -1

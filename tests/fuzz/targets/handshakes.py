"""Bytes of strangers on a listener with TLS, before any of them has shown who it is."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import cache
from typing import Any

from certificates import Authority
from fuzz.targets.target import Unwanted
from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import Listener, read_listeners
from leaselog.broker.net.tls_layer import MAX_CERTIFICATE_BYTES, MAX_HANDSHAKE_BYTES, TlsLayer
from leaselog.broker.security.tls import TlsListeners

__all__ = ["handshakes"]

BUFFER_BYTES = 4096


def handshakes(data: bytes) -> None:
    """The first byte says in what pieces the rest comes, and whether a certificate is asked for.

    Whatever it is, nobody gets in, what is held has a bound, and who is gone has left nothing behind.
    """
    if len(data) < 2:
        raise Unwanted
    with asyncio.Runner() as runner:
        runner.run(_said(data[1:], piece_bytes=data[0] % 61 + 1, asks=bool(data[0] & 0x80)))


async def _said(data: bytes, *, piece_bytes: int, asks: bool) -> None:
    server, socket = _Server(asks), _Socket()
    layer = TlsLayer(server, server.listener, _Nobody())  # type: ignore[arg-type]
    layer.connection_made(socket)  # type: ignore[arg-type]
    came_bytes = 0
    while data and not socket.is_closed:
        room = layer.get_buffer(-1)
        size = min(piece_bytes, len(room), len(data))
        room[:size], data = data[:size], data[size:]
        came_bytes += size
        layer.buffer_updated(size)
        assert came_bytes <= MAX_HANDSHAKE_BYTES + MAX_CERTIFICATE_BYTES + BUFFER_BYTES or socket.is_closed
    assert len(server.turned_away) == socket.is_closed, "who is turned away is told of once"
    layer.connection_lost(None)
    assert (server.strangers, server.shaking) == (0, 0)
    assert layer._patience is None


@cache
def _contexts() -> dict[bool, tuple[Listener, ssl.SSLContext]]:
    authority = Authority()
    own = authority.signs(("CN", "broker"))
    keys = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": own.key(),
        "ssl.keystore.certificate.chain": own.pem,
    }
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.pem}
    made = {}
    for asks in (False, True):
        settings = keys | trust | {"listeners": "SSL://:1", "ssl.client.auth": "required" if asks else "none"}
        config = BrokerConfig.from_originals(settings)
        (listener,) = read_listeners(config)
        made[asks] = listener, TlsListeners(config, [listener]).context(listener)
    return made


class _Server:
    """Counts, and gives everybody a turn at once."""

    handshake_timeout_s = 10.0

    def __init__(self, asks: bool) -> None:
        self.listener, self._context = _contexts()[asks]
        self.turns: Any = self
        self.tls_buffer = memoryview(bytearray(BUFFER_BYTES))
        self.strangers = self.shaking = 0
        self.turned_away: list[str] = []

    def queue(self, work: Callable[[], object], *, is_new: bool = False) -> None:
        work()

    def admit_stranger(self, layer: TlsLayer) -> None:
        self.strangers += 1

    def begin_handshake(self, layer: TlsLayer) -> ssl.SSLContext:
        self.shaking += 1
        return self._context

    def end_handshake(self, layer: TlsLayer) -> None:
        raise AssertionError("somebody without a key has shaken hands")

    def turn_away(self, layer: TlsLayer, why: str) -> None:
        self.turned_away.append(why)

    def lose_stranger(self, layer: TlsLayer) -> None:
        self.strangers -= 1
        self.shaking = 0


class _Nobody:
    """The connection of who never gets in."""

    def connection_made(self, transport: object) -> None:
        raise AssertionError("somebody without a key is served")


class _Socket:
    is_closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("10.0.0.1", 5555) if name == "peername" else default

    def write(self, data: bytes) -> None:
        assert not self.is_closed

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

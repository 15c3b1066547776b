"""Requests as bytes on a socket of one's own: what no client library would send, and what none of them offers.

Owns framing, correlation and decoding; every answer is checked to belong to its request.
"""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from interop.broker_process import BrokerProcess
from leaselog.wire import codec
from leaselog.wire.schema import Message

TIMEOUT_S = 30

M = TypeVar("M", bound=Message)


class RawConnection:
    """One socket; requests may be pipelined with `send` and `receive`."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._next_id = itertools.count(1)

    def ask(self, request: Message, version: int, answer: type[M]) -> M:
        return self.receive(self.send(request, version), request, version, answer)

    def send(self, request: Message, version: int) -> int:
        """The correlation id, for `receive`."""
        correlation_id = next(self._next_id)
        flexible = codec.is_flexible(type(request), version)
        head = request.API_KEY.to_bytes(2, "big") + version.to_bytes(2, "big")
        head += correlation_id.to_bytes(4, "big") + b"\xff\xff" + (b"\x00" if flexible else b"")
        data = head + codec.encode(request, version)
        self._sock.sendall(len(data).to_bytes(4, "big") + data)
        return correlation_id

    def receive(self, correlation_id: int, request: Message, version: int, answer: type[M]) -> M:
        data = self._exactly(int.from_bytes(self._exactly(4), "big"))
        assert int.from_bytes(data[:4], "big") == correlation_id
        # the answer to ApiVersions alone has no tagged fields in its head
        head = 5 if codec.is_flexible(type(request), version) and request.API_KEY != 18 else 4
        return codec.decode(answer, version, data, head)

    def close(self) -> None:
        self._sock.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._sock.recv(size - len(data))
            assert piece, f"closed after {len(data)} of {size} bytes"
            data += piece
        return data


def connect(broker: BrokerProcess) -> RawConnection:
    sock = socket.create_connection(("127.0.0.1", broker.port), timeout=TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return RawConnection(sock)


@contextmanager
def connected(broker: BrokerProcess) -> Iterator[RawConnection]:
    connection = connect(broker)
    try:
        yield connection
    finally:
        connection.close()

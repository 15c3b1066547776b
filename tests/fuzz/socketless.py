"""A client's bytes into a broker through a real connection without a socket, and whatever comes back."""

from __future__ import annotations

import asyncio
from typing import Any

from leaselog.broker.config.listeners import Listener
from leaselog.broker.net.connection import Connection
from leaselog.broker.net.server import Server

__all__ = ["Escaped", "Transport", "send"]


class Transport:
    def __init__(self) -> None:
        self.sent = bytearray()
        self.is_closed = False

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.1", 5555) if name == "peername" else None

    def write(self, data: bytes) -> None:
        self.sent += data

    def writelines(self, chunks: list[bytes]) -> None:
        self.sent += b"".join(chunks)

    def abort(self) -> None:
        self.is_closed = True

    close = abort

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Escaped(AssertionError):
    """An exception that a client's bytes caused got as far as a supervisor."""


async def send(broker: Any, *frames: bytes, listener: Listener | None = None) -> Transport:
    """Everything in one piece, then a few turns of the loop to answer, then the client goes away."""
    escaped: list[BaseException] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, facts: escaped.append(facts.get("exception") or Escaped(facts["message"]))
    )
    server, transport = Server(broker), Transport()
    server.admit = lambda connection: 1  # type: ignore[method-assign]
    server.dismiss = lambda connection: broker.connection_closed(connection.client)  # type: ignore[method-assign]
    connection = Connection(server, listener or Listener.plaintext("", 9092))
    connection.connection_made(transport)  # type: ignore[arg-type]
    data = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    while data and not transport.is_closed:
        room = connection.get_buffer(-1)
        piece, data = data[: len(room)], data[len(room) :]
        room[: len(piece)] = piece
        connection.buffer_updated(len(piece))
    for _ in range(8):
        await asyncio.sleep(0)
    connection.connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)
    if escaped:
        raise escaped[0]
    return transport

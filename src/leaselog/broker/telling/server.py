"""The little HTTP server that tells a broker's numbers to whoever scrapes them, and that it is well."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from prometheus_client.registry import Collector

from leaselog.broker.telling.steps import lines
from leaselog.broker.telling.text import collectors_of
from leaselog.broker.telling.told import Told

__all__ = ["serve_metrics"]

HEAD = b"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close\r\n\r\n"
#: what is made before it is handed to the socket
PIECE_CHARS = 32 * 1024


async def serve_metrics(broker: Told, host: str, port: int) -> asyncio.Server:
    """Answers ``GET /metrics`` and ``GET /healthz``; anything else is 404. One request a connection, five seconds to
    send it.

    The text is made and sent piece by piece, in turn with all else that the broker does, so that there is no telling
    beforehand how long it is: the connection's end is its end.
    """
    collectors = collectors_of(broker)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                request = (await reader.readline()).split()
                while (await reader.readline()).strip():
                    pass
            asked = request[1].split(b"?")[0] if len(request) > 1 and request[0] == b"GET" else b""
            if asked == b"/metrics":
                writer.write(HEAD % b"200 OK")
                await _tell(broker, collectors, writer)
            elif asked == b"/healthz":
                writer.write(
                    HEAD % b"503 Service Unavailable" + b"stopping\n"
                    if broker.runtime.is_stopping
                    else HEAD % b"200 OK" + b"ok\n"
                )
            else:
                writer.write(HEAD % b"404 Not Found" + b"there are only /metrics and /healthz here\n")
            await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            pass  # whoever asked went away or never asked
        finally:
            writer.close()

    def measured(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Coroutine[Any, Any, None]:
        return broker.turns.measured("metrics", answer(reader, writer))

    return await asyncio.start_server(measured, host, port, limit=16 * 1024)


async def _tell(broker: Told, collectors: Sequence[Collector], writer: asyncio.StreamWriter) -> None:
    piece, size_chars = list[str](), 0
    for line in lines(collectors):
        piece.append(line)
        size_chars += len(line)
        if size_chars >= PIECE_CHARS:
            writer.write("".join(piece).encode())
            piece, size_chars = [], 0
            async with asyncio.timeout(5):
                await writer.drain()
        if broker.turns.is_spent():
            await broker.turns.step_back()
    writer.write("".join(piece).encode())

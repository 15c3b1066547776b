"""The little HTTP server that tells a broker's numbers to whoever scrapes them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import generate_latest

from leaselog.broker.metrics_text import registry_of

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["serve_metrics"]


async def serve_metrics(broker: Broker, host: str, port: int) -> asyncio.Server:
    """Answers ``GET /metrics``; anything else is 404. One request a connection, five seconds to send it."""
    registry = registry_of(broker)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(5):
                request = (await reader.readline()).split()
                while (await reader.readline()).strip():
                    pass
            found = len(request) > 1 and request[0] == b"GET" and request[1].split(b"?")[0] == b"/metrics"
            body = generate_latest(registry) if found else b"there is only /metrics here\n"
            kind = b"text/plain; version=0.0.4; charset=utf-8"
            head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            writer.write(head % (b"200 OK" if found else b"404 Not Found", kind, len(body)) + body)
            await writer.drain()
        except (TimeoutError, ValueError, ConnectionError):
            pass  # whoever asked went away or never asked
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=16 * 1024)

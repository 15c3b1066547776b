"""The little HTTP server of a worker process: how it is, and its numbers.

The broker's own (`broker/telling/server.py`) shares a loop and its turns with all that a broker does. A worker's loop
may be blocked by a handler, and just then somebody asks how it is. So this one has threads of its own.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.cli.arguments import CommandFailed, UsageError

__all__ = ["PROMETHEUS", "TEXT", "Answer", "Endpoint", "parse_listen"]

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

#: status, content type, body
Answer = tuple[int, str, bytes]

#: whoever comes while so many are being answered is turned away
MOST_AT_ONCE = 8
_PATIENCE_S = 5.0

log = StructuredLog("worker")


def parse_listen(text: str) -> tuple[str, int]:
    """HOST:PORT; without a host it is loopback. Raises ``UsageError``."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--metrics {text}: expected HOST:PORT")
    return host or "127.0.0.1", int(port)


class Endpoint:
    """Serves ``GET`` of what ``answers`` has, by path, until the process ends. Raises ``CommandFailed``."""

    def __init__(self, listen: tuple[str, int], answers: Mapping[str, Callable[[], Answer]]) -> None:
        host, port = listen
        try:
            self._server = _Server(host, port, answers)
        except OSError as failed:
            raise CommandFailed(f"--metrics {_shown(host, port)}: {failed.strerror or failed}") from failed
        self.address = _shown(host, self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="leaselog-metrics", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, host: str, port: int, answers: Mapping[str, Callable[[], Answer]]) -> None:
        self.answers = answers
        self._seats = threading.BoundedSemaphore(MOST_AT_ONCE)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Request)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._seats.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._seats.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a request to the metrics endpoint ended early", peer=client_address)


class _Request(BaseHTTPRequestHandler):
    timeout = _PATIENCE_S
    wbufsize = -1  # an answer goes out whole, however soon the process ends
    server: _Server

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if (answer := self.server.answers.get(path)) is not None:
            status, kind, body = answer()
        else:
            there = " and ".join(self.server.answers)
            status, kind, body = 404, TEXT, f"there is only {there} here\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass  # a scrape is no event

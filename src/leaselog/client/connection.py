"""One TCP connection to one broker: drives a ``Session`` with asyncio. The only file here that knows sockets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from leaselog import __version__
from leaselog.client.errors import ClientError, ConnectionLost, RequestTimedOut, Unreachable
from leaselog.client.session import MAX_RESPONSE_BYTES, Session
from leaselog.wire.errors import DecodeError
from leaselog.wire.schema import Message

__all__ = ["MAX_IN_FLIGHT", "Connection"]

M = TypeVar("M", bound=Message)

#: what a TLS server says to whom it does not understand
_TLS_ALERT = b"\x15\x03"
_NOT_KAFKA = "Is this a broker's port, and one without TLS and SASL?"
_TOO_FAR = "Are host and port right (bootstrap.servers), and is there no firewall in between?"

#: requests on one connection without an answer; the next one waits
MAX_IN_FLIGHT = 100


class Connection(asyncio.BufferedProtocol):
    """Ask with ``request``; any number of tasks may, and each gets its own answer.

    Made by ``open``, over when ``is_closed``: it never reconnects, that is the cluster's business.
    """

    def __init__(self, address: str, client_id: str) -> None:
        self.address = address
        self._session = Session(client_id, __version__)
        self._transport: asyncio.Transport | None = None
        loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = loop.create_future()
        self._waiting = dict[int, asyncio.Future[Message]]()
        self._room = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._writable = asyncio.Event()
        self._writable.set()
        self._failure: ClientError | None = None
        #: the first bytes that came before versions were agreed
        self._first_bytes = b""
        #: told when an answer does not come in time, in words
        self.on_silence: Callable[[str], None] = lambda words: None

    @classmethod
    async def open(cls, host: str, port: int, *, client_id: str, timeout_ms: int) -> Connection:
        """A connection that has agreed on versions. Raises ``Unreachable``."""
        address = f"{host}:{port}"
        protocol = cls(address, client_id)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await loop.create_connection(lambda: protocol, host, port)
                await protocol._ready
        except TimeoutError:
            connected = protocol._transport is not None
            protocol.close()
            if connected:
                raise Unreachable(
                    f"{address}: connected, but no answer in {timeout_ms} ms", _NOT_KAFKA
                ) from None
            raise Unreachable(f"{address}: no connection in {timeout_ms} ms", _TOO_FAR) from None
        except OSError as refused:
            # asyncio words a refusal as a tuple; a name that does not resolve has an errno of another kind
            words = os.strerror(refused.errno) if refused.errno and refused.errno > 0 else refused.strerror
            raise Unreachable(f"{address}: {words or refused}") from refused
        except ClientError as early:
            raise Unreachable(protocol._told_early(early), _NOT_KAFKA) from early
        except asyncio.CancelledError:
            protocol.close()
            raise
        return protocol

    def _told_early(self, early: ClientError) -> str:
        """Why it ended before versions were agreed, with what a stranger has said instead."""
        first = self._first_bytes
        if first[:2] == _TLS_ALERT:
            return f"{self.address}: it expects TLS, which this client does not speak"
        if int.from_bytes(first[:4]) > MAX_RESPONSE_BYTES:  # as any text is, read as the length of an answer
            return f"{self.address}: what answers does not speak Kafka, it said {first!r}"
        return str(early)

    @property
    def is_closed(self) -> bool:
        return self._failure is not None

    @property
    def is_to_leaselog(self) -> bool:
        """Whether the broker knows what is leaselog's own."""
        return self._session.is_to_leaselog

    def version_for(self, request: type[Message]) -> int:
        """The version in which requests of this kind travel here. Raises ``UnsupportedVersion``."""
        return self._session.version_for(request)

    async def request(self, message: Message, kind: type[M], *, timeout_ms: int) -> M:
        """The answer to ``message``. Raises ``ConnectionLost``, ``RequestTimedOut`` or ``UnsupportedVersion``."""
        with self._failing_late(message, timeout_ms):
            async with asyncio.timeout(timeout_ms / 1000), self._room:
                await self._writable.wait()
                answer = await self._send(message, kind)
        assert isinstance(answer, kind)
        return answer

    def send_now(self, message: Message, kind: type[Message]) -> asyncio.Future[Message]:
        """Sends before the loop turns again; `answer_to` waits for what comes back. Raises as `request` does.

        For somebody with one request at a time: how many are under way is not looked at.
        """
        return self._send(message, kind)

    async def answer_to(self, message: Message, sent: asyncio.Future[Message], *, timeout_ms: int) -> Message:
        """What `send_now` is answered with."""
        with self._failing_late(message, timeout_ms):
            async with asyncio.timeout(timeout_ms / 1000):
                return await sent

    @contextmanager
    def _failing_late(self, message: Message, timeout_ms: int) -> Iterator[None]:
        """Answers come in order: without this one, none behind it will come."""
        try:
            yield
        except TimeoutError:
            late = RequestTimedOut(f"{self.address}: no answer to {message.NAME} in {timeout_ms} ms")
            if self._failure is None:
                self.on_silence(str(late))
            self._fail(late)
            raise late from None

    async def tell(self, message: Message) -> None:
        """Send what is never answered: a produce request with acks=0."""
        await self._writable.wait()
        self._check_open()
        self._session.ask(message, None)
        self._flush()

    def close(self) -> None:
        self._fail(ConnectionLost(f"{self.address}: closed"))

    def _send(self, message: Message, kind: type[Message]) -> asyncio.Future[Message]:
        self._check_open()
        correlation_id = self._session.ask(message, kind)
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[correlation_id] = waiting
        waiting.add_done_callback(lambda done: self._forget(correlation_id, done))
        self._flush()
        return waiting

    def _forget(self, correlation_id: int, done: asyncio.Future[Message]) -> None:
        self._waiting.pop(correlation_id, None)
        if not done.cancelled():
            done.exception()  # whoever asked may have gone

    def _check_open(self) -> None:
        if self._failure is not None:
            raise ConnectionLost(str(self._failure))

    def _flush(self) -> None:
        if self._transport is not None:
            self._transport.writelines(self._session.take_output())

    def _fail(self, why: ClientError) -> None:
        """Ends the connection once; everybody who waits learns why."""
        if self._failure is not None:
            return
        self._failure = why
        self._writable.set()
        if not self._ready.done():
            self._ready.set_exception(why)
            self._ready.exception()  # nobody may be waiting any more
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionLost(str(why)))
        if self._transport is not None:
            self._transport.abort()

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._failure is not None:  # given up while connecting
            transport.abort()
            return
        self._flush()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._session.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        if not self._session.is_ready:
            self._first_bytes += bytes(self._session.buffer()[: min(nbytes, 24)])
        try:
            answers = self._session.received(nbytes)
        except DecodeError as bad:
            self._fail(ConnectionLost(f"{self.address}: not understood: {bad}"))
            return
        for answer in answers:
            waiting = self._waiting.get(answer.correlation_id)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer.message)
        self._flush()
        if self._session.is_ready and not self._ready.done():
            self._ready.set_result(None)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionLost(f"{self.address}: {exc or 'closed by the broker'}"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

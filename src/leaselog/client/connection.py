"""One TCP connection to one broker: drives a ``Session`` with asyncio. The only file here that drives sockets.

Where the broker asks who it is, the connection logs in before anybody may ask anything, and again when the session's
life ends: what is asked meanwhile is held, and sent in its order when that is done.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from leaselog import __version__
from leaselog.client.errors import (
    AuthenticationFailed,
    ClientError,
    ConnectionLost,
    RequestTimedOut,
    Unreachable,
)
from leaselog.client.machine import monotonic_ms, new_chance
from leaselog.client.security.authentication import authenticate, renewal_ms
from leaselog.client.security.config import PLAINTEXT, SecurityConfig
from leaselog.client.security.login import Exchange, Login
from leaselog.client.security.port_probe import speaks_plain_kafka, speaks_tls
from leaselog.client.security.refusals import CERTIFICATE_WANTED, explained
from leaselog.client.session import MAX_RESPONSE_BYTES, Session
from leaselog.wire.errors import DecodeError
from leaselog.wire.schema import Message

__all__ = ["MAX_IN_FLIGHT", "Connection"]

M = TypeVar("M", bound=Message)

#: what a TLS server says to whom it does not understand
_TLS_ALERT = b"\x15\x03"
_NOT_KAFKA = "Is this a broker's port, and is security.protocol the listener's?"
_IS_TLS = "it expects TLS: security.protocol is SSL or SASL_SSL for this port"
_IS_NOT_TLS = "it speaks Kafka without TLS: security.protocol is PLAINTEXT or SASL_PLAINTEXT for this port"
_WANTS_LOGIN = "closed by the broker before it answered anything: does it ask for SASL (security.protocol)?"
_TOO_FAR = "Are host and port right (bootstrap.servers), and is there no firewall in between?"

#: requests on one connection without an answer; the next one waits
MAX_IN_FLIGHT = 100
#: between two tries to renew a session that is still alive
_RENEWAL_PAUSE_MS = 1_000

_log = logging.getLogger("leaselog.client")

#: a request that waits for a login to end: what is asked, and who waits for which answer
_Held = tuple[Message, type[Message] | None, "asyncio.Future[Message] | None"]


class Connection(asyncio.BufferedProtocol):
    """Ask with ``request``; any number of tasks may, and each gets its own answer.

    Made by ``open``, over when ``is_closed``: it never reconnects, that is the cluster's business.
    """

    def __init__(
        self, address: str, client_id: str, security: SecurityConfig = PLAINTEXT, login: Login | None = None
    ) -> None:
        self.address = address
        self._security = security
        self._login = login
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
        self._has_answered = False
        #: when the next login is due, and when the broker hangs up without one
        self._renew_at_ms = self._expires_at_ms = math.inf
        self._renewal: asyncio.Task[None] | None = None
        #: what is asked while the broker listens to nothing but a login; None at all other times
        self._held: list[_Held] | None = None
        #: told when an answer does not come in time, in words
        self.on_silence: Callable[[str], None] = lambda words: None

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str,
        timeout_ms: int,
        security: SecurityConfig = PLAINTEXT,
        login: Login | None = None,
    ) -> Connection:
        """Agreed on versions, and logged in. Raises ``Unreachable``, ``AuthenticationFailed``."""
        address = f"{host}:{port}"
        protocol = cls(address, client_id, security, login)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await protocol._connect(host, port)
                await protocol._ready
                if login is not None:
                    await protocol._log_in(login, await login.begin())
        except TimeoutError:
            connected = protocol._transport is not None
            protocol.close()
            if connected:
                raise Unreachable(
                    f"{address}: connected, but no answer in {timeout_ms} ms", _NOT_KAFKA
                ) from None
            raise Unreachable(f"{address}: no connection in {timeout_ms} ms", _TOO_FAR) from None
        except (AuthenticationFailed, Unreachable):
            protocol.close()
            raise
        except ConnectionLost as early:
            raise await protocol._told_early(early, host, port) from early
        except BaseException:
            protocol.close()
            raise
        return protocol

    async def _connect(self, host: str, port: int) -> None:
        loop, tls = asyncio.get_running_loop(), self._security.tls
        if tls is None:
            try:
                await loop.create_connection(lambda: self, host, port)
            except OSError as refused:
                raise Unreachable(f"{self.address}: {_words(refused)}") from refused
            return
        try:
            await loop.create_connection(lambda: self, host, port, ssl=tls, server_hostname=host)
        except ssl.SSLEOFError:
            raise ConnectionLost(f"{self.address}: closed in the middle of the TLS handshake") from None
        except ssl.SSLError as failed:
            raise explained(failed, self.address, has_certificate=self._security.has_certificate) from failed
        except (ConnectionResetError, ConnectionAbortedError):
            raise ConnectionLost(f"{self.address}: closed in the middle of the TLS handshake") from None
        except OSError as refused:
            raise Unreachable(f"{self.address}: {_words(refused)}") from refused

    async def _told_early(self, early: ConnectionLost, host: str, port: int) -> ClientError:
        """Why it ended before versions were agreed, with what a stranger has said instead."""
        first = self._first_bytes
        if first[:2] == _TLS_ALERT:
            return AuthenticationFailed(f"{self.address}: {_IS_TLS}")
        if int.from_bytes(first[:4]) > MAX_RESPONSE_BYTES:  # as any text is, read as the length of an answer
            return Unreachable(
                f"{self.address}: what answers does not speak Kafka, it said {first!r}", _NOT_KAFKA
            )
        if not first and self._security.tls is None and await speaks_tls(host, port):
            return AuthenticationFailed(f"{self.address}: {_IS_TLS}")
        if (
            self._security.tls is not None
            and self._transport is None
            and await speaks_plain_kafka(host, port)
        ):
            return AuthenticationFailed(f"{self.address}: {_IS_NOT_TLS}")
        return Unreachable(str(early), self._advice())

    def _advice(self) -> str:
        security = self._security
        # A broker that hangs up at once may not get rid of its alert: then this is all there is to see.
        if self._transport is not None and security.tls is not None and not security.has_certificate:
            return f"If that stays so, {CERTIFICATE_WANTED}"
        return _NOT_KAFKA

    @property
    def is_closed(self) -> bool:
        return self._failure is not None

    @property
    def is_to_leaselog(self) -> bool:
        """Whether the broker knows what is leaselog's own."""
        return self._session.is_to_leaselog

    @property
    def transaction_version(self) -> int:
        """The cluster's, as far as it has one."""
        return self._session.transaction_version

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
        self._put(message, None, None)

    def close(self) -> None:
        self._fail(ConnectionLost(f"{self.address}: closed"))

    def _send(self, message: Message, kind: type[Message]) -> asyncio.Future[Message]:
        self._check_open()
        self._session.version_for(type(message))
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        waiting.add_done_callback(_look_at)
        self._put(message, kind, waiting)
        return waiting

    def _put(
        self, message: Message, kind: type[Message] | None, waiting: asyncio.Future[Message] | None
    ) -> None:
        """Sent now, or when the login that is under way has ended."""
        if self._login is not None:
            self._renew_if_due(self._login)
        if self._held is None:
            self._ask(message, kind, waiting)
        else:
            self._held.append((message, kind, waiting))

    def _ask(
        self, message: Message, kind: type[Message] | None, waiting: asyncio.Future[Message] | None
    ) -> None:
        correlation_id = self._session.ask(message, kind)
        if waiting is not None:
            self._waiting[correlation_id] = waiting
            waiting.add_done_callback(lambda done: self._waiting.pop(correlation_id, None))
        self._flush()

    # who it is

    async def _log_in(self, login: Login, exchange: Exchange) -> None:
        begun_ms = monotonic_ms()
        lifetime_ms = await authenticate(self._ask_sasl, login, exchange, self.address)
        if lifetime_ms > 0:
            self._renew_at_ms = begun_ms + renewal_ms(lifetime_ms, new_chance())
            self._expires_at_ms = begun_ms + lifetime_ms
        else:
            self._renew_at_ms = self._expires_at_ms = math.inf

    async def _ask_sasl(self, message: Message, kind: type[Message]) -> Message:
        """Goes before what is held; the answers to what was sent before come first."""
        self._check_open()
        waiting: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        waiting.add_done_callback(_look_at)
        self._ask(message, kind, waiting)
        return await waiting

    def _renew_if_due(self, login: Login) -> None:
        now_ms = monotonic_ms()
        if self._renewal is not None or now_ms < self._renew_at_ms:
            return
        if now_ms >= self._expires_at_ms:
            self._held = []  # nobody was here for long: the broker takes a login, and nothing else
        self._renewal = asyncio.create_task(self._renew(login))
        self._renewal.add_done_callback(self._renewed)

    async def _renew(self, login: Login) -> None:
        try:
            exchange = await login.begin()  # a token may take its time: requests go on meanwhile
        except ClientError as failed:
            now_ms = monotonic_ms()
            if self._held is not None or now_ms >= self._expires_at_ms:
                raise
            _log.warning("%s: the session cannot be renewed yet: %s", self.address, failed)
            self._renew_at_ms = now_ms + _RENEWAL_PAUSE_MS
            return
        if self._held is None:
            self._held = []
        await self._log_in(login, exchange)

    def _renewed(self, renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        held, self._held = self._held or [], None
        failed = None if renewal.cancelled() else renewal.exception()
        if failed is not None:
            self._fail(
                failed if isinstance(failed, ClientError) else ConnectionLost(f"{self.address}: {failed!r}")
            )
        for message, kind, waiting in held:
            if self._failure is not None:
                self._give_up(waiting)
            elif waiting is None or not waiting.done():
                self._ask(message, kind, waiting)

    def _give_up(self, waiting: asyncio.Future[Message] | None) -> None:
        if waiting is not None and not waiting.done():
            waiting.set_exception(ConnectionLost(str(self._failure)))

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
        for waiting in list(self._waiting.values()):
            self._give_up(waiting)
        if self._renewal is not None:
            self._renewal.cancel()  # and with it what is held
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
            self._has_answered = True
            waiting = self._waiting.get(answer.correlation_id)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer.message)
        self._flush()
        if self._session.is_ready and not self._ready.done():
            self._ready.set_result(None)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError) and not self._has_answered:
            self._fail(explained(exc, self.address, has_certificate=self._security.has_certificate))
            return
        words = str(exc or "closed by the broker")
        if not self._has_answered and self._session.is_ready and self._login is None:
            words = _WANTS_LOGIN
        self._fail(ConnectionLost(f"{self.address}: {words}"))

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()


def _look_at(done: asyncio.Future[Message]) -> None:
    """Whoever asked may have gone: then nobody else looks."""
    if not done.cancelled():
        done.exception()


def _words(refused: OSError) -> str:
    # asyncio words a refusal as a tuple; a name that does not resolve has an errno of another kind
    words = os.strerror(refused.errno) if refused.errno and refused.errno > 0 else refused.strerror
    return words or str(refused)

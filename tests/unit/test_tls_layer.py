"""TLS between a socket and its connection, without a socket: what gets through, and what strangers cost."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from broker_in_a_box import Box, in_a_box, run, until_quiet
from tests.certificates import Authority, Owned

from leaselog.broker.config.listeners import Listener, read_listeners
from leaselog.broker.net import server as server_module
from leaselog.broker.net.server import Server
from leaselog.broker.net.tls_layer import MAX_HANDSHAKE_BYTES, PIECE_BYTES, TlsLayer
from leaselog.model import ANONYMOUS, Principal

AUTHORITY = Authority()
BROKER = AUTHORITY.signs(("CN", "broker"))
ALICE = AUTHORITY.signs(("O", "Acme"), ("CN", "alice"))
#: version 0, correlation 7, client "x"
API_VERSIONS = bytes.fromhex("0000000b 0012 0000 00000007 0001 78")
#: begins like a record of a handshake, and goes on like none
GARBAGE = bytes.fromhex("1603010200") + b"\xff" * 600


def told(caplog: pytest.LogCaptureFixture) -> str:
    return "\n".join(str(getattr(record, "facts", "")) for record in caplog.records)


class Socket:
    """The transport below: keeps what is written until the test takes it."""

    def __init__(self, host: str = "10.0.0.1") -> None:
        self.host = host
        self.sent = bytearray()
        self.is_closed = self.is_aborted = False
        self.is_reading = True
        self.protocol: Any = None
        #: from how many unsent bytes on it is full; None: never
        self.high: int | None = None
        self.is_full = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self.host, 5555) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.sent += data
        if self.high is not None and len(self.sent) > self.high and not self.is_full:
            self.is_full = True
            self.protocol.pause_writing()

    def take(self) -> bytes:
        data = bytes(self.sent)
        self.sent.clear()
        if self.is_full:
            self.is_full = False
            self.protocol.resume_writing()
        return data

    def get_write_buffer_size(self) -> int:
        return len(self.sent)

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


class Peer:
    """A client of TLS in memory, on a listener of its own."""

    def __init__(
        self, server: Server, listener: Listener, owned: Owned | None = None, host: str = "10.0.0.1"
    ) -> None:
        self.socket = Socket(host)
        self.layer: Any = server.greet(listener)
        self.socket.protocol = self.layer
        self.layer.connection_made(self.socket)
        context = ssl.create_default_context(cadata=AUTHORITY.pem)
        if owned is not None:
            with_key(context, owned)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    def say(self, data: bytes) -> None:
        """As bytes of the socket, in pieces that fit."""
        while data and not self.socket.is_closed:
            room = self.layer.get_buffer(-1)
            piece, data = data[: len(room)], data[len(room) :]
            room[: len(piece)] = piece
            self.layer.buffer_updated(len(piece))

    async def carry(self) -> None:
        """What either side has to say is with the other."""
        self.say(self._out.read())
        await until_quiet()
        self._in.write(self.socket.take())

    async def shake(self) -> None:
        for _ in range(6):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await self.carry()
            else:
                break
        await self.carry()

    async def ask(self, request: bytes = API_VERSIONS) -> bytes:
        self.tls.write(request)
        await self.carry()
        return self.read()

    def read(self) -> bytes:
        data = b""
        try:
            while got := self.tls.read(1 << 20):
                data += got
        except ssl.SSLWantReadError:
            pass
        return data

    @property
    def client(self) -> Any:
        return self.layer._connection.client


def with_key(context: ssl.SSLContext, owned: Owned) -> None:
    from leaselog.broker.security.tls import _as_file

    with _as_file(f"{owned.key()}\n{owned.pem}".encode()) as path:
        context.load_cert_chain(path)


def served(story: Callable[[Box, Server, Listener], Awaitable[None]], **settings: str) -> None:
    """The story of a server with one listener of TLS."""

    async def main() -> None:
        keys = {"ssl_keystore_type": "PEM", "ssl_truststore_type": "PEM", "ssl_keystore_key": BROKER.key()}
        keys |= {"ssl_keystore_certificate_chain": BROKER.pem, "ssl_truststore_certificates": AUTHORITY.pem}
        async with in_a_box(**({"listeners": "SSL://:1"} | keys | settings)) as box:
            server = Server(box.broker)
            listeners = read_listeners(box.broker.config)
            server.prepare(listeners)
            await story(box, server, listeners[0])

    run(main())


def test_what_is_asked_over_tls_is_answered() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        await peer.shake()
        answer = await peer.ask()
        assert answer[4:8] == b"\0\0\0\7"
        # many at once, in one record and in bytes that come one by one
        assert len(await peer.ask(API_VERSIONS * 20)) == 20 * len(answer)
        peer.tls.write(API_VERSIONS)
        for byte in peer._out.read():
            peer.say(bytes([byte]))
        await peer.carry()
        assert peer.read() == answer
        assert peer.client.principal == ANONYMOUS

    served(story)


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", "CN=alice,O=Acme"),
        ("RULE:^CN=(.*?),.*$/$1/U", "ALICE"),
    ],
)
def test_a_certificate_says_who_its_owner_is(rules: str, name: str) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener, ALICE)
        await peer.shake()
        assert peer.client.principal == Principal("User", name)
        assert (peer.client.listener, peer.client.host) == ("SSL", "10.0.0.1")

    served(story, ssl_client_auth="required", ssl_principal_mapping_rules=rules)


def test_an_owner_that_no_rule_knows_is_not_served(caplog: pytest.LogCaptureFixture) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener, ALICE)
        await peer.shake()
        assert peer.socket.is_aborted
        assert "no rule of ssl.principal.mapping.rules applies to CN=alice,O=Acme" in told(caplog)

    served(story, ssl_client_auth="required", ssl_principal_mapping_rules="RULE:^CN=bob.*$/bob/")


def test_a_client_without_its_certificate_hears_why_by_an_alert(caplog: pytest.LogCaptureFixture) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        await peer.shake()
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            peer.tls.read(1)
        assert peer.socket.is_closed
        assert "the client shows no certificate, and ssl.client.auth is required" in told(caplog)

    served(story, ssl_client_auth="required")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (API_VERSIONS, "does not speak TLS, which is what listener SSL is for"),
        (b"GET / HTTP/1.1\r\n", "does not speak TLS"),
        (GARBAGE, "TLS failed"),
        # a ClientHello of 128 KB, of which nothing more comes
        (b"\x16\x03\x01\x40\x00\x01\x01\xff\xff" + b"\0" * 16380, "says more than 16384 bytes"),
    ],
)
def test_what_is_no_tls_is_closed_at_once_and_told_once(
    said: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        for _ in range(50):
            peer = Peer(server, listener)
            peer.say(said)
            await until_quiet()
            assert peer.socket.is_closed
            peer.layer.connection_lost(None)
        assert told(caplog).count(why) == 1
        assert (server._open.total(), len(server._hosts), len(server._handshakes)) == (0, 0, 0)

    served(story)


def test_who_says_nothing_holds_no_tls_and_goes_when_the_time_is_up(caplog: pytest.LogCaptureFixture) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        assert peer.layer._tls is None
        assert server._handshakes == {}
        peer.layer._patience.cancel()
        peer.layer._lose_patience()
        assert peer.socket.is_closed
        assert "has said nothing within 2 s" in told(caplog)

    served(story, connection_authentication_timeout_ms="2000")


def test_a_handshake_has_so_many_bytes() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        peer.layer._server = Patient(server)  # its turn does not come
        peer.say(GARBAGE[:5] + bytes(MAX_HANDSHAKE_BYTES))
        assert peer.socket.is_closed

    served(story)


class Patient:
    """A server whose turns never come."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.turns = self

    def queue(self, work: object, *, is_new: bool = False) -> None: ...

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)


def test_the_oldest_of_too_many_handshakes_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        monkeypatch.setattr(server_module, "MAX_HANDSHAKES", 3)
        peers = [Peer(server, listener) for _ in range(5)]
        for peer in peers:
            peer.say(GARBAGE[:5])
        assert [peer.socket.is_closed for peer in peers] == [True, True, False, False, False]

    served(story)


@pytest.mark.parametrize(
    "bound", ["max_connections", "max_connections_per_ip", "listener_name_ssl_max_connections"]
)
def test_one_connection_too_many_is_closed_before_it_has_said_a_word(bound: str) -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        silent, second, third = (Peer(server, listener) for _ in range(3))
        assert [peer.socket.is_aborted for peer in (silent, second, third)] == [False, False, True]
        assert third.layer._tls is None
        third.layer.connection_lost(None)
        silent.layer.connection_lost(None)
        fourth = Peer(server, listener)
        await fourth.shake()
        assert await fourth.ask()

    served(story, **{bound: "2"})


def test_a_large_answer_is_encrypted_as_its_client_takes_it() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        await peer.shake()
        layer, connection = peer.layer, peer.layer._connection
        peer.socket.high = 100_000
        answer = bytes(range(256)) * 8192
        layer.writelines([b"head", answer])
        layer.write(b"tail")
        assert len(peer.socket.sent) < 100_000 + 2 * PIECE_BYTES
        assert connection._write_paused
        assert layer.get_write_buffer_size() >= len(answer)
        layer.close()
        got = b""
        while peer.socket.sent:
            peer._in.write(peer.socket.take())
            try:
                got += peer.read()
            except ssl.SSLZeroReturnError:
                break
        assert got == b"head" + answer + b"tail"
        assert peer.socket.is_closed

    served(story)


def test_a_connection_that_does_not_read_holds_what_came_and_goes_on_with_it() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        await peer.shake()
        peer.layer.pause_reading()
        assert not peer.socket.is_reading
        peer.tls.write(API_VERSIONS)
        peer.say(peer._out.read())
        assert peer.socket.take() == b""
        peer.layer.resume_reading()
        await peer.carry()
        assert peer.read()[4:8] == b"\0\0\0\7"

    served(story)


def test_a_client_that_says_goodbye_is_answered_first() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        peer = Peer(server, listener)
        await peer.shake()
        peer.tls.write(API_VERSIONS)
        with pytest.raises(ssl.SSLWantReadError):
            peer.tls.unwrap()
        await peer.carry()
        assert peer.socket.is_closed
        peer.layer.connection_lost(None)
        assert (len(server), server._open.total()) == (0, 0)

    served(story)


def test_a_server_that_stops_drops_strangers_at_once() -> None:
    async def story(box: Box, server: Server, listener: Listener) -> None:
        stranger, guest = Peer(server, listener), Peer(server, listener)
        await guest.shake()
        draining = asyncio.ensure_future(server.drain(5))
        await until_quiet()
        assert stranger.socket.is_aborted
        assert guest.socket.is_closed
        assert isinstance(stranger.layer, TlsLayer)
        for peer in (stranger, guest):
            peer.layer.connection_lost(None)
        await draining

    served(story)

"""A connection of a listener that asks for a login: what it may send, what it is answered, and when it ends."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from broker_in_a_box import Box, in_a_box, run, until_quiet

from fuzz.socketless import Transport
from leaselog.broker.config.listeners import read_listeners
from leaselog.broker.net.connection import Connection
from leaselog.broker.net.server import Server
from leaselog.model import ANONYMOUS, ErrorCode, Principal
from leaselog.sasl import plain
from leaselog.wire.codec import decode, encode, is_flexible
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataResponse
from leaselog.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from leaselog.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from leaselog.wire.schema import Message

M = TypeVar("M", bound=Message)
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="right";'
SETTINGS = {
    "listeners": "IN://127.0.0.1:0",
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OPEN:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.in.plain.sasl.jaas.config": JAAS,
    "connection.failed.authentication.delay.ms": "0",
}
PASSWORD = plain.message("alice", "right")


class Visitor:
    """A client of a connection without a socket."""

    def __init__(self, box: Box) -> None:
        (listener,) = read_listeners(box.broker.config)
        box.broker.logins.open([listener])
        self.transport = Transport()
        self.connection = Connection(Server(box.broker), listener)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]
        self.read = 0

    async def send(self, data: bytes) -> bytes:
        while data and not self.transport.is_closed:
            room = self.connection.get_buffer(-1)
            piece, data = data[: len(room)], data[len(room) :]
            room[: len(piece)] = piece
            self.connection.buffer_updated(len(piece))
        for _ in range(5):  # a failed login is told by a timer of no time
            await until_quiet()
        answer = bytes(self.transport.sent[self.read :])
        self.read += len(answer)
        return answer

    async def ask(self, request: Message, kind: type[M], version: int) -> M | None:
        """None: no answer."""
        head = struct.pack(">hhih", request.API_KEY, version, 7, -1)
        flexible = b"\0" if is_flexible(type(request), version) else b""
        frame = head + flexible + encode(request, version)
        answer = await self.send(struct.pack(">i", len(frame)) + frame)
        if not answer:
            return None
        assert struct.unpack_from(">ii", answer) == (len(answer) - 4, 7)
        has_tags = is_flexible(kind, version) and kind.API_KEY != ApiVersionsResponse.API_KEY
        return decode(kind, version, memoryview(answer), 9 if has_tags else 8)

    async def log_in(self, said: bytes = PASSWORD) -> SaslAuthenticateResponse | None:
        shaken = await self.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        assert shaken is not None
        assert (shaken.error_code, list(shaken.mechanisms)) == (0, ["PLAIN"])
        return await self.ask(SaslAuthenticateRequest(auth_bytes=said), SaslAuthenticateResponse, 2)

    async def metadata(self) -> MetadataResponse | None:
        return await self.ask(MetadataRequest(topics=[]), MetadataResponse, 12)


async def time_passes(seconds: float) -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(seconds, over.set)
    await over.wait()


def visit(story: Callable[[Visitor], Coroutine[Any, Any, None]], **settings: str) -> None:
    async def play() -> None:
        async with in_a_box(**(SETTINGS | settings)) as box:
            visitor = Visitor(box)
            try:
                await story(visitor)
            finally:
                visitor.connection.connection_lost(None)

    run(play())


def test_who_has_logged_in_is_served() -> None:
    async def story(visitor: Visitor) -> None:
        versions = await visitor.ask(
            ApiVersionsRequest(client_software_name="a", client_software_version="1"), ApiVersionsResponse, 3
        )
        assert versions is not None
        assert versions.error_code == 0
        assert visitor.connection.client.principal == ANONYMOUS
        answer = await visitor.log_in()
        assert answer is not None
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert visitor.connection.client.principal == Principal("User", "alice")
        assert await visitor.metadata() is not None
        assert not visitor.transport.is_closed

    visit(story)


def test_who_has_not_logged_in_gets_no_answer_and_no_connection() -> None:
    async def story(visitor: Visitor) -> None:
        assert await visitor.metadata() is None
        assert visitor.transport.is_closed

    visit(story)


def test_a_wrong_password_is_answered_and_then_the_connection_ends() -> None:
    async def story(visitor: Visitor) -> None:
        answer = await visitor.log_in(plain.message("alice", "wrong"))
        assert answer is not None
        assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.error_message == "Authentication failed: Invalid username or password"
        assert visitor.transport.is_closed

    visit(story)


def test_what_is_sent_behind_a_wrong_password_is_not_done() -> None:
    """All in one piece, so that the request is there before anybody knows that the password is wrong."""

    async def story(visitor: Visitor) -> None:
        frames = [
            struct.pack(">hhih", 17, 1, 1, -1) + encode(SaslHandshakeRequest(mechanism="PLAIN"), 1),
            struct.pack(">hhih", 36, 1, 2, -1)
            + encode(SaslAuthenticateRequest(auth_bytes=b"\0alice\0no"), 1),
            struct.pack(">hhih", 3, 1, 3, -1) + encode(MetadataRequest(topics=[]), 1),
        ]
        answers = await visitor.send(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
        ids = []
        while answers:
            size, correlation_id = struct.unpack_from(">ii", answers)
            ids.append(correlation_id)
            answers = answers[4 + size :]
        assert ids == [1, 2]
        assert visitor.transport.is_closed

    visit(story)


def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    async def story(visitor: Visitor) -> None:
        answer = await visitor.ask(SaslHandshakeRequest(mechanism="GSSAPI"), SaslHandshakeResponse, 1)
        assert answer is not None
        assert (answer.error_code, list(answer.mechanisms)) == (
            ErrorCode.UNSUPPORTED_SASL_MECHANISM,
            ["PLAIN"],
        )
        assert visitor.transport.is_closed

    visit(story)


@pytest.mark.parametrize("version", [0, 3])
def test_api_versions_in_the_middle_of_a_login_is_an_illegal_state(version: int) -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        answer = await visitor.ask(ApiVersionsRequest(), ApiVersionsResponse, version)
        assert answer is not None
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert visitor.transport.is_closed

    visit(story)


def test_a_version_of_api_versions_from_the_future_may_be_followed_by_one_of_today() -> None:
    async def story(visitor: Visitor) -> None:
        assert await visitor.send(struct.pack(">ihhih", 10, 18, 99, 1, -1)) != b""
        assert await visitor.ask(ApiVersionsRequest(), ApiVersionsResponse, 0) is not None
        assert await visitor.log_in() is not None

    visit(story)


def test_after_a_handshake_of_version_0_the_login_is_bare() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 0)
        assert await visitor.send(struct.pack(">i", len(PASSWORD)) + PASSWORD) == bytes(4)
        assert await visitor.metadata() is not None

    visit(story)


def test_a_bare_login_that_fails_has_no_answer() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.ask(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 0)
        wrong = plain.message("alice", "wrong")
        assert await visitor.send(struct.pack(">i", len(wrong)) + wrong) == b""
        assert visitor.transport.is_closed

    visit(story)


def test_a_stranger_makes_the_broker_hold_no_more_than_a_short_frame() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.send(struct.pack(">i", 8193))
        assert visitor.transport.is_closed

    visit(story)


def test_what_a_stranger_sends_at_once_is_taken_in_small_pieces() -> None:
    async def story(visitor: Visitor) -> None:
        assert len(visitor.connection.get_buffer(-1)) == 8192 + 4
        await visitor.send(struct.pack(">i", 8192) + bytes(8000))
        assert len(visitor.connection.get_buffer(-1)) == 192
        assert not visitor.transport.is_closed

    visit(story)


def test_who_has_logged_in_may_send_large_frames() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.log_in()
        await visitor.send(struct.pack(">i", 1 << 20) + bytes(100_000))
        assert not visitor.transport.is_closed

    visit(story)


def test_a_connection_that_does_not_log_in_ends() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.ask(ApiVersionsRequest(), ApiVersionsResponse, 0)
        await time_passes(0.1)
        assert visitor.transport.is_closed

    visit(story, **{"connection.authentication.timeout.ms": "30"})


def test_a_connection_that_has_logged_in_is_not_ended_as_a_stranger() -> None:
    async def story(visitor: Visitor) -> None:
        await visitor.log_in()
        await time_passes(0.6)
        assert await visitor.metadata() is not None

    visit(story, **{"connection.authentication.timeout.ms": "500"})


def test_a_login_that_has_run_out_ends_the_connection_with_the_next_request() -> None:
    async def story(visitor: Visitor) -> None:
        answer = await visitor.log_in()
        assert answer is not None
        assert answer.session_lifetime_ms == 60_000
        assert await visitor.metadata() is not None
        login = visitor.connection._login
        assert login is not None
        login._expires_ms = 0.0  # the minute is over
        assert await visitor.metadata() is None
        assert visitor.transport.is_closed

    visit(story, **{"connections.max.reauth.ms": "60000"})


@pytest.mark.parametrize(
    ("request_made", "kind"),
    [
        (SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse),
        (SaslAuthenticateRequest(auth_bytes=PASSWORD), SaslAuthenticateResponse),
    ],
)
def test_where_nobody_has_to_log_in_a_login_is_an_illegal_state(request_made: Message, kind: Any) -> None:
    async def story(visitor: Visitor) -> None:
        answer = await visitor.ask(request_made, kind, 1)
        assert answer is not None
        assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert not visitor.transport.is_closed

    visit(story, listeners="OPEN://127.0.0.1:0")


def a_check(user: str, password: str) -> bool:
    if user == "raises":
        raise RuntimeError("with the password in its text")
    return (user, password) == ("carol", "carols")


async def a_coroutine_check(user: str, password: str) -> bool:
    return a_check(user, password)


@pytest.mark.parametrize("check", ["a_check", "a_coroutine_check"])
@pytest.mark.parametrize(
    ("user", "code"), [("carol", 0), ("alice", ErrorCode.SASL_AUTHENTICATION_FAILED), ("raises", 58)]
)
def test_a_python_path_checks_passwords(check: str, user: str, code: int) -> None:
    async def story(visitor: Visitor) -> None:
        answer = await visitor.log_in(plain.message(user, "carols"))
        assert answer is not None
        assert answer.error_code == code

    key = "listener.name.in.plain.sasl.server.callback.handler.class"
    visit(story, **{key: f"{__name__}:{check}"})

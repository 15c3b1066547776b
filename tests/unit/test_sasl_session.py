"""A login, message by message: what is heard, what is said, what the connection becomes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from broker_in_a_box import run

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.security.exchanges import (
    Exchange,
    LoggedIn,
    PlainExchange,
    ScramExchange,
    nobodys_credential,
)
from leaselog.broker.security.sasl_config import read_sasl
from leaselog.broker.security.sasl_session import Heard, SaslListener, SaslSession
from leaselog.model import ANONYMOUS, ErrorCode, Principal
from leaselog.sasl import plain
from leaselog.sasl.scram import MECHANISMS, Credential, ScramClient, credential

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="right" user_bob="own";'
SETTINGS = {
    "listeners": "IN://127.0.0.1:0",
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.in.plain.sasl.jaas.config": JAAS,
    "connection.failed.authentication.delay.ms": "0",
}
HANDSHAKE, AUTHENTICATE, VERSIONS, METADATA = 17, 36, 18, 3
ALICE = Principal("User", "alice")
GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism "


class World:
    """A session, and what becomes of its connection."""

    def __init__(self, **settings: str) -> None:
        more = {key.replace("_", "."): value for key, value in settings.items()}
        config = read_sasl(BrokerConfig.from_originals(SETTINGS | more), "IN")
        self.client = Client(1, "10.0.0.1", 5555, "IN")
        self.max_frame_bytes = 0
        self.has_ended = False
        self.now_ms = 0.0
        self.metrics = Metrics()
        self.token_expires_ms: int | None = None
        self.users = {
            name: credential(MECHANISMS[name], "right", b"salt", 4096)
            for name in config.mechanisms
            if name != "PLAIN"
        }
        self.listener = SaslListener(
            config,
            begin=self._begin,
            principal_of=lambda mechanism, user, client: Principal("User", user),
            wall_ms=lambda: int(self.now_ms),
            monotonic_ms=lambda: self.now_ms,
            metrics=self.metrics,
        )
        self.session = SaslSession(self.listener, self)

    def _begin(self, mechanism: str) -> Exchange:
        if mechanism == "PLAIN":
            return PlainExchange(self._is_right)
        kind = MECHANISMS[mechanism]
        return ScramExchange(
            kind,
            "server",
            lambda user: self.users[mechanism] if user == "alice" else None,
            lambda user: nobodys_credential(b"secret", kind, user),
        )

    async def _is_right(self, user: str, password: str) -> bool:
        return plain.are_same({"alice": "right", "bob": "own"}.get(user), password)

    def has_logged_in(self, principal: Principal) -> None:
        self.client = Client(1, "10.0.0.1", 5555, "IN", principal)

    def limit_frames(self, max_bytes: int) -> None:
        self.max_frame_bytes = max_bytes

    def end_when_answered(self) -> None:
        self.has_ended = True

    def untold_refusals(self) -> int | None:
        return 0

    async def plain(self, user: str = "alice", password: str = "right", authorization_id: str = "") -> Heard:
        assert self.session.shake_hands("PLAIN", 1) == ErrorCode.NONE
        return await self.session.hear(plain.message(user, password, authorization_id))

    async def scram(self, mechanism: str, user: str, password: str) -> Heard:
        client = ScramClient(MECHANISMS[mechanism], user, password, "client")
        assert self.session.shake_hands(mechanism, 1) == ErrorCode.NONE
        challenge = await self.session.hear(client.first())
        assert challenge.error_code == ErrorCode.NONE
        heard = await self.session.hear(client.final(challenge.said))
        if not heard.error_code:
            client.check(heard.said)
        return heard


def played(story: Callable[[World], Coroutine[Any, Any, None]], **settings: str) -> None:
    async def play() -> None:
        await story(World(**settings))

    run(play())


def test_a_right_password_opens_the_connection_to_its_user() -> None:
    async def story(world: World) -> None:
        assert world.client.principal == ANONYMOUS
        assert await world.plain() == Heard()
        assert world.client.principal == ALICE
        assert world.session.is_open
        assert world.session.refuse(METADATA) is None
        assert not world.has_ended

    played(story)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_scram_opens_the_connection_to_who_proves_the_password(mechanism: str) -> None:
    async def story(world: World) -> None:
        heard = await world.scram(mechanism, "alice", "right")
        assert heard.error_code == ErrorCode.NONE
        assert world.client.principal == ALICE

    played(story)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_unknown_user_and_a_wrong_password_hear_the_same(mechanism: str) -> None:
    async def story(_: World) -> None:
        answers = []
        for user, password in (("alice", "wrong"), ("nobody", "right")):
            world = World()
            answers.append(await world.scram(mechanism, user, password))
            assert world.has_ended
            assert world.client.principal == ANONYMOUS
        assert answers[0] == answers[1]
        assert answers[0].error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answers[0].error_message == GENERIC + mechanism

    played(story)


@pytest.mark.parametrize("user", ["alice", "nobody"])
def test_plain_says_the_same_of_an_unknown_user_and_a_wrong_password(user: str) -> None:
    async def story(world: World) -> None:
        heard = await world.plain(user, "wrong")
        assert heard.error_message == "Authentication failed: Invalid username or password"
        assert heard.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert world.has_ended
        assert world.session.refuse(METADATA) is not None

    played(story)


def test_nobody_acts_as_somebody_else() -> None:
    async def story(world: World) -> None:
        heard = await world.plain("alice", "right", authorization_id="bob")
        assert heard.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert world.client.principal == ANONYMOUS

    played(story)


def test_what_nobody_would_have_is_the_same_each_time_and_another_for_each() -> None:
    kind = MECHANISMS["SCRAM-SHA-256"]
    kept = nobodys_credential(b"secret", kind, "u")
    assert kept == nobodys_credential(b"secret", kind, "u")
    others = [nobodys_credential(b"other", kind, "u"), nobodys_credential(b"secret", kind, "v")]
    assert kept.salt not in [other.salt for other in others]
    assert isinstance(kept, Credential)
    assert (len(kept.salt), kept.iterations, kept.salt.isalnum()) == (25, 4096, True)


@pytest.mark.parametrize("said", [b"", b"\0", b"n,,n=a", b"\xff" * 100, b"\0a\0b\0c"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_whatever_cannot_be_understood_fails_the_login(mechanism: str, said: bytes) -> None:
    async def story(world: World) -> None:
        assert world.session.shake_hands(mechanism, 1) == ErrorCode.NONE
        heard = await world.session.hear(said)
        assert heard.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert world.has_ended
        assert (await world.session.hear(said)).error_code == ErrorCode.ILLEGAL_SASL_STATE

    played(story)


def test_before_a_login_there_are_three_apis() -> None:
    async def story(world: World) -> None:
        allowed = [key for key in range(100) if world.session.refuse(key) is None]
        assert allowed == [HANDSHAKE, VERSIONS]
        world.session.shake_hands("PLAIN", 1)
        assert world.session.refuse(AUTHENTICATE) is None
        refused = world.session.refuse(VERSIONS)
        assert refused is not None
        assert refused.code == ErrorCode.ILLEGAL_SASL_STATE
        assert world.session.has_failed
        assert world.session.refuse(AUTHENTICATE) is not None

    played(story)


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are() -> None:
    async def story(world: World) -> None:
        assert world.session.shake_hands("GSSAPI", 1) == ErrorCode.UNSUPPORTED_SASL_MECHANISM
        assert world.session.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        assert world.has_ended

    played(story)


def test_after_a_handshake_of_version_0_messages_come_bare() -> None:
    async def story(world: World) -> None:
        assert not world.session.hears_bare_tokens
        world.session.shake_hands("PLAIN", 0)
        assert world.session.hears_bare_tokens
        await world.session.hear(plain.message("alice", "right"))
        assert not world.session.hears_bare_tokens

    played(story)


def test_a_stranger_may_send_little_at_once() -> None:
    async def story(world: World) -> None:
        assert world.max_frame_bytes == 8192
        world.session.shake_hands("SCRAM-SHA-256", 1)
        assert world.max_frame_bytes == 8192

    played(story)
    assert World(sasl_server_max_receive_size="100").max_frame_bytes == 100


def test_a_failure_is_told_after_a_while() -> None:
    async def story(world: World) -> None:
        world.session.shake_hands("PLAIN", 1)
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        await world.session.hear(plain.message("alice", "wrong"))
        assert loop.time() - begun_s >= 0.05

    played(story, connection_failed_authentication_delay_ms="60")


# -- logging in again -----------------------------------------------------------------------------------------


def test_a_login_lasts_as_long_as_the_config_says_and_the_client_is_told() -> None:
    async def story(world: World) -> None:
        assert (await world.plain()).lifetime_ms == 10_000
        world.now_ms = 10_000
        assert world.session.refuse(METADATA) is None
        world.now_ms = 10_001
        assert world.session.refuse(METADATA) is not None
        assert world.metrics.expired_sessions == {"IN": 1}
        assert world.session.refuse(HANDSHAKE) is None

    played(story, connections_max_reauth_ms="10000")


def test_without_a_bound_a_login_lasts_and_nobody_logs_in_again() -> None:
    async def story(world: World) -> None:
        assert (await world.plain()).lifetime_ms == 0
        world.now_ms = 1e12
        assert world.session.refuse(METADATA) is None
        assert world.session.shake_hands("PLAIN", 1) == ErrorCode.ILLEGAL_SASL_STATE
        assert world.session.is_open

    played(story)


def test_who_logs_in_again_goes_on() -> None:
    async def story(world: World) -> None:
        await world.plain()
        world.now_ms = 9_000
        assert (await world.plain()).lifetime_ms == 10_000
        world.now_ms = 18_000
        assert world.session.refuse(METADATA) is None
        assert world.metrics.logins == {
            ("IN", "PLAIN", True, False): 1,
            ("IN", "PLAIN", True, True): 1,
        }

    played(story, connections_max_reauth_ms="10000")


def test_in_the_middle_of_logging_in_again_nothing_else_is_done() -> None:
    async def story(world: World) -> None:
        await world.plain()
        world.session.shake_hands("PLAIN", 1)
        assert world.session.refuse(METADATA) is not None

    played(story, connections_max_reauth_ms="10000")


def test_nobody_becomes_another_by_logging_in_again() -> None:
    async def story(world: World) -> None:
        await world.plain()
        heard = await world.plain("bob", "own")
        assert heard.error_message == (
            "Cannot change principals during re-authentication from User.alice: User.bob"
        )
        assert world.client.principal == ALICE
        assert world.has_ended

    played(story, connections_max_reauth_ms="10000")


def test_nobody_logs_in_again_by_another_mechanism() -> None:
    async def story(world: World) -> None:
        await world.plain()
        assert world.session.shake_hands("SCRAM-SHA-256", 1) == ErrorCode.NONE
        heard = await world.session.hear(b"n,,n=alice,r=n")
        assert heard.error_message == (
            "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for re-authentication of "
            "mechanism 'PLAIN'"
        )
        assert world.has_ended

    played(story, connections_max_reauth_ms="10000")


def test_who_logs_in_again_at_once_is_refused() -> None:
    async def story(world: World) -> None:
        await world.plain()
        await world.plain()
        world.now_ms = 999
        assert world.session.shake_hands("PLAIN", 1) == ErrorCode.ILLEGAL_SASL_STATE
        world.now_ms = 1000
        assert world.session.shake_hands("PLAIN", 1) == ErrorCode.NONE

    played(story, connections_max_reauth_ms="10000")


@pytest.mark.parametrize(("token_ms", "lifetime_ms"), [(4_000, 4_000), (20_000, 10_000), (-5, 0)])
def test_no_login_outlives_what_the_client_showed(token_ms: int, lifetime_ms: int) -> None:
    class Token:
        async def hear(self, said: bytes) -> LoggedIn:
            return LoggedIn("alice", expires_ms=token_ms)

    async def story(world: World) -> None:
        world._begin = lambda mechanism: Token()  # type: ignore[method-assign]
        object.__setattr__(world.listener, "begin", world._begin)
        assert (await world.plain()).lifetime_ms == lifetime_ms

    played(story, connections_max_reauth_ms="10000")


# -- what is told ---------------------------------------------------------------------------------------------


def test_a_failure_is_one_line_with_the_user_and_without_the_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story(world: World) -> None:
        with caplog.at_level(logging.DEBUG, "leaselog"):
            await world.plain("alice", "swordfish")
        assert world.metrics.logins == {("IN", "PLAIN", False, False): 1}

    played(story)
    (line,) = caplog.records
    facts: dict[str, object] = vars(line)["facts"]
    told = {name: facts[name] for name in ("host", "listener", "mechanism", "user")}
    assert told == {"host": "10.0.0.1", "listener": "IN", "mechanism": "PLAIN", "user": "alice"}
    assert "swordfish" not in str(facts)


# -- the config -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "has GSSAPI: expected some of PLAIN"),
        ({"sasl.enabled.mechanisms": ""}, "has nothing"),
        ({"listener.name.in.sasl.enabled.mechanisms": "PLAIN,NTLM"}, "has NTLM"),
        ({"listener.name.in.plain.sasl.jaas.config": "what"}, "semicolon"),
        (
            {"listener.name.in.plain.sasl.jaas.config": "other.Module required;"},
            "login module is other.Module",
        ),
        (
            {
                "listener.name.in.plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required;"
                )
            },
            "nobody could log in by PLAIN",
        ),
        ({"listener.name.in.plain.connections.max.reauth.ms": "soon"}, "soon"),
    ],
)
def test_a_config_that_would_keep_nobody_out_or_let_nobody_in_refuses_the_start(
    settings: dict[str, str], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        read_sasl(BrokerConfig.from_originals(SETTINGS | settings), "IN")


def test_a_mechanism_of_a_listener_has_keys_of_its_own() -> None:
    config = BrokerConfig.from_originals(
        SETTINGS
        | {
            "connections.max.reauth.ms": "1",
            "listener.name.in.connections.max.reauth.ms": "2",
            "listener.name.in.plain.connections.max.reauth.ms": "3",
            "listener.name.other.sasl.enabled.mechanisms": "NTLM",
        }
    )
    read = read_sasl(config, "IN")
    assert {name: one.max_reauth_ms for name, one in read.mechanisms.items()} == {
        "PLAIN": 3,
        "SCRAM-SHA-256": 2,
        "SCRAM-SHA-512": 2,
    }
    assert config.unknown == ()

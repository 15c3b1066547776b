"""How far one connection has come with its login: what it may ask for, what it hears, and when it has to log in again.

    greeting -> exchange -> open -> exchange (again, KIP-368) -> open ...
                        `-> failed, and the connection ends

Before it is open a connection may ask for ApiVersions, SaslHandshake and SaslAuthenticate, in frames of a few
kilobytes (as large as `sasl.server.max.receive.size` once it wants to show a token). Knows neither sockets nor frames:
what becomes of the connection is up to its `SessionHost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.security.exchanges import Exchange, LoggedIn, LoginFailed
from leaselog.broker.security.sasl_config import SaslConfig
from leaselog.model import ErrorCode, Principal, Refused
from leaselog.sasl.errors import SaslError
from leaselog.sasl.oauthbearer import OAUTHBEARER

__all__ = ["Heard", "SaslListener", "SaslSession", "SessionHost"]

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
#: nothing that is said before a token, nor any message of PLAIN and SCRAM, is longer
MAX_EARLY_BYTES = 8 * 1024
#: a client that logs in again more often is refused, as Apache Kafka does
MIN_REAUTH_MS = 1000
MAX_TOLD_NAME = 100

log = StructuredLog("sasl")


class SessionHost(Protocol):
    """The connection."""

    client: Client

    def has_logged_in(self, principal: Principal) -> None:
        """Is somebody from now on, and may send frames of any size."""

    def limit_frames(self, max_bytes: int) -> None: ...

    def end_when_answered(self) -> None:
        """Takes nothing more, and ends when what was asked is answered."""

    def untold_refusals(self) -> int | None:
        """How many refusals of its host went untold since the last line; None if this one is to go untold too."""


@dataclass(frozen=True, slots=True)
class SaslListener:
    """What the sessions of a listener share."""

    config: SaslConfig
    #: an exchange of this mechanism, which is enabled
    begin: Callable[[str], Exchange]
    principal_of: Callable[[str, str, Client], Principal]
    wall_ms: Callable[[], int]
    monotonic_ms: Callable[[], float]
    metrics: Metrics


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to one message of a login."""

    said: bytes = b""
    lifetime_ms: int = 0
    error_code: int = ErrorCode.NONE
    error_message: str | None = None


class _State(Enum):
    GREETING = "handshake"
    EXCHANGE = "authentication"
    OPEN = "open"
    FAILED = "failed"


class SaslSession:
    def __init__(self, listener: SaslListener, host: SessionHost) -> None:
        self._listener = listener
        self._host = host
        self._state = _State.GREETING
        self._mechanism = ""
        self._exchange: Exchange | None = None
        #: who it has been until now, where it logs in again
        self._before: Principal | None = None
        self._bad_mechanism: str | None = None
        self._expires_ms: float | None = None
        self._reauth_at_ms = -1.0 * MIN_REAUTH_MS
        #: the client does not put what it says into requests (a handshake of version 0)
        self._is_bare = False
        host.limit_frames(min(MAX_EARLY_BYTES, listener.config.max_receive_bytes))

    @property
    def is_open(self) -> bool:
        return self._state is _State.OPEN

    @property
    def has_failed(self) -> bool:
        return self._state is _State.FAILED

    @property
    def hears_bare_tokens(self) -> bool:
        """What comes next is no request, but a message of the mechanism."""
        return self._is_bare and self._state is _State.EXCHANGE

    @property
    def mechanisms(self) -> list[str]:
        return list(self._listener.config.mechanisms)

    def refuse(self, api_key: int) -> Refused | None:
        """Why this may not be asked now. Of an error code other than NONE the client is told, before it ends."""
        if self._state is _State.OPEN:
            expires_ms = self._expires_ms
            if expires_ms is None or api_key == SASL_HANDSHAKE or self._listener.monotonic_ms() <= expires_ms:
                return None
            self._listener.metrics.session_expired(self._listener.config.listener)
            return Refused(ErrorCode.NONE, "the login has run out, and the client did not log in again")
        if self._state is _State.GREETING and api_key in (API_VERSIONS, SASL_HANDSHAKE):
            return None
        if self._state is _State.EXCHANGE:
            if api_key == SASL_AUTHENTICATE:
                return None
            self._state = _State.FAILED
            return Refused(ErrorCode.ILLEGAL_SASL_STATE, f"API {api_key} in the middle of a login")
        return Refused(ErrorCode.NONE, f"API {api_key} before a login")

    def shake_hands(self, mechanism: str, version: int) -> ErrorCode:
        """The client names its mechanism."""
        if self._state is _State.OPEN and not self._may_log_in_again():
            return ErrorCode.ILLEGAL_SASL_STATE
        if mechanism not in self._listener.config.mechanisms:
            self._count(succeeded=False)
            self._tell("asks for a mechanism that is not enabled", mechanism[:MAX_TOLD_NAME], "")
            self._end()
            return ErrorCode.UNSUPPORTED_SASL_MECHANISM
        if self._state is _State.OPEN:
            self._before = self._host.client.principal
            if mechanism != self._mechanism:
                self._bad_mechanism = (
                    f"SASL mechanism '{mechanism}' requested by client is not supported for re-authentication of "
                    f"mechanism '{self._mechanism}'"
                )
        self._mechanism = mechanism
        self._exchange = self._listener.begin(mechanism)
        self._is_bare = version == 0
        self._state = _State.EXCHANGE
        if mechanism == OAUTHBEARER:
            self._host.limit_frames(self._listener.config.max_receive_bytes)
        return ErrorCode.NONE

    def _may_log_in_again(self) -> bool:
        now_ms = self._listener.monotonic_ms()
        if self._expires_ms is None or now_ms - self._reauth_at_ms < MIN_REAUTH_MS:
            return False
        self._reauth_at_ms = now_ms
        return True

    async def hear(self, said: bytes) -> Heard:
        """One message of the mechanism. A failure is answered after a while: guessing is to take its time."""
        if self._state is not _State.EXCHANGE or self._exchange is None:
            message = "SaslAuthenticate request received after successful authentication"
            return Heard(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=message)
        try:
            if self._bad_mechanism is not None:
                raise LoginFailed("another mechanism than before", told=self._bad_mechanism)
            step = await self._exchange.hear(said)
            return self._enter(step) if isinstance(step, LoggedIn) else Heard(step)
        except LoginFailed as failed:
            told, why, user = failed.told, str(failed), failed.user
        except SaslError as bad:
            told, why, user = None, str(bad), ""
        return await self._fail(why, told, user)

    def _enter(self, login: LoggedIn) -> Heard:
        listener = self._listener
        principal = listener.principal_of(self._mechanism, login.user, self._host.client)
        if self._before is not None and principal != self._before:
            told = (
                f"Cannot change principals during re-authentication from {self._before.type}.{self._before.name}: "
                f"{principal.type}.{principal.name}"
            )
            raise LoginFailed("another user than before", told=told, user=login.user)
        lifetime_ms = self._lifetime_ms(login)
        self._expires_ms = None if lifetime_ms is None else listener.monotonic_ms() + lifetime_ms
        self._count(succeeded=True)
        self._state, self._exchange, self._before = _State.OPEN, None, None
        self._host.has_logged_in(principal)
        return Heard(login.said, lifetime_ms or 0)

    def _lifetime_ms(self, login: LoggedIn) -> int | None:
        """How long until the client has to log in again; None: never."""
        bounds = []
        if login.expires_ms is not None:
            bounds.append(login.expires_ms - self._listener.wall_ms())
        max_reauth_ms = self._listener.config.mechanisms[self._mechanism].max_reauth_ms
        if max_reauth_ms > 0:
            bounds.append(max_reauth_ms)
        return max(min(bounds), 0) if bounds else None

    async def _fail(self, why: str, told: str | None, user: str) -> Heard:
        again = "re-authentication" if self._before is not None else "authentication"
        self._count(succeeded=False)
        self._tell(why, self._mechanism, user)
        self._end()
        await asyncio.sleep(self._listener.config.failure_delay_ms / 1000)
        message = told or (
            f"Authentication failed during {again} due to invalid credentials with SASL mechanism {self._mechanism}"
        )
        return Heard(error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message)

    def _end(self) -> None:
        self._state, self._exchange = _State.FAILED, None
        self._host.end_when_answered()

    def _count(self, *, succeeded: bool) -> None:
        # A mechanism that is not enabled is not counted by its name: anybody could make up as many as he likes.
        self._listener.metrics.login_ended(
            self._listener.config.listener,
            self._mechanism or "unknown",
            succeeded=succeeded,
            is_again=self._before is not None,
        )

    def _tell(self, why: str, mechanism: str, user: str) -> None:
        """One line, and not for each of many: a stranger must not fill the log."""
        untold = self._host.untold_refusals()
        if untold is None:
            return
        client = self._host.client
        facts: dict[str, object] = {"host": client.host, "listener": client.listener, "mechanism": mechanism}
        if user:
            facts["user"] = user[:MAX_TOLD_NAME]
        if untold:
            facts["untold_before"] = untold
        log.warning("authentication failed", **facts, why=why)

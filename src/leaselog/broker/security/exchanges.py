"""One login by one mechanism, from the server's side: what it hears, and what it says to that.

What fails is told in one of two ways, as Apache Kafka does: in words of its own, which tell a stranger nothing (a wrong
password of PLAIN), or in those that are the same whatever was wrong.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from leaselog.broker.security.tokens import TokenCheck, TokenRefused
from leaselog.sasl import oauthbearer, plain
from leaselog.sasl.errors import MalformedMessage, SaslError
from leaselog.sasl.scram import MIN_ITERATIONS, Credential, Mechanism, ScramServer

__all__ = [
    "BearerExchange",
    "Exchange",
    "LoggedIn",
    "LoginFailed",
    "PlainExchange",
    "ScramExchange",
    "nobodys_credential",
]

PasswordCheck: TypeAlias = Callable[[str, str], Awaitable[bool]]

#: salts of Kafka's tools are so many characters of these
SALT_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
SALT_LENGTH = 25


class LoginFailed(Exception):
    """``told`` is for the client; without it the client hears no more than that it failed. ``user`` if it said so."""

    def __init__(self, why: str, *, told: str | None = None, user: str = "") -> None:
        super().__init__(why)
        self.told = told
        self.user = user


@dataclass(frozen=True, slots=True)
class LoggedIn:
    user: str
    #: the server's last word
    said: bytes = b""
    #: the wall clock when what the client showed runs out
    expires_ms: int | None = None


class Exchange(Protocol):
    async def hear(self, said: bytes) -> bytes | LoggedIn:
        """The next thing to say, or who it is. Raises LoginFailed and SaslError."""


class PlainExchange:
    def __init__(self, is_right: PasswordCheck) -> None:
        self._is_right = is_right

    async def hear(self, said: bytes) -> LoggedIn:
        try:
            login = plain.read(said)
        except MalformedMessage as bad:
            raise LoginFailed(str(bad), told=str(bad)) from None
        if not await self._is_right(login.user, login.password):
            told = "Authentication failed: Invalid username or password"
            raise LoginFailed("wrong password, or nobody of that name", told=told, user=login.user)
        _refuse_another(login.authorization_id, login.user)
        return LoggedIn(login.user)


class BearerExchange:
    def __init__(self, check: TokenCheck) -> None:
        self._check = check
        #: what the client has been told of its token, and why
        self._refused: tuple[str, str] | None = None

    async def hear(self, said: bytes) -> bytes | LoggedIn:
        if self._refused is not None:  # it has heard, and says so
            raise LoginFailed(self._refused[1], told=self._refused[0])
        login = oauthbearer.read(said)
        try:
            valid = await self._check(login.token)
        except TokenRefused as refused:
            answer = oauthbearer.refusal(refused.status)
            self._refused = (answer.decode(), str(refused))
            return answer
        if login.authorization_id and login.authorization_id != valid.user:
            told = "Authentication failed: Client requested an authorization id that is different from the token's"
            raise LoginFailed("asks to act as somebody else", told=told, user=valid.user)
        return LoggedIn(valid.user, expires_ms=valid.expires_ms)


class ScramExchange:
    """Whoever is unknown is asked and refused like one whose password is wrong, by the same work."""

    def __init__(
        self,
        mechanism: Mechanism,
        nonce: str,
        credential_of: Callable[[str], Credential | None],
        nobodys: Callable[[str], Credential],
    ) -> None:
        self._server = ScramServer(mechanism, nonce)
        self._credential_of = credential_of
        self._nobodys = nobodys
        self._user = ""
        self._is_known = False

    async def hear(self, said: bytes) -> bytes | LoggedIn:
        if not self._user:
            return self._challenge(said)
        try:
            last_word = self._server.prove(said)
        except SaslError as wrong:
            raise LoginFailed(str(wrong), user=self._user) from None
        if not self._is_known:  # nobody meets such a credential: this is for the day when somebody does
            raise LoginFailed("nobody of that name", user=self._user)
        return LoggedIn(self._user, last_word)

    def _challenge(self, said: bytes) -> bytes:
        heard = self._server.hear(said)
        self._user = heard.user
        if heard.authorization_id:
            _refuse_another(heard.authorization_id, heard.user)
        kept, fake = self._credential_of(heard.user), self._nobodys(heard.user)
        if heard.is_delegation_token:
            kept = None  # there are no delegation tokens here, so nobody has one
        self._is_known = kept is not None
        return self._server.challenge(kept or fake)


def nobodys_credential(secret: bytes, mechanism: Mechanism, user: str) -> Credential:
    """What a user who is not there would have: the same each time, as if it were kept, and met by no password."""
    drawn = hashlib.shake_256(hmac.digest(secret, f"{mechanism.name}:{user}".encode(), "sha256")).digest(
        SALT_LENGTH + 2 * mechanism.digest_bytes
    )
    salt = "".join(SALT_LETTERS[byte % len(SALT_LETTERS)] for byte in drawn[:SALT_LENGTH]).encode()
    keys = drawn[SALT_LENGTH:]
    return Credential(salt, keys[: mechanism.digest_bytes], keys[mechanism.digest_bytes :], MIN_ITERATIONS)


def _refuse_another(authorization_id: str, user: str) -> None:
    if authorization_id and authorization_id != user:
        told = "Authentication failed: Client requested an authorization id that is different from username"
        raise LoginFailed("asks to act as somebody else", told=told, user=user)

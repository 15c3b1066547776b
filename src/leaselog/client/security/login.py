"""One side of a SASL exchange, the client's: what to say first, and what to say next.

``begin`` may take a while, where a token has to be fetched; from there on only the broker is waited for.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Protocol

from leaselog.client.errors import ConfigError
from leaselog.client.machine import new_nonce
from leaselog.client.security.config import SaslSettings
from leaselog.client.security.tokens import TokenSource
from leaselog.sasl import oauthbearer, plain
from leaselog.sasl.errors import SaslError
from leaselog.sasl.scram import MECHANISMS, Mechanism, ScramClient

__all__ = ["Exchange", "Login"]

#: Kafka's clients take as many
_NONCE_BYTES = 24


class Exchange(Protocol):
    """``first``, then ``next`` with each answer; None when nothing is left to say. Raises ``SaslError``."""

    def first(self) -> bytes: ...

    async def next(self, answer: bytes) -> bytes | None: ...


class Login:
    """What a client logs in with, on each of its connections, and again when a session's life ends."""

    def __init__(self, settings: SaslSettings) -> None:
        self._settings = settings
        self._tokens = None if settings.bearer is None else TokenSource(settings.bearer)
        self.mechanism = settings.mechanism
        self.user = settings.username

    def __str__(self) -> str:
        return self.mechanism + (f" as {self.user}" if self.user else "")

    async def begin(self) -> Exchange:
        """Raises ``AuthenticationFailed`` and ``Unreachable`` for a token that cannot be had."""
        if self._tokens is not None:
            token = await self._tokens.token()
            try:
                said = oauthbearer.message(token.secret.reveal(), dict(token.extensions))
            except ValueError as wrong:
                raise ConfigError(f"OAUTHBEARER: {wrong}") from None
            return _Bearer(said)
        user, password = self._settings.username or "", self._settings.password
        assert password is not None
        if self.mechanism == plain.PLAIN:
            return _Plain(plain.message(user, password.reveal()))
        return _Scram(MECHANISMS[self.mechanism], user, password.reveal())


class _Plain:
    def __init__(self, said: bytes) -> None:
        self._said = said

    def first(self) -> bytes:
        return self._said

    async def next(self, answer: bytes) -> bytes | None:
        return None


class _Bearer:
    def __init__(self, said: bytes) -> None:
        self._said = said
        self._refusal: SaslError | None = None

    def first(self) -> bytes:
        return self._said

    async def next(self, answer: bytes) -> bytes | None:
        """A server says why it refuses before it refuses, and waits for a word in between."""
        if self._refusal is not None:
            raise self._refusal
        try:
            oauthbearer.check(answer)
        except SaslError as refused:
            self._refusal = refused
            return oauthbearer.ACKNOWLEDGED
        return None


class _Scram:
    def __init__(self, mechanism: Mechanism, user: str, password: str) -> None:
        nonce = base64.b64encode(new_nonce(_NONCE_BYTES)).decode()
        self._client = ScramClient(mechanism, user, password, nonce)
        self._has_proven = False

    def first(self) -> bytes:
        return self._client.first()

    async def next(self, answer: bytes) -> bytes | None:
        if self._has_proven:
            self._client.check(answer)  # the broker's signature: it knows the keys of this user
            return None
        self._has_proven = True
        # as long as the broker likes it to take: some milliseconds, and off the loop
        return await asyncio.to_thread(self._client.final, answer)

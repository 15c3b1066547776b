"""Tokens for OAUTHBEARER: fetched where the configuration says, kept for as long as they are good.

A token has a successor before it expires. If the next one cannot be had, the old one serves to its end.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import logging
import math
import ssl
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leaselog.client.errors import AuthenticationFailed, ClientError, Unreachable
from leaselog.client.machine import wall_ms
from leaselog.client.security.bearer_config import BearerSettings
from leaselog.client.security.secret import Secret

__all__ = ["Token", "TokenSource"]

_log = logging.getLogger("leaselog.client")

#: an answer longer than this is no token
MAX_ANSWER_BYTES = 1_000_000
UNSECURED_LIFETIME_S = 3600
_ENDPOINT = "Is sasl.oauthbearer.token.endpoint.url right, and the endpoint up?"


@dataclass(frozen=True, slots=True)
class Token:
    secret: Secret
    #: in milliseconds since 1970; None: nobody has said
    expires_ms: float | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)


class TokenSource:
    """`token` for each login. It belongs to one event loop."""

    def __init__(self, settings: BearerSettings) -> None:
        self._settings = settings
        self._token: Token | None = None
        self._refresh_ms = -math.inf
        self._turn = asyncio.Lock()

    async def token(self) -> Token:
        """Raises ``AuthenticationFailed`` where no token is given, ``Unreachable`` where one may be given later."""
        async with self._turn:
            known = self._token
            if known is not None and wall_ms() < self._refresh_ms:
                return known
            try:
                fetched = await self._fetch()
            except ClientError as failed:
                if known is None or known.expires_ms is None or known.expires_ms <= wall_ms():
                    raise
                _log.warning("the next token cannot be had, the old one serves until it expires: %s", failed)
                return known
            self._keep(fetched)
            return fetched

    def _keep(self, token: Token) -> None:
        now_ms = wall_ms()
        self._token = token
        # a token of unknown length of life is asked for anew each time
        life_ms = 0.0 if token.expires_ms is None else token.expires_ms - now_ms
        self._refresh_ms = now_ms + life_ms * self._settings.refresh_factor

    async def _fetch(self) -> Token:
        settings = self._settings
        if settings.token is not None:
            return Token(settings.token, expiry_ms(settings.token.reveal()), settings.extensions)
        if settings.unsecured is not None:
            return _unsecured(settings)
        if settings.function is not None:
            return await _called(settings)
        return await asyncio.to_thread(_asked, settings)


async def _called(settings: BearerSettings) -> Token:
    function = settings.function
    assert function is not None
    try:
        # a plain function may wait for whatever it likes
        is_async = inspect.iscoroutinefunction(function)
        config = settings.function_config.reveal()
        given = function(config) if is_async else await asyncio.to_thread(function, config)
        if inspect.isawaitable(given):
            given = await given
    except Exception as failed:
        raise AuthenticationFailed(f"oauth_cb gives no token: {type(failed).__name__}") from failed
    return _token_of(given, settings)


def _token_of(given: Any, settings: BearerSettings) -> Token:
    """A text, or confluent's tuple: token, expiry in seconds since 1970, principal, extensions."""
    parts = given if isinstance(given, tuple) else (given,)
    text, expiry_s, _principal, extensions = (*parts, None, None, None)[:4]
    is_time = isinstance(expiry_s, (int, float)) and not isinstance(expiry_s, bool)
    if not isinstance(text, str) or not (expiry_s is None or is_time):
        raise AuthenticationFailed(
            "oauth_cb gives no token: expected (TOKEN, EXPIRY), the second in seconds since 1970"
        )
    expires_ms = expiry_ms(text) if expiry_s is None else expiry_s * 1000
    return Token(Secret(text), expires_ms, {**settings.extensions, **(extensions or {})})


def _unsecured(settings: BearerSettings) -> Token:
    """As Kafka's clients make one: a token without a signature."""
    now_s = wall_ms() // 1000
    claims = {**(settings.unsecured or {}), "iat": now_s, "exp": now_s + UNSECURED_LIFETIME_S}
    if settings.scope:
        claims["scope"] = settings.scope
    text = f"{_encoded({'alg': 'none'})}.{_encoded(claims)}."
    return Token(Secret(text), (now_s + UNSECURED_LIFETIME_S) * 1000, settings.extensions)


def _encoded(part: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def expiry_ms(token: str) -> float | None:
    """What a JWT says of its own end, in its claim `exp`; None for any other token."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        expires_s = claims["exp"]
    except (IndexError, KeyError, TypeError, ValueError, RecursionError):
        return None
    is_time = (
        isinstance(expires_s, (int, float)) and not isinstance(expires_s, bool) and math.isfinite(expires_s)
    )
    return expires_s * 1000 if is_time else None


class _StayHere(urllib.request.HTTPRedirectHandler):
    """A secret goes to the address that was configured, and to no other."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _asked(settings: BearerSettings) -> Token:
    """In a thread: client credentials over HTTP (RFC 6749, 4.4), or what a file says."""
    url = settings.url or ""
    where = f"token endpoint {_without_query(url)}"
    try:
        if url.startswith("file:"):
            text = _file(url)
        else:
            text, expires_ms = _granted(settings, where)
            return Token(Secret(text), expires_ms, settings.extensions)
    except OSError as failed:
        reason = getattr(failed, "reason", failed)
        raise Unreachable(f"{where}: {reason}", _ENDPOINT) from None
    return Token(Secret(text), expiry_ms(text), settings.extensions)


def _file(url: str) -> str:
    path = urllib.request.url2pathname(urllib.parse.urlsplit(url).path)
    with open(path, encoding="utf-8") as file:
        return file.read(MAX_ANSWER_BYTES).strip()


def _granted(settings: BearerSettings, where: str) -> tuple[str, float | None]:
    opener = urllib.request.build_opener(
        _StayHere, urllib.request.HTTPSHandler(context=_trusted(settings.ca_location))
    )
    timeout_s = max(settings.connect_timeout_ms, settings.read_timeout_ms) / 1000
    try:
        with opener.open(_request(settings), timeout=timeout_s) as answer:
            body = answer.read(MAX_ANSWER_BYTES)
    except urllib.error.HTTPError as refused:
        with refused:
            words = f"{where}: {refused.code} {refused.reason}{_said(refused.read(MAX_ANSWER_BYTES))}"
        if refused.code >= 500 or refused.code == 429:
            raise Unreachable(words, _ENDPOINT) from None
        raise AuthenticationFailed(f"{words}. Are client id, secret and scope right?") from None
    try:
        told = json.loads(body)
        text = told["access_token"]
        life_s = told.get("expires_in")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise AuthenticationFailed(f"{where}: what it answers has no access_token") from None
    if not isinstance(text, str):
        raise AuthenticationFailed(f"{where}: what it answers has no access_token")
    expires_ms = expiry_ms(text)
    if expires_ms is None and isinstance(life_s, (int, float)) and not isinstance(life_s, bool):
        expires_ms = wall_ms() + life_s * 1000
    return text, expires_ms


def _request(settings: BearerSettings) -> urllib.request.Request:
    client_id, secret = settings.client_id, settings.client_secret.reveal()
    if settings.encodes:
        client_id, secret = urllib.parse.quote_plus(client_id), urllib.parse.quote_plus(secret)
    form = {"grant_type": "client_credentials", **({"scope": settings.scope} if settings.scope else {})}
    return urllib.request.Request(
        settings.url or "",
        data=urllib.parse.urlencode(form).encode(),
        headers={
            "Authorization": "Basic " + base64.b64encode(f"{client_id}:{secret}".encode()).decode(),
            "Accept": "application/json",
        },
        method="POST",
    )


def _trusted(ca_location: str | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_location)


def _said(body: bytes) -> str:
    """The endpoint's own words (RFC 6749, 5.2), if it has any."""
    try:
        told = json.loads(body)
        words = [str(told[key])[:200] for key in ("error", "error_description") if told.get(key)]
    except (TypeError, ValueError, AttributeError, RecursionError):
        return ""
    return f" ({': '.join(words)})" if words else ""


def _without_query(url: str) -> str:
    """Whoever puts a key or a password into an address does not want it in a log."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", ""))

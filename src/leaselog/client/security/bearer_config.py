"""Where the tokens of OAUTHBEARER come from, as configurations say it: one source, whatever its name.

A token that is given; a function that makes them; an endpoint that gives them for a client's id and secret, or a file
that somebody else writes; and, for tests, tokens that nobody signed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from leaselog.client.config_values import ConfigValues
from leaselog.client.errors import ConfigError
from leaselog.client.security.secret import NOTHING, Secret, revealed

__all__ = ["BearerSettings", "bearer_settings"]

_CLAIM = "unsecuredLoginStringClaim_"
_URLS = ("https://", "http://", "file:")


@dataclass(frozen=True, slots=True)
class BearerSettings:
    """One of `token`, `function`, `url` and `unsecured` is there."""

    token: Secret | None = None
    #: called with `sasl.oauthbearer.config`; the token, or (token, when it expires in seconds since 1970, …)
    function: Callable[..., Any] | None = field(default=None, repr=False)
    function_config: Secret = NOTHING
    #: of the token endpoint; with `file:` of a file that has the token in it
    url: str | None = None
    client_id: str = ""
    client_secret: Secret = NOTHING
    scope: str | None = None
    #: whether id and secret are encoded before they are joined, as RFC 6749 has it
    encodes: bool = False
    ca_location: str | None = None
    connect_timeout_ms: int = 10_000
    read_timeout_ms: int = 10_000
    #: claims of a token that nobody signs
    unsecured: Mapping[str, str] | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    #: how much of its life a token has had when the next one is fetched
    refresh_factor: float = 0.8


def bearer_settings(values: ConfigValues, options: Mapping[str, str]) -> BearerSettings:
    """``options`` are those of `sasl.jaas.config`. Raises ``ConfigError``."""

    def text(*keys: str) -> str | None:
        for key in keys:
            if found := str(revealed(values.value(key, None)) or ""):
                return found
        return None

    token, function, url = (
        text("sasl.oauthbearer.token"),
        _function(values),
        text("sasl.oauthbearer.token.endpoint.url"),
    )
    unsecured = _unsecured(values, text("sasl.oauthbearer.config") or "", options)
    given = [name for name, source in _sources(token, function, url, unsecured) if source]
    if len(given) != 1:
        raise ConfigError(
            f"OAUTHBEARER takes its tokens from {' and '.join(given)}: give one of them"
            if given
            else "OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url, oauth_cb or sasl.oauthbearer.token"
        )
    if url is not None and not url.startswith(_URLS):
        raise ConfigError(f"sasl.oauthbearer.token.endpoint.url={url}: expected https://, http:// or file:")
    client_id = text("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.id")
    client_secret = text(
        "sasl.oauthbearer.client.credentials.client.secret", "sasl.oauthbearer.client.secret"
    )
    client_id, client_secret = (
        client_id or options.get("clientId"),
        client_secret or options.get("clientSecret"),
    )
    if url is not None and not url.startswith("file:") and not (client_id and client_secret):
        lacks = "id" if not client_id else "secret"
        raise ConfigError(
            f"sasl.oauthbearer.client.credentials.client.{lacks} is missing: the token endpoint asks for it"
        )
    return BearerSettings(
        token=None if token is None else Secret(token),
        function=function,
        function_config=Secret(text("sasl.oauthbearer.config") or ""),
        url=url,
        client_id=client_id or "",
        client_secret=Secret(client_secret or ""),
        scope=text("sasl.oauthbearer.scope") or options.get("scope"),
        encodes=values.truth("sasl.oauthbearer.header.urlencode", False),
        ca_location=text("https.ca.location"),
        connect_timeout_ms=values.number("sasl.login.connect.timeout.ms", 10_000, 1),
        read_timeout_ms=values.number("sasl.login.read.timeout.ms", 10_000, 1),
        unsecured=unsecured,
        extensions=_extensions(text("sasl.oauthbearer.extensions") or "", options),
        refresh_factor=_factor(values),
    )


def _sources(*given: object) -> list[tuple[str, object]]:
    names = ("sasl.oauthbearer.token", "oauth_cb", "sasl.oauthbearer.token.endpoint.url", "unsecured claims")
    return list(zip(names, given, strict=True))


def _function(values: ConfigValues) -> Callable[..., Any] | None:
    """A function, or ``module:function`` where only texts can be given."""
    given: Any = values.value("oauth.cb", None)
    if given is None or callable(given):
        return given  # type: ignore[no-any-return]
    module, _, name = str(given).partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as wrong:
        raise ConfigError(f"oauth_cb={given}: expected a function, or MODULE:FUNCTION: {wrong}") from None
    if not callable(found):
        raise ConfigError(f"oauth_cb={given}: it cannot be called")
    return found  # type: ignore[no-any-return]


def _unsecured(values: ConfigValues, config: str, options: Mapping[str, str]) -> dict[str, str] | None:
    """Claims of a token that nobody signs, by Kafka's JAAS options or librdkafka's text."""
    claims = {name.removeprefix(_CLAIM): value for name, value in options.items() if name.startswith(_CLAIM)}
    if values.truth("enable.sasl.oauthbearer.unsecure.jwt", False):
        told = dict(part.partition("=")[::2] for part in config.split())
        principal = told.get("principal")
        if not principal:
            raise ConfigError(
                "enable.sasl.oauthbearer.unsecure.jwt needs sasl.oauthbearer.config=principal=NAME"
            )
        claims = {told.get("principalClaimName", "sub"): principal, **claims}
    return claims or None


def _extensions(text: str, options: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's ``NAME=VALUE,NAME=VALUE``, and Kafka's JAAS options ``extension_NAME``."""
    told = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    prefix = "extension_"
    return {
        **told,
        **{name.removeprefix(prefix): value for name, value in options.items() if name.startswith(prefix)},
    }


def _factor(values: ConfigValues) -> float:
    given = values.text("sasl.login.refresh.window.factor", "0.8")
    try:
        factor = float(given)
    except ValueError:
        factor = 0.0
    if not 0.5 <= factor <= 1.0:
        raise ConfigError(f"sasl.login.refresh.window.factor={given}: expected 0.5 to 1.0")
    return factor

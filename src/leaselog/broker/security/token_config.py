"""From the configuration of OAUTHBEARER on a listener to who checks its tokens: ConfigError if nobody would."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.security.jwks import KeySet
from leaselog.broker.security.plugins import load_plugin
from leaselog.broker.security.sasl_config import MechanismConfig
from leaselog.broker.security.tokens import (
    ClaimRules,
    SignedTokens,
    TokenCheck,
    TokenRefused,
    ValidToken,
    unsecured_tokens,
)

__all__ = ["make_token_check"]

_OF_KAFKA = "org.apache.kafka.common.security.oauthbearer"
SIGNED = (
    f"{_OF_KAFKA}.OAuthBearerValidatorCallbackHandler",
    f"{_OF_KAFKA}.secured.OAuthBearerValidatorCallbackHandler",
)
UNSECURED = f"{_OF_KAFKA}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"


def make_token_check(
    config: MechanismConfig,
    wall_ms: Callable[[], int],
    monotonic_s: Callable[[], float],
    ask_plugin: Callable[..., Awaitable[object]],
) -> TokenCheck:
    key = f"{config.prefix}sasl.server.callback.handler.class"
    if config.handler == UNSECURED:
        return unsecured_tokens(_unsecured_rules(config), wall_ms)
    if config.handler is None or config.handler in SIGNED:
        return _signed(config, monotonic_s)
    return _plugged(load_plugin(key, config.handler), ask_plugin)


def _signed(config: MechanismConfig, monotonic_s: Callable[[], float]) -> TokenCheck:
    broker = config.broker
    url = broker.sasl_oauthbearer_jwks_endpoint_url
    if not url:
        raise ConfigError(
            f"nobody could check tokens: expected {config.prefix}sasl.oauthbearer.jwks.endpoint.url, "
            f"or {config.prefix}sasl.server.callback.handler.class"
        )
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise ConfigError(
            "OAUTHBEARER needs PyJWT and cryptography, which are not installed: pip install 'leaselog[server]'"
        )
    _refuse_anybodys_tokens(config.prefix, broker)
    keys = KeySet(url, broker.sasl_oauthbearer_jwks_endpoint_refresh_ms / 1000, monotonic_s=monotonic_s)
    rules = ClaimRules(
        broker.sasl_oauthbearer_sub_claim_name,
        broker.sasl_oauthbearer_scope_claim_name,
        skew_s=broker.sasl_oauthbearer_clock_skew_seconds,
    )
    return SignedTokens(
        keys,
        rules,
        issuer=broker.sasl_oauthbearer_expected_issuer,
        audiences=broker.sasl_oauthbearer_expected_audience,
    )


def _refuse_anybodys_tokens(prefix: str, broker: BrokerConfig) -> None:
    """As Apache Kafka 4.4 does: who issues tokens does so for others as well, and theirs would open the broker."""
    for what, is_there, is_allowed in (
        (
            "issuer",
            bool(broker.sasl_oauthbearer_expected_issuer),
            broker.sasl_oauthbearer_allow_unverified_issuer,
        ),
        (
            "audience",
            bool(broker.sasl_oauthbearer_expected_audience),
            broker.sasl_oauthbearer_allow_unverified_audience,
        ),
    ):
        if not is_there and not is_allowed:
            raise ConfigError(
                f"tokens of any {what} would do: expected {prefix}sasl.oauthbearer.expected.{what}, "
                f"or {prefix}sasl.oauthbearer.allow.unverified.{what}=true"
            )


def _unsecured_rules(config: MechanismConfig) -> ClaimRules:
    options = config.jaas.options if config.jaas is not None else {}
    skew = options.get("unsecuredValidatorAllowableClockSkewMs", "0")
    if not skew.isdecimal():
        raise ConfigError(f"{config.prefix}sasl.jaas.config: the clock skew is no number of milliseconds")
    return ClaimRules(
        options.get("unsecuredValidatorPrincipalClaimName", "sub"),
        options.get("unsecuredValidatorScopeClaimName", "scope"),
        options.get("unsecuredValidatorRequiredScope", "").split(),
        skew_s=int(skew) // 1000,
    )


def _plugged(plugin: Callable[..., Any], ask_plugin: Callable[..., Awaitable[object]]) -> TokenCheck:
    """A plug-in gives a user and when the token expires, in ms of the wall clock; anything else refuses the token."""

    async def check(token: str) -> ValidToken:
        match await ask_plugin(plugin, token):
            case (str() as user, int() as expires_ms) if user:
                return ValidToken(user, expires_ms)
            case _:
                raise TokenRefused("the plug-in does not take the token")

    return check

"""Whether a token of OAUTHBEARER is good, and whose it is (KIP-768): signed JWTs, and unsecured ones where asked for.

A signed one is checked by PyJWT (ADR 0037), which is imported when a listener asks for it. Which algorithms count is
said here and never by the token: `none`, and those with a shared secret, are not among them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from leaselog.broker.security.jwks import KeySet, NoSuchKey

__all__ = ["ClaimRules", "SignedTokens", "TokenCheck", "TokenRefused", "ValidToken", "unsecured_tokens"]

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
MAX_CLAIM = 1000


class TokenRefused(Exception):
    """``str()`` is for the log: it has nothing of the token. ``status`` is RFC 7628's, for the client."""

    def __init__(self, why: str, status: str = "invalid_token") -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class ValidToken:
    user: str
    #: by the wall clock
    expires_ms: int


TokenCheck: TypeAlias = Callable[[str], Awaitable[ValidToken]]


@dataclass(frozen=True, slots=True)
class ClaimRules:
    user_claim: str = "sub"
    scope_claim: str = "scope"
    required_scopes: Sequence[str] = ()
    skew_s: int = 30


class SignedTokens:
    """Tokens that somebody signed whose keys are known."""

    def __init__(
        self, keys: KeySet, rules: ClaimRules, *, issuer: str | None, audiences: Sequence[str]
    ) -> None:
        self._keys = keys
        self._rules = rules
        self._issuer = issuer
        self._audiences = list(audiences)

    async def __call__(self, token: str) -> ValidToken:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm = header.get("alg")
            if algorithm not in ALGORITHMS:
                raise TokenRefused("the token is signed by an algorithm that does not count")
            key = await self._keys.find(header.get("kid"), algorithm)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._audiences or None,
                issuer=self._issuer,
                leeway=self._rules.skew_s,
                options={"require": ["exp", "iat"], "verify_aud": bool(self._audiences)},
            )
        except NoSuchKey as missing:
            raise TokenRefused(str(missing)) from None
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as bad:
            # Its class, not its text: some quote what they read.
            raise TokenRefused(f"the token is not good: {type(bad).__name__}") from None
        return _valid(claims, self._rules)


def unsecured_tokens(rules: ClaimRules, wall_ms: Callable[[], int]) -> TokenCheck:
    """Takes what anybody may write: for tests, and only where it is asked for by name."""

    async def check(token: str) -> ValidToken:
        header, claims = _unsecured(token)
        if header.get("alg") != "none":
            raise TokenRefused("expected an unsecured token, whose algorithm is none")
        valid = _valid(claims, rules)
        now_ms = wall_ms()
        if valid.expires_ms + 1000 * rules.skew_s <= now_ms:
            raise TokenRefused("the token has expired")
        issued = claims.get("iat")
        if isinstance(issued, (int, float)) and 1000 * (issued - rules.skew_s) > now_ms:
            raise TokenRefused("the token is of a later time")
        return valid

    return check


def _unsecured(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    parts = token.split(".")
    try:
        if len(parts) != 3 or parts[2]:
            raise ValueError
        header, claims = (
            json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in parts[:2]
        )
    except (ValueError, RecursionError):
        raise TokenRefused("the token is no unsecured JWT") from None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        raise TokenRefused("the token is no unsecured JWT")
    return header, claims


def _valid(claims: dict[str, Any], rules: ClaimRules) -> ValidToken:
    user, expires = claims.get(rules.user_claim), claims.get("exp")
    if not isinstance(user, str) or not user.strip() or len(user) > MAX_CLAIM:
        raise TokenRefused(f"the token's claim {rules.user_claim} names nobody")
    if isinstance(expires, bool) or not isinstance(expires, (int, float)) or not 0 < expires < 1e11:
        raise TokenRefused("the token's claim exp is no time")
    found = claims.get(rules.scope_claim, ())
    scopes = found.split() if isinstance(found, str) else found if isinstance(found, list) else ()
    if not set(rules.required_scopes) <= {scope for scope in scopes if isinstance(scope, str)}:
        raise TokenRefused("the token lacks a scope", "insufficient_scope")
    return ValidToken(user, int(expires * 1000))

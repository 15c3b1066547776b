"""Tokens of OAUTHBEARER: which are good, whose they are, and how the keys they are signed with are come by."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from broker_in_a_box import run
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.security.exchanges import BearerExchange, LoggedIn, LoginFailed
from leaselog.broker.security.jwks import MIN_REFRESH_S, KeySet, NoSuchKey, read_document
from leaselog.broker.security.sasl_config import read_sasl
from leaselog.broker.security.token_config import UNSECURED, make_token_check
from leaselog.broker.security.tokens import (
    ClaimRules,
    SignedTokens,
    TokenRefused,
    ValidToken,
    unsecured_tokens,
)
from leaselog.sasl import oauthbearer

RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
STRANGERS_KEY = rsa.generate_private_key(65537, 2048)
URL = "https://issuer.example/keys"


def public(key: Any, key_id: str, **more: str) -> dict[str, Any]:
    kind = jwt.algorithms.RSAAlgorithm if key is not EC_KEY else jwt.algorithms.ECAlgorithm
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": key_id, **more}


KEYS = [public(RSA_KEY, "r"), public(EC_KEY, "e"), {"kty": "oct", "kid": "s", "k": "c2VjcmV0"}]


class Issuer:
    """A JWKS document that counts how often it is read."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.document = json.dumps({"keys": keys or KEYS}).encode()
        self.reads = 0
        self.now_s = 0.0
        self.keys = KeySet(URL, 3600, monotonic_s=lambda: self.now_s, read=self._read)

    def _read(self, url: str) -> bytes:
        assert url == URL
        self.reads += 1
        return self.document

    def tokens(self, **rules: Any) -> SignedTokens:
        return SignedTokens(
            self.keys, ClaimRules(**rules), issuer="https://issuer.example", audiences=["queues"]
        )


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    told = {
        "sub": "alice",
        "iss": "https://issuer.example",
        "aud": "queues",
        "iat": now,
        "exp": now + 60,
    } | more
    return {name: value for name, value in told.items() if value is not None}


def signed(key: Any = RSA_KEY, algorithm: str = "RS256", key_id: str | None = "r", **more: Any) -> str:
    return jwt.encode(claims(**more), key, algorithm, headers={} if key_id is None else {"kid": key_id})


def checked(token: str, **rules: Any) -> ValidToken:
    return run(_check(Issuer(), token, rules))


async def _check(issuer: Issuer, token: str, rules: dict[str, Any]) -> ValidToken:
    return await issuer.tokens(**rules)(token)


@pytest.mark.parametrize(
    ("key", "algorithm", "key_id"),
    [(RSA_KEY, "RS256", "r"), (RSA_KEY, "PS512", "r"), (EC_KEY, "ES256", "e"), (EC_KEY, "ES256", None)],
)
def test_a_token_that_the_issuer_signed_is_good_until_it_expires(
    key: Any, algorithm: str, key_id: str
) -> None:
    expires_s = int(time.time()) + 60
    token = signed(key, algorithm, key_id, exp=expires_s)
    assert checked(token) == ValidToken("alice", expires_s * 1000)


def test_the_user_may_be_in_another_claim() -> None:
    assert checked(signed(client_id="svc"), user_claim="client_id").user == "svc"


PUBLIC_TEXT = RSA_KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b.c",
        "e30.e30.",
        signed(STRANGERS_KEY),
        signed(EC_KEY, "ES256", "r"),
        signed(key_id="nobody's"),
        signed(exp=int(time.time()) - 60),
        signed(exp=None),
        signed(iat=None),
        signed(nbf=int(time.time()) + 600),
        signed(aud="others"),
        signed(aud=None),
        signed(iss="https://other.example"),
        signed(iss=None),
        signed(sub=None),
        signed(sub=""),
        signed("secret" * 10, "HS256", "s"),
        jwt.encode(claims(), None, "none", headers={"kid": "r"}),
        signed()[:-4] + "AAAA",
    ],
)
def test_any_other_token_is_refused_without_being_quoted(token: str) -> None:
    with pytest.raises(TokenRefused) as refused:
        checked(token)
    assert "alice" not in str(refused.value)
    assert refused.value.status == "invalid_token"


def test_the_public_key_is_no_shared_secret() -> None:
    """Whoever lets the token say the algorithm takes what anybody signs with what everybody knows."""
    head, body = (
        jwt.utils.base64url_encode(json.dumps(part).encode())
        for part in ({"alg": "HS256", "kid": "r", "typ": "JWT"}, claims())
    )
    signature = jwt.utils.base64url_encode(
        __import__("hmac").digest(PUBLIC_TEXT, head + b"." + body, "sha256")
    )
    with pytest.raises(TokenRefused, match="does not count"):
        checked(b".".join((head, body, signature)).decode())


@pytest.mark.parametrize(
    ("scope", "is_enough"), [("a queues b", True), (["queues"], True), ("queue", False), (7, False)]
)
def test_a_scope_that_is_asked_for_has_to_be_there(scope: Any, is_enough: bool) -> None:
    if is_enough:
        assert checked(signed(scope=scope), required_scopes=["queues"]).user == "alice"
    else:
        with pytest.raises(TokenRefused) as refused:
            checked(signed(scope=scope), required_scopes=["queues"])
        assert refused.value.status == "insufficient_scope"


def test_a_clock_that_is_off_a_little_does_no_harm() -> None:
    late = signed(exp=int(time.time()) - 10)
    assert checked(late, skew_s=30).user == "alice"
    with pytest.raises(TokenRefused):
        checked(late, skew_s=5)


# -- keys -----------------------------------------------------------------------------------------------------


def test_many_who_come_at_once_have_the_keys_read_once() -> None:
    async def story() -> None:
        issuer = Issuer()
        await asyncio.gather(*(issuer.keys.find("r", "RS256") for _ in range(20)))
        assert issuer.reads == 1

    run(story())


def test_a_key_that_is_not_known_has_them_read_again_and_not_more_often_than_that() -> None:
    async def story() -> None:
        issuer = Issuer(KEYS[1])
        for _ in range(5):
            with pytest.raises(NoSuchKey):
                await issuer.keys.find("r", "RS256")
        assert issuer.reads == 1
        issuer.document = json.dumps({"keys": KEYS}).encode()
        issuer.now_s = MIN_REFRESH_S
        assert await issuer.keys.find("r", "RS256") is not None
        assert issuer.reads == 2

    run(story())


def test_keys_are_read_again_after_a_while_and_stay_if_that_fails() -> None:
    async def story() -> None:
        issuer = Issuer()
        await issuer.keys.find("r", "RS256")
        issuer.now_s, issuer.document = 3600, b"<html>"
        assert await issuer.keys.find("r", "RS256") is not None
        await asyncio.sleep(0)
        assert await issuer.keys.find("r", "RS256") is not None
        assert issuer.reads == 2

    run(story())


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys": 7}', b'{"keys": [7]}', b'{"keys": [{"kty": "RSA"}]}']
)
def test_a_document_without_keys_is_one_of_no_keys(document: bytes) -> None:
    async def story() -> None:
        issuer = Issuer()
        issuer.document = document
        with pytest.raises(NoSuchKey):
            await issuer.keys.find("r", "RS256")

    run(story())


def test_a_key_of_one_algorithm_is_not_used_with_another() -> None:
    async def story() -> None:
        issuer = Issuer(public(RSA_KEY, "r", alg="RS256"))
        assert await issuer.keys.find("r", "RS256") is not None
        with pytest.raises(NoSuchKey):
            await issuer.keys.find("r", "PS256")

    run(story())


def test_a_document_is_read_from_a_file_and_not_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(b"{}")
    assert read_document((tmp_path / "keys.json").as_uri()) == b"{}"
    with pytest.raises(ValueError, match="expected file, http or https"):
        read_document("ftp://issuer.example/keys")
    with pytest.raises(OSError, match="No such file"):
        read_document((tmp_path / "none.json").as_uri())


# -- the exchange ---------------------------------------------------------------------------------------------


def test_a_token_that_is_refused_is_told_why_and_then_the_login_fails() -> None:
    async def refuse(token: str) -> ValidToken:
        raise TokenRefused("of a stranger")

    async def story() -> None:
        exchange = BearerExchange(refuse)
        assert await exchange.hear(oauthbearer.message("t")) == b'{"status":"invalid_token"}'
        with pytest.raises(LoginFailed, match="of a stranger") as failed:
            await exchange.hear(b"\x01")
        assert failed.value.told == '{"status":"invalid_token"}'

    run(story())


def test_a_login_lasts_as_long_as_its_token_and_is_of_its_user_alone() -> None:
    async def take(token: str) -> ValidToken:
        return ValidToken("alice", 1234)

    async def story() -> None:
        assert await BearerExchange(take).hear(oauthbearer.message("t")) == LoggedIn("alice", b"", 1234)
        with pytest.raises(LoginFailed, match="somebody else"):
            await BearerExchange(take).hear(b"n,a=bob,\x01auth=Bearer t\x01\x01")

    run(story())


# -- unsecured tokens, and the config -------------------------------------------------------------------------


def unsecured(**told: Any) -> str:
    return jwt.encode(told, None, "none")


def test_an_unsecured_token_is_good_where_it_is_asked_for_by_name() -> None:
    check = unsecured_tokens(ClaimRules(required_scopes=["q"], skew_s=0), lambda: 100_000)
    assert run(_ask(check, unsecured(sub="alice", exp=101, scope="q"))) == ValidToken("alice", 101_000)
    for bad in (
        unsecured(sub="alice", exp=100, scope="q"),
        unsecured(sub="alice", exp=101, iat=102, scope="q"),
        unsecured(sub="alice", exp=101),
        unsecured(exp=101, scope="q"),
        signed(),
        "a.b.",
        "W10.W10.",
    ):
        with pytest.raises(TokenRefused):
            run(_ask(check, bad))


async def _ask(check: Any, token: str) -> ValidToken:
    return await check(token)


def taken(token: str) -> tuple[str, int] | None:
    return ("alice", 5) if token == "good" else None


SETTINGS = {
    "listeners": "IN://127.0.0.1:0",
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.jwks.endpoint.url": URL,
    "sasl.oauthbearer.expected.issuer": "i",
    "sasl.oauthbearer.expected.audience": "a",
}
HANDLER = "listener.name.in.oauthbearer.sasl.server.callback.handler.class"


def made(**settings: str | None) -> Any:
    texts = {name.replace("_", "."): value for name, value in settings.items()}
    kept = {name: value for name, value in (SETTINGS | texts).items() if value is not None}
    config = read_sasl(BrokerConfig.from_originals(kept), "IN").mechanisms["OAUTHBEARER"]

    async def ask(plugin: Any, token: str) -> object:
        return plugin(token)

    return make_token_check(config, lambda: 0, lambda: 0.0, ask)


def test_a_listener_checks_signed_tokens_unless_another_way_is_named() -> None:
    assert isinstance(made(), SignedTokens)
    assert run(_ask(made(**{HANDLER: UNSECURED}), unsecured(sub="a", exp=9))) == ValidToken("a", 9000)
    plugged = made(**{HANDLER: f"{__name__}:taken"})
    assert run(_ask(plugged, "good")) == ValidToken("alice", 5)
    with pytest.raises(TokenRefused):
        run(_ask(plugged, "bad"))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sasl.oauthbearer.jwks.endpoint.url": None}, "nobody could check tokens"),
        ({"sasl.oauthbearer.expected.issuer": None}, "tokens of any issuer would do"),
        ({"sasl.oauthbearer.expected.audience": None}, "tokens of any audience would do"),
        ({HANDLER: "com.example.Handler"}, "expected a Python path"),
    ],
)
def test_a_listener_that_would_take_anybodys_tokens_refuses_the_start(
    settings: dict[str, str | None], why: str
) -> None:
    with pytest.raises(ConfigError, match=why):
        made(**settings)

"""SASL's messages, as both sides write and read them."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from leaselog.sasl import jaas, oauthbearer, plain
from leaselog.sasl.errors import MalformedMessage, SaslError, WrongCredentials
from leaselog.sasl.scram import (
    MECHANISMS,
    SCRAM_SHA_256,
    SCRAM_SHA_512,
    Credential,
    Mechanism,
    ScramClient,
    ScramServer,
    credential,
)

SALT = b"of the sea and more"
BOTH = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda one: one.name)


def stored(mechanism: Mechanism, password: str) -> Credential:
    return credential(mechanism, password, SALT, 4096)


# -- SCRAM ----------------------------------------------------------------------------------------------------


def test_the_exchange_of_rfc_7677_is_the_one_that_both_sides_speak() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    client = ScramClient(SCRAM_SHA_256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    server = ScramServer(SCRAM_SHA_256, "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert server.hear(client.first()).user == "user"
    challenge = server.challenge(credential(SCRAM_SHA_256, "pencil", salt, 4096))
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert challenge == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
    proof = client.final(challenge)
    assert proof == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    last_word = server.prove(proof)
    assert last_word == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    client.check(last_word)


@BOTH
def test_a_wrong_password_is_refused(mechanism: Mechanism) -> None:
    client, server = ScramClient(mechanism, "alice", "wrong", "n1"), ScramServer(mechanism, "n2")
    server.hear(client.first())
    proof = client.final(server.challenge(stored(mechanism, "right")))
    with pytest.raises(WrongCredentials):
        server.prove(proof)


@BOTH
def test_a_server_that_does_not_know_the_password_is_refused_by_the_client(mechanism: Mechanism) -> None:
    client, server = ScramClient(mechanism, "alice", "right", "n1"), ScramServer(mechanism, "n2")
    server.hear(client.first())
    client.final(server.challenge(stored(mechanism, "right")))
    with pytest.raises(WrongCredentials, match="does not prove"):
        client.check(b"v=" + base64.b64encode(bytes(mechanism.digest_bytes)))


def test_no_server_gets_a_signature_checked_before_it_asked_for_a_proof() -> None:
    with pytest.raises(WrongCredentials):
        ScramClient(SCRAM_SHA_256, "alice", "right", "n1").check(b"v=")


def test_a_delegation_token_says_that_it_is_one() -> None:
    client = ScramClient(SCRAM_SHA_512, "id", "hmac", "n1", is_delegation_token=True)
    assert client.first() == b"n,,n=id,r=n1,tokenauth=true"
    assert ScramServer(SCRAM_SHA_512, "n2").hear(client.first()).is_delegation_token


def test_a_client_may_say_as_whom_it_wants_to_act() -> None:
    heard = ScramServer(SCRAM_SHA_256, "n2").hear(b"n,a=b=2Cob,n=al=3Dice,r=n1")
    assert (heard.user, heard.authorization_id) == ("al=ice", "b,ob")


@pytest.mark.parametrize("iterations", ["1", "4095", "1000001", "99999999999999", "-1", "4096.0", "", "٤٠٩٦"])
def test_a_server_may_ask_for_neither_too_few_iterations_nor_too_many(iterations: str) -> None:
    client = ScramClient(SCRAM_SHA_256, "alice", "right", "n1")
    with pytest.raises(MalformedMessage, match="iterations"):
        client.final(f"r=n1n2,s=c2FsdA==,i={iterations}".encode())


@pytest.mark.parametrize("nonce", ["n1", "other", ""])
def test_a_client_refuses_a_nonce_that_does_not_go_on_from_its_own(nonce: str) -> None:
    with pytest.raises(WrongCredentials, match="nonce"):
        ScramClient(SCRAM_SHA_256, "alice", "right", "n1").final(f"r={nonce},s=c2FsdA==,i=4096".encode())


def test_a_server_that_says_what_is_wrong_is_quoted() -> None:
    with pytest.raises(WrongCredentials, match="unknown-user"):
        ScramClient(SCRAM_SHA_256, "alice", "right", "n1").final(b"e=unknown-user")


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"n",
        b"y,,n=a,r=n",
        b"p=tls-unique,,n=a,r=n",
        b"n,,n=,r=n",
        b"n,,n=a,r=",
        b"n,,n=a",
        b"n,,m=reserved,n=a,r=n",
        b"n,,n=a=,r=n",
        b"n,,n=a=4E,r=n",
        b"n,,n=a,r=with space",
        b"n,,n=a,r=n,token",
        b"n,,n=\xff,r=n",
        b"n,,n=a\0b,r=n",
    ],
)
def test_a_first_message_that_cannot_be_understood_is_refused(first: bytes) -> None:
    with pytest.raises(MalformedMessage):
        ScramServer(SCRAM_SHA_256, "n2").hear(first)


@pytest.mark.parametrize(
    "final",
    [
        b"",
        b"c=biws",
        b"c=biws,r=n1n2",
        b"c=biws,r=n1n2,p=",
        b"c=biws,r=n1n2,p=?",
        b"c=eSws,r=n1n2,p=c2FsdA==",
    ],
)
def test_a_final_message_that_cannot_be_understood_is_refused(final: bytes) -> None:
    server = ScramServer(SCRAM_SHA_256, "n2")
    server.hear(b"n,,n=a,r=n1")
    server.challenge(stored(SCRAM_SHA_256, "right"))
    with pytest.raises(MalformedMessage):
        server.prove(final)


def test_a_proof_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(SaslError):
        ScramServer(SCRAM_SHA_256, "n2").prove(b"c=biws,r=n1n2,p=c2FsdA==")


def test_a_proof_is_of_one_exchange_alone() -> None:
    """What somebody overheard opens nothing: the server's nonce is another the next time."""
    client, heard = ScramClient(SCRAM_SHA_256, "alice", "right", "n1"), ScramServer(SCRAM_SHA_256, "n2")
    heard.hear(client.first())
    proof = client.final(heard.challenge(stored(SCRAM_SHA_256, "right")))
    another = ScramServer(SCRAM_SHA_256, "n3")
    another.hear(client.first())
    another.challenge(stored(SCRAM_SHA_256, "right"))
    with pytest.raises(WrongCredentials):
        another.prove(proof)


def test_what_is_stored_shows_neither_the_password_nor_the_keys() -> None:
    kept = stored(SCRAM_SHA_256, "right")
    assert kept.stored_key != kept.server_key
    assert repr(kept) == "Credential(iterations=4096)"
    assert hashlib.sha256(b"right").digest() not in (kept.stored_key, kept.server_key)


# -- PLAIN ----------------------------------------------------------------------------------------------------


def test_plain_says_who_and_what_and_may_say_as_whom() -> None:
    assert plain.message("alice", "ünlock") == b"\0alice\0\xc3\xbcnlock"
    login = plain.read(b"bob\0alice\0secret")
    assert (login.user, login.password, login.authorization_id) == ("alice", "secret", "bob")
    assert "secret" not in repr(login)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "expected 3 tokens, got 1"),
        (b"\0a", "expected 3 tokens, got 2"),
        (b"\0a\0b\0c", "expected 3 tokens, got 4"),
        (b"\0\0b", "username not specified"),
        (b"\0a\0", "password not specified"),
        (b"\0\xff\0b", "UTF-8"),
    ],
)
def test_a_message_of_plain_that_cannot_be_understood_is_refused(said: bytes, why: str) -> None:
    with pytest.raises(MalformedMessage, match=why):
        plain.read(said)


def test_a_password_is_right_or_wrong_and_that_of_nobody_is_wrong() -> None:
    assert plain.are_same("secret", "secret")
    assert not plain.are_same("secret", "secrets")
    assert not plain.are_same(None, "")
    assert not plain.are_same(None, "secret")


@pytest.mark.parametrize(("user", "password"), [("", "p"), ("u", ""), ("u\0", "p"), ("u", "p\0q")])
def test_a_client_does_not_say_what_plain_cannot_say(user: str, password: str) -> None:
    with pytest.raises(ValueError, match="PLAIN"):
        plain.message(user, password)


# -- OAUTHBEARER ----------------------------------------------------------------------------------------------


def test_a_token_goes_with_its_extensions() -> None:
    said = oauthbearer.message("abc.def.ghi", {"logicalCluster": "lkc-1", "traceId": "123"})
    assert said == b"n,,\x01auth=Bearer abc.def.ghi\x01logicalCluster=lkc-1\x01traceId=123\x01\x01"
    login = oauthbearer.read(said)
    assert (login.token, login.extensions) == ("abc.def.ghi", {"logicalCluster": "lkc-1", "traceId": "123"})
    assert "abc" not in repr(login)


def test_the_scheme_is_read_in_any_case() -> None:
    assert oauthbearer.read(b"n,a=me,\x01auth=bearer  t\x01\x01").authorization_id == "me"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Bearer t\x01",
        b"n,,\x01auth=Basic t\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=Bearer t\x01auth=Bearer u\x01\x01",
        b"n,,\x01k=v\x01\x01",
        b"n,,\x01auth=Bearer t\x01k1=v\x01\x01",
        b"y,,\x01auth=Bearer t\x01\x01",
        b"n,,\x01auth=Bearer \xff\x01\x01",
    ],
)
def test_a_first_message_of_oauthbearer_that_cannot_be_understood_is_refused(said: bytes) -> None:
    with pytest.raises(MalformedMessage):
        oauthbearer.read(said)


@pytest.mark.parametrize(
    ("token", "extensions"),
    [("", {}), ("a b", {}), ("t", {"auth": "x"}), ("t", {"k-": "x"}), ("t", {"k": "\x01"})],
)
def test_a_client_does_not_say_what_oauthbearer_cannot_say(token: str, extensions: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        oauthbearer.message(token, extensions)


def test_a_refusal_is_json_and_the_client_says_what_it_is() -> None:
    refusal = oauthbearer.refusal("insufficient_scope", "queues")
    assert json.loads(refusal) == {"status": "insufficient_scope", "scope": "queues"}
    with pytest.raises(WrongCredentials, match="insufficient_scope, it asks for the scope queues"):
        oauthbearer.check(refusal)
    oauthbearer.check(b"")


@pytest.mark.parametrize("said", [b"{", b"[]", b"\xff", b"[" * 100_000])
def test_an_answer_to_a_token_that_cannot_be_understood_is_refused(said: bytes) -> None:
    with pytest.raises(MalformedMessage):
        oauthbearer.check(said)


# -- JAAS -----------------------------------------------------------------------------------------------------


def test_a_jaas_string_is_a_module_and_its_options() -> None:
    read = jaas.read(f"""{jaas.SCRAM_MODULE} required
        username="alice" // who
        /* and
           what */ password='it"s a \\'secret\\'; \\u003d'
        tokenauth=true;
    """)
    assert read.module == jaas.SCRAM_MODULE
    assert read.options == {"username": "alice", "password": "it\"s a 'secret'; u003d", "tokenauth": "true"}
    assert "secret" not in repr(read)


def test_the_users_of_plain_are_options() -> None:
    text = f'{jaas.PLAIN_MODULE} required username="admin" user_admin="a-1" user_alice="\\101\\t\\"" user_="nobody";'
    assert jaas.read(text).users() == {"admin": "a-1", "alice": 'A\t"'}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("  // nothing\n", "empty"),
        (";", "not specified"),
        ("M required a=secret", "semicolon"),
        ("M;", "control flag"),
        ("M always a=secret;", "control flag"),
        ("M required; N required;", "contains 2 login modules, should be 1"),
        ("M required secret;", "Value not specified"),
        ("M required a=;", "Value not specified"),
        ("M required a==secret;", "Value not specified"),
        ("M required =secret a;", "an option's name"),
        ('M required a="secret;', "from character 14"),
        ("M required a=sec,ret;", "from character 17"),
    ],
)
def test_a_jaas_string_that_cannot_be_read_is_refused_without_a_secret_in_the_text(
    text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        jaas.read(text)
    assert "secret" not in str(refused.value)

"""Whoever knows the password gets in; whatever else a peer says is refused in one way, and nothing more."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaselog.sasl import jaas, oauthbearer, plain
from leaselog.sasl.errors import SaslError, WrongCredentials
from leaselog.sasl.scram import (
    MAX_ITERATIONS,
    MECHANISMS,
    MIN_ITERATIONS,
    ScramClient,
    ScramServer,
    credential,
)

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=40)
NONCES = st.text("abcXYZ019!+/=%", min_size=1, max_size=30)
SCRAM = st.sampled_from(list(MECHANISMS.values()))


@settings(max_examples=60, deadline=None)
@given(
    mechanism=SCRAM,
    user=TEXT,
    password=TEXT,
    salt=st.binary(min_size=1, max_size=40),
    iterations=st.sampled_from([MIN_ITERATIONS, MIN_ITERATIONS + 1, MAX_ITERATIONS]),
    nonces=st.tuples(NONCES, NONCES),
    is_token=st.booleans(),
)
def test_client_and_server_agree_if_the_password_is_the_same(
    mechanism, user, password, salt, iterations, nonces, is_token
) -> None:
    client = ScramClient(mechanism, user, password, nonces[0], is_delegation_token=is_token)
    server = ScramServer(mechanism, nonces[1])
    heard = server.hear(client.first())
    assert (heard.user, heard.is_delegation_token) == (user, is_token)
    client.check(
        server.prove(client.final(server.challenge(credential(mechanism, password, salt, iterations))))
    )


@settings(max_examples=40, deadline=None)
@given(mechanism=SCRAM, passwords=st.tuples(TEXT, TEXT).filter(lambda two: two[0] != two[1]))
def test_client_and_server_do_not_agree_if_it_is_another(mechanism, passwords) -> None:
    client, server = ScramClient(mechanism, "u", passwords[0], "a"), ScramServer(mechanism, "b")
    server.hear(client.first())
    challenge = server.challenge(credential(mechanism, passwords[1], b"salt", MIN_ITERATIONS))
    with pytest.raises(WrongCredentials):
        server.prove(client.final(challenge))


@settings(deadline=None)
@given(
    mechanism=SCRAM,
    said=st.lists(st.binary(max_size=60) | st.text("nracps=,n1 3D2C+/", max_size=60), max_size=3),
)
def test_whatever_a_client_says_a_server_refuses_it_in_one_way(mechanism, said) -> None:
    stored = credential(mechanism, "p", b"salt", 1)
    for message in (one.encode() if isinstance(one, str) else one for one in said):
        server = ScramServer(mechanism, "n2")
        with contextlib.suppress(SaslError):
            server.hear(message)
        with contextlib.suppress(SaslError):
            server.challenge(stored)
            server.prove(message)
        with contextlib.suppress(SaslError):
            plain.read(message)
        with contextlib.suppress(SaslError):
            oauthbearer.read(message)


@given(mechanism=SCRAM, said=st.binary(max_size=60) | st.text("rsive=,n1 +/", max_size=60))
def test_whatever_a_server_says_a_client_refuses_it_in_one_way(mechanism, said) -> None:
    message = said.encode() if isinstance(said, str) else said
    client = ScramClient(mechanism, "u", "p", "n1")
    with contextlib.suppress(SaslError):
        client.final(message)
    with contextlib.suppress(SaslError):
        client.check(message)
    with contextlib.suppress(SaslError):
        oauthbearer.check(message)


@given(
    user=TEXT,
    password=TEXT,
    other=st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))),
)
def test_what_plain_writes_it_reads(user, password, other) -> None:
    assert plain.read(plain.message(user, password, other)) == plain.PlainLogin(user, password, other)


@given(
    token=st.from_regex(r"\A[-_~+/.A-Za-z0-9]+=*\Z"),
    extensions=st.dictionaries(
        st.from_regex(r"\A[A-Za-z]{1,9}\Z").filter(lambda name: name != "auth"),
        st.from_regex("\\A[\\x21-\\x7e \t\r\n]{1,20}\\Z"),
        max_size=3,
    ),
)
def test_what_oauthbearer_writes_it_reads(token, extensions) -> None:
    login = oauthbearer.read(oauthbearer.message(token, extensions))
    assert (login.token, login.extensions) == (token, extensions)


@given(
    options=st.dictionaries(
        st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_.$-]{0,20}\Z"), st.text(max_size=40), max_size=4
    )
)
def test_what_a_jaas_entry_writes_it_reads(options) -> None:
    assert jaas.read(jaas.entry(jaas.PLAIN_MODULE, options)) == jaas.JaasEntry(jaas.PLAIN_MODULE, options)


@given(text=st.text("M required=\"';\\/*a1 \n", max_size=60))
def test_whatever_a_jaas_string_is_it_is_refused_in_one_way(text) -> None:
    with contextlib.suppress(ValueError):
        jaas.read(text)

"""What a command says where a right is missing, or somebody is not let in."""

from __future__ import annotations

from leaselog.cli.client_properties import ClientProperties
from leaselog.cli.refused import one_line
from leaselog.client import BrokerError, ClientError
from leaselog.client.config_values import ConfigValues
from leaselog.client.security.config import PLAINTEXT, SecurityConfig
from leaselog.model import ErrorCode

ALICE = SecurityConfig.of(
    ConfigValues(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "open sesame",
        }
    )
)


def test_a_missing_right_names_who_lacks_it_and_of_what() -> None:
    refused = BrokerError(ErrorCode.GROUP_AUTHORIZATION_FAILED, "Not authorized\nto access group: packing.")
    assert one_line(refused, ALICE) == (
        "GROUP_AUTHORIZATION_FAILED: Not authorized to access group: packing: User:alice has no right to do this to the"
        " group; an administrator sees the rights with leaselog acls --list --principal User:alice"
    )
    assert "this client's user has no right" in one_line(refused, PLAINTEXT), "a certificate may name it"


def test_what_else_fails_is_said_as_it_is() -> None:
    assert (
        one_line(BrokerError(ErrorCode.INVALID_TOPIC_EXCEPTION, "no"), ALICE) == "INVALID_TOPIC_EXCEPTION: no"
    )
    assert one_line(ClientError("gone"), ALICE) == "gone"


def test_no_security_config_is_without_effect() -> None:
    properties = ClientProperties({"ssl.truststore.type": "PEM", "sasl.mechanism": "PLAIN", "nonsense": "x"})
    assert properties.without_effect() == ["nonsense"]


def test_what_the_client_knows_of_the_right_is_not_said_twice() -> None:
    refused = BrokerError(
        ErrorCode.TOPIC_AUTHORIZATION_FAILED, "User:alice may not WRITE topic 'a': there is no ACL"
    )
    line = one_line(refused, ALICE)
    assert "has no right" not in line
    assert line.endswith(
        "; an administrator sees the rights with leaselog acls --list --principal User:alice"
    )

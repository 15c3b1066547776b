"""What a listener's clients are asked for, and what they are shown: Kafka's keys for TLS and principals.

Each may be set for one listener alone, as `listener.name.<lower case>.<key>`: `listeners.settings_of` is what holds
there.
"""

from __future__ import annotations

from typing import ClassVar

from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.views import ClassName, Flag, OptionalSecret, OptionalText, Text, Texts, View

__all__ = ["SecurityConfig"]


class SecurityConfig(View):
    table = BROKER
    documents: ClassVar[dict[str, str]] = {}
    planned: ClassVar[set[str]] = set()

    __slots__ = ()

    ssl_keystore_type = Text(
        "PEM or PKCS12. A JKS store refuses the start with the command that makes PKCS12 of it; the default, JKS, "
        "also takes PKCS12, as with Java."
    )
    ssl_keystore_location = OptionalText("The file with the broker's key and certificates.")
    ssl_keystore_password = OptionalSecret("The password of a PKCS12 store.")
    ssl_keystore_key = OptionalSecret("The broker's private key in PEM, in place of a file.")
    ssl_keystore_certificate_chain = OptionalSecret(
        "The broker's certificates in PEM, its own first, in place of a file."
    )
    ssl_key_password = OptionalSecret("The password of a private key in PEM.")
    ssl_truststore_type = Text("PEM or PKCS12, as for ssl.keystore.type.")
    ssl_truststore_location = OptionalText("The file with the certificates that clients' have to come from.")
    ssl_truststore_password = OptionalSecret("The password of a PKCS12 store.")
    ssl_truststore_certificates = OptionalSecret("The certificates in PEM, in place of a file.")
    ssl_client_auth = Text(
        "Whether clients show a certificate: required, requested or none. On a listener with SASL only what is set "
        "for that listener by name counts."
    )
    ssl_enabled_protocols = Texts("TLSv1.2 and TLSv1.3; others refuse the start.")
    ssl_protocol = Text("The newest version of TLS to speak: TLSv1.2, TLSv1.3 or TLS.")
    ssl_cipher_suites = Texts(
        "Cipher suites by Java's names or OpenSSL's. Without one of TLS 1.3 there is no TLS 1.3; some of the three of "
        "TLS 1.3 without the others cannot be had, and refuse the start."
    )
    ssl_principal_mapping_rules = Text(
        "From the name in a client's certificate to the name of its principal: DEFAULT or RULE:pattern/replacement/ "
        "with L or U, the first that matches."
    )
    ssl_allow_dn_changes = Flag(
        "A new certificate of a running broker may have another name than the one before."
    )
    ssl_allow_san_changes = Flag(
        "A new certificate of a running broker may lack alternative names that the one before had."
    )
    principal_builder_class = ClassName(
        "Who makes principals: module:callable, given what is known of a client "
        "(leaselog.broker.security.PrincipalContext); or Kafka's own."
    )

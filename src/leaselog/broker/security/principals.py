"""Who a client is: from its certificate or SASL name to its principal, by Kafka's rules or a callable of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from leaselog.broker.config.listeners import SecurityProtocol
from leaselog.broker.config.security_config import SecurityConfig
from leaselog.broker.security.mapping_rules import MappingRules
from leaselog.broker.security.plugins import load_plugin
from leaselog.model import ANONYMOUS, Principal

__all__ = ["PrincipalBuilder", "PrincipalContext", "make_principal_builder"]

KEY = "principal.builder.class"
_OF_KAFKA = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
_USER = "User"


@dataclass(frozen=True, slots=True)
class PrincipalContext:
    """All that is known of a client when its principal is made."""

    listener: str
    protocol: SecurityProtocol
    host: str
    #: the name in its certificate, as Java writes it: ``CN=alice,O=Acme``; None without a certificate
    subject: str | None = None
    #: its certificate, DER
    certificate: bytes | None = None
    #: whom it authenticated as by SASL, and how
    sasl_name: str | None = None
    mechanism: str | None = None


#: what it raises closes the connection, with a line in the log
PrincipalBuilder: TypeAlias = "Callable[[PrincipalContext], Principal]"


def make_principal_builder(settings: SecurityConfig) -> PrincipalBuilder:
    """Who makes the principals of a listener with these settings. ConfigError if that cannot be found."""
    named = settings.principal_builder_class
    rules = MappingRules(settings.ssl_principal_mapping_rules)
    if named == _OF_KAFKA:
        return lambda client: _default_principal(client, rules)
    build = load_plugin(KEY, named)

    def checked(client: PrincipalContext) -> Principal:
        made = build(client)
        if not isinstance(made, Principal):
            raise TypeError(f"{named} returned {type(made).__name__}, expected leaselog.model.Principal")
        return made

    return checked


def _default_principal(client: PrincipalContext, rules: MappingRules) -> Principal:
    if client.protocol.needs_sasl:
        return ANONYMOUS if client.sasl_name is None else Principal(_USER, client.sasl_name)
    if client.protocol.has_tls and client.subject is not None:
        return Principal(_USER, rules.name_of(client.subject))
    return ANONYMOUS

"""A broker with a listener for each way of being let in: TLS of several kinds, SASL with and without TLS.

On Apache Kafka and on leaselog by the same properties. Everybody who comes in through the plain listener may do
anything, so that a test can give rights and take them away.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from interop.broker_process import BrokerProcess, free_port, is_kafka
from interop.certificates import Authority

#: by user; whoever has `nobody` in the name has no rights but those that a test gives
PASSWORDS = {
    "alice": "alice's p@ss-word",
    "nobody-1": "secret of nobody-1",
    "nobody-2": "secret of nobody-2",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_SECURITY = "org.apache.kafka.common.security"
_OURS = "DNS:localhost,IP:127.0.0.1"
#: leaselog takes tokens that nobody signed only where that is asked for by name
_UNSECURED = f"{_SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
#: what each listener speaks
LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "CERTIFIED": "SSL",
    "ELSEWHERE": "SSL",
    "EXPIRED": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "SCRAM_ONLY": "SASL_PLAINTEXT",
    "SHORT": "SASL_PLAINTEXT",
}
#: how long a session on the listener SHORT may be
SHORT_MS = 2_000


class LockedBroker:
    def __init__(self, home: Path) -> None:
        self.home = home
        self.authority = Authority(home / "authority")
        self.stranger = Authority(home / "stranger", "another authority")
        self.certificate = self.authority.issue("alice")
        self.ports = {name: free_port() for name in LISTENERS}
        self.process = BrokerProcess(home / "broker", self._properties(), env=_environment())
        self.process.address = self.address("PLAINTEXT")

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def tls(self, **more: str) -> dict[str, str]:
        """For a client: to believe the broker's certificate."""
        return {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(self.authority.certificate),
            **_dotted(more),
        }

    def sasl(self, mechanism: str, user: str = "alice", *, tls: bool = False, **more: str) -> dict[str, str]:
        """For a client: to log in."""
        who = {"sasl.mechanism": mechanism}
        if mechanism == "OAUTHBEARER":
            module = f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule"
            who["sasl.jaas.config"] = f'{module} required unsecuredLoginStringClaim_sub="{user}";'
        else:
            who.update({"sasl.username": user, "sasl.password": PASSWORDS[user]})
        base = (
            {**self.tls(), "security.protocol": "SASL_SSL"}
            if tls
            else {"security.protocol": "SASL_PLAINTEXT"}
        )
        return {**base, **who, **_dotted(more)}

    def _properties(self) -> Mapping[str, str]:
        authority = self.authority
        stores = {
            "listener.name.elsewhere": authority.issue("elsewhere", hosts="DNS:broker.elsewhere.example"),
            "listener.name.expired": authority.issue("expired", hosts=_OURS, days=-1),
        }
        users = " ".join(f'user_{user}="{password}"' for user, password in PASSWORDS.items())
        plain = f"{_SECURITY}.plain.PlainLoginModule required {users};"
        scram = f"{_SECURITY}.scram.ScramLoginModule required;"
        bearer = (
            f'{_SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        )
        properties = {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
            "listener.security.protocol.map": ",".join(
                f"{name}:{speaks}" for name, speaks in LISTENERS.items()
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(authority.issue("broker", hosts=_OURS)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.certificate),
            "listener.name.ssl.ssl.client.auth": "requested",
            "listener.name.certified.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]*),.*$/$1/",
            "listener.name.scram_only.sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.scram_only.scram-sha-256.sasl.jaas.config": scram,
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice",
        }
        for prefix, path in stores.items():
            properties |= {f"{prefix}.ssl.keystore.type": "PEM", f"{prefix}.ssl.keystore.location": str(path)}
        for listener in ("sasl_plaintext", "sasl_ssl", "short"):
            prefix = f"listener.name.{listener}"
            properties |= {
                f"{prefix}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
                f"{prefix}.plain.sasl.jaas.config": plain,
                f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
                f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
                f"{prefix}.oauthbearer.sasl.jaas.config": bearer,
                **(
                    {}
                    if is_kafka()
                    else {f"{prefix}.oauthbearer.sasl.server.callback.handler.class": _UNSECURED}
                ),
            }
            for mechanism in MECHANISMS if listener == "short" else ():
                properties[f"{prefix}.{mechanism.lower()}.connections.max.reauth.ms"] = str(SHORT_MS)
        return properties


def _environment() -> dict[str, str]:
    """Users of SCRAM are there before the first client: this is how the start programs are told of them."""
    scram = "\n".join(
        f"SCRAM-SHA-{size}=[name={user},password={password}]"
        for user, password in PASSWORDS.items()
        for size in (256, 512)
    )
    if not is_kafka():
        return {"LEASELOG_ADD_SCRAM": scram}
    # who speaks for the controller once there is an authorizer
    classes = os.environ.get("KAFKA_CLASSES") or f"{os.environ['KAFKA_LIBS']}/../classes"
    return {"BROKER_SCRAM": scram, "KAFKA_CLASSES": classes}


def _dotted(more: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in more.items()}

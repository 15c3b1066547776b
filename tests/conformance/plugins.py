"""What the classes do that some suites bring along for a broker that is a JVM (README.md has the table)."""

from __future__ import annotations

from typing import Any

from leaselog.model import Principal

PASSWORDS = {
    "plain-user": "user1-password",
    "plain-user2": "plain-user2-secret",
    "plain-admin": "broker-password",
}
UNAUTHORIZED = Principal("User", "Unauthorized")


def principal_by_listener(client: Any) -> Principal:
    return Principal("User", {"BROKER": "broker", "CLIENT": "client"}.get(client.listener, "ANONYMOUS"))


def client_principal(client: Any) -> Principal:
    return Principal("User", "client")


def server_principal(client: Any) -> Principal:
    return Principal("User", "server")


def principal_by_certificate(client: Any) -> Principal:
    """The name is `O=A <o>,CN=<cn>`."""
    subject = client.subject or ""
    is_server = "O=A server" in subject or "CN=super-user" in subject
    return Principal("User", "server" if is_server else subject)


def principal_by_login(client: Any) -> Principal:
    return Principal(
        "User", {"plain-admin": "admin", "plain-user": "user"}.get(client.sasl_name, "ANONYMOUS")
    )


def is_right_password(user: str, password: str) -> bool:
    return PASSWORDS.get(user) == password


def anonymous_principal(client: Any) -> Principal:
    return Principal("User", "ANONYMOUS")


def unauthorized_principal(client: Any) -> Principal:
    return UNAUTHORIZED


class _AllButOne:
    def allows(self, principal: Principal, host: str, operation: Any, resource_type: Any, name: str) -> bool:
        # AlterUserScramCredentials asks for ALTER of the cluster, DescribeUserScramCredentials for DESCRIBE
        return principal != UNAUTHORIZED or operation.name != "ALTER"


def authorizer(settings: Any) -> _AllButOne:
    return _AllButOne()

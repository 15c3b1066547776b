"""What a command says of an error of the client, in one line; of a missing right also who lacks it."""

from __future__ import annotations

from leaselog.client import BrokerError
from leaselog.client.security.config import SecurityConfig
from leaselog.model import ErrorCode

__all__ = ["one_line"]

#: what the missing right would be for
_RESOURCES = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "group",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "cluster",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "transactional id",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "delegation token",
}


def one_line(failed: BaseException, security: SecurityConfig) -> str:
    words = " ".join(str(failed).split())
    if not isinstance(failed, BrokerError) or failed.code not in _RESOURCES:
        return words
    who = f"User:{security.user}" if security.user else "this client's user"
    whose = f"User:{security.user}" if security.user else "User:NAME"
    return (
        f"{words.rstrip('.')}: {who} has no right to do this to the {_RESOURCES[failed.code]};"
        f" an administrator sees the rights with leaselog acls --list --principal {whose}"
    )

"""What a command says of an error of the client, in one line; of a missing right also who lacks it."""

from __future__ import annotations

import re

from leaselog.client.security.config import SecurityConfig

__all__ = ["one_line"]

#: Kafka's names of the errors, and what the missing right would be for
_RESOURCE = re.compile(r"\b(TOPIC|GROUP|CLUSTER|TRANSACTIONAL_ID|DELEGATION_TOKEN)_AUTHORIZATION_FAILED\b")


def one_line(failed: BaseException, security: SecurityConfig) -> str:
    """Of the client's errors, and of what a command made of several of them."""
    words = " ".join(str(failed).split())
    refused = _RESOURCE.search(words)
    if refused is None:
        return words
    who = f"User:{security.user}" if security.user else "this client's user"
    whose = f"User:{security.user}" if security.user else "User:NAME"
    if " may not " in words:  # the client knows which right it is
        words = words.replace("this client may not", f"{who} may not")
        if whose in words.partition("--principal")[2]:
            return words  # another command has said it already
        return f"{words}; an administrator sees the rights with leaselog acls --list --principal {whose}"
    return (
        f"{words.rstrip('.')}: {who} has no right to do this to the {refused[1].lower().replace('_', ' ')};"
        f" an administrator sees the rights with leaselog acls --list --principal {whose}"
    )

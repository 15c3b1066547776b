"""Passwords of users who log in with SCRAM: set, deleted, and described without them (KIP-554).

The broker never hears a password: what it keeps to check one by is computed here.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from leaselog.admin.outcome import Outcomes, outcome
from leaselog.client.cluster import Cluster
from leaselog.client.errors import raise_for
from leaselog.sasl.scram import MECHANISMS, salted_password
from leaselog.wire.messages import alter_user_scram_credentials as alter
from leaselog.wire.messages import describe_user_scram_credentials as describe

__all__ = [
    "DEFAULT_ITERATIONS",
    "ScramCredentialInfo",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "alter_user_scram_credentials",
    "describe_user_scram_credentials",
]

#: of a password that says none; Kafka's own tools say 4,096, which is the least
DEFAULT_ITERATIONS = 8_192
_SALT_BYTES = 24


class ScramMechanism(IntEnum):
    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def _missing_(cls, value: object) -> ScramMechanism:
        return cls.UNKNOWN

    @property
    def mechanism_name(self) -> str:
        """As ``sasl.mechanism`` says it: SCRAM-SHA-512."""
        return self.name.replace("_", "-")

    @classmethod
    def of(cls, name: str) -> ScramMechanism:
        """The one of this ``mechanism_name``; UNKNOWN if there is none."""
        return next((known for known in cls if known.mechanism_name == name.upper()), cls.UNKNOWN)


@dataclass(frozen=True, slots=True)
class ScramCredentialInfo:
    """That a user has a password for this mechanism; not which."""

    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """Set a user's password for one mechanism, whether the user had one or not."""

    user: str
    mechanism: ScramMechanism
    password: str = field(repr=False)
    iterations: int = DEFAULT_ITERATIONS
    #: a random one for each upsertion if None
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    """Take a user's password for one mechanism away."""

    user: str
    mechanism: ScramMechanism


async def alter_user_scram_credentials(
    cluster: Cluster, alterations: Iterable[ScramUpsertion | ScramDeletion]
) -> Outcomes[str, None]:
    """What became of each user. A request has a user once at most: Apache Kafka refuses two mechanisms together."""
    wanted = list(alterations)
    request = alter.AlterUserScramCredentialsRequest(
        deletions=[
            alter.ScramCredentialDeletion(name=one.user, mechanism=one.mechanism)
            for one in wanted
            if isinstance(one, ScramDeletion)
        ],
        upsertions=[_upsertion(one) for one in wanted if isinstance(one, ScramUpsertion)],
    )

    async def attempt() -> Outcomes[str, None]:
        answer = await cluster.request(request, alter.AlterUserScramCredentialsResponse)
        return {
            result.user: outcome(result.error_code, result.error_message, None) for result in answer.results
        }

    return await cluster.retrying(attempt)


def _upsertion(one: ScramUpsertion) -> alter.ScramCredentialUpsertion:
    salt = secrets.token_bytes(_SALT_BYTES) if one.salt is None else one.salt
    mechanism = MECHANISMS[one.mechanism.mechanism_name]
    return alter.ScramCredentialUpsertion(
        name=one.user,
        mechanism=one.mechanism,
        iterations=one.iterations,
        salt=salt,
        salted_password=salted_password(mechanism, one.password, salt, one.iterations),
    )


async def describe_user_scram_credentials(
    cluster: Cluster, users: Iterable[str] | None = None
) -> Outcomes[str, tuple[ScramCredentialInfo, ...]]:
    """Which mechanisms each of these users, or (None) every user who has some, can log in with."""
    asked = None if users is None else [describe.UserName(name=user) for user in dict.fromkeys(users)]
    request = describe.DescribeUserScramCredentialsRequest(users=asked)

    async def attempt() -> Outcomes[str, tuple[ScramCredentialInfo, ...]]:
        answer = await cluster.request(request, describe.DescribeUserScramCredentialsResponse)
        raise_for(answer.error_code, answer.error_message)
        return {
            result.user: outcome(
                result.error_code,
                result.error_message,
                tuple(
                    ScramCredentialInfo(ScramMechanism(info.mechanism), info.iterations)
                    for info in result.credential_infos
                ),
            )
            for result in answer.results
        }

    return await cluster.retrying(attempt)

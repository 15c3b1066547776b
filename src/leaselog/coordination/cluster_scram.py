"""SCRAM credentials (KIP-554): which changes are made, and why others are not, in Kafka's words.

A user is changed once in a request, whatever the mechanism: to be told apart from what was meant, the rest would need
an order. Passwords do not come here: a client sends what PBKDF2 made of one, and what is kept is less than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from leaselog.coordination.cluster_records import ClusterRecord, ScramCredentialRemoved, ScramCredentialSet
from leaselog.model import ErrorCode, Refused
from leaselog.sasl.scram import (
    MAX_ITERATIONS,
    MECHANISMS,
    MIN_ITERATIONS,
    Credential,
    credential_of_salted_password,
)

__all__ = [
    "MAX_SCRAM_USERS",
    "ScramAlterations",
    "ScramDeletion",
    "ScramUpsertion",
    "ScramUsers",
    "decide_scram",
]

#: users with credentials at once; one more is refused. Kafka has no bound
MAX_SCRAM_USERS = 100_000
#: of a user's name, a salt and a salted password; Kafka has no bound
MAX_BYTES = 1024

#: the credentials of each user, by Kafka's number of the mechanism; never an empty mapping
ScramUsers: TypeAlias = Mapping[str, Mapping[int, Credential]]

_MECHANISMS = {mechanism.code: mechanism for mechanism in MECHANISMS.values()}


@dataclass(frozen=True, slots=True)
class ScramDeletion:
    user: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ScramAlterations:
    deletions: Sequence[ScramDeletion]
    upsertions: Sequence[ScramUpsertion]


def decide_scram(
    current: ScramUsers, wanted: ScramAlterations
) -> tuple[list[ClusterRecord], dict[str, Refused | None]]:
    """The records that make the changes, and one answer for each user. A user who is refused keeps all he has."""
    answers: dict[str, Refused | None] = {}
    records: dict[str, ClusterRecord] = {}
    room = MAX_SCRAM_USERS - len(current)
    changes: list[ScramDeletion | ScramUpsertion] = [*wanted.deletions, *wanted.upsertions]
    for change in changes:
        user = change.user
        if answers.get(user) is not None:
            continue
        if user in answers:
            answers[user] = Refused(
                ErrorCode.DUPLICATE_RESOURCE,
                "A user credential cannot be altered twice in the same request",
            )
            del records[user]
            continue
        refused = _refuse(change, current)
        if refused is None and isinstance(change, ScramUpsertion) and user not in current:
            room -= 1
            refused = _too_many() if room < 0 else None
        answers[user] = refused
        if refused is None:
            records[user] = _record(change)
    return list(records.values()), answers


def _record(change: ScramDeletion | ScramUpsertion) -> ClusterRecord:
    if isinstance(change, ScramDeletion):
        return ScramCredentialRemoved(change.user, change.mechanism)
    mechanism = _MECHANISMS[change.mechanism]
    kept = credential_of_salted_password(mechanism, change.salted_password, change.salt, change.iterations)
    return ScramCredentialSet(change.user, change.mechanism, kept)


def _refuse(change: ScramDeletion | ScramUpsertion, current: ScramUsers) -> Refused | None:
    if not change.user:
        return _unacceptable("Username must not be empty")
    if change.mechanism not in _MECHANISMS:
        return Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, ScramUpsertion):
        return _refuse_credential(change)
    if change.mechanism not in current.get(change.user, {}):
        return Refused(
            ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist"
        )
    return None


def _refuse_credential(change: ScramUpsertion) -> Refused | None:
    if change.iterations < MIN_ITERATIONS:
        return _unacceptable("Too few iterations")
    if change.iterations > MAX_ITERATIONS:
        return _unacceptable("Too many iterations")
    if not change.salted_password or not change.salt:  # Java's HMAC takes no empty key either
        return _unacceptable("Salt and salted password must not be empty")
    if max(len(change.user.encode()), len(change.salt), len(change.salted_password)) > MAX_BYTES:
        return _unacceptable(f"Username, salt and salted password may have {MAX_BYTES} bytes each")
    return None


def _unacceptable(why: str) -> Refused:
    return Refused(ErrorCode.UNACCEPTABLE_CREDENTIAL, why)


def _too_many() -> Refused:
    return Refused(ErrorCode.POLICY_VIOLATION, f"There are {MAX_SCRAM_USERS} users with credentials already.")

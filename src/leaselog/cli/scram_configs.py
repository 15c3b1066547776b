"""SCRAM credentials as `leaselog configs` sets and shows them: configs of users, named for the mechanism."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from leaselog.admin import (
    DEFAULT_ITERATIONS,
    ScramCredentialInfo,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    alter_user_scram_credentials,
    describe_user_scram_credentials,
    settle,
)
from leaselog.cli.arguments import UsageError
from leaselog.cli.passwords import password_from, says_password
from leaselog.client import BrokerError, UnsupportedVersion
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode
from leaselog.sasl.scram import MAX_ITERATIONS, MECHANISMS, MIN_ITERATIONS

__all__ = ["change_credentials", "credential_changes", "credential_text", "credentials", "names_mechanism"]

_ITERATIONS, _PASSWORD = "iterations", "password"
Alteration = ScramUpsertion | ScramDeletion


def names_mechanism(keys: Sequence[str]) -> bool:
    """Whether configs are credentials; all of them, or ``UsageError``."""
    meant = [key in MECHANISMS for key in keys]
    if any(meant) and not all(meant):
        raise UsageError("quotas and SCRAM credentials are set one after the other, not together")
    return any(meant)


def credential_changes(
    types: Sequence[str],
    names: Sequence[str],
    put: Mapping[str, str],
    delete: Sequence[str],
    args: argparse.Namespace,
) -> list[Alteration]:
    """What becomes of one user's passwords; asks for a password if no option has one. Raises ``UsageError``."""
    if list(types) != ["users"] or len(names) != 1 or not names[0]:
        raise UsageError("a SCRAM credential is one user's: --entity-type users --entity-name NAME")
    user = names[0]
    if twice := [key for key in delete if key in put]:
        raise UsageError(f"{twice[0]} is set and deleted at once")
    if says_password(args) and not put:
        raise UsageError("--password-file and --password-env go with --add-config SCRAM-…")
    found: list[Alteration] = [ScramDeletion(user, ScramMechanism.of(key)) for key in delete]
    asked: str | None = None
    for key, value in put.items():
        iterations, password = _parts(key, value)
        if password is None:
            asked = asked or password_from(args, f"Password of {user}")
            password = asked
        elif says_password(args):
            raise UsageError(f"--add-config {key} has a password already: --password-… does not go with it")
        mechanism = ScramMechanism.of(key)
        found.append(ScramUpsertion(user, mechanism, password, iterations or DEFAULT_ITERATIONS))
    return found


def _parts(key: str, value: str) -> tuple[int | None, str | None]:
    """``iterations=N,password=TEXT``, of which the password may have commas. Errors do not quote it."""
    iterations, password, rest = None, None, value
    while rest:
        name, equals, rest = rest.partition("=")
        if name.strip() == _PASSWORD and equals and password is None:
            before, comma, after = rest.rpartition(f",{_ITERATIONS}=")
            password, rest = (before, f"{_ITERATIONS}={after}") if comma else (rest, "")
        elif name.strip() == _ITERATIONS and equals and iterations is None:
            number, _, rest = rest.partition(",")
            iterations = _iterations(key, number)
        else:
            raise UsageError(
                f"--add-config {key}: expected [iterations=N,password=TEXT], either of them or none"
            )
    if password == "":
        raise UsageError(f"--add-config {key}: the password is empty")
    return iterations, password


def _iterations(key: str, text: str) -> int:
    if not text.strip().isdecimal() or not MIN_ITERATIONS <= int(text) <= MAX_ITERATIONS:
        raise UsageError(f"--add-config {key}: iterations are {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    return int(text)


async def change_credentials(cluster: Cluster, alterations: Sequence[Alteration]) -> None:
    for alteration in alterations:  # Apache Kafka takes a user once a request
        settle(await alter_user_scram_credentials(cluster, [alteration]))
    print(f"Completed updating config for user {alterations[0].user}.")


async def credentials(cluster: Cluster, user: str | None) -> dict[str, tuple[ScramCredentialInfo, ...]]:
    """Those of one user or (None) of all, by user; none where the cluster has no such thing."""
    try:
        outcomes = await describe_user_scram_credentials(cluster, None if user is None else [user])
    except UnsupportedVersion:
        return {}
    there = {
        name: found
        for name, found in outcomes.items()
        if not (isinstance(found, BrokerError) and found.code is ErrorCode.RESOURCE_NOT_FOUND)
    }
    return dict(sorted(settle(there).items()))


def credential_text(user: str, infos: Sequence[ScramCredentialInfo]) -> str:
    values = ", ".join(f"{info.mechanism.mechanism_name}=iterations={info.iterations}" for info in infos)
    return f"SCRAM credential configs for user-principal '{user}' are {values}"

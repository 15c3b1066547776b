"""Quotas as `leaselog configs` shows and changes them: users, clients and ips as entities beside topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from leaselog.admin import (
    ANY_NAME,
    QuotaEntity,
    QuotaName,
    ScramCredentialInfo,
    alter_client_quotas,
    describe_client_quotas,
)
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.cli.output import is_terminal, print_json, print_table
from leaselog.cli.scram_configs import credential_text, credentials
from leaselog.client.cluster import Cluster

__all__ = ["QUOTA_TYPES", "change_quotas", "java_number", "quota_entity", "show_quotas"]

#: the entity types with quotas, and what the protocol calls them
QUOTA_TYPES = {"users": "user", "clients": "client-id", "ips": "ip"}
#: as Apache's tool writes them, in this order
_SHOWN = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
#: Java writes numbers from here on, and below the other, with an exponent
_LARGE, _SMALL = 1e7, 1e-3
Parts = Mapping[str, QuotaName]


def quota_entity(types: Sequence[str], names: Sequence[str], *, alter: bool) -> dict[str, QuotaName]:
    """Types and names in their order; an empty name is the default, a missing one is any. Raises ``UsageError``."""
    if any(kind not in QUOTA_TYPES for kind in types) or len(set(types)) != len(types):
        raise UsageError(f"--entity-type {' and '.join(types)} do not go together, only users and clients do")
    if "ips" in types and len(types) > 1:
        raise UsageError("--entity-type ips goes with no other type")
    if len(names) > len(types):
        raise UsageError("there are more names than types: each --entity-type has one name, or the default")
    if alter and len(names) < len(types):
        raise UsageError("--alter needs --entity-name or --entity-default with every --entity-type")
    given: list[QuotaName] = [name or None for name in names]
    given += [ANY_NAME] * (len(types) - len(names))
    return dict(zip((QUOTA_TYPES[kind] for kind in types), given, strict=True))


async def show_quotas(cluster: Cluster, parts: Parts, *, as_json: bool) -> None:
    """With the SCRAM credentials of users, if users alone are meant."""
    found = await cluster.retrying(lambda: describe_client_quotas(cluster, parts, strict=True))
    ordered = sorted(found.items(), key=lambda item: [(kind, name or "") for kind, name in item[0].parts])
    passwords = await _credentials(cluster, parts)
    if as_json:
        print_json(_json_of(dict(ordered), passwords))
    elif is_terminal() and ordered:
        rows = [(_text(e), key, java_number(quotas[key])) for e, quotas in ordered for key in sorted(quotas)]
        print_table(("Entity", "Quota", "Value"), rows, right=("Value",))
    else:
        for entity, quotas in ordered:
            values = ", ".join(f"{key}={java_number(quotas[key])}" for key in sorted(quotas))
            print(f"Quota configs for {_text(entity)} are {values}")
    if not as_json:
        for user, infos in passwords.items():
            print(credential_text(user, infos))


async def _credentials(cluster: Cluster, parts: Parts) -> dict[str, tuple[ScramCredentialInfo, ...]]:
    if set(parts) != {"user"} or parts["user"] is None:
        return {}
    user = parts["user"]
    return await credentials(cluster, user if isinstance(user, str) else None)


async def change_quotas(
    cluster: Cluster, parts: Parts, types: Sequence[str], put: Mapping[str, str], delete: Sequence[str]
) -> None:
    entity = QuotaEntity.of({kind: name for kind, name in parts.items() if name is not ANY_NAME})
    if delete:
        # The broker would let it pass; Apache's tool tells a misspelt key.
        there = (await describe_client_quotas(cluster, parts, strict=True)).get(entity, {})
        if unknown := [key for key in delete if key not in there]:
            raise CommandFailed(f"INVALID_CONFIG: Invalid config(s): {','.join(unknown)}")
    await alter_client_quotas(cluster, entity, put=_numbers(put), delete=delete)
    name = entity.names[QUOTA_TYPES[types[0]]]
    if name is None:
        print(f"Completed updating default config for {types[0]} in the cluster.")
    else:
        print(f"Completed updating config for {types[0].removesuffix('s')} {name}.")


def _numbers(put: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for key, text in put.items():
        try:
            found[key] = float(text)
        except ValueError:
            raise UsageError(
                f"--add-config {key}: a quota is a number"
            ) from None  # or a password gone astray
    return found


def _text(entity: QuotaEntity) -> str:
    names = entity.names
    return ", ".join(
        f"the default {shown}" if names[kind] is None else f"{shown} '{names[kind]}'"
        for kind, shown in _SHOWN.items()
        if kind in names
    )


def _json_of(
    quotas: Mapping[QuotaEntity, Mapping[str, float]], passwords: Mapping[str, Sequence[ScramCredentialInfo]]
) -> list[dict[str, Any]]:
    """An entry for each entity that has quotas, credentials or both; never a password."""
    by_user = {QuotaEntity.of({"user": user}): infos for user, infos in passwords.items()}
    return [_as_json(entity, quotas.get(entity, {}), by_user.get(entity)) for entity in {**quotas, **by_user}]


def _as_json(
    entity: QuotaEntity, quotas: Mapping[str, float], infos: Sequence[ScramCredentialInfo] | None
) -> dict[str, Any]:
    shown: dict[str, Any] = {"entity": entity.names, "quotas": {key: quotas[key] for key in sorted(quotas)}}
    if infos is not None:
        shown["scram"] = {info.mechanism.mechanism_name: {"iterations": info.iterations} for info in infos}
    return shown


def java_number(value: float) -> str:
    """As ``Double.toString``: 1024.0, 1.0E7."""
    if value == 0 or _SMALL <= abs(value) < _LARGE:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "a quota is a finite number"
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{exponent + len(rest)}"

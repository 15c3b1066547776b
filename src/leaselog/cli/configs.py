"""`leaselog configs`: what kafka-configs.sh does.

Topics, brokers, loggers, groups and client metrics have configs; users, clients and ips have quotas, which are in
`quota_configs.py`; users also have SCRAM credentials, which are in `scram_configs.py`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Awaitable, Callable, Sequence

from leaselog.admin import (
    ConfigEntry,
    ConfigSource,
    Resource,
    ResourceType,
    alter_configs,
    configured_names,
    describe_configs,
)
from leaselog.cli.arguments import CommandFailed, UsageError, add_connection, properties_file
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import is_terminal, print_json, print_table
from leaselog.cli.passwords import add_password_arguments, says_password
from leaselog.cli.quota_configs import QUOTA_TYPES, change_quotas, quota_entity, show_quotas
from leaselog.cli.scram_configs import change_credentials, credential_changes, names_mechanism
from leaselog.client.cluster import Cluster

__all__ = ["add_arguments", "parse_added", "run"]

_TYPES = {
    "topics": ResourceType.TOPIC,
    "brokers": ResourceType.BROKER,
    "broker-loggers": ResourceType.BROKER_LOGGER,
    "client-metrics": ResourceType.CLIENT_METRICS,
    "groups": ResourceType.GROUP,
}
#: what was set at run time, for each type; loggers are shown whatever their level comes from
_DYNAMIC = {
    ResourceType.TOPIC: ConfigSource.DYNAMIC_TOPIC_CONFIG,
    ResourceType.BROKER: ConfigSource.DYNAMIC_BROKER_CONFIG,
    ResourceType.CLIENT_METRICS: ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
    ResourceType.GROUP: ConfigSource.DYNAMIC_GROUP_CONFIG,
}
#: Apache's short forms of type and name in one
_SHORT = {
    "topic": "topics",
    "broker": "brokers",
    "broker_logger": "broker-loggers",
    "client_metrics": "client-metrics",
    "group": "groups",
    "user": "users",
    "client": "clients",
    "ip": "ips",
}
#: short forms of the defaults
_DEFAULTS = {
    "broker_defaults": "brokers",
    "user_defaults": "users",
    "client_defaults": "clients",
    "ip_defaults": "ips",
}
_EVERY_TYPE = (*_TYPES, *QUOTA_TYPES)
_ADDED = re.compile(r"\s*([^=,\s]+)\s*=(\[[^\]]*\]|[^,]*)(?:,|$)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection(parser)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--describe", action="store_true", help="show configs")
    action.add_argument("--alter", action="store_true", help="change configs")
    parser.add_argument(
        "--entity-type", action="append", metavar="TYPE",
        help=f"{', '.join(_EVERY_TYPE)}; twice for the clients of users",
    )  # fmt: skip
    parser.add_argument(
        "--entity-name", action="append", metavar="NAME", help="topic, broker id, group, user, …"
    )
    parser.add_argument(
        "--entity-default", action="append_const", const="", dest="entity_name",
        help="in place of a name: the default of all brokers, users, clients or ips",
    )  # fmt: skip
    for option in _SHORT:
        parser.add_argument(f"--{option.replace('_', '-')}", metavar="NAME", help="short for type and name")
    for option, kind in _DEFAULTS.items():
        parser.add_argument(
            f"--{option.replace('_', '-')}",
            action="store_true",
            help=f"short for --entity-type {kind} --entity-default",
        )
    parser.add_argument("--all", action="store_true", help="with --describe: defaults too")
    parser.add_argument("--add-config", metavar="K=V,K=[V,V]", help="with --alter: configs to set")
    parser.add_argument("--add-config-file", metavar="FILE", help="with --alter: configs to set, from a file")
    parser.add_argument("--delete-config", metavar="K,K", help="with --alter: configs to unset")
    add_password_arguments(parser, "with --add-config SCRAM-SHA-512=[]")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    return run_with_cluster(args, ClientProperties.from_arguments(args), _checked(args))


def _checked(args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """What the options ask for. Raises ``UsageError``."""
    types, names = _entities(args)
    put, delete = _changes(args)
    if "users" in types and names_mechanism([*put, *delete]):
        alterations = credential_changes(types, names, put, delete, args)

        async def credentials(cluster: Cluster) -> int:
            await change_credentials(cluster, alterations)
            return 0

        return credentials
    if says_password(args):
        raise UsageError("--password-file and --password-env go with --add-config SCRAM-…")
    if types[0] in QUOTA_TYPES:
        parts = quota_entity(types, names, alter=args.alter)

        async def quotas(cluster: Cluster) -> int:
            if args.alter:
                await change_quotas(cluster, parts, types, put, delete)
            else:
                await show_quotas(cluster, parts, as_json=args.json)
            return 0

        return quotas
    kind, name = _entity(types, names, args)

    async def configs(cluster: Cluster) -> int:
        if args.alter:
            assert name is not None
            await _alter(cluster, Resource(kind, name), put, delete)
        else:
            await _describe(cluster, kind, name, args)
        return 0

    return configs


def _entities(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The types that the options name, and the names, of which an empty one is a default. Raises ``UsageError``."""
    types, names = list(args.entity_type or ()), list(args.entity_name or ())
    short = [
        (_SHORT[option], getattr(args, option)) for option in _SHORT if getattr(args, option) is not None
    ]
    short += [(kind, "") for option, kind in _DEFAULTS.items() if getattr(args, option)]
    if short and (types or names):
        raise UsageError(
            "name one entity: --entity-type and --entity-name, or one short form such as --topic NAME"
        )
    if short:
        types, names = [kind for kind, _ in short], [name for _, name in short]
    if not types:
        raise UsageError(f"--entity-type is missing: one of {', '.join(_EVERY_TYPE)}")
    for type_name in types:
        if type_name not in _EVERY_TYPE:
            raise UsageError(f"--entity-type {type_name} is not supported: one of {', '.join(_EVERY_TYPE)}")
    return types, names


def _entity(
    types: Sequence[str], names: Sequence[str], args: argparse.Namespace
) -> tuple[ResourceType, str | None]:
    """A name of None means all of that type, an empty one the default of all brokers. Raises ``UsageError``."""
    if len(types) > 1 or len(names) > 1:
        raise UsageError("name one entity: only users and clients go together")
    kind, name = _TYPES[types[0]], names[0] if names else None
    if name == "" and kind is not ResourceType.BROKER:
        raise UsageError(f"--entity-default goes with brokers, users, clients and ips, not with {types[0]}")
    if name is None and (args.alter or kind is ResourceType.BROKER_LOGGER):
        raise UsageError("--entity-name is missing")
    if name and kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and not name.isdecimal():
        raise UsageError(f"--entity-name {name}: a broker's name is its id, a number")
    return kind, name


def _changes(args: argparse.Namespace) -> tuple[dict[str, str], list[str]]:
    if args.add_config and args.add_config_file:
        raise UsageError("--add-config and --add-config-file exclude each other")
    put = parse_added(args.add_config) if args.add_config else {}
    if args.add_config_file:
        put = properties_file(args.add_config_file)
    delete = [key.strip() for key in (args.delete_config or "").split(",") if key.strip()]
    if args.alter and not put and not delete:
        raise UsageError("--alter needs --add-config, --add-config-file or --delete-config")
    if args.describe and (put or delete):
        raise UsageError("--add-config and --delete-config go with --alter only")
    return put, delete


def parse_added(text: str) -> dict[str, str]:
    """``k1=v1,k2=[v2,v3]``: square brackets hold a value that has commas itself."""
    found, position = {}, 0
    while position < len(text):
        match = _ADDED.match(text, position)
        if match is None:
            raise UsageError("--add-config: expected KEY=VALUE,KEY=[VALUE,VALUE]")  # a password is not quoted
        found[match[1]] = match[2].removeprefix("[").removesuffix("]").strip()
        position = match.end()
    return found


async def _alter(cluster: Cluster, resource: Resource, put: dict[str, str], delete: Sequence[str]) -> None:
    if delete and resource.type is not ResourceType.BROKER_LOGGER:
        # The broker would let it pass; Apache's tool tells a misspelt key.
        set_now = {e.name for e in await _entries(cluster, resource, everything=False)}
        if unknown := [key for key in delete if key not in set_now]:
            raise CommandFailed(f"INVALID_CONFIG: Invalid config(s): {','.join(unknown)}")
    await alter_configs(cluster, resource, put=put, delete=delete)
    label = _plural(resource.type)
    if not resource.name:
        print(f"Completed updating default config for {label} in the cluster.")
    else:
        print(f"Completed updating config for {label[:-1]} {resource.name}.")


async def _describe(cluster: Cluster, kind: ResourceType, name: str | None, args: argparse.Namespace) -> None:
    resources = [Resource(kind, n) for n in ([name] if name is not None else await _names(cluster, kind))]
    report = []
    for resource in resources:
        if name is not None and await _is_unknown(cluster, resource):
            print(f"The {_plural(kind)[:-1]} '{name}' doesn't exist and doesn't have dynamic config.")
            return
        found = await _entries(cluster, resource, everything=args.all)
        if args.json:
            report.append(
                {"type": _plural(kind), "name": resource.name, "configs": list(map(_as_json, found))}
            )
        else:
            _print(resource, found, everything=args.all)
    if args.json:
        print_json(report)


async def _names(cluster: Cluster, kind: ResourceType) -> list[str]:
    match kind:
        case ResourceType.TOPIC:
            return sorted((await cluster.fetch_topology()).topics)
        case ResourceType.BROKER:
            return [*map(str, sorted((await cluster.fetch_topology(())).nodes)), ""]
        case _:
            return await configured_names(cluster, kind)


async def _is_unknown(cluster: Cluster, resource: Resource) -> bool:
    match resource.type:
        case ResourceType.TOPIC:
            return resource.name not in (await cluster.fetch_topology([resource.name])).topics
        case ResourceType.GROUP | ResourceType.CLIENT_METRICS:
            return not await _entries(cluster, resource, everything=False)
        case _:
            return False


async def _entries(cluster: Cluster, resource: Resource, *, everything: bool) -> list[ConfigEntry]:
    described = await describe_configs(cluster, [resource], synonyms=True)
    entries = sorted(described.get(resource, ()), key=lambda e: e.name)
    wanted = _DYNAMIC.get(resource.type)
    if resource.type is ResourceType.BROKER and not resource.name:
        wanted = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [e for e in entries if everything or wanted is None or e.source is wanted]


def _plural(kind: ResourceType) -> str:
    return next(name for name, known in _TYPES.items() if known is kind)


def _print(resource: Resource, entries: Sequence[ConfigEntry], *, everything: bool) -> None:
    label = _plural(resource.type)
    how = "All" if everything else "Dynamic"
    if not resource.name:
        title = f"Default configs for {label} in the cluster are:"
    else:
        title = f"{how} configs for {label[:-1]} {resource.name} are:"
    if is_terminal() and entries:
        rows = [(e.name, _shown(e), e.source.name) for e in entries]
        print_table(("Config", "Value", "From"), rows, title=title)
        return
    print(title)
    for entry in entries:
        synonyms = ", ".join(f"{s.source.name}:{s.name}={_null(s.value)}" for s in entry.synonyms)
        sensitive = str(entry.is_sensitive).lower()
        print(f"  {entry.name}={_null(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _null(value: str | None) -> str:
    return "null" if value is None else value


def _shown(entry: ConfigEntry) -> str:
    return "(hidden)" if entry.is_sensitive else "" if entry.value is None else entry.value


def _as_json(entry: ConfigEntry) -> dict[str, object]:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source.name,
        "sensitive": entry.is_sensitive,
        "readOnly": entry.is_read_only,
        "synonyms": [{"name": s.name, "value": s.value, "source": s.source.name} for s in entry.synonyms],
    }

"""What the options of `leaselog acls` say: rules to add, filters of rules to remove. Pure; the options are Apache's.

The conveniences say what a role needs: `--producer` and `--consumer` as Apache's tool does, `--share-consumer` and
`--worker` by what leaselog's own clients of these kinds ask for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from leaselog.cli.arguments import UsageError
from leaselog.model import (
    CLUSTER_NAME,
    SUPPORTED_OPERATIONS,
    WILDCARD,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)

__all__ = ["OPERATIONS", "ROLES", "add_rule_arguments", "check_options", "resources", "rules", "which_rules"]

ROLES = ("producer", "consumer", "share_consumer", "worker")
_TOPIC, _GROUP = AclResourceType.TOPIC, AclResourceType.GROUP
#: each option that names resources, and their type
_NAMED = {
    "topic": _TOPIC,
    "group": _GROUP,
    "transactional_id": AclResourceType.TRANSACTIONAL_ID,
    "delegation_token": AclResourceType.DELEGATION_TOKEN,
    "user_principal": AclResourceType.USER,
}
#: operations as the options write them: Read, DescribeConfigs
OPERATIONS = {
    "".join(word.capitalize() for word in operation.name.split("_")): operation
    for operation in AclOperation
    if operation not in (AclOperation.UNKNOWN, AclOperation.ANY)
}
_READING = (AclOperation.READ, AclOperation.DESCRIBE)
#: what each role does to resources of each type
_ROLE_OPERATIONS: dict[str, dict[AclResourceType, tuple[AclOperation, ...]]] = {
    "producer": {
        _TOPIC: (AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.CREATE),
        AclResourceType.TRANSACTIONAL_ID: (AclOperation.WRITE, AclOperation.DESCRIBE),
    },
    "consumer": {_TOPIC: _READING, _GROUP: (AclOperation.READ,)},
    # It learns when its leases end from the group's configs, and does without where it may not see them.
    "share_consumer": {_TOPIC: _READING, _GROUP: (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS)},
    # It also sets the group's dead-letter topic, and where a new group begins.
    "worker": {
        _TOPIC: _READING,
        _GROUP: (AclOperation.READ, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS),
    },
}
#: what a worker does to the topic of its dead letters; the broker writes them, and asks nobody's leave
_DEAD_LETTERS = (AclOperation.DESCRIBE, AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS)
Resource = tuple[AclResourceType, str, PatternType]
_CLUSTER: Resource = (AclResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL)


def add_rule_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that say which rules, beside the action."""
    for option, what in (
        ("--topic", "a topic; * is all"),
        ("--group", "a group; * is all"),
        ("--transactional-id", "a transactional id; * is all"),
        ("--delegation-token", "a delegation token; * is all"),
        ("--user-principal", "a user as a resource, as for tokens"),
    ):
        parser.add_argument(option, action="append", default=[], metavar="NAME", help=what)
    parser.add_argument("--cluster", action="store_true", help="the cluster itself")
    parser.add_argument(
        "--resource-pattern-type", default="literal", metavar="TYPE",
        help="what a name is: literal, or prefixed for all names that begin so; of --list and --remove also any (rules "
        "of both types with this very name) and match (all rules that say something of this resource)",
    )  # fmt: skip
    parser.add_argument(
        "--operation", action="append", default=[], metavar="OPERATION",
        help=f"what is allowed or denied: {', '.join(OPERATIONS)} (All)",
    )  # fmt: skip
    for verb, effect in (("allow", "may do it"), ("deny", "may not, whatever else allows it")):
        parser.add_argument(
            f"--{verb}-principal", action="append", default=[], metavar="User:NAME",
            help=f"who {effect}; User:* is everybody",
        )  # fmt: skip
        parser.add_argument(
            f"--{verb}-host", action="append", default=[], metavar="ADDRESS", help="from where (*)"
        )
    parser.add_argument(
        "--producer", action="store_true", help="what a producer needs: Write, Describe and Create on --topic"
    )
    parser.add_argument(
        "--idempotent", action="store_true",
        help="with --producer: IdempotentWrite on the cluster, which clusters before 3.0 want",
    )  # fmt: skip
    parser.add_argument(
        "--consumer", action="store_true",
        help="what a consumer needs: Read and Describe on --topic, Read on --group",
    )  # fmt: skip
    parser.add_argument(
        "--share-consumer", action="store_true",
        help="what a share consumer needs: Read and Describe on --topic, Read and DescribeConfigs on --group",
    )  # fmt: skip
    parser.add_argument(
        "--worker", action="store_true",
        help="what leaselog worker needs: as --share-consumer, AlterConfigs on --group, and for --dead-letter-topic "
        "Describe, Create and DescribeConfigs",
    )  # fmt: skip
    parser.add_argument(
        "--dead-letter-topic", action="append", default=[], metavar="NAME",
        help="with --worker: where its dead letters go",
    )  # fmt: skip


def check_options(args: argparse.Namespace) -> None:
    """Raises ``UsageError`` for options that do not go together."""
    said = [role for role in ROLES if getattr(args, role)]
    if said and (args.operation or args.deny_principal or args.deny_host):
        raise UsageError(
            f"{_option(said[0])} says the operations, and allows them: --operation and --deny-… do not go with it"
        )
    if args.idempotent and not args.producer:
        raise UsageError("--idempotent goes with --producer")
    if args.dead_letter_topic and not args.worker:
        raise UsageError("--dead-letter-topic goes with --worker")
    for role in said:
        needed = ("topic",) if role == "producer" else ("topic", "group")
        if not all(getattr(args, name) for name in needed):
            raise UsageError(f"{_option(role)} needs {' and '.join(map(_option, needed))}")
    for permission in ("allow", "deny"):
        if getattr(args, f"{permission}_host") and not getattr(args, f"{permission}_principal"):
            raise UsageError(f"--{permission}-host needs --{permission}-principal")


def rules(args: argparse.Namespace) -> list[AclBinding]:
    """Those to add, in the order of the options. Raises ``UsageError``."""
    if _pattern_type(args) not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise UsageError(
            f"--resource-pattern-type {args.resource_pattern_type} goes not with --add: a rule is literal or prefixed"
        )
    if not (args.allow_principal or args.deny_principal):
        raise UsageError("--add needs --allow-principal or --deny-principal")
    found = [
        AclBinding(type, name, principal, operation, permission, pattern, host)
        for (type, name, pattern), operations in _operations(args).items()
        for operation in operations
        for permission, principal, host in _whom(args)
    ]
    return list(dict.fromkeys(found))


def which_rules(args: argparse.Namespace) -> list[AclFilter]:
    """Filters of those to remove: with a principal the very rules, without one all of the resources."""
    if not (args.allow_principal or args.deny_principal):
        if args.operation or any(getattr(args, role) for role in ROLES):
            raise UsageError("--operation and the roles need --allow-principal or --deny-principal")
        return [AclFilter(type, name, pattern_type=pattern) for type, name, pattern in _some_resource(args)]
    found = [
        AclFilter(type, name, principal, operation, permission, pattern, host)
        for (type, name, pattern), operations in _operations(args).items()
        for operation in operations
        for permission, principal, host in _whom(args)
    ]
    return list(dict.fromkeys(found))


def resources(args: argparse.Namespace) -> list[Resource]:
    """What the options name, in their order."""
    pattern = _pattern_type(args)
    found: list[Resource] = [
        (type, name.strip(), pattern) for option, type in _NAMED.items() for name in getattr(args, option)
    ]
    if args.cluster or args.idempotent:
        found.append(_CLUSTER)
    return found


def _some_resource(args: argparse.Namespace) -> list[Resource]:
    found = resources(args)
    if not found:
        raise UsageError("name a resource: --topic, --group, --cluster, --transactional-id, …")
    return found


def _operations(args: argparse.Namespace) -> dict[Resource, list[AclOperation]]:
    named = _some_resource(args)
    said = [role for role in ROLES if getattr(args, role)]
    if not said:
        operations = [_operation(name) for name in args.operation] or [AclOperation.ALL]
        return {resource: list(_possible(resource[0], operations)) for resource in named}
    found: dict[Resource, list[AclOperation]] = {}
    for role in said:
        for resource in named:
            found.setdefault(resource, []).extend(_ROLE_OPERATIONS[role].get(resource[0], ()))
    for name in args.dead_letter_topic:
        found.setdefault((_TOPIC, name.strip(), PatternType.LITERAL), []).extend(_DEAD_LETTERS)
    if args.idempotent:
        found[_CLUSTER] = [AclOperation.IDEMPOTENT_WRITE]
    unused = [resource for resource, operations in found.items() if not operations]
    if unused:
        type, name, _ = unused[0]
        raise UsageError(f"{_option(said[0])} has nothing to do with the {type.name.lower()} {name}")
    return found


def _possible(type: AclResourceType, operations: Iterable[AclOperation]) -> Iterator[AclOperation]:
    for operation in operations:
        if operation is not AclOperation.ALL and operation not in SUPPORTED_OPERATIONS[type]:
            known = [name for name, one in OPERATIONS.items() if one in SUPPORTED_OPERATIONS[type]]
            raise UsageError(
                f"--operation {_operation_name(operation)}: of a {_words(type)} there are All, {', '.join(known)}"
            )
        yield operation


def _whom(args: argparse.Namespace) -> Iterator[tuple[AclPermission, str, str]]:
    for permission, principals, hosts in (
        (AclPermission.ALLOW, args.allow_principal, args.allow_host),
        (AclPermission.DENY, args.deny_principal, args.deny_host),
    ):
        for principal in principals:
            for host in hosts or (WILDCARD,):
                yield permission, checked_principal(principal), host.strip()


def checked_principal(text: str) -> str:
    type, colon, name = text.strip().partition(":")
    if not (type and colon and name):
        raise UsageError(f"a principal is TYPE:NAME, as User:alice, not {text}")
    return f"{type}:{name}"


def _pattern_type(args: argparse.Namespace) -> PatternType:
    known: Sequence[PatternType] = [type for type in PatternType if type is not PatternType.UNKNOWN]
    for type in known:
        if type.name == args.resource_pattern_type.upper():
            return type
    raise UsageError(
        f"--resource-pattern-type {args.resource_pattern_type}: one of {', '.join(t.name.lower() for t in known)}"
    )


def _operation(text: str) -> AclOperation:
    for name, operation in OPERATIONS.items():
        if text.strip().lower() in (name.lower(), operation.name.lower()):
            return operation
    raise UsageError(f"--operation {text}: one of {', '.join(OPERATIONS)}")


def _operation_name(operation: AclOperation) -> str:
    return next(name for name, known in OPERATIONS.items() if known is operation)


def _words(type: AclResourceType) -> str:
    return type.name.lower().replace("_", " ")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"

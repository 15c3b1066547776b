"""`leaselog features`: what kafka-features.sh does to describe and to change levels of features.

Its tables of releases (--release-version, version-mapping, feature-dependencies) are left out: a level is a number.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from leaselog.admin import (
    FeatureDescriptions,
    FeatureUpdateType,
    describe_features,
    update_features,
)
from leaselog.cli.arguments import CommandFailed, UsageError, add_connection
from leaselog.cli.client_properties import ClientProperties, run_with_cluster
from leaselog.cli.output import print_json
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster

__all__ = ["add_arguments", "feature_levels", "level_text", "run"]

_METADATA = "metadata.version"
#: how many levels metadata.version has had in each release, from its first level on
_FIRST_LEVEL = 7
_RELEASES = (
    ("3.3", (3,)), ("3.4", (0,)), ("3.5", range(3)), ("3.6", range(3)), ("3.7", range(5)), ("3.8", (0,)), ("3.9", (0,)),
    ("4.0", range(4)), ("4.1", range(2)), ("4.2", range(2)), ("4.3", (0,)),
)  # fmt: skip
_METADATA_NAMES = dict(
    enumerate((f"{release}-IV{number}" for release, numbers in _RELEASES for number in numbers), _FIRST_LEVEL)
)
_MAX_LEVEL = 2**15 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", choices=["describe", "upgrade", "downgrade", "disable"], help="disable is a downgrade to 0"
    )
    add_connection(parser)
    parser.add_argument(
        "--feature", action="append", metavar="NAME=LEVEL", help="the level to go to; with disable the name alone"
    )  # fmt: skip
    parser.add_argument(
        "--unsafe", action="store_true", help="with downgrade and disable: even if metadata may be lost by it"
    )
    parser.add_argument("--dry-run", action="store_true", help="only see whether it could be done")
    parser.add_argument("--json", action="store_true", help="with describe: print JSON")


def run(args: argparse.Namespace) -> int:
    if args.action == "describe":
        if args.feature or args.unsafe or args.dry_run:
            raise UsageError("describe shows all features, and takes no options for it but --json")
        return run_with_cluster(
            args, ClientProperties.from_arguments(args), lambda cluster: _describe(cluster, args)
        )
    if args.unsafe and args.action == "upgrade":
        raise UsageError("--unsafe goes with downgrade and disable only")
    if args.json:
        raise UsageError("--json goes with describe only")
    levels = feature_levels(args.feature or (), disable=args.action == "disable")
    if not levels:
        raise UsageError(f"You must specify at least one feature to {args.action}")
    return run_with_cluster(
        args, ClientProperties.from_arguments(args), lambda cluster: _update(cluster, levels, args)
    )


def feature_levels(texts: Iterable[str], *, disable: bool) -> dict[str, int]:
    """``name=level``, or names alone to disable. Raises ``UsageError``."""
    found = dict[str, int]()
    for text in texts:
        name, equals, level = (part.strip() for part in text.partition("="))
        if bool(equals) == disable or not (level.isdecimal() or disable) or int(level or 0) > _MAX_LEVEL:
            raise UsageError(f"--feature {text}: expected {'NAME' if disable else 'NAME=LEVEL'}")
        if name in found:
            raise UsageError(f"Feature {name} was specified more than once.")
        found[name] = int(level or 0)
    return found


def level_text(name: str, level: int) -> str:
    """A level as Apache's tool writes it: that of metadata.version has the name of a release."""
    return _METADATA_NAMES.get(level, f"UNKNOWN {level}") if name == _METADATA else str(level)


async def _describe(cluster: Cluster, args: argparse.Namespace) -> int:
    found = await describe_features(cluster)
    if args.json:
        print_json(_as_json(found))
        return 0
    epoch = "-" if found.epoch is None else found.epoch
    for name, feature in found.features.items():
        low, high, level = (
            level_text(name, n) for n in (feature.min_version, feature.max_version, feature.level)
        )
        print(
            f"Feature: {name:<40}  SupportedMinVersion: {low:<15}  SupportedMaxVersion: {high:<15}"
            f"  FinalizedVersionLevel: {level:<15}  Epoch: {epoch}"
        )
    return 0


def _as_json(found: FeatureDescriptions) -> dict[str, object]:
    features = [
        {
            "feature": name,
            "supportedMinVersion": feature.min_version,
            "supportedMaxVersion": feature.max_version,
            "finalizedVersionLevel": feature.level,
        }
        for name, feature in found.features.items()
    ]
    return {"epoch": found.epoch, "features": features}


async def _update(cluster: Cluster, levels: dict[str, int], args: argparse.Namespace) -> int:
    kind = FeatureUpdateType.UPGRADE
    if args.action != "upgrade":
        kind = FeatureUpdateType.UNSAFE_DOWNGRADE if args.unsafe else FeatureUpdateType.SAFE_DOWNGRADE
    try:
        await update_features(cluster, levels, kind, validate_only=args.dry_run)
    except BrokerError as refused:
        for name in sorted(levels):
            start = f"{'Can' if args.dry_run else 'Could'} not {_deed(args.action, name, levels[name])}"
            print(f"{start}. {refused.message or refused}")
        raise CommandFailed(f"{len(levels)} out of {len(levels)} operation(s) failed.") from None
    for name in sorted(levels):
        done = "disabled." if args.action == "disable" else f"{args.action}d to {levels[name]}."
        print(f"{name} {'can be' if args.dry_run else 'was'} {done}")
    return 0


def _deed(action: str, name: str, level: int) -> str:
    return f"disable {name}" if action == "disable" else f"{action} {name} to {level}"

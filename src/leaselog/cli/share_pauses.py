"""`leaselog share-groups --pause` and `--resume`, and how a pause is shown."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from leaselog.admin import (
    GroupType,
    SharePause,
    list_groups,
    list_share_pauses,
    pause_share_groups,
    resume_share_groups,
)
from leaselog.cli.arguments import CommandFailed
from leaselog.cli.output import print_json
from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode

__all__ = ["Pauses", "change_pauses", "pause_json", "pause_line", "pauses_where_told", "with_pause"]

#: None for a group that is not paused
Pauses = Mapping[str, SharePause | None]
_KEY = "share.delivery.paused"


async def change_pauses(cluster: Cluster, args: Namespace) -> int:
    """Pauses or resumes, as the options say."""
    kinds = {group.group_id: group.type for group in await list_groups(cluster)}
    if args.all_groups:
        wanted = sorted(i for i, kind in kinds.items() if kind is GroupType.SHARE)
    else:
        wanted = list(dict.fromkeys(args.group))
    failed = {
        i: f"Group '{i}' is not a share group." for i in wanted if kinds.get(i) not in (None, GroupType.SHARE)
    }
    right = [i for i in wanted if i not in failed]
    if args.pause:
        outcomes = await pause_share_groups(cluster, right, reason=args.reason)
    else:
        outcomes = await resume_share_groups(cluster, right)
    _refuse_what_it_cannot("pause" if args.pause else "resume", outcomes)
    failed |= {i: str(error) for i, error in outcomes.items() if error is not None}
    done = [i for i in right if i not in failed]
    _print(args, done, failed)
    if missing := [f"'{i}'" for i in done if i not in kinds]:
        print(f"\nNo group of this name yet: {', '.join(missing)}", file=sys.stderr)
    return 1 if failed else 0


def _refuse_what_it_cannot(what: str, outcomes: Mapping[str, BrokerError | None]) -> None:
    """A broker that does not know the config knows it for no group."""
    for error in outcomes.values():
        if error is not None and error.code is ErrorCode.INVALID_CONFIG and _KEY in (error.message or ""):
            raise CommandFailed(f"this broker cannot {what} share groups: {error}")


def _print(args: Namespace, done: Iterable[str], failed: Mapping[str, str]) -> None:
    word = "paused" if args.pause else "resumed"
    if args.json:
        print_json({word: list(done), "failed": dict(failed)})
        return
    for group_id in done:
        print(f"Share group '{group_id}' is {word}.")
    for group_id, reason in failed.items():
        print(f"Error: Share group '{group_id}' is not {word}: {reason}")


async def pauses_where_told(cluster: Cluster, group_ids: Iterable[str]) -> Pauses:
    """Nothing of groups whose configs may not be seen."""
    try:
        return await list_share_pauses(cluster, group_ids)
    except BrokerError:
        return {}


def pause_line(group_id: str, pause: SharePause) -> str:
    why = f": {pause.reason}" if pause.reason else ""
    return f"\nShare group '{group_id}' is paused since {_time(pause)} by {_who(pause)}{why}"


def _who(pause: SharePause) -> str:
    return "its breaker" if pause.by == "breaker" else "an operator"


def _time(pause: SharePause) -> str:
    return datetime.fromtimestamp(pause.since_ms / 1000, UTC).isoformat(timespec="seconds")


def with_pause(row: dict[str, Any], pauses: Pauses) -> dict[str, Any]:
    """A group's JSON, with its pause where that was asked for."""
    group_id = row["group"]
    return {**row, "paused": pause_json(pauses[group_id])} if group_id in pauses else row


def pause_json(pause: SharePause | None) -> dict[str, Any] | None:
    if pause is None:
        return None
    return {"by": pause.by, "sinceMs": pause.since_ms, "reason": pause.reason}

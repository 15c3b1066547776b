"""What one command or deadline has at hand in a group shard, and what becomes of it.

A turn changes nothing: it works on drafts of the groups that it is about, and says which deadlines are to move. Its
outcome holds everything, so whoever drops the outcome is left with what was there before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, Self, TypeVar, cast

from leaselog.coordination.cluster_view import ClusterView
from leaselog.coordination.group_commands import Answer, Reply, Token
from leaselog.coordination.group_deadlines import DeadlineMoves
from leaselog.coordination.group_facts import GroupFact
from leaselog.model import GroupId, MemberId

__all__ = ["DeadlineKey", "DeadlineKind", "GroupLimits", "GroupOutcome", "Turn"]


class Draftable(Protocol):
    """A group of any kind, as far as a turn has to know it."""

    group_id: GroupId

    def draft(self) -> Self: ...


G = TypeVar("G", bound=Draftable)


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Kafka's broker settings of the same names, with its defaults, and bounds of our own at the end."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    #: how long a new member may wait in its first join; it cannot heartbeat meanwhile. Fixed in Kafka.
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_bytes_max: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 3_600_000
    retention_check_interval_ms: int = 600_000
    #: a group whose record would be larger cannot become stable
    record_bytes_max: int = 64 << 20
    #: ids given out to members to be; past it a join is refused as in a full group
    pending_joins_max: int = 10_000
    #: offsets and groups that one retention turn drops; the rest follow in turns of their own
    expired_per_turn: int = 1_000


class DeadlineKind(Enum):
    #: a member has not been heard of, or never came back with its id
    SESSION = "session"
    #: the group has waited long enough for members to rejoin
    JOIN = "join"
    #: the group has waited long enough for members to sync
    SYNC = "sync"
    #: a member of a consumer group has had the time to let go of partitions
    LETTING_GO = "letting go"
    #: time to look for offsets past their retention
    RETENTION = "retention"


DeadlineKey = tuple[DeadlineKind, GroupId, MemberId]


@dataclass(slots=True)
class Turn:
    now_ms: int
    limits: GroupLimits
    cluster: ClusterView
    deadlines: DeadlineMoves[DeadlineKey] = field(default_factory=DeadlineMoves)
    facts: list[GroupFact] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    drafts: dict[GroupId, Draftable] = field(default_factory=dict)
    #: groups that the retention has yet to look at, where it was its turn
    to_expire: tuple[GroupId, ...] | None = None

    def reply(self, token: Token, answer: Answer) -> None:
        self.replies.append(Reply(token, answer))

    def draft(self, group: G) -> G:
        """The group for this turn to change: the same draft however often it is asked for."""
        known = self.drafts.get(group.group_id)
        if known is None:
            known = self.drafts[group.group_id] = group.draft()
        return cast(G, known)

    def outcome(self) -> GroupOutcome:
        return GroupOutcome(
            tuple(self.facts),
            tuple(self.replies),
            tuple(self.deadlines.made),
            tuple(self.drafts.values()),
            self.to_expire,
        )


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """``facts`` to write, in order; then the shard is to ``apply`` the outcome, which replays them and takes over
    what is of the moment: the rest of it. ``replies`` to give once the facts are safe."""

    facts: tuple[GroupFact, ...] = ()
    replies: tuple[Reply, ...] = ()
    #: None where there is to be no deadline any more
    deadlines: tuple[tuple[DeadlineKey, int | None], ...] = ()
    drafts: tuple[Draftable, ...] = ()
    to_expire: tuple[GroupId, ...] | None = None

"""Changes of the access control lists: which entries are meant, and so many of them to a write that others have turns.

Bounds: `MAX_NEW_ACLS` entries and `MAX_FILTERS` filters in one request; `coordination.cluster_acls` bounds them in all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from uuid import UUID

from leaselog.broker.runtime.turns import Turns
from leaselog.coordination.cluster_records import AclAdded, ClusterRecord
from leaselog.coordination.cluster_shard import ClusterShard, CreateAcls, Decision, DeleteAcls
from leaselog.model import AclBinding, AclFilter, Refused

__all__ = ["MAX_FILTERS", "MAX_NEW_ACLS", "AclListener", "create_acls", "delete_acls"]

#: as Apache Kafka's controller, which writes no more records at once
MAX_NEW_ACLS = 10_000
#: each of them is held against every entry there is
MAX_FILTERS = 1_000
#: rehearsing, writing and replaying them is one step
ACLS_A_WRITE = 500

T = TypeVar("T")

Commit = Callable[[Sequence[ClusterRecord]], Awaitable[Refused | None]]


class AclListener(Protocol):
    def acls_changed(self, added: Sequence[AclBinding], removed: Sequence[AclBinding]) -> None:
        """They are safe, and count from now on; at the start, all that there are."""


async def create_acls(
    shard: ClusterShard,
    commit: Commit,
    listener: AclListener,
    new_id: Callable[[], UUID],
    wanted: Sequence[AclBinding],
) -> list[Refused | None]:
    """One answer for each entry: None where it is there now."""
    answers: list[Refused | None] = []
    for some in _some(wanted):
        decision = shard.handle(CreateAcls(tuple((new_id(), acl) for acl in some)))
        assert isinstance(decision, Decision), "each entry has an answer of its own"
        refused = await commit(decision.records)
        if refused is None:
            listener.acls_changed([r.acl for r in decision.records if isinstance(r, AclAdded)], ())
        answers += [answer or refused for answer in decision.reply]
    return answers


async def delete_acls(
    shard: ClusterShard, commit: Commit, listener: AclListener, turns: Turns, filters: Sequence[AclFilter]
) -> list[list[AclBinding] | Refused]:
    """For each filter the entries that it fits, which are gone now."""
    found = [await _matching(shard.acls, some, turns) for some in filters]
    doomed = list({acl_id: None for ids in found for acl_id in ids})
    gone: dict[UUID, AclBinding] = {}
    failure: Refused | None = None
    for some in _some(doomed):
        decision = shard.handle(DeleteAcls(tuple(some)))
        assert isinstance(decision, Decision), "what is not there is gone already"
        named = {acl_id: shard.acls[acl_id] for acl_id in some}
        failure = await commit(decision.records)
        if failure is not None:
            break
        listener.acls_changed((), list(named.values()))
        gone |= named
    return [
        failure if failure is not None and any(i not in gone for i in ids) else [gone[i] for i in ids]
        for ids in found
    ]


async def _matching(acls: Mapping[UUID, AclBinding], wanted: AclFilter, turns: Turns) -> list[UUID]:
    return [acl_id async for acl_id, acl in turns.each(list(acls.items())) if wanted.matches(acl)]


def _some(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), ACLS_A_WRITE):
        yield items[start : start + ACLS_A_WRITE]

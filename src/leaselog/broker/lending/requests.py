"""What ShareFetch and ShareAcknowledge have in common: who asks, and the acknowledgements they carry.

Kafka's inclusive offsets become half-open spans here and nowhere else. A partition's acknowledgements stand or fall
together, and never touch another partition's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from leaselog.broker.lending.feature import has_share_groups
from leaselog.broker.lending.partitions import SharePartitions
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId
from leaselog.share import (
    AcknowledgementBatch,
    AcknowledgementDetails,
    SessionKey,
    TopicIdPartition,
    find_malformed,
)
from leaselog.wire.messages import share_acknowledge, share_fetch
from leaselog.wire.share_extensions import NO_DELAY, ExtendedAcknowledgementBatch

__all__ = ["Acknowledgements", "Batches", "batches_of", "by_topic", "who"]

A = TypeVar("A")
D = TypeVar("D")

Batch: TypeAlias = share_fetch.AcknowledgementBatch | share_acknowledge.AcknowledgementBatch
Topic: TypeAlias = share_fetch.FetchTopic | share_acknowledge.AcknowledgeTopic
#: by partition, in the order of the request
Batches: TypeAlias = dict[TopicIdPartition, tuple[AcknowledgementBatch, ...]]

#: a UUID as text
MEMBER_ID_MAX_CHARS = 36
#: of the reason for a rejection; what is longer is cut off
REASON_MAX_CHARS = 1_000


def who(shares: SharePartitions, group_id: str | None, member_id: str | None) -> SessionKey | Refused:
    """Whose session it is, or why the request is answered no further, in the order in which Apache Kafka looks.

    The broker asks no coordinator whether the group has such a member; Kafka's does not.
    """
    if not has_share_groups(shares.support.cluster):
        shares.clear()  # they may have been on a moment ago
        return Refused(ErrorCode.UNSUPPORTED_VERSION, "The version of API is not supported.")
    if group_id is None:
        return Refused(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
    if not member_id or len(member_id) > MEMBER_ID_MAX_CHARS:
        return Refused(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
    return SessionKey(GroupId(group_id), MemberId(member_id))


def batches_of(topics: Iterable[Topic]) -> Batches:
    """The acknowledgements of a request. Topics and partitions that are named more than once are merged."""
    found: Batches = {}
    for topic in topics:
        for p in topic.partitions:
            if p.acknowledgement_batches:
                at = TopicIdPartition(TopicId(topic.topic_id), p.partition_index)
                batches = tuple(map(_batch, p.acknowledgement_batches))
                found[at] = found[at] + batches if found and at in found else batches
    return found


def _batch(batch: Batch) -> AcknowledgementBatch:
    return AcknowledgementBatch(
        batch.first_offset, batch.last_offset + 1, batch.acknowledge_types, _details(batch)
    )


def _details(batch: Batch) -> AcknowledgementDetails | None:
    """What the tags of our own say; None, as for nearly all, when there are none."""
    if not isinstance(batch, ExtendedAcknowledgementBatch):
        return None
    delay_ms, reason, is_given_back = batch.release_delay_ms, batch.reject_reason, batch.given_back
    if delay_ms == NO_DELAY and reason is None and not is_given_back:
        return None
    return AcknowledgementDetails(
        delay_ms if delay_ms >= 0 else None, reason[:REASON_MAX_CHARS] if reason else None, is_given_back
    )


def by_topic(told: Sequence[tuple[TopicIdPartition, object]], make: Callable[..., D]) -> list[D]:
    """What is told of partitions, as answers have it: by topic, in the order in which these first come.

    ``make`` makes what is told of a topic, of its id and its partitions.
    """
    if len(told) == 1:  # mostly, where jobs are taken one by one
        at, data = told[0]
        return [make(topic_id=at.topic_id, partitions=[data])]
    topics: dict[TopicId, list[object]] = {}
    for at, data in told:
        topics.setdefault(at.topic_id, []).append(data)
    return [make(topic_id=topic_id, partitions=partitions) for topic_id, partitions in topics.items()]


class Acknowledgements:
    """The acknowledgements of one request: made at construction; done when every one of them is safe or refused."""

    __slots__ = ("_left", "_made", "_make", "is_done", "outcomes")

    def __init__(
        self,
        shares: SharePartitions,
        key: SessionKey,
        batches: Batches,
        *,
        may_renew: bool,
        may_read: Callable[[TopicIdPartition], bool] | None = None,
    ) -> None:
        """``may_read``: whether the client may read a topic now; None: whatever there is."""
        #: by partition, None when all went well; complete when ``is_done``
        self.outcomes: dict[TopicIdPartition, Refused | None] = dict.fromkeys(batches)
        self._left = len(batches)
        self.is_done = not batches
        self._make: Callable[[], object] | None = None
        self._made: asyncio.Future[Any] | None = None
        for at, of_partition in batches.items():
            if may_read is None or may_read(at):
                self._acknowledge(shares, key, at, of_partition, may_renew=may_renew)
            else:
                self._report(at, Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."))

    def then(self, make: Callable[[], A]) -> asyncio.Future[A]:
        """What ``make`` makes of the outcomes when all are known. To be asked for once, while some are not.

        A future and no coroutine: acknowledgements come by the thousand, and a task for each would cost more than they.
        """
        self._make = make
        self._made = asyncio.get_running_loop().create_future()
        return self._made

    def _acknowledge(
        self,
        shares: SharePartitions,
        key: SessionKey,
        at: TopicIdPartition,
        batches: tuple[AcknowledgementBatch, ...],
        *,
        may_renew: bool,
    ) -> None:
        owner = shares.find(key.group_id, at)
        refused = find_malformed(batches, may_renew=may_renew)
        if shares.topic_of(at, owner) is None:
            self._report(at, Refused(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."))
        elif refused is not None:
            self._report(at, refused)
        elif owner is None:
            # nobody of the group has fetched from it since it began here: there is nothing to acknowledge
            text = "This server does not host this topic-partition."
            self._report(at, Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text))
        else:
            owner.acknowledge(key.member, batches, partial(self._report, at))

    def _report(self, at: TopicIdPartition, refused: Refused | None) -> None:
        if refused is not None:
            self.outcomes[at] = refused
        self._left -= 1
        self.is_done = self._left == 0
        if self._left or self._make is None or self._made is None:
            return
        # let go of, as they hold this object in turn: an answer with its records would stay until the collector comes
        make, made, self._make, self._made = self._make, self._made, None, None
        if made.done():
            return
        try:
            made.set_result(make())
        except Exception as bug:
            made.set_exception(bug)
            raise

"""The share session with one broker: its epoch, what the broker thinks we fetch, and what waits to be said. Pure.

One request is under way at a time, because fetches and acknowledgements count up the same epoch. Acknowledgements
ride on a fetch unless somebody waits for them. They never travel with epoch 0: one that begins holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from leaselog.client.errors import BrokerError, ClientError
from leaselog.client.share.acknowledgements import (
    Bundle,
    SessionLife,
    TopicIdPartition,
    WireBatch,
    wire_batches,
)
from leaselog.client.share.extras import Extra
from leaselog.model import ErrorCode
from leaselog.wire.messages import share_fetch
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.messages.share_fetch import ShareFetchRequest
from leaselog.wire.share_extensions import (
    ExtendedAcknowledgementBatch,
    ExtendedAcknowledgePartition,
    ExtendedAcknowledgeTopic,
    ExtendedFetchPartition,
    ExtendedFetchTopic,
    ExtendedShareAcknowledgeRequest,
    ExtendedShareFetchRequest,
)

__all__ = ["FetchWish", "NodeAsk", "NodeSession"]

OPENING = 0
CLOSING = -1
_INT_MAX = 2**31 - 1
#: acknowledgements of one request, so that it stays far below any limit of a broker's
MAX_OFFSETS_A_REQUEST = 100_000

WireBatches = list[ExtendedAcknowledgementBatch]


@dataclass(frozen=True, slots=True)
class FetchWish:
    """How much to ask for: Java's fetch.max.wait.ms, fetch.min.bytes, fetch.max.bytes, max.poll.records."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    acquire_mode: int
    #: and no records, of a broker that knows how to leave them out
    ranges_only: bool = False


@dataclass(slots=True, eq=False)
class NodeAsk:
    """One request to one broker, with what it needs to make sense of the answer."""

    node_id: int
    request: ShareFetchRequest | ShareAcknowledgeRequest
    epoch: int
    bundles: dict[TopicIdPartition, list[Bundle]] = field(default_factory=dict)
    #: how long the broker may take on purpose
    wait_ms: int = 0

    @property
    def has_asked_extras(self) -> bool:
        """Whether the application added something to an acknowledgement in here."""
        return any(
            extra.is_asked for some in self.bundles.values() for b in some for extra in b.extras.values()
        )

    @property
    def fetches(self) -> bool:
        return isinstance(self.request, ShareFetchRequest)


class NodeSession:
    def __init__(self, node_id: int, group_id: str, member_id: str) -> None:
        self.node_id = node_id
        self._group_id = group_id
        self._member_id = member_id
        self._epoch = OPENING
        self.life = SessionLife()
        #: partitions of the broker's session, in the order they came
        self._known = dict[TopicIdPartition, None]()
        self.outbox = list[Bundle]()
        self.under_way: NodeAsk | None = None
        #: not asked again before: something went wrong that needs a moment
        self.not_before_ms = 0
        #: requests in a row that brought nothing but errors
        self.failures = 0
        #: the broker is leaselog's; others are not bothered with extras
        self.knows_extras = False

    @property
    def is_open(self) -> bool:
        return self._epoch != OPENING

    @property
    def partition_count(self) -> int:
        return len(self._known)

    def fetch(self, wanted: Iterable[TopicIdPartition], wish: FetchWish, now_ms: int) -> NodeAsk:
        """Fetch from these partitions; what waits in the outbox comes along."""
        wanted = dict.fromkeys(wanted)
        bundles = self._choose(now_ms) if self.is_open else {}
        listed = [where for where in wanted if where not in self._known or not self.is_open]
        listed += bundles
        forgotten = [where for where in self._known if where not in wanted] if self.is_open else []
        request = ExtendedShareFetchRequest(
            ranges_only=wish.ranges_only,
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=self._epoch,
            max_wait_ms=wish.max_wait_ms,
            min_bytes=wish.min_bytes,
            max_bytes=wish.max_bytes,
            max_records=wish.max_records,
            batch_size=wish.max_records,
            share_acquire_mode=wish.acquire_mode,
            topics=_fetch_topics(dict.fromkeys(listed), self._said(bundles)),
            forgotten_topics_data=_forgotten([where for where in forgotten if where not in bundles]),
        )
        # An acknowledged partition joins the broker's session, if it was not in there, and leaves with the next fetch.
        self._known = wanted | dict.fromkeys(bundles)
        return self._go(NodeAsk(self.node_id, request, self._epoch, bundles, wish.max_wait_ms))

    def acknowledge(self, now_ms: int) -> NodeAsk | None:
        """Say what waits in the outbox, and nothing else; None if nothing may go yet."""
        bundles = self._choose(now_ms)
        if not bundles:
            return None
        self._known |= dict.fromkeys(bundles)
        return self._go(self._acknowledgement(bundles, self._epoch))

    def close(self, now_ms: int) -> NodeAsk:
        """The last word: what waits in the outbox is said, and the broker takes back the rest.

        What cannot travel together goes ahead of it, one request at a time: this is then not the last one yet.
        """
        bundles = self._choose(now_ms)
        is_last = all(bundle.not_before_ms > now_ms for bundle in self.outbox)
        if not is_last:
            self._known |= dict.fromkeys(bundles)
        return self._go(self._acknowledgement(bundles, CLOSING if is_last else self._epoch))

    def answered(self, error: ClientError | None) -> None:
        """The answer is there; a session that the broker does not know, or counts otherwise, begins anew."""
        ask, self.under_way = self.under_way, None
        assert ask is not None, "no request is under way"
        code = error.code if isinstance(error, BrokerError) else None
        if ask.epoch == CLOSING or code is ErrorCode.SHARE_SESSION_NOT_FOUND:
            self._end(BrokerError(ErrorCode.SHARE_SESSION_NOT_FOUND))
        elif code is ErrorCode.INVALID_SHARE_SESSION_EPOCH:
            # The broker drops its session when the next one begins, but takes nothing back: leases go on.
            self._epoch = OPENING
        elif code is not ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            self._epoch = 1 if ask.epoch == _INT_MAX else ask.epoch + 1

    def lost(self) -> None:
        """The connection is gone, and the session with it: the broker takes back what it leased."""
        self.under_way = None
        self._end(
            BrokerError(ErrorCode.SHARE_SESSION_NOT_FOUND, f"node {self.node_id}: the connection was lost")
        )

    def _end(self, why: BrokerError) -> None:
        self.life.ended = why
        self.life = SessionLife()
        self._epoch = OPENING
        self._known = {}

    def _go(self, ask: NodeAsk) -> NodeAsk:
        assert self.under_way is None, "one request at a time"
        self.under_way = ask
        return ask

    def _choose(self, now_ms: int) -> dict[TopicIdPartition, list[Bundle]]:
        """Takes from the outbox what can go together: an offset once, and who failed in company goes alone."""
        chosen = dict[TopicIdPartition, list[Bundle]]()
        kept, count = list[Bundle](), 0
        for bundle in self.outbox:
            company = chosen.get(bundle.lease.where, [])
            fits = count == 0 or count + len(bundle.types) <= MAX_OFFSETS_A_REQUEST
            if bundle.not_before_ms > now_ms or not fits or not _goes_with(bundle, company):
                kept.append(bundle)
            else:
                chosen.setdefault(bundle.lease.where, []).append(bundle)
                count += len(bundle.types)
        self.outbox = kept
        return chosen

    def _said(self, bundles: Mapping[TopicIdPartition, list[Bundle]]) -> dict[TopicIdPartition, WireBatches]:
        said = dict[TopicIdPartition, WireBatches]()
        for where, some in bundles.items():
            types = {offset: kind for bundle in some for offset, kind in bundle.types.items()}
            extras = dict[int, Extra]()
            if self.knows_extras:
                extras = {offset: extra for bundle in some for offset, extra in bundle.extras.items()}
            said[where] = list(map(_batch, wire_batches(types, extras)))
        return said

    def _acknowledgement(self, bundles: dict[TopicIdPartition, list[Bundle]], epoch: int) -> NodeAsk:
        request = ExtendedShareAcknowledgeRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            share_session_epoch=epoch,
            is_renew_ack=any(bundle.renews for some in bundles.values() for bundle in some),
            topics=_acknowledge_topics(self._said(bundles)),
        )
        return NodeAsk(self.node_id, request, epoch, bundles)


def _goes_with(bundle: Bundle, company: list[Bundle]) -> bool:
    if not company:
        return True
    if bundle.is_alone or any(other.is_alone for other in company):
        return False
    return all(bundle.types.keys().isdisjoint(other.types) for other in company)


def _fetch_topics(
    listed: Iterable[TopicIdPartition], said: Mapping[TopicIdPartition, WireBatches]
) -> list[ExtendedFetchTopic]:
    topics = dict[object, ExtendedFetchTopic]()
    partitions = dict[object, list[ExtendedFetchPartition]]()
    for where in listed:
        of_topic = partitions.setdefault(where.topic_id, [])
        if where.topic_id not in topics:
            topics[where.topic_id] = ExtendedFetchTopic(topic_id=where.topic_id, partitions=of_topic)
        of_topic.append(
            ExtendedFetchPartition(
                partition_index=where.partition, acknowledgement_batches=said.get(where, ())
            )
        )
    return list(topics.values())


def _acknowledge_topics(said: Mapping[TopicIdPartition, WireBatches]) -> list[ExtendedAcknowledgeTopic]:
    topics = dict[object, ExtendedAcknowledgeTopic]()
    partitions = dict[object, list[ExtendedAcknowledgePartition]]()
    for where, batches in said.items():
        of_topic = partitions.setdefault(where.topic_id, [])
        if where.topic_id not in topics:
            topics[where.topic_id] = ExtendedAcknowledgeTopic(topic_id=where.topic_id, partitions=of_topic)
        of_topic.append(
            ExtendedAcknowledgePartition(partition_index=where.partition, acknowledgement_batches=batches)
        )
    return list(topics.values())


def _batch(batch: WireBatch) -> ExtendedAcknowledgementBatch:
    extra = batch.extra
    if extra is None:
        return ExtendedAcknowledgementBatch(
            first_offset=batch.first, last_offset=batch.last, acknowledge_types=batch.types
        )
    return ExtendedAcknowledgementBatch(
        first_offset=batch.first,
        last_offset=batch.last,
        acknowledge_types=batch.types,
        release_delay_ms=extra.delay_ms,
        reject_reason=extra.reason,
        given_back=extra.given_back,
    )


def _forgotten(gone: list[TopicIdPartition]) -> list[share_fetch.ForgottenTopic]:
    by_topic = dict[object, share_fetch.ForgottenTopic]()
    for where in gone:
        made = by_topic.get(where.topic_id)
        if made is None:
            by_topic[where.topic_id] = share_fetch.ForgottenTopic(
                topic_id=where.topic_id, partitions=[where.partition]
            )
        else:
            made.partitions = [*made.partitions, where.partition]
    return list(by_topic.values())

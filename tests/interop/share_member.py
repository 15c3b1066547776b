"""A member of a share group as bytes on a socket: it says exactly what it is told to, right or wrong.

Keeps its session's epoch as a client does, unless told otherwise. The broker asks nobody whether a share session's
member is in the group, so it need not join; `begin` sees to it that the group's state is there.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from interop.broker_process import BrokerProcess
from interop.confluent_io import WAIT_S, wait_until
from interop.raw_requests import RawConnection, connected
from leaselog.wire.messages import share_acknowledge as acknowledge_messages
from leaselog.wire.messages import share_fetch as fetch_messages
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from leaselog.wire.messages.share_fetch import PartitionData, ShareFetchRequest, ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
#: first offset, last offset, types
Batch = tuple[int, int, list[int]]
#: by partition
Acks = dict[int, list[Batch]]
#: first offset, last offset, delivery count
Range = tuple[int, int, int]


def topic_id_of(broker: BrokerProcess, topic: str) -> UUID:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    with connected(broker) as connection:
        (found,) = connection.ask(request, 12, MetadataResponse).topics
    assert found.error_code == 0, found.error_code
    return found.topic_id


def heartbeat(
    connection: RawConnection, group: str, member: str, epoch: int, topics: list[str] | None = None
) -> ShareGroupHeartbeatResponse:
    request = ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
    )
    return connection.ask(request, 1, ShareGroupHeartbeatResponse)


def begin(broker: BrokerProcess, group: str, topics: Iterable[str], partitions: int) -> None:
    """Has somebody join until all partitions are handed out, as they are when their state has begun, and leave."""
    member = str(uuid.uuid4())
    deadline = time.monotonic() + WAIT_S
    with connected(broker) as connection:
        # the topic that groups are kept in begins with the first who asks for a coordinator
        find = FindCoordinatorRequest(key=group)
        wait_until(lambda: connection.ask(find, 2, FindCoordinatorResponse).error_code == 0, "a coordinator")
        answer = heartbeat(connection, group, member, 0, list(topics))
        while answer.error_code or _assigned(answer) < partitions:
            assert time.monotonic() < deadline, (answer.error_code, answer.error_message)
            time.sleep(0.1)
            # joining again is how to be told of all partitions; a coordinator that is loading knows nobody yet
            epoch = answer.member_epoch if answer.error_code == 0 else 0
            answer = heartbeat(connection, group, member, epoch, list(topics))
        assert heartbeat(connection, group, member, -1).error_code == 0


def _assigned(answer: ShareGroupHeartbeatResponse) -> int:
    if answer.assignment is None:
        return 0
    return sum(len(topic.partitions) for topic in answer.assignment.topic_partitions)


@dataclass(slots=True)
class RawShareMember:
    connection: RawConnection
    group: str
    topic_id: UUID
    member: str = field(default_factory=lambda: str(uuid.uuid4()))
    #: the next one of the session
    epoch: int = 0

    def fetch(
        self,
        *,
        partitions: Iterable[int] = (0,),
        acks: Acks | None = None,
        epoch: int | None = None,
        version: int = 2,
        topic_id: UUID | None = None,
        wait_ms: int = 500,
        **wish: Any,
    ) -> ShareFetchResponse:
        """The next fetch of the session; all partitions at first, later only those with acknowledgements."""
        if epoch is None:
            epoch, self.epoch = self.epoch, self.epoch + 1
        named: Acks = {p: [] for p in (partitions if epoch == 0 else ())} | (acks or {})
        topic = fetch_messages.FetchTopic(
            topic_id=topic_id or self.topic_id,
            partitions=[
                fetch_messages.FetchPartition(
                    partition_index=p,
                    acknowledgement_batches=[
                        fetch_messages.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=types
                        )
                        for first, last, types in batches
                    ],
                )
                for p, batches in named.items()
            ],
        )
        values = {
            "group_id": self.group,
            "member_id": self.member,
            "share_session_epoch": epoch,
            "max_wait_ms": wait_ms,
            "min_bytes": 1,
            "max_records": 500,
            "batch_size": 500,
            "topics": [topic] if named else [],
        }
        return self.connection.ask(ShareFetchRequest(**{**values, **wish}), version, ShareFetchResponse)

    def acknowledge(
        self,
        acks: Acks,
        *,
        epoch: int | None = None,
        version: int = 2,
        topic_id: UUID | None = None,
        **more: Any,
    ) -> ShareAcknowledgeResponse:
        if epoch is None:
            epoch, self.epoch = self.epoch, self.epoch + 1
        topic = acknowledge_messages.AcknowledgeTopic(
            topic_id=topic_id or self.topic_id,
            partitions=[
                acknowledge_messages.AcknowledgePartition(
                    partition_index=p,
                    acknowledgement_batches=[
                        acknowledge_messages.AcknowledgementBatch(
                            first_offset=first, last_offset=last, acknowledge_types=types
                        )
                        for first, last, types in batches
                    ],
                )
                for p, batches in acks.items()
            ],
        )
        values = {
            "group_id": self.group,
            "member_id": self.member,
            "share_session_epoch": epoch,
            "topics": [topic] if acks else [],
        }
        request = ShareAcknowledgeRequest(**{**values, **more})
        return self.connection.ask(request, version, ShareAcknowledgeResponse)

    def acquire(
        self, *, partitions: Iterable[int] = (0,), until: int = 1, **wish: Any
    ) -> dict[int, list[Range]]:
        """Fetches until so many records are held in all, as the first fetch may meet state that is still being read."""
        held: dict[int, list[Range]] = {}
        deadline = time.monotonic() + WAIT_S
        while sum(last + 1 - first for of in held.values() for first, last, _ in of) < until:
            assert time.monotonic() < deadline, f"only {held}"
            for p, found in ranges(self.fetch(partitions=partitions, **wish)).items():
                held.setdefault(p, []).extend(found)
        return held


def partition_of(response: ShareFetchResponse, index: int = 0) -> PartitionData | None:
    """What the answer says of a partition, once at most."""
    assert response.error_code == 0, (response.error_code, response.error_message)
    found = [p for topic in response.responses for p in topic.partitions if p.partition_index == index]
    assert len(found) <= 1
    return found[0] if found else None


def ranges(response: ShareFetchResponse) -> dict[int, list[Range]]:
    assert response.error_code == 0, (response.error_code, response.error_message)
    return {
        p.partition_index: [(r.first_offset, r.last_offset, r.delivery_count) for r in p.acquired_records]
        for topic in response.responses
        for p in topic.partitions
        if p.acquired_records
    }


def codes(response: ShareAcknowledgeResponse) -> dict[int, int]:
    assert response.error_code == 0, (response.error_code, response.error_message)
    return {p.partition_index: p.error_code for topic in response.responses for p in topic.partitions}


def acknowledge_codes(response: ShareFetchResponse) -> dict[int, int]:
    assert response.error_code == 0, (response.error_code, response.error_message)
    return {
        p.partition_index: p.acknowledge_error_code for topic in response.responses for p in topic.partitions
    }

"""Messages of leaselog's own, beside Kafka's. Only clients that say they are leaselog's are told of them.

``DescribeSharePartitions`` asks the leader of partitions what a share group has in flight there: Kafka's protocol
tells where a group begins and how much is left, not who holds what.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = [
    "FIRST_EXTENSION_KEY",
    "DeliveryCount",
    "DescribeSharePartitionsRequest",
    "DescribeSharePartitionsRequestTopic",
    "DescribeSharePartitionsResponse",
    "DescribeSharePartitionsResponseTopic",
    "DescribedSharePartition",
    "Holder",
]

#: far from where Kafka's keys grow
FIRST_EXTENSION_KEY = 10_000
_V0 = Versions(0, 0)


class DescribeSharePartitionsRequestTopic(Message):
    __slots__ = ("name", "partitions")
    NAME = "DescribeSharePartitionsRequestTopic"
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("name", "string", default=""),
        Field("partitions", "int32", array=True, default=()),
    )

    def __init__(self, *, name: str = "", partitions: Sequence[int] = ()) -> None:
        self.name = name
        self.partitions = partitions


class DescribeSharePartitionsRequest(Message):
    __slots__ = ("group_id", "topics")
    NAME = "DescribeSharePartitionsRequest"
    API_KEY = FIRST_EXTENSION_KEY
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("group_id", "string", default=""),
        Field("topics", DescribeSharePartitionsRequestTopic, array=True, default=()),
    )

    def __init__(
        self, *, group_id: str = "", topics: Sequence[DescribeSharePartitionsRequestTopic] = ()
    ) -> None:
        self.group_id = group_id
        self.topics = topics


class DeliveryCount(Message):
    """So many unfinished records of the window were delivered so often."""

    __slots__ = ("deliveries", "record_count")
    NAME = "DeliveryCount"
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("deliveries", "int16", default=0),
        Field("record_count", "int64", default=0),
    )

    def __init__(self, *, deliveries: int = 0, record_count: int = 0) -> None:
        self.deliveries = deliveries
        self.record_count = record_count


class Holder(Message):
    """A member with leases; the times are from now."""

    __slots__ = ("first_deadline_ms", "last_deadline_ms", "member_id", "record_count")
    NAME = "Holder"
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("member_id", "string", default=""),
        Field("record_count", "int64", default=0),
        Field("first_deadline_ms", "int64", default=0),
        Field("last_deadline_ms", "int64", default=0),
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        record_count: int = 0,
        first_deadline_ms: int = 0,
        last_deadline_ms: int = 0,
    ) -> None:
        self.member_id = member_id
        self.record_count = record_count
        self.first_deadline_ms = first_deadline_ms
        self.last_deadline_ms = last_deadline_ms


class DescribedSharePartition(Message):
    __slots__ = (
        "acquired",
        "archiving",
        "available",
        "delivery_counts",
        "done_ahead",
        "end_offset",
        "error_code",
        "error_message",
        "given_up",
        "high_watermark",
        "holders",
        "next_due_ms",
        "oldest_age_ms",
        "partition",
        "start_offset",
        "waiting",
        "window_limit",
        "window_used",
    )
    NAME = "DescribedSharePartition"
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("partition", "int32", default=0),
        Field("error_code", "int16", default=0),
        Field("error_message", "string", nullable=ALWAYS, default=None),
        Field("start_offset", "int64", default=-1),
        Field("end_offset", "int64", default=-1),
        Field("high_watermark", "int64", default=-1),
        Field("available", "int64", default=0),
        Field("acquired", "int64", default=0),
        Field("done_ahead", "int64", default=0),
        Field("window_used", "int64", default=0),
        Field("window_limit", "int64", default=0),
        Field("oldest_age_ms", "int64", default=-1),
        Field("delivery_counts", DeliveryCount, array=True, default=()),
        Field("holders", Holder, array=True, default=()),
        Field("waiting", "int64", tag=0, tagged=ALWAYS, default=0),
        Field("next_due_ms", "int64", tag=1, tagged=ALWAYS, default=-1),
        Field("archiving", "int64", tag=2, tagged=ALWAYS, default=0),
        Field("given_up", "int64", tag=3, tagged=ALWAYS, default=0),
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        start_offset: int = -1,
        end_offset: int = -1,
        high_watermark: int = -1,
        available: int = 0,
        acquired: int = 0,
        done_ahead: int = 0,
        window_used: int = 0,
        window_limit: int = 0,
        oldest_age_ms: int = -1,
        delivery_counts: Sequence[DeliveryCount] = (),
        holders: Sequence[Holder] = (),
        waiting: int = 0,
        next_due_ms: int = -1,
        archiving: int = 0,
        given_up: int = 0,
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.start_offset = start_offset
        #: of the window; what lies behind it nobody has asked for yet
        self.end_offset = end_offset
        self.high_watermark = high_watermark
        #: to be had now, in the window or behind it
        self.available = available
        self.acquired = acquired
        self.done_ahead = done_ahead
        self.window_used = window_used
        self.window_limit = window_limit
        #: since the batch with the first unfinished record was written; -1 if there is none or nobody knows
        self.oldest_age_ms = oldest_age_ms
        self.delivery_counts = delivery_counts
        self.holders = holders
        #: held back until a time, and how far that of the first is from now; -1 if none is
        self.waiting = waiting
        self.next_due_ms = next_due_ms
        #: their dead letters are on the way
        self.archiving = archiving
        #: since the broker began: their deliveries ran out, and they became no dead letters
        self.given_up = given_up


class DescribeSharePartitionsResponseTopic(Message):
    __slots__ = ("name", "partitions")
    NAME = "DescribeSharePartitionsResponseTopic"
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("name", "string", default=""),
        Field("partitions", DescribedSharePartition, array=True, default=()),
    )

    def __init__(self, *, name: str = "", partitions: Sequence[DescribedSharePartition] = ()) -> None:
        self.name = name
        self.partitions = partitions


class DescribeSharePartitionsResponse(Message):
    __slots__ = ("error_code", "error_message", "throttle_time_ms", "topics")
    NAME = "DescribeSharePartitionsResponse"
    API_KEY = FIRST_EXTENSION_KEY
    VERSIONS = _V0
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field("throttle_time_ms", "int32", default=0),
        Field("error_code", "int16", default=0),
        Field("error_message", "string", nullable=ALWAYS, default=None),
        Field("topics", DescribeSharePartitionsResponseTopic, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        topics: Sequence[DescribeSharePartitionsResponseTopic] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics = topics

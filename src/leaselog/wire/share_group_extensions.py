"""For which partitions a share group has state: Kafka's record, with a tag that others skip.

``first_count`` is how many partitions the topic had when the group came to know of it. It is left out, and the bytes
are those that Kafka knows, where the partitions that are listed tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leaselog.wire.messages import group_records as records
from leaselog.wire.schema import ALWAYS, Field
from leaselog.wire.share_extensions import FIRST_EXTENSION_TAG

__all__ = ["NOT_SAID", "CountedStatePartitionMetadataValue", "CountedTopicPartitionsInfo"]

NOT_SAID = -1


class CountedTopicPartitionsInfo(records.TopicPartitionsInfo):
    __slots__ = ("first_count",)
    FIELDS = (  # type: ignore[assignment] # one more than the base has
        *records.TopicPartitionsInfo.FIELDS,
        Field("first_count", "int32", tag=FIRST_EXTENSION_TAG, tagged=ALWAYS, default=NOT_SAID),
    )

    def __init__(self, *, first_count: int = NOT_SAID, **others: Any) -> None:
        super().__init__(**others)
        self.first_count = first_count


class CountedStatePartitionMetadataValue(records.ShareGroupStatePartitionMetadataValue):
    __slots__ = ()
    initializing_topics: Sequence[CountedTopicPartitionsInfo]
    initialized_topics: Sequence[CountedTopicPartitionsInfo]
    FIELDS = tuple(  # type: ignore[assignment] # structs of another class
        field._replace(kind=CountedTopicPartitionsInfo)
        if field.kind is records.TopicPartitionsInfo
        else field
        for field in records.ShareGroupStatePartitionMetadataValue.FIELDS
    )

"""ListOffsets (key 2), versions 1 to 11: where a log begins and ends, and where a time is.

- Times from 0 on: the first visible record no older. Below are places: latest (-1), earliest (-2), the record with
  the largest timestamp (-3, v7), earliest local (-4, v8), and in tiered storage, which there is none of: the last
  tiered (-5, v9) and the first not yet tiered (-6, v11), both answered with -1. Others, or too early a version:
  UNSUPPORTED_VERSION.
- Needs leave to DESCRIBE each topic.
- Nobody sees past the high watermark. A reader of committed records sees up to the last stable offset: that is its
  latest, and a record that is found beyond it is told as none, the one with the largest timestamp included.
- A leader epoch (v4) that is not the current one is FENCED_ or UNKNOWN_LEADER_EPOCH.
- A partition that comes twice is INVALID_REQUEST; it is answered once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Generator
from typing import NamedTuple

from leaselog.broker.cluster.partition_lookup import find_partition
from leaselog.broker.net.api import Reply, RequestContext, serves
from leaselog.broker.records.log_work import LogWork
from leaselog.log import FoundOffset, Steps
from leaselog.model import AclOperation, ErrorCode
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
)
#: the first version that may ask for a place
PLACES = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
READ_UNCOMMITTED, READ_COMMITTED = ISOLATION_LEVELS = (0, 1)


@serves(
    ListOffsetsRequest,
    versions=(1, 11),
    kips="KIP-79, 98, 207, 320, 405, 734, 1005, 1023, 1075",
    exclusive=True,
    only_reads=True,
)
def list_offsets(request: ListOffsetsRequest, context: RequestContext) -> Reply:
    response, searches = ListOffsetsResponse(), list[_Search]()
    answering = context.broker.turns.start(_answers(request, context, response, searches))
    if answering is None and not searches:
        return response
    return _search(answering, searches, response, context.broker.log_work)


def _answers(
    request: ListOffsetsRequest,
    context: RequestContext,
    response: ListOffsetsResponse,
    searches: list[_Search],
) -> Generator[None, None, None]:
    """Fills the answer in, one partition a step, but for what is to be searched for."""
    mentions = Counter((topic.name, p.partition_index) for topic in request.topics for p in topic.partitions)
    committed = request.isolation_level == READ_COMMITTED
    is_bad = request.isolation_level not in ISOLATION_LEVELS
    response.topics = answers = []
    for topic in request.topics:
        asked = {p.partition_index: p for p in topic.partitions}
        found = []
        denied = context.refuse_topic(AclOperation.DESCRIBE, topic.name)
        for index, wish in asked.items():
            answer = ListOffsetsPartitionResponse(partition_index=index)
            found.append(answer)
            if denied is not None:
                answer.error_code = denied.code
            elif is_bad or mentions[topic.name, index] > 1:
                answer.error_code = ErrorCode.INVALID_REQUEST
            elif (search := _answer(topic.name, wish, context, answer, committed=committed)) is not None:
                searches.append(search)
            yield
        answers.append(ListOffsetsTopicResponse(name=topic.name, partitions=found))
        yield


class _Search(NamedTuple):
    """What takes more than a look at a log's ends."""

    steps: Steps[FoundOffset | None]
    answer: ListOffsetsPartitionResponse
    #: what is found there or later is not told
    visible_end: int


async def _search(
    answering: Awaitable[None] | None, searches: list[_Search], response: ListOffsetsResponse, work: LogWork
) -> ListOffsetsResponse:
    if answering is not None:
        await answering
    for steps, answer, visible_end in searches:
        try:
            found = await work.carry(steps)
        except OSError:
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        except DecodeError:
            answer.error_code = ErrorCode.CORRUPT_MESSAGE
        else:
            if found is not None and found.offset < visible_end:
                answer.offset, answer.timestamp, answer.leader_epoch = found
    return response


def _answer(
    topic: str,
    wish: ListOffsetsPartition,
    context: RequestContext,
    answer: ListOffsetsPartitionResponse,
    *,
    committed: bool,
) -> _Search | None:
    """Fills the answer in, or says what is to be searched for first."""
    partition = find_partition(context.broker, topic, wish.partition_index)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
        return None
    answer.error_code = partition.check_leader_epoch(wish.current_leader_epoch)
    if answer.error_code:
        return None
    if wish.timestamp < 0 and context.version < PLACES.get(wish.timestamp, 2**15):
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        return None
    end = partition.log.visible_end(committed=committed)
    if wish.timestamp == MAX_TIMESTAMP:
        return _Search(partition.log.max_timestamp(), answer, end)
    if wish.timestamp >= 0:
        return _Search(partition.log.offset_for_timestamp(wish.timestamp), answer, end)
    if wish.timestamp not in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        log = partition.log
        answer.offset = end if wish.timestamp == LATEST else log.start_offset
        answer.leader_epoch = partition.leader_epoch
    return None

"""KIP-227: who gets a session, what continues it, and what is news."""

from __future__ import annotations

import itertools

from leaselog.broker.fetching.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchSession,
    FetchSessions,
    FollowedPartition,
)
from leaselog.model import ErrorCode

EVICT_AFTER_MS = 100


def sessions(slots: int = 2) -> FetchSessions:
    return FetchSessions(slots=slots, evict_after_ms=EVICT_AFTER_MS, new_id=itertools.count(7).__next__)


def enter(
    cache: FetchSessions, session_id: int, epoch: int, *, now_ms: int = 0, ids: bool = True
) -> FetchSession | ErrorCode:
    return cache.enter(session_id, epoch, uses_topic_ids=ids, now_ms=now_ms)


def opened(cache: FetchSessions, *, now_ms: int = 0) -> FetchSession:
    session = enter(cache, 0, INITIAL_EPOCH, now_ms=now_ms)
    assert isinstance(session, FetchSession)
    return session


def followed(topic: str = "t", index: int = 0, offset: int = 0) -> FollowedPartition:
    return FollowedPartition(topic, index, offset, 1000, -1, -1)


def test_epoch_zero_opens_a_session_that_epoch_one_continues() -> None:
    cache = sessions()
    session = opened(cache)
    assert session.id == 7
    assert enter(cache, 7, 1) is session
    assert enter(cache, 7, 2) is session


def test_a_wrong_epoch_is_refused_and_changes_nothing() -> None:
    cache = sessions()
    session = opened(cache)
    assert enter(cache, 7, 2) is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert enter(cache, 7, 1) is session


def test_an_unknown_session_is_not_found() -> None:
    assert enter(sessions(), 99, 1) is ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_closes_the_session_and_keeps_none() -> None:
    cache = sessions()
    opened(cache)
    final = enter(cache, 7, FINAL_EPOCH)
    assert isinstance(final, FetchSession)
    assert not final.is_incremental
    assert len(cache) == 0


def test_a_session_of_names_cannot_go_on_with_ids() -> None:
    cache = sessions()
    opened(cache)
    assert enter(cache, 7, 1, ids=False) is ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_at_the_bound_the_newcomer_gets_no_session_while_all_are_in_use() -> None:
    cache = sessions(slots=1)
    opened(cache)
    assert not opened(cache, now_ms=EVICT_AFTER_MS).is_incremental
    assert len(cache) == 1


def test_at_the_bound_a_session_long_unused_makes_room() -> None:
    cache = sessions(slots=1)
    old = opened(cache)
    new = opened(cache, now_ms=EVICT_AFTER_MS + 1)
    assert new.is_incremental
    assert new.id != old.id
    assert len(cache) == 1


def test_without_slots_nobody_gets_a_session() -> None:
    assert not opened(sessions(slots=0)).is_incremental


def test_a_partition_that_was_served_goes_behind_the_others() -> None:
    session = opened(sessions())
    for index in range(3):
        session.follow(followed(index=index))
    session.served(("t", 0))
    assert [index for _, index in session.partitions] == [1, 2, 0]


def test_following_again_updates_in_place_and_forgetting_removes() -> None:
    session = opened(sessions())
    for asked in (followed(index=0), followed(index=1), followed(index=0, offset=5)):
        session.follow(asked)
    session.forget([("t", 1)])
    assert [p.fetch_offset for p in session.partitions.values()] == [5]


def test_only_changes_are_news() -> None:
    partition = followed()
    quiet = {"error": 0, "high_watermark": 5, "start_offset": 0, "has_records": False}
    assert partition.tell(**quiet)  # type: ignore[arg-type]
    assert not partition.tell(**quiet)  # type: ignore[arg-type]
    assert partition.tell(error=0, high_watermark=6, start_offset=0, has_records=False)
    assert partition.tell(error=3, high_watermark=6, start_offset=0, has_records=False)
    assert partition.tell(error=3, high_watermark=6, start_offset=0, has_records=False), (
        "an error is told each time"
    )
    assert partition.tell(error=0, high_watermark=6, start_offset=0, has_records=False), "and so is its end"

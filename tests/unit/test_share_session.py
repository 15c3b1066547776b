"""Share sessions: the epoch table, the limit, the line, news, and what a closed connection ends."""

from __future__ import annotations

from uuid import UUID

import pytest

from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId
from leaselog.share import ConnectionId, SessionKey, ShareSession, ShareSessions, TopicIdPartition

KEY = SessionKey(GroupId("g"), MemberId("m"))
OTHER = SessionKey(GroupId("g"), MemberId("n"))
ONE, TWO = ConnectionId(1), ConnectionId(2)
TOPIC = TopicId(UUID(int=7))
P = [TopicIdPartition(TOPIC, index) for index in range(5)]


def opened(sessions: ShareSessions, key: SessionKey = KEY, connection: ConnectionId = ONE) -> ShareSession:
    session = sessions.fetch(key, 0, connection, added=P[:3])
    assert isinstance(session, ShareSession)
    return session


def code(answer: ShareSession | Refused) -> ErrorCode:
    return answer.code if isinstance(answer, Refused) else ErrorCode.NONE


def test_fetches_and_acknowledgements_advance_one_epoch() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    assert sessions.fetch(KEY, 1, ONE) is session
    assert sessions.acknowledge(KEY, 2) is session
    assert sessions.fetch(KEY, 3, TWO) is session, "any connection may"
    assert code(sessions.fetch(KEY, 3, ONE)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert code(sessions.acknowledge(KEY, 5)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert session.epoch == 4


@pytest.mark.parametrize("epoch", [-1, 1, 7])
def test_without_a_session_only_epoch_zero_is_good(epoch: int) -> None:
    sessions = ShareSessions(10)
    assert code(sessions.fetch(KEY, epoch, ONE)) is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert code(sessions.acknowledge(KEY, epoch)) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_epoch_zero_cannot_acknowledge() -> None:
    sessions = ShareSessions(10)
    assert code(sessions.fetch(KEY, 0, ONE, has_acknowledgements=True)) is ErrorCode.INVALID_REQUEST
    assert code(sessions.acknowledge(KEY, 0)) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert len(sessions) == 0


def test_the_final_epoch_needs_no_count_and_ends_the_session_when_told() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    assert sessions.fetch(KEY, -1, ONE) is session
    assert sessions.acknowledge(KEY, -1) is session
    assert sessions.end(KEY) is session
    assert sessions.end(KEY) is None
    assert code(sessions.fetch(KEY, 1, ONE)) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_the_epoch_after_the_largest_is_one() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    session.epoch = 2**31 - 1
    assert sessions.fetch(KEY, 2**31 - 1, ONE) is session
    assert session.epoch == 1
    assert session.is_current(2**31 - 1)


def test_epoch_zero_again_replaces_the_session_even_when_full() -> None:
    sessions = ShareSessions(1)
    first = opened(sessions)
    second = opened(sessions)
    assert second is not first
    assert len(sessions) == 1


def test_a_full_broker_refuses_and_evicts_nobody() -> None:
    sessions = ShareSessions(1)
    session = opened(sessions)
    assert code(sessions.fetch(OTHER, 0, TWO)) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert sessions.fetch(KEY, 1, ONE) is session
    sessions.end(KEY)
    assert code(sessions.fetch(OTHER, 0, TWO)) is ErrorCode.NONE


def test_an_answer_that_another_request_overtook_is_not_current() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    assert session.is_current(0)
    sessions.fetch(KEY, 1, ONE)
    assert not session.is_current(0)


def test_partitions_are_added_before_others_are_forgotten() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    sessions.fetch(KEY, 1, ONE, added=[P[3], P[4]], forgotten=[P[0], P[4]])
    assert list(session.partitions) == [P[1], P[2], P[3]]
    assert sessions.partition_count == 3


def test_a_partition_that_returned_records_goes_to_the_end_of_the_line() -> None:
    session = ShareSession(KEY, P[:3])
    assert session.answered(P[0], has_records=True, has_error=False)
    assert list(session.partitions) == [P[1], P[2], P[0]]


def test_only_news_is_listed() -> None:
    session = ShareSession(KEY, P[:3])
    assert not session.answered(P[0], has_records=False, has_error=False)
    session.update([P[3]], [])
    assert session.answered(P[3], has_records=False, has_error=False), "new in the session"
    assert not session.answered(P[3], has_records=False, has_error=False)
    assert session.answered(P[1], has_records=False, has_error=True)
    assert session.answered(P[1], has_records=False, has_error=False), "good again"
    assert not session.answered(P[1], has_records=False, has_error=False)


def test_a_closed_connection_ends_what_it_opened() -> None:
    sessions = ShareSessions(10)
    session = opened(sessions)
    opened(sessions, OTHER, TWO)
    [closed] = sessions.connection_closed(ONE)
    assert (closed.key, closed.session, closed.is_group_empty) == (KEY, session, False)
    assert sessions.connection_closed(ONE) == []
    [last] = sessions.connection_closed(TWO)
    assert last.is_group_empty
    assert sessions.evicted_count == 2


def test_a_closed_connection_ends_all_that_it_opened() -> None:
    """Of a proxy, say, through which several members come."""
    sessions = ShareSessions(10)
    first, second = opened(sessions, KEY, ONE), opened(sessions, OTHER, ONE)
    assert [closed.session for closed in sessions.connection_closed(ONE)] == [first, second]
    assert len(sessions) == 0


def test_what_is_remembered_of_a_connection_is_bounded() -> None:
    sessions = ShareSessions(2)
    for i in range(5):
        key = SessionKey(GroupId("g"), MemberId(f"m{i}"))
        opened(sessions, key, ONE)
        sessions.end(key)
    assert len(sessions.connection_closed(ONE)) == 2


def test_a_late_disconnect_ends_the_session_that_was_opened_anew() -> None:
    """Apache Kafka remembers the key, not the session; the client recovers by opening once more."""
    sessions = ShareSessions(10)
    opened(sessions, KEY, ONE)
    renewed = opened(sessions, KEY, TWO)
    [closed] = sessions.connection_closed(ONE)
    assert closed.session is renewed


def test_the_group_is_found_empty_by_the_disconnect_not_by_the_final_epoch() -> None:
    sessions = ShareSessions(10)
    opened(sessions)
    sessions.end(KEY)
    [closed] = sessions.connection_closed(ONE)
    assert closed.session is None
    assert closed.is_group_empty


def test_a_connection_that_only_continued_a_session_does_not_end_it() -> None:
    sessions = ShareSessions(10)
    opened(sessions)
    sessions.fetch(KEY, 1, TWO)
    assert sessions.connection_closed(TWO) == []
    assert len(sessions) == 1

"""Being a member of a share group: what the coordinator is told, and when."""

from __future__ import annotations

from uuid import UUID

import pytest

from leaselog.client.errors import BrokerError
from leaselog.client.share.membership import EAGER_INTERVAL_MS, ShareMembership, as_kafka_text
from leaselog.model import ErrorCode
from leaselog.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

TOPIC_ID = UUID(int=9)
INTERVAL_MS = 5_000


def answer(*partitions: int, epoch: int = 1, error: int = 0) -> ShareGroupHeartbeatResponse:
    topics = [TopicPartitions(topic_id=TOPIC_ID, partitions=list(partitions))]
    return ShareGroupHeartbeatResponse(
        error_code=error,
        member_epoch=epoch,
        heartbeat_interval_ms=INTERVAL_MS,
        assignment=Assignment(topic_partitions=topics),
    )


def beat(membership: ShareMembership, now_ms: int) -> ShareGroupHeartbeatRequest:
    request = membership.heartbeat(now_ms)
    assert request is not None
    return request


def joined(*partitions: int, **settings: int) -> ShareMembership:
    membership = ShareMembership("g", "me", rack_id="r", **settings)
    membership.subscribe(["b", "a"])
    membership.polled(0)
    membership.answered(beat(membership, 0), answer(*partitions), 0)
    return membership


def test_nobody_joins_before_the_first_poll() -> None:
    membership = ShareMembership("g", "me")
    membership.subscribe(["t"])
    assert membership.heartbeat(0) is None
    membership.polled(0)
    assert beat(membership, 0).member_epoch == 0


def test_the_first_heartbeat_says_everything_and_the_next_only_that_we_live() -> None:
    membership = ShareMembership("g", "me", rack_id="r")
    membership.subscribe(["b", "a"])
    membership.polled(0)
    first = beat(membership, 0)
    assert (first.group_id, first.member_id, first.rack_id) == ("g", "me", "r")
    assert first.subscribed_topic_names == ("a", "b")
    membership.answered(first, answer(0, epoch=3), 0)
    assert membership.heartbeat(INTERVAL_MS - 1) is None
    second = beat(membership, INTERVAL_MS)
    assert (second.member_epoch, second.rack_id, second.subscribed_topic_names) == (3, None, None)


def test_one_heartbeat_is_under_way_at_a_time() -> None:
    membership = joined(0)
    beat(membership, INTERVAL_MS)
    assert membership.heartbeat(INTERVAL_MS) is None
    assert membership.next_ms is None


def test_a_member_without_partitions_asks_again_soon_and_ever_later() -> None:
    membership = joined()
    now_ms, gaps = 0, []
    for _ in range(8):
        due_ms = membership.next_ms
        assert due_ms is not None
        gaps.append(due_ms - now_ms)
        now_ms = due_ms
        membership.answered(beat(membership, now_ms), answer(), now_ms)
    assert gaps[0] == EAGER_INTERVAL_MS
    assert gaps == sorted(gaps)
    assert gaps[-1] == INTERVAL_MS


def test_a_changed_subscription_is_told_at_once() -> None:
    membership = joined(0)
    membership.subscribe(["c"])
    assert beat(membership, 1).subscribed_topic_names == ("c",)


def test_after_a_lost_answer_everything_is_said_again() -> None:
    membership = joined(0)
    beat(membership, INTERVAL_MS)
    membership.unanswered(INTERVAL_MS)
    assert beat(membership, INTERVAL_MS + 100).subscribed_topic_names == ("a", "b")


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_joins_again_at_once_under_its_id(code: ErrorCode) -> None:
    membership = joined(0)
    membership.answered(beat(membership, INTERVAL_MS), answer(error=code), INTERVAL_MS)
    assert membership.assignment == frozenset()
    again = beat(membership, INTERVAL_MS)
    assert (again.member_id, again.member_epoch, again.subscribed_topic_names) == ("me", 0, ("a", "b"))


@pytest.mark.parametrize("code", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_for(code: ErrorCode) -> None:
    membership = joined(0)
    assert membership.answered(beat(membership, INTERVAL_MS), answer(error=code), INTERVAL_MS)
    assert membership.assignment == {(TOPIC_ID, 0)}
    assert membership.take_error() is None


def test_a_loading_coordinator_is_asked_again() -> None:
    membership = joined(0)
    loading = answer(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert not membership.answered(beat(membership, INTERVAL_MS), loading, INTERVAL_MS)
    assert membership.heartbeat(INTERVAL_MS + 100) is not None


def test_an_unauthorised_topic_is_told_once_a_try() -> None:
    membership = joined(0)
    refused = answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    membership.answered(beat(membership, INTERVAL_MS), refused, INTERVAL_MS)
    error = membership.take_error()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert membership.take_error() is None
    assert membership.heartbeat(2 * INTERVAL_MS) is not None


def test_a_group_that_was_deleted_is_fatal() -> None:
    membership = joined(0)
    membership.answered(beat(membership, INTERVAL_MS), answer(error=ErrorCode.GROUP_ID_NOT_FOUND), 0)
    assert membership.take_error() is membership.take_error() is not None
    assert membership.heartbeat(10 * INTERVAL_MS) is None


def test_who_does_not_poll_leaves_and_joins_with_the_next_poll() -> None:
    membership = joined(0, max_poll_interval_ms=60_000)
    now_ms = 0
    while (request := beat(membership, now_ms := now_ms + INTERVAL_MS)).member_epoch != -1:
        membership.answered(request, answer(0), now_ms)
    assert now_ms == 60_000
    membership.answered(request, answer(epoch=-1), now_ms)
    assert membership.assignment == frozenset()
    assert membership.heartbeat(now_ms + INTERVAL_MS) is None
    membership.polled(100_000)
    assert beat(membership, 100_000).member_epoch == 0


def test_leaving_is_said_once_and_whatever_is_answered_is_fine() -> None:
    membership = joined(0)
    membership.leave()
    assert not membership.has_left
    goodbye = beat(membership, 1)
    assert goodbye.member_epoch == -1
    membership.answered(goodbye, answer(error=ErrorCode.GROUP_ID_NOT_FOUND), 1)
    assert membership.has_left
    assert membership.heartbeat(2) is None
    assert membership.take_error() is None


def test_leaving_while_a_heartbeat_is_under_way_is_said_after_it() -> None:
    membership = joined(0)
    under_way = beat(membership, INTERVAL_MS)
    membership.leave()
    membership.answered(under_way, answer(0), INTERVAL_MS)
    assert beat(membership, INTERVAL_MS).member_epoch == -1


def test_an_id_is_spelled_as_kafka_spells_it() -> None:
    text = as_kafka_text(UUID("fee025ed-7dc7-4a05-8d87-3f65cc047afb"))
    assert text == "_uAl7X3HSgWNhz9lzAR6-w"


def test_a_coordinator_that_is_away_is_looked_for_after_pauses_that_grow_and_begin_anew() -> None:
    """Its log may have failed: each look takes a question for the coordinator and a connection to it."""

    def pauses(count: int, *, is_answered: bool) -> list[int]:
        found, now_ms = list[int](), membership.next_ms or 0
        for _ in range(count):
            membership.polled(now_ms)
            request = beat(membership, now_ms)
            if is_answered:
                membership.answered(request, answer(error=ErrorCode.NOT_COORDINATOR), now_ms)
            else:
                membership.unanswered(now_ms)
            assert membership.next_ms is not None
            found.append(membership.next_ms - now_ms)
            now_ms = membership.next_ms
        return found

    membership = joined(0)
    assert pauses(6, is_answered=True) == [100, 200, 400, 800, 1_000, 1_000]
    assert pauses(1, is_answered=False) == [1_000]
    now_ms = membership.next_ms or 0
    membership.answered(beat(membership, now_ms), answer(0), now_ms)
    assert pauses(2, is_answered=False) == [100, 200]

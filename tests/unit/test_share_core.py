"""The share consumer without sockets: what it sends, what it hands out, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from share_cluster_model import LOCK_MS, TOPIC, Arrived, ModelCluster

from leaselog.client.errors import AuthorizationFailed, BrokerError, ConnectionLost, RequestTimedOut
from leaselog.client.share.acknowledge_type import AcknowledgeType
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.core import ShareCore
from leaselog.client.share.core_state import RIDE_MS
from leaselog.client.share.deserializers import as_json
from leaselog.client.share.errors import IllegalState, RecordDeserializationError
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.record import ShareRecord
from leaselog.client.share.steps import Acknowledged, Step
from leaselog.model import ErrorCode
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.messages.share_fetch import ShareFetchRequest
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
Records = list[ShareRecord[Any, Any]]


class Player:
    """A core and a cluster that play in turns, with a clock that moves when a test says so."""

    def __init__(self, cluster: ModelCluster | None = None, **config: Any) -> None:
        self.cluster = cluster or ModelCluster()
        self.now_ms = 1_000
        self.config = ShareConsumerConfig.of(
            {"bootstrap.servers": "host:1", "group.id": "g", "share.acknowledgement.mode": "explicit"},
            **config,
        )
        self.core = ShareCore(self.config, "member", self.now_ms)
        self.unanswered: list[Step] = []

    def play(self, fail: Callable[[Step], bool] = lambda step: False, rounds: int = 20) -> None:
        """Requests go out and are answered until there are none; then it waits for what falls due soon."""
        for _ in range(rounds):
            steps = self.core.step(self.now_ms)
            for step in steps:
                self.meet(step)
                if fail(step):
                    self.core.unheard(step, ConnectionLost("lost"), self.now_ms)
                else:
                    self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
            if not steps:
                return

    def meet(self, step: Step) -> None:
        if isinstance(step, NodeAsk):
            self.core.met(step.node_id, knows_extras=self.cluster.is_leaselogs)

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms
        self.play()

    def poll(self) -> Records:
        again = self.core.begin_poll(self.now_ms)
        if again:
            return again
        records: Records = []
        try:
            for _ in range(50):
                records = self.core.take(self.now_ms, self.config.max_poll_records)
                if records:
                    return records
                self.core.want_records(500, self.config.max_poll_records)
                self.play(rounds=1)
                next_ms = self.core.next_ms(self.now_ms)
                if next_ms is not None and next_ms - self.now_ms <= 200:
                    self.now_ms = next_ms
            return records
        finally:
            self.core.end_poll(len(records))

    def requests(self, kind: type[Any]) -> list[Any]:
        return [request for request in self.cluster.requests if isinstance(request, kind)]


def subscribed(produced: int = 10, cluster: ModelCluster | None = None, **config: Any) -> Player:
    player = Player(cluster, **config)
    player.cluster.produce([b"v%d" % i for i in range(produced)])
    player.core.subscribe([TOPIC], player.now_ms)
    return player


def offsets(records: Records) -> list[int]:
    return [record.offset for record in records]


# -- delivery ----------------------------------------------------------------------------------------------


def test_a_poll_hands_out_what_the_broker_lent() -> None:
    player = subscribed(produced=3)
    records = player.poll()
    assert [(r.topic, r.partition, r.offset, r.key, r.value) for r in records] == [
        (TOPIC, 0, 0, b"k0", b"v0"),
        (TOPIC, 0, 1, b"k1", b"v1"),
        (TOPIC, 0, 2, b"k2", b"v2"),
    ]
    assert {r.delivery_count for r in records} == {1}


def test_a_poll_without_a_subscription_is_refused() -> None:
    with pytest.raises(IllegalState, match="not subscribed"):
        Player().poll()


def test_offsets_lent_without_a_record_are_acknowledged_as_gaps_by_themselves() -> None:
    player = subscribed(produced=0)
    player.cluster.produce([b"a", None, b"c", None, None, None, None])
    assert offsets(player.poll()) == [0, 2]
    player.pass_ms(RIDE_MS)
    assert player.cluster.ended() == dict.fromkeys([1, 3, 4, 5, 6], 0)
    assert player.core.take_completed() == []  # they are not the application's


def test_records_in_the_bytes_that_were_not_lent_are_not_handed_out() -> None:
    player = subscribed(produced=10, max_poll_records=3)
    other = Player(player.cluster)
    other.core.member_id = "other"
    first = player.poll()
    assert offsets(first) == [0, 1, 2]
    for record in first:
        player.core.acknowledge(record, ACCEPT)
    assert offsets(player.poll()) == [3, 4, 5]


def test_every_assigned_partition_is_fetched_from_its_leader() -> None:
    cluster = ModelCluster(partitions=3, nodes=2)
    for partition in range(3):
        cluster.produce([b"x"], partition)
    player = subscribed(produced=0, cluster=cluster)
    found = set[int]()
    for _ in range(3):
        for record in player.poll():
            found.add(record.partition)
            player.core.acknowledge(record, ACCEPT)
    assert found == {0, 1, 2}


def test_record_limit_asks_one_broker_at_a_time() -> None:
    cluster = ModelCluster(partitions=2, nodes=2)
    cluster.produce([b"x"] * 4, 0)
    cluster.produce([b"x"] * 4, 1)
    player = subscribed(produced=0, cluster=cluster, share_acquire_mode="record_limit", max_poll_records=2)
    assert len(player.poll()) == 2
    assert len(cluster.held(0)) + len(cluster.held(1)) == 2


def test_a_buffered_record_whose_lease_ran_out_is_not_handed_out() -> None:
    player = subscribed(produced=10, max_poll_records=5)
    first = player.poll()
    player.core.want_records(0, 5)
    player.play()
    assert len(player.cluster.held()) == 10
    for record in first:
        player.core.acknowledge(record, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    player.play()
    player.pass_ms(LOCK_MS)
    again = player.poll()
    assert {r.delivery_count for r in again} == {2}
    assert offsets(again) == [5, 6, 7, 8, 9]


# -- acknowledging -----------------------------------------------------------------------------------------


def test_implicit_mode_accepts_with_the_next_poll() -> None:
    player = subscribed(produced=3, share_acknowledgement_mode="implicit")
    player.poll()
    assert player.cluster.ended() == {}
    player.poll()
    assert player.cluster.ended() == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT}


def test_acknowledgements_ride_on_the_next_fetch() -> None:
    player = subscribed(produced=3, share_acknowledgement_mode="implicit")
    player.poll()
    player.poll()
    assert player.requests(ShareAcknowledgeRequest) == []


def test_acknowledgements_that_no_fetch_takes_along_go_by_themselves_soon() -> None:
    player = subscribed(produced=10, max_poll_records=5, share_acknowledgement_mode="implicit")
    player.poll()
    player.core.want_records(0, 5)
    player.play()  # the next five are here already
    player.poll()
    assert player.cluster.ended() == {}
    player.pass_ms(RIDE_MS)
    assert player.cluster.ended() == dict.fromkeys(range(5), ACCEPT)


def test_fetching_ahead_waits_for_a_broker_that_is_busy() -> None:
    player = subscribed(produced=10, max_poll_records=5)
    for record in player.poll():
        player.core.acknowledge(record, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    (commit,) = player.core.step(player.now_ms)
    player.core.want_records(0, 5)
    assert player.core.step(player.now_ms) == []
    player.core.heard(commit, player.cluster.answer(commit, player.now_ms), player.now_ms)
    player.play()
    assert player.cluster.held() == [5, 6, 7, 8, 9]


def holding_five_more(work_ms: int, **config: Any) -> Player:
    """A poll was answered with all that it takes, some time after the poll before it, and has not looked yet."""
    player = subscribed(produced=15, max_poll_records=5, **config)
    for record in player.poll():
        player.core.acknowledge(record, ACCEPT)
    player.now_ms += work_ms
    player.core.begin_poll(player.now_ms)
    player.core.want_records(500, 5)
    player.play(rounds=1)
    return player


def test_while_a_quick_application_takes_its_records_the_broker_looks_for_more() -> None:
    player = holding_five_more(work_ms=1)
    (ahead,) = player.core.step(player.now_ms)
    assert isinstance(ahead, NodeAsk)
    assert ahead.fetches
    assert ahead.wait_ms == 0
    assert offsets(player.core.take(player.now_ms, 5)) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("work_ms", "config"), [(LOCK_MS // 3, {}), (1, {"share_acquire_mode": "record_limit"})]
)
def test_nothing_is_fetched_ahead_of_slow_work_or_a_limit(work_ms: int, config: dict[str, str]) -> None:
    player = holding_five_more(work_ms, **config)
    assert player.core.step(player.now_ms) == []


def test_a_commit_does_not_wait_for_a_fetch() -> None:
    player = subscribed(produced=2)
    for record in player.poll():
        player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    assert commit.is_done
    assert list(commit.results.values()) == [None]
    assert len(player.requests(ShareAcknowledgeRequest)) == 1


def test_a_commit_with_nothing_to_say_is_done_at_once() -> None:
    commit = subscribed().core.commit(1_000, 1_000)
    assert commit.is_done
    assert commit.results == {}


def test_each_record_gets_the_type_it_was_given_last() -> None:
    player = subscribed(produced=4)
    a, b, c, d = player.poll()
    player.core.acknowledge(a, REJECT)
    player.core.acknowledge(a, ACCEPT)
    player.core.acknowledge(b, RELEASE)
    player.core.acknowledge(c, REJECT)
    player.core.acknowledge_offset(TOPIC, 0, d.offset, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    player.play()
    assert player.cluster.ended() == {0: ACCEPT, 2: REJECT, 3: ACCEPT}
    (again,) = player.poll()
    assert (again.offset, again.delivery_count) == (1, 2)


def test_a_poll_in_explicit_mode_refuses_while_a_record_is_not_acknowledged() -> None:
    player = subscribed(produced=2)
    first, second = player.poll()
    player.core.acknowledge(first, ACCEPT)
    with pytest.raises(IllegalState, match="All records must be acknowledged"):
        player.poll()
    player.core.acknowledge(second, ACCEPT)
    assert player.poll() == []
    assert player.cluster.ended() == {0: ACCEPT, 1: ACCEPT}


def test_records_nobody_acknowledged_are_presented_again_where_that_is_asked_for() -> None:
    player = subscribed(produced=3, share_unacknowledged_records="present")
    first, second, third = player.poll()
    player.core.acknowledge(first, ACCEPT)
    assert player.poll() == [second, third]
    player.pass_ms(RIDE_MS)
    assert player.cluster.ended() == {0: ACCEPT}


def test_acknowledging_is_not_for_implicit_mode() -> None:
    player = subscribed(share_acknowledgement_mode="implicit")
    with pytest.raises(IllegalState, match="Implicit"):
        player.core.acknowledge(player.poll()[0], ACCEPT)


def test_a_record_is_acknowledged_once() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.core.acknowledge(record, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    with pytest.raises(IllegalState, match="cannot be acknowledged"):
        player.core.acknowledge(record, ACCEPT)
    with pytest.raises(IllegalState, match="cannot be acknowledged"):
        player.core.acknowledge_offset(TOPIC, 0, 0, ACCEPT)


def test_the_callback_learns_of_every_acknowledgement() -> None:
    player = subscribed(produced=2)
    records = player.poll()
    for record in records:
        player.core.acknowledge(record, ACCEPT)
    player.poll()
    assert player.core.take_completed() == [Acknowledged(records[0].where, frozenset({0, 1}), None)]
    assert player.core.take_completed() == []


# -- renewing ----------------------------------------------------------------------------------------------


def test_a_renewed_record_is_presented_again_and_alone() -> None:
    player = subscribed(produced=5, max_poll_records=1, share_acquire_mode="record_limit")
    (record,) = player.poll()
    player.core.acknowledge(record, RENEW)
    assert player.poll() == [record]
    assert record.delivery_count == 1
    assert player.cluster.held() == [0]
    player.core.acknowledge(record, ACCEPT)
    assert offsets(player.poll()) == [1]
    assert player.cluster.ended() == {0: ACCEPT}


def test_renewing_lends_the_record_for_another_lock() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    for _ in range(3):
        player.pass_ms(LOCK_MS - 1_000)
        player.core.acknowledge(record, RENEW)
        assert player.poll() == [record]
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    assert list(commit.results.values()) == [None]


def test_a_record_whose_renewal_is_refused_is_not_presented_again() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.pass_ms(LOCK_MS)
    player.core.acknowledge(record, RENEW)
    (again,) = player.poll()
    assert again is not record
    assert again.delivery_count == 2
    (done,) = player.core.take_completed()
    assert isinstance(done.error, BrokerError)
    assert done.error.code is ErrorCode.INVALID_RECORD_STATE


def test_what_is_worked_on_is_renewed_by_itself() -> None:
    player = subscribed(produced=2)
    first, second = player.poll()
    player.core.is_worked_on = True
    for _ in range(8):
        player.pass_ms(LOCK_MS // 4)
    player.core.is_worked_on = False
    assert player.cluster.held() == [0, 1]
    for record in (first, second):
        player.core.acknowledge(record, ACCEPT)
    assert player.poll() == []  # and it is not presented again
    assert player.cluster.ended() == {0: ACCEPT, 1: ACCEPT}


def test_what_nobody_works_on_is_not_renewed() -> None:
    player = subscribed(produced=1)
    player.poll()
    for _ in range(5):
        player.pass_ms(LOCK_MS // 4)
    player.cluster.expire(player.now_ms)
    assert player.cluster.held() == []


def test_renewing_by_itself_ends_with_the_poll_interval() -> None:
    player = subscribed(produced=1, max_poll_interval_ms=LOCK_MS)
    player.poll()
    player.core.is_worked_on = True
    for _ in range(20):
        player.pass_ms(LOCK_MS // 4)
    player.cluster.expire(player.now_ms)
    assert player.cluster.held() == []


# -- what goes wrong ---------------------------------------------------------------------------------------


def test_a_stale_lease_takes_no_other_acknowledgement_down_with_it() -> None:
    player = subscribed(produced=0)
    player.cluster.produce([b"old"])
    (old,) = player.poll()
    player.pass_ms(LOCK_MS - 1)
    player.cluster.produce([b"young"])
    player.core.want_records(0, 10)
    player.play()
    (young,) = player.core.take(player.now_ms, 10)
    player.cluster.expire(player.now_ms + 1)
    player.core.acknowledge(old, ACCEPT)
    player.core.acknowledge(young, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    assert player.cluster.ended() == {1: ACCEPT}
    (error,) = commit.results.values()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.INVALID_RECORD_STATE
    by_offset = {min(done.offsets): done.error for done in player.core.take_completed()}
    assert by_offset[1] is None


def test_when_the_connection_is_lost_so_is_what_was_lent_over_it() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play(fail=lambda step: isinstance(step, NodeAsk))
    player.cluster.disconnect(1)
    assert isinstance(next(iter(commit.results.values())), ConnectionLost)
    (again,) = player.poll()
    assert again is not record
    assert again.offset == 0


def test_an_acknowledgement_of_a_lost_lease_is_not_sent_under_the_next_session() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.core.want_records(0, 10)
    player.play(fail=lambda step: isinstance(step, NodeAsk), rounds=1)
    player.cluster.disconnect(1)
    player.pass_ms(1_000)
    player.core.want_records(0, 10)
    player.play()
    assert player.cluster.held() == [0]  # leased once more, to the same member
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    (error,) = commit.results.values()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert player.cluster.ended() == {}


def test_an_acknowledgement_that_waited_behind_a_lost_request_is_not_sent_under_the_next_session() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.core.want_records(500, 10)
    (fetch,) = player.core.step(player.now_ms)
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 10_000)  # which has to wait until the fetch is over
    assert player.core.step(player.now_ms) == []
    player.cluster.disconnect(1)
    player.core.unheard(fetch, ConnectionLost("lost"), player.now_ms)
    (error,) = commit.results.values()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.SHARE_SESSION_NOT_FOUND
    player.core.want_records(0, 10)
    player.pass_ms(1_000)
    assert player.cluster.held() == [0]  # leased once more, to the same member, and nothing said of it
    assert player.cluster.ended() == {}


def test_what_was_said_of_a_delivery_is_not_said_of_the_next() -> None:
    player = subscribed(produced=1)
    (first,) = player.poll()
    player.core.acknowledge(first, ACCEPT)
    player.cluster.disconnect(1)
    player.core.want_records(0, 10)
    player.play()
    player.pass_ms(1_000)
    player.core.want_records(0, 10)
    player.play()
    (second,) = player.core.take(player.now_ms, 10)
    assert player.core.holdings.unacknowledged() == [second]


def test_a_session_the_broker_has_forgotten_begins_anew() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.cluster.disconnect(1)
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    (error,) = commit.results.values()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.SHARE_SESSION_NOT_FOUND
    assert offsets(player.poll()) == [0]


def test_a_coordinator_that_is_loading_is_waited_for() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.cluster.ack_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 5_000)
    player.play()
    assert not commit.is_done
    player.cluster.ack_error = 0
    player.pass_ms(1_000)
    assert list(commit.results.values()) == [None]
    assert player.cluster.ended() == {0: ACCEPT}


def pauses_between(kind: type[Any], player: Player, count: int) -> list[int]:
    """Of the next requests of a kind, while the application waits for records."""
    times = list[int]()
    for _ in range(10_000):
        before = len(player.requests(kind))
        player.core.want_records(500, 10)
        player.play(rounds=1)
        times += [player.now_ms] * (len(player.requests(kind)) - before)
        if len(times) > count:
            return [later - earlier for earlier, later in pairwise(times)]
        player.now_ms += 10
    raise AssertionError(f"{len(times)} requests")


@pytest.mark.parametrize("level", ["top_error", "fetch_error"])
def test_a_broker_that_has_nothing_but_errors_is_asked_after_pauses_that_grow_and_begin_anew(
    level: str,
) -> None:
    """The log of a partition that failed may be away for long."""
    player = subscribed(produced=0)
    assert player.poll() == []
    setattr(player.cluster, level, ErrorCode.KAFKA_STORAGE_ERROR)
    assert pauses_between(ShareFetchRequest, player, 7)[-7:] == [100, 200, 400, 800, 1_000, 1_000, 1_000]
    setattr(player.cluster, level, 0)
    pauses_between(ShareFetchRequest, player, 2)
    setattr(player.cluster, level, ErrorCode.KAFKA_STORAGE_ERROR)
    assert pauses_between(ShareFetchRequest, player, 2) == [100, 200]


def test_one_partition_that_fails_does_not_make_the_others_of_its_broker_wait_for_long() -> None:
    player = subscribed(produced=0, cluster=ModelCluster(partitions=2))
    assert player.poll() == []
    player.cluster.fetch_error, player.cluster.fetch_error_in = ErrorCode.KAFKA_STORAGE_ERROR, {1}
    assert pauses_between(ShareFetchRequest, player, 6)[-6:] == [100] * 6


def test_an_acknowledgement_that_cannot_be_written_is_tried_again_after_pauses_that_grow() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.cluster.ack_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    player.core.acknowledge(record, ACCEPT)
    player.core.commit(player.now_ms, 60_000)
    times = list[int]()
    for _ in range(600):
        before = len(player.requests(ShareAcknowledgeRequest))
        player.pass_ms(10)
        times += [player.now_ms] * (len(player.requests(ShareAcknowledgeRequest)) - before)
    assert [later - earlier for earlier, later in pairwise(times)][:6] == [100, 200, 400, 800, 1_000, 1_000]


def test_trying_again_ends_with_the_commits_time() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.cluster.ack_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 5_000)
    for _ in range(60):
        player.pass_ms(100)
    assert isinstance(next(iter(commit.results.values())), RequestTimedOut)


def test_a_moved_leader_is_followed() -> None:
    cluster = ModelCluster(partitions=2, nodes=2)
    player = subscribed(produced=1, cluster=cluster)
    (record,) = player.poll()
    cluster.move(0, 2)
    player.core.acknowledge(record, ACCEPT)
    commit = player.core.commit(player.now_ms, 1_000)
    player.play()
    (error,) = commit.results.values()
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert offsets(player.poll()) == [0]


def test_a_partition_that_was_added_is_fetched_once_it_is_assigned() -> None:
    player = subscribed(produced=0)
    assert player.poll() == []
    player.cluster.leaders[1] = 1
    player.cluster.logs[1] = []
    player.cluster.produce([b"new"], 1)
    player.pass_ms(5_000)
    (record,) = player.poll()
    assert record.partition == 1


def test_an_unauthorised_topic_is_told_by_poll() -> None:
    player = subscribed(produced=1)
    player.cluster.fetch_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        player.poll()
    player.cluster.fetch_error = 0
    assert offsets(player.poll()) == [0]


@pytest.mark.parametrize(
    "code",
    [ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INVALID_REQUEST],
)
def test_a_fatal_answer_to_a_heartbeat_is_told_by_every_poll(code: ErrorCode) -> None:
    player = subscribed()
    player.cluster.heartbeat_error = code
    for _ in range(2):
        with pytest.raises(BrokerError, match=code.name):
            player.poll()
    assert len(player.requests(ShareGroupHeartbeatRequest)) == 1


def test_a_right_to_the_group_that_is_missing_is_told_once_and_asked_for_again_at_intervals() -> None:
    player = subscribed(produced=1)
    player.cluster.heartbeat_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    with pytest.raises(AuthorizationFailed, match="this client may not READ group 'g': there is no ACL"):
        player.poll()
    told = len(player.requests(ShareGroupHeartbeatRequest))
    assert player.poll() == []
    assert len(player.requests(ShareGroupHeartbeatRequest)) - told <= 3, "it does not spin"
    player.cluster.heartbeat_error = 0
    player.pass_ms(10_000)
    assert offsets(player.poll()) == [0]


def test_an_answer_that_lends_more_than_there_can_be_is_told_and_nothing_is_kept_of_it() -> None:
    class Boastful(ModelCluster):
        def _share_fetch(self, *asked: Any) -> Any:
            answer = super()._share_fetch(*asked)
            for topic in answer.responses:
                for leased in (leased for part in topic.partitions for leased in part.acquired_records[-1:]):
                    leased.last_offset = 2**62
            return answer

    player = subscribed(produced=3, cluster=Boastful())
    with pytest.raises(BrokerError, match="offsets were leased at once"):
        player.poll()


def test_corrupt_bytes_are_told_and_rejected() -> None:
    player = subscribed(produced=0)
    player.cluster.produce([b"good"] * 5 + [b"bad"] * 5)
    whole = player.cluster._bytes

    def damaged(partition: int, leased: Any) -> bytes:
        data = bytearray(whole(partition, leased))
        data[-2] ^= 0xFF
        return bytes(data)

    player.cluster._bytes = damaged  # type: ignore[method-assign]
    assert offsets(player.poll()) == [0, 1, 2, 3, 4]
    for offset in range(5):
        player.core.acknowledge_offset(TOPIC, 0, offset, ACCEPT)
    with pytest.raises(BrokerError, match="CORRUPT_MESSAGE"):
        player.poll()
    player.pass_ms(RIDE_MS)
    assert player.cluster.ended() == {
        **dict.fromkeys(range(5), ACCEPT),
        **dict.fromkeys(range(5, 10), REJECT),
    }


# -- deserialising -----------------------------------------------------------------------------------------


def test_a_record_that_cannot_be_deserialised_is_handed_out_as_that() -> None:
    player = subscribed(produced=0, value_deserializer=as_json)
    player.cluster.produce([b"[1]", b"oh no"])
    good, bad = player.poll()
    assert good.value == [1]
    assert bad.raw_value == b"oh no"
    assert isinstance(bad.error, RecordDeserializationError)
    with pytest.raises(RecordDeserializationError, match="value of t-0 at offset 1"):
        _ = bad.value
    assert bad.key == b"k1"


def test_a_record_that_cannot_be_deserialised_is_released_and_never_accepted() -> None:
    player = subscribed(produced=0, value_deserializer="json", share_acknowledgement_mode="implicit")
    player.cluster.produce([b"1", b"oh no"])
    player.poll()
    (again,) = player.poll()
    assert player.cluster.ended() == {0: ACCEPT}
    assert (again.offset, again.delivery_count) == (1, 2)


def test_a_record_that_cannot_be_deserialised_can_be_rejected_but_not_accepted() -> None:
    player = subscribed(produced=0, value_deserializer="json")
    player.cluster.produce([b"oh no", b"dear"])
    first, second = player.poll()
    with pytest.raises(IllegalState, match="could not be deserialised"):
        player.core.acknowledge(first, ACCEPT)
    player.core.acknowledge(first, REJECT)
    player.core.acknowledge_offset(TOPIC, 0, second.offset, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    player.play()
    assert player.cluster.ended() == {0: REJECT, 1: ACCEPT}


# -- the end -----------------------------------------------------------------------------------------------


def close(player: Player) -> None:
    player.core.commit_said(player.now_ms, 1_000)
    player.core.begin_close(player.now_ms)
    for _ in range(10):
        for ask in player.core.end_sessions(player.now_ms):
            player.core.heard(ask, player.cluster.answer(ask, player.now_ms), player.now_ms)
    assert not player.core.has_sessions
    player.play()


def test_closing_says_what_was_acknowledged_and_gives_back_the_rest() -> None:
    player = subscribed(produced=3)
    first, *_ = player.poll()
    player.core.acknowledge(first, ACCEPT)
    close(player)
    assert player.cluster.ended() == {0: ACCEPT}
    assert player.cluster.held() == []
    assert player.cluster.members == {}


def test_closing_in_implicit_mode_accepts_nothing() -> None:
    player = subscribed(produced=3, share_acknowledgement_mode="implicit")
    player.poll()
    close(player)
    assert player.cluster.ended() == {}
    assert player.cluster.held() == []


def test_unsubscribing_leaves_the_group_and_keeps_what_is_held() -> None:
    player = subscribed(produced=1)
    (record,) = player.poll()
    player.core.subscribe([], player.now_ms)
    player.play()
    assert player.cluster.members == {}
    player.core.acknowledge(record, ACCEPT)
    player.core.commit(player.now_ms, 1_000)
    player.play()
    assert player.cluster.ended() == {0: ACCEPT}


def test_another_subscription_gives_back_what_was_fetched_of_the_first() -> None:
    player = subscribed(produced=10, max_poll_records=5)
    for record in player.poll():
        player.core.acknowledge(record, ACCEPT)
    player.core.want_records(0, 5)
    player.play()
    player.core.subscribe(["another"], player.now_ms)
    player.play()
    assert player.cluster.held() == []


def with_five_ahead(cluster: ModelCluster | None = None) -> tuple[Player, Records]:
    """Five records in the application's hands, and five that it has not seen."""
    player = subscribed(10, cluster, max_poll_records=5)
    records = player.poll()
    player.core.want_records(0, 5)
    player.play()
    return player, records


def deliveries(player: Player) -> list[int]:
    return [record.delivery_count for record in player.cluster.logs[0]]


def test_what_the_application_never_saw_is_given_back_without_a_delivery() -> None:
    player, records = with_five_ahead()
    for record in records:
        player.core.acknowledge(record, ACCEPT)
    player.core.subscribe(["another"], player.now_ms)
    player.play()
    assert deliveries(player) == [1] * 5 + [0] * 5


def test_closing_gives_back_what_was_fetched_ahead_without_a_delivery() -> None:
    player, (first, *_) = with_five_ahead()
    player.core.acknowledge(first, ACCEPT)
    close(player)
    assert deliveries(player) == [1] * 5 + [0] * 5
    assert player.cluster.ended() == {0: ACCEPT}
    assert player.cluster.held() == []


def test_what_was_fetched_ahead_goes_back_when_a_fourth_of_its_lock_is_left() -> None:
    player, records = with_five_ahead()
    player.pass_ms(LOCK_MS * 3 // 4 - 1)
    assert deliveries(player) == [1] * 10
    next_ms = player.core.next_ms(player.now_ms)
    assert next_ms is not None
    assert next_ms - player.now_ms <= 1
    player.pass_ms(1)
    assert deliveries(player) == [1] * 5 + [0] * 5
    for record in records:
        player.core.acknowledge(record, ACCEPT)
    player.core.begin_poll(player.now_ms)
    assert player.core.take(player.now_ms, 5) == []
    player.pass_ms(100)
    assert player.cluster.ended() == dict.fromkeys(range(5), ACCEPT)


def test_what_goes_back_late_does_so_on_a_broker_that_counts_it_too() -> None:
    """Its lock would run out otherwise, which counts as well, and later."""
    cluster = ModelCluster()
    cluster.is_leaselogs = False
    player, records = with_five_ahead(cluster)
    player.pass_ms(LOCK_MS * 3 // 4)
    assert [len(record.acknowledged) for record in cluster.logs[0]] == [0] * 5 + [1] * 5
    assert sorted(offset for offset in cluster.held()) == [record.offset for record in records]


def test_what_is_given_back_of_a_record_batch_taken_in_part_is_the_rest() -> None:
    player = subscribed(10, ModelCluster(records_a_batch=2), max_poll_records=5)
    player.core.begin_poll(player.now_ms)
    for _ in range(3):  # joining, looking up the topic, fetching
        player.core.want_records(0, 10)
        player.play()
    taken = player.core.take(player.now_ms, 3)
    assert 0 < len(taken) < 10
    close(player)
    assert deliveries(player) == [1] * len(taken) + [0] * (10 - len(taken))


def test_what_is_given_back_takes_nothing_down_that_was_said() -> None:
    player, records = with_five_ahead()
    for record in player.cluster.logs[0][5:]:
        record.holder = "somebody else"
    for record in records:
        player.core.acknowledge(record, ACCEPT)
    close(player)
    assert player.cluster.ended() == dict.fromkeys(range(5), ACCEPT)


def test_records_that_arrive_while_it_closes_are_given_back_too() -> None:
    player, records = with_five_ahead()
    player.cluster.produce([b"more"] * 5)
    player.core.subscribe([TOPIC], player.now_ms)
    for record in records:
        player.core.acknowledge(record, ACCEPT)
    assert player.core.take(player.now_ms, 5)
    player.core.want_records(0, 5)
    (ask,) = player.core.step(player.now_ms)
    player.core.begin_close(player.now_ms)
    player.core.heard(ask, player.cluster.answer(ask, player.now_ms), player.now_ms)
    close(player)
    assert deliveries(player) == [1] * 10 + [0] * 5


def test_where_only_the_end_of_a_session_gives_back_closing_releases_nothing_by_itself() -> None:
    cluster = ModelCluster()
    cluster.is_leaselogs = (
        False  # Apache Kafka 4.2 takes the delivery back when a session ends, and not for a release
    )
    player, (first, *_) = with_five_ahead(cluster)
    player.core.acknowledge(first, ACCEPT)
    close(player)
    assert [record.acknowledged for record in cluster.logs[0]] == [[Arrived(ACCEPT)]] + [[]] * 9
    assert cluster.held() == []

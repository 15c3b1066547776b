"""The core that leases ranges: it holds and renews any number of them, and settles them in any order."""

from __future__ import annotations

from typing import Any

import pytest
from share_cluster_model import LOCK_MS, TOPIC, Arrived, ModelCluster

from leaselog.client import AcknowledgeType, BrokerError, IllegalState, RequestTimedOut
from leaselog.client.share.acknowledgements import Commit
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.share.extras import Extra
from leaselog.client.share.node_session import NodeAsk
from leaselog.client.share.range_core import LeasedRanges, RangeCore
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType


class Player:
    """A core and a cluster that play in turns, with a clock that moves when a test says so."""

    def __init__(self, **model: Any) -> None:
        self.cluster = ModelCluster(**model)
        self.now_ms = 1_000
        config = {
            "bootstrap.servers": "host:1",
            "group.id": "g",
            "share.acknowledgement.mode": "explicit",
            "share.acquire.mode": "record_limit",
            "max.poll.interval.ms": str(2**31 - 1),
        }
        self.core = RangeCore(ShareConsumerConfig.of(config), "member", self.now_ms)
        self.core.subscribe([TOPIC], self.now_ms)

    def play(self) -> None:
        for _ in range(20):
            steps = self.core.step(self.now_ms)
            for step in steps:
                if isinstance(step, NodeAsk):
                    self.core.met(step.node_id, knows_extras=self.cluster.is_leaselogs)
                self.core.heard(step, self.cluster.answer(step, self.now_ms), self.now_ms)
            if not steps:
                return

    def pass_ms(self, ms: int) -> None:
        """Up to the next thing the core wants to do, again and again."""
        end_ms = self.now_ms + ms
        while self.now_ms < end_ms:
            due_ms = self.core.next_ms(self.now_ms)
            self.now_ms = min(end_ms, max(self.now_ms + 1, due_ms or end_ms))
            self.play()

    def acquire(self, limit: int = 100) -> list[LeasedRanges]:
        """As a consumer does it: ask until there is something, or nothing came."""
        self.core.begin_work(self.now_ms)
        for _ in range(10):
            self.core.want_ranges(0, limit, 1_000_000)
            self.play()
            if taken := self.core.take_ranges(self.now_ms):
                return taken
            self.now_ms += 100
        return []

    def settle(self, leased: LeasedRanges, kind: AcknowledgeType, *offsets: int) -> Commit:
        commit = self.core.settle(leased.lease, dict.fromkeys(offsets, int(kind)), self.now_ms, 10_000)
        self.play()
        return commit


def offsets_of(leased: LeasedRanges) -> list[int]:
    return [offset for start, end, _ in leased.ranges for offset in range(start, end)]


def test_ranges_are_lent_without_a_look_at_the_records() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 5)
    (leased,) = player.acquire()
    assert leased.ranges == ((0, 5, 1),)
    assert leased.count == 5
    assert leased.size_bytes > 0


@pytest.mark.parametrize("leaves_records_out", [True, False])
def test_brokers_that_know_how_leave_the_records_out_and_say_how_large_they_are(
    leaves_records_out: bool,
) -> None:
    player = Player(records_a_batch=5)
    player.cluster.leaves_records_out = leaves_records_out
    player.cluster.produce([b"v" * 1_000] * 10)
    leased = player.acquire()
    assert [offset for one in leased for offset in offsets_of(one)] == list(range(10))
    assert sum(one.size_bytes for one in leased) > 10_000
    assert player.core.metrics.bytes.total == (
        0 if leaves_records_out else sum(one.size_bytes for one in leased)
    )


def test_a_consumer_of_ranges_hands_out_no_records() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 5)
    with pytest.raises(IllegalState, match="ranges of offsets"):
        player.core.take(player.now_ms, 10)


def test_more_is_acquired_while_some_is_held_and_each_is_settled_by_itself() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 10)
    (first,) = player.acquire(5)
    (second,) = player.acquire(5)
    assert offsets_of(first) + offsets_of(second) == list(range(10))
    assert player.settle(second, ACCEPT, *offsets_of(second)).results[second.lease.where] is None
    assert player.settle(first, REJECT, 0, 1).results[first.lease.where] is None
    assert player.cluster.ended() == {**dict.fromkeys(range(5, 10), ACCEPT), 0: REJECT, 1: REJECT}
    assert player.cluster.held() == [2, 3, 4]


def test_what_is_held_is_renewed_for_as_long_as_it_takes_and_no_longer() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 5)
    (leased,) = player.acquire()
    for _ in range(20):
        player.pass_ms(LOCK_MS // 2)
        player.cluster.expire(player.now_ms)
        assert player.cluster.held() == [0, 1, 2, 3, 4]
    assert player.settle(leased, ACCEPT, *range(5)).results[leased.lease.where] is None
    player.cluster.requests.clear()
    player.pass_ms(LOCK_MS * 2)
    assert not [r for r in player.cluster.requests if isinstance(r, ShareAcknowledgeRequest)]


def test_a_session_that_ended_is_told_when_its_records_are_settled() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 5)
    (leased,) = player.acquire()
    player.cluster.disconnect(1)
    (again,) = player.acquire()
    assert again.lease is not leased.lease
    assert offsets_of(again) == offsets_of(leased)
    failed = player.settle(leased, ACCEPT, *range(5))
    assert isinstance(failed.results[leased.lease.where], BrokerError)
    assert player.cluster.ended() == {}
    assert player.settle(again, ACCEPT, *range(5)).results[again.lease.where] is None


def test_a_lease_that_may_not_be_renewed_and_has_run_out_is_not_settled() -> None:
    player = Player(records_a_batch=5)
    player.cluster.produce([b"v"] * 5)
    (leased,) = player.acquire()
    player.cluster.ack_error = 121  # INVALID_RECORD_STATE: what a group answers that forbids renewal
    player.pass_ms(LOCK_MS)
    player.cluster.ack_error = 0
    assert not leased.lease.is_renewable
    failed = player.settle(leased, ACCEPT, *range(5))
    assert isinstance(failed.results[leased.lease.where], RequestTimedOut)


def test_what_is_added_to_an_outcome_arrives_with_its_record() -> None:
    player = Player()
    player.cluster.produce([b"v"] * 5)
    (leased,) = player.acquire()
    types = {0: int(ACCEPT), 1: int(RELEASE), 2: int(REJECT)}
    extras = {1: Extra(delay_ms=500), 2: Extra(reason="bad")}
    player.core.settle(leased.lease, types, player.now_ms, 10_000, extras)
    player.play()
    assert [record.acknowledged for record in player.cluster.logs[0][:3]] == [
        [Arrived(ACCEPT)],
        [Arrived(RELEASE, 500)],
        [Arrived(REJECT, reason="bad")],
    ]

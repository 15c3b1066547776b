"""What both share consumers do, the blocking one and asyncio's: one contract, word for word."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from share_cluster_model import TOPIC, Arrived, ModelCluster
from share_flavours import Flavour, Make

from leaselog.client import (
    AcknowledgeType,
    BrokerError,
    IllegalState,
    RecordDeserializationError,
    Reject,
    RequestTimedOut,
    TopicIdPartition,
    Transient,
    WakeupError,
    as_json,
)
from leaselog.client.share.metrics import MetricName
from leaselog.model import ErrorCode
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
WAIT_S = 30.0

CONFIG = {"share.acknowledgement.mode": "explicit"}


def offsets(records: list[Any]) -> list[int]:
    return [record.offset for record in records]


# -- polling -----------------------------------------------------------------------------------------------


def test_poll_returns_records_at_once_when_there_are_some(make: Make) -> None:
    begun = time.monotonic()
    assert offsets(make().poll(WAIT_S)) == [0, 1, 2]
    assert time.monotonic() - begun < WAIT_S / 2


def test_poll_returns_nothing_when_the_time_is_up(make: Make) -> None:
    assert make(records=0).poll(0.05) == []


def test_poll_with_no_time_finds_what_has_come_meanwhile(make: Make) -> None:
    consumer = make()
    deadline = time.monotonic() + WAIT_S
    found: list[Any] = []
    while not found and time.monotonic() < deadline:
        found = consumer.poll(0)
    assert offsets(found) == [0, 1, 2]


def test_poll_waits_for_what_comes_later(make: Make) -> None:
    consumer = make(records=0)
    assert consumer.poll(0.05) == []

    def produce() -> None:
        consumer.model.produce([b"late"])
        consumer.door.wake()

    consumer.later(produce)
    assert [record.value for record in consumer.poll(WAIT_S)] == [b"late"]


@pytest.mark.parametrize("timeout", [-2, -0.1, float("nan")])
def test_a_negative_timeout_is_refused(make: Make, timeout: float) -> None:
    consumer = make()
    with pytest.raises(ValueError, match="timeout"):
        consumer.poll(timeout)


@pytest.mark.parametrize("timeout", [None, -1])
def test_a_poll_without_a_limit_waits_until_there_is_something(make: Make, timeout: float | None) -> None:
    consumer = make(records=0)

    def produce() -> None:
        consumer.model.produce([b"late"])
        consumer.door.wake()

    consumer.later(produce)
    assert [record.value for record in consumer.poll(timeout)] == [b"late"]


IMPLICIT = {"share.acknowledgement.mode": "implicit"}


def test_going_through_records_accepts_each_when_the_next_one_is_asked_for(make: Make) -> None:
    consumer = make(**IMPLICIT)
    seen = []
    for record in consumer.each():
        seen.append(record.offset)
        if len(seen) == 3:
            consumer.later(consumer.consumer.wakeup)
    assert seen == [0, 1, 2]
    consumer.close()
    assert consumer.model.ended() == dict.fromkeys(range(3), ACCEPT)


def test_a_loop_that_is_left_has_accepted_nothing_it_has_not_gone_past(make: Make) -> None:
    consumer = make(records=5, **IMPLICIT)
    for record in consumer.each():
        if record.offset == 2:
            break
    consumer.close()
    model = consumer.model
    assert model.ended() == {0: ACCEPT, 1: ACCEPT}
    assert model.held() == []
    given_back = [each.acknowledged for each in model.logs[0]]
    assert given_back[3:] == [[Arrived(RELEASE, given_back=True)]] * 2, "nobody has seen these"


def test_a_commit_in_the_loop_says_nothing_of_records_the_loop_has_not_come_to(make: Make) -> None:
    consumer = make(**IMPLICIT)
    for record in consumer.each():
        assert record.offset == 0
        assert list(consumer.commit_sync(WAIT_S).values()) == [None]
        break
    assert consumer.model.ended() == {0: ACCEPT}


def test_who_leaves_the_loop_and_polls_gets_what_the_loop_has_not_come_to(make: Make) -> None:
    consumer = make(records=5, **IMPLICIT)
    for record in consumer.each():
        if record.offset == 1:
            break
    assert offsets(consumer.poll(WAIT_S)) == [2, 3, 4]
    again = next(iter_after(consumer, 1))
    assert again.offset == 5


def iter_after(consumer: Any, count: int) -> Iterator[Any]:
    consumer.model.produce([b"more"] * count)
    consumer.door.wake()
    return consumer.each()  # type: ignore[no-any-return]


def test_what_a_loop_has_gone_past_is_said_although_it_stays_with_one_record_for_long(make: Make) -> None:
    consumer = make(**IMPLICIT)
    records = consumer.each()
    assert [next(records).offset for _ in range(3)] == [0, 1, 2]
    deadline = time.monotonic() + WAIT_S
    while consumer.model.ended() != {0: ACCEPT, 1: ACCEPT} and time.monotonic() < deadline:
        consumer.metrics()  # the loop of the asyncio one turns while a call is in it
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT}


def test_in_explicit_mode_the_loop_asks_for_a_word_on_each_record(make: Make) -> None:
    consumer = make()
    records = consumer.each()
    consumer.acknowledge(next(records), RELEASE)
    consumer.acknowledge(next(records), REJECT)
    next(records)
    with pytest.raises(IllegalState, match="1 are not"):
        next(records)


def test_poll_without_a_subscription_is_refused(make: Make) -> None:
    consumer = make()
    consumer.unsubscribe()
    with pytest.raises(IllegalState, match="not subscribed"):
        consumer.poll(0)


def test_who_unsubscribes_has_left_the_group_when_it_goes_on(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    consumer.unsubscribe()
    beats = [
        request for request in consumer.model.requests if isinstance(request, ShareGroupHeartbeatRequest)
    ]
    assert beats[-1].member_epoch == -1
    consumer.acknowledge(record)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]


def test_a_subscription_is_a_collection_of_names(make: Make) -> None:
    consumer = make()
    assert consumer.subscription() == {TOPIC}
    with pytest.raises(ValueError, match="collection"):
        consumer.subscribe("t")
    with pytest.raises(ValueError, match="names"):
        consumer.subscribe([""])
    assert consumer.subscription() == {TOPIC}


def test_the_assignment_is_what_is_fetched_from(make: Make) -> None:
    consumer = make()
    assert consumer.assignment() == frozenset()
    consumer.poll(WAIT_S)
    assert [str(where) for where in consumer.assignment()] == ["t-0"]


# -- acknowledging and committing --------------------------------------------------------------------------


def test_commit_sync_has_a_result_for_each_partition(make: Make) -> None:
    model = ModelCluster(partitions=2)
    model.produce([b"x"], 1)
    consumer = make(records=1, model=model)
    found = 0
    while found < 2:
        for record in consumer.poll(WAIT_S):
            found += 1
            consumer.acknowledge(record)
        if found < 2:
            continue
        results = consumer.commit_sync(WAIT_S)
        assert set(results.values()) == {None}
        assert all(isinstance(where, TopicIdPartition) for where in results)
    assert (model.ended(0), model.ended(1)) == ({0: ACCEPT}, {0: ACCEPT})


def test_commit_sync_says_what_was_refused(make: Make) -> None:
    consumer = make(records=1)
    consumer.model.ack_error = ErrorCode.INVALID_RECORD_STATE
    (record,) = consumer.poll(WAIT_S)
    consumer.acknowledge(record)
    ((where, error),) = consumer.commit_sync(WAIT_S).items()
    assert (where.topic, where.partition) == (TOPIC, 0)
    assert isinstance(error, BrokerError)
    assert error.code is ErrorCode.INVALID_RECORD_STATE


def test_commit_sync_that_takes_too_long_says_so(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    consumer.acknowledge(record)
    consumer.model.ack_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    (error,) = consumer.commit_sync(0.05).values()
    assert isinstance(error, RequestTimedOut)


def test_commit_sync_with_nothing_to_commit_is_empty(make: Make) -> None:
    consumer = make()
    consumer.poll(WAIT_S)
    assert consumer.commit_sync(WAIT_S) == {}


def test_commit_async_is_heard_of_in_the_callback(make: Make) -> None:
    consumer = make()
    heard: list[tuple[Mapping[TopicIdPartition, frozenset[int]], Exception | None]] = []
    consumer.set_acknowledgement_commit_callback(lambda done, error: heard.append((done, error)))
    first, second, third = consumer.poll(WAIT_S)
    consumer.acknowledge(first)
    consumer.acknowledge(second, type=REJECT)
    consumer.acknowledge(TOPIC, 0, third.offset, type=RELEASE)
    consumer.commit_async()
    assert heard == []
    (third,) = consumer.poll(WAIT_S)
    consumer.acknowledge(third, REJECT)
    consumer.poll(0.05)
    assert [(list(done.values()), error) for done, error in heard[:1]] == [([{0, 1, 2}], None)]
    assert consumer.model.ended() == {0: ACCEPT, 1: REJECT, 2: REJECT}


def test_the_callback_may_only_wake_up_and_what_it_raises_is_no_matter(make: Make) -> None:
    consumer = make()
    refused: list[Exception] = []

    def callback(done: Any, error: Any) -> None:
        for call in (lambda: consumer.consumer.acknowledge(TOPIC, 0, 0), consumer.consumer.commit_async):
            try:
                call()
            except IllegalState as no:
                refused.append(no)
        raise RuntimeError("the callback's own trouble")

    consumer.set_acknowledgement_commit_callback(callback)
    for record in consumer.poll(WAIT_S):
        consumer.acknowledge(record)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    assert len(refused) == 2
    assert "not accessible from" in str(refused[0])
    assert consumer.poll(0) == []


def test_implicit_mode_accepts_with_a_commit(make: Make) -> None:
    consumer = make(**{"share.acknowledgement.mode": "implicit"})
    consumer.poll(WAIT_S)
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT}


def test_renewed_records_are_presented_again(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    consumer.acknowledge(record, RENEW)
    assert consumer.poll(WAIT_S) == [record]
    consumer.acknowledge(record, ACCEPT)
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {0: ACCEPT}


def test_the_lock_is_known_after_the_first_records(make: Make) -> None:
    consumer = make()
    assert consumer.acquisition_lock_timeout is None
    consumer.poll(WAIT_S)
    assert consumer.acquisition_lock_timeout == 30.0


# -- waking up ---------------------------------------------------------------------------------------------


def test_wakeup_ends_a_poll_that_waits(make: Make) -> None:
    consumer = make(records=0)
    consumer.poll(0)
    consumer.later(consumer.consumer.wakeup)
    with pytest.raises(WakeupError):
        consumer.poll(WAIT_S)
    consumer.model.produce([b"x"])
    assert len(consumer.poll(WAIT_S)) == 1


def test_wakeup_before_a_call_is_for_the_next_one(make: Make) -> None:
    consumer = make()
    consumer.consumer.wakeup()
    with pytest.raises(WakeupError):
        consumer.poll(WAIT_S)
    assert offsets(consumer.poll(WAIT_S)) == [0, 1, 2]


# -- working -----------------------------------------------------------------------------------------------


def test_processing_accepts_what_ends_well(make: Make) -> None:
    consumer = make()
    for record in consumer.poll(WAIT_S):
        with consumer.processing(record) as same:
            assert same is record
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT, 2: ACCEPT}


class Busy(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Transient("try again"), RELEASE),
        (Busy("declared so"), RELEASE),
        (BrokerError(ErrorCode.INVALID_REQUEST), RELEASE),
        (KeyError("a bug of today"), RELEASE),
        (Reject("a bad record"), REJECT),
        (ValueError("named"), REJECT),
        (KeyboardInterrupt(), RELEASE),
    ],
)
def test_processing_that_fails_releases_or_rejects_and_tells(
    make: Make, error: BaseException, outcome: AcknowledgeType
) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    named = {"reject": [ValueError, Busy], "transient": [Busy]}
    with pytest.raises(type(error)), consumer.processing(record, **named):
        raise error
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == ({0: REJECT} if outcome is REJECT else {})
    if outcome is RELEASE:
        assert [r.delivery_count for r in consumer.poll(WAIT_S)] == [2]


def test_processing_can_keep_an_exception_to_itself(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record, suppress=True):
        raise Reject("a bad record")
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {0: REJECT}


def test_what_was_said_while_processing_stands(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record):
        consumer.acknowledge(record, RELEASE)
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {}


def test_a_record_that_cannot_be_deserialised_is_released_by_processing(make: Make) -> None:
    """It may be the deserialiser."""
    consumer = make(records=0, **{"value.deserializer": as_json})
    consumer.model.produce([b"oh no"])
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record):
        pass
    (again,) = consumer.poll(WAIT_S)
    assert again.delivery_count == 2
    with consumer.processing(again, reject=(RecordDeserializationError,)):
        pass
    consumer.commit_sync(WAIT_S)
    assert consumer.model.ended() == {0: REJECT}


def test_processing_is_for_explicit_mode(make: Make) -> None:
    consumer = make(**{"share.acknowledgement.mode": "implicit"})
    (record, *_) = consumer.poll(WAIT_S)
    with pytest.raises(IllegalState, match="explicit"), consumer.processing(record):
        pass


def test_run_hands_every_record_to_the_handler_and_accepts_it(make: Make) -> None:
    consumer = make(records=25)
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if len(seen) == 25:
            consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), concurrency=4)
    assert sorted(seen) == list(range(25))
    assert consumer.model.ended() == dict.fromkeys(range(25), ACCEPT)


def test_run_works_in_implicit_mode_too(make: Make) -> None:
    consumer = make(records=2, **{"share.acknowledgement.mode": "implicit"})
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.offset)
        if record.offset == 1:
            consumer.consumer.wakeup()
            raise Reject("a bad record")

    consumer.run(consumer.handler(work))
    assert consumer.model.ended() == {0: ACCEPT, 1: REJECT}


def test_run_releases_and_rejects_and_tells(make: Make) -> None:
    consumer = make(records=4)
    told: list[tuple[int, type[Exception], AcknowledgeType]] = []
    seen: list[tuple[int, int]] = []

    def work(record: Any) -> None:
        seen.append((record.offset, record.delivery_count))
        if record.offset == 1 and record.delivery_count == 1:
            raise Transient("try again")
        if record.offset == 2:
            raise Reject("a bad record")
        if (1, 2) in seen and len(seen) >= 5:
            consumer.consumer.wakeup()

    def on_error(record: Any, error: Exception, kind: AcknowledgeType) -> None:
        told.append((record.offset, type(error), kind))

    consumer.run(consumer.handler(work), concurrency=2, on_error=on_error, retry_delays=())
    assert sorted(told, key=lambda entry: entry[0]) == [(1, Transient, RELEASE), (2, Reject, REJECT)]
    assert consumer.model.ended() == {0: ACCEPT, 1: ACCEPT, 2: REJECT, 3: ACCEPT}


def test_what_cannot_be_deserialised_fails_without_the_handler(make: Make) -> None:
    consumer = make(records=0, **{"value.deserializer": as_json})
    consumer.model.produce([b"oh no", b"1"])
    seen: list[int] = []

    def work(record: Any) -> None:
        seen.append(record.value)
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work))
    assert seen == [1]
    assert consumer.model.ended() == {1: ACCEPT}
    assert [said.kind for said in arrived(consumer)] == [RELEASE]


def test_run_gives_back_what_no_handler_has_begun(make: Make) -> None:
    consumer = make(records=40)

    def work(record: Any) -> None:
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), concurrency=3)
    finished = consumer.model.ended()
    assert 1 <= len(finished) <= 6
    assert consumer.model.held() == []
    for record in consumer.poll(WAIT_S):  # and the consumer can go on
        consumer.acknowledge(record)


def test_run_raises_what_ends_it(make: Make) -> None:
    consumer = make()
    consumer.model.heartbeat_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    with pytest.raises(BrokerError, match="GROUP_AUTHORIZATION_FAILED"):
        consumer.run(consumer.handler(lambda record: None))


def test_run_needs_somebody_to_work(make: Make) -> None:
    consumer = make()
    with pytest.raises(ValueError, match="concurrency"):
        consumer.run(consumer.handler(lambda record: None), concurrency=0)


# -- more than a type --------------------------------------------------------------------------------------


def arrived(consumer: Flavour, offset: int = 0) -> list[Arrived]:
    return consumer.model.logs[0][offset].acknowledged


SAYINGS: dict[str, tuple[Callable[[Any, Any], None], Arrived]] = {
    "accept": (lambda c, r: c.accept(r), Arrived(ACCEPT)),
    "release": (lambda c, r: c.release(r), Arrived(RELEASE)),
    "release-delay": (lambda c, r: c.release(r, delay=0.25), Arrived(RELEASE, 250)),
    "release-now": (lambda c, r: c.release(r, delay=0), Arrived(RELEASE, 0)),
    "acknowledge-delay": (lambda c, r: c.acknowledge(r, RELEASE, delay=2), Arrived(RELEASE, 2_000)),
    "reject": (lambda c, r: c.reject(r), Arrived(REJECT)),
    "reject-reason": (lambda c, r: c.reject(r, reason="no"), Arrived(REJECT, reason="no")),
    "reject-exception": (
        lambda c, r: c.reject(r, reason=ValueError("no")),
        Arrived(REJECT, reason="ValueError: no"),
    ),
    "acknowledge-reason": (
        lambda c, r: c.acknowledge(r, type=REJECT, reason="no"),
        Arrived(REJECT, reason="no"),
    ),
    "give-back": (lambda c, r: c.give_back(r), Arrived(RELEASE, given_back=True)),
    "place-release": (lambda c, r: c.release(TOPIC, 0, 0, delay=1), Arrived(RELEASE, 1_000)),
    "place-reject": (lambda c, r: c.reject(TOPIC, 0, 0, reason="no"), Arrived(REJECT, reason="no")),
    "place-accept": (lambda c, r: c.accept(TOPIC, 0, 0), Arrived(ACCEPT)),
    "place-give-back": (lambda c, r: c.give_back(TOPIC, 0, 0), Arrived(RELEASE, given_back=True)),
    "place-acknowledge": (
        lambda c, r: c.acknowledge(TOPIC, 0, 0, RELEASE, delay=1),
        Arrived(RELEASE, 1_000),
    ),
    "place-acknowledge-reason": (
        lambda c, r: c.acknowledge(TOPIC, 0, 0, type=REJECT, reason="no"),
        Arrived(REJECT, reason="no"),
    ),
    "the-last-word": (lambda c, r: (c.release(r, delay=9), c.accept(r)), Arrived(ACCEPT)),
    "the-last-place": (lambda c, r: (c.reject(r, reason="x"), c.release(TOPIC, 0, 0)), Arrived(RELEASE)),
    "another-reason": (
        lambda c, r: (c.reject(r, reason="x"), c.reject(r, reason="y")),
        Arrived(REJECT, reason="y"),
    ),
}


@pytest.mark.parametrize("saying", SAYINGS)
def test_what_is_said_of_a_record_arrives_with_what_was_added(make: Make, saying: str) -> None:
    say, expected = SAYINGS[saying]
    consumer = make(records=2)
    first, second = consumer.poll(WAIT_S)
    say(consumer, first)
    consumer.acknowledge(second)
    assert list(consumer.commit_sync(WAIT_S).values()) == [None]
    assert (arrived(consumer), arrived(consumer, 1)) == ([expected], [Arrived(ACCEPT)])


def test_a_renewed_record_is_one_of_which_more_can_be_said(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    consumer.renew(record)
    (again,) = consumer.poll(WAIT_S)
    consumer.release(again, delay=1)
    consumer.commit_sync(WAIT_S)
    assert (again.offset, arrived(consumer)) == (record.offset, [Arrived(RELEASE, 1_000)])


def test_what_was_given_back_was_not_delivered(make: Make) -> None:
    consumer = make(records=1)
    for _ in range(3):
        (record,) = consumer.poll(WAIT_S)
        assert record.delivery_count == 1
        consumer.give_back(record)
    (record,) = consumer.poll(WAIT_S)
    consumer.release(record)
    assert [r.delivery_count for r in consumer.poll(WAIT_S)] == [2]


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (ACCEPT, {"delay": 1}),
        (REJECT, {"delay": 1}),
        (RENEW, {"delay": 1}),
        (RELEASE, {"reason": "no"}),
        (ACCEPT, {"reason": "no"}),
        (RELEASE, {"delay": -1}),
        (RELEASE, {"delay": float("nan")}),
        (RELEASE, {"delay": float("inf")}),
    ],
)
def test_what_does_not_go_together_is_refused(
    make: Make, kind: AcknowledgeType, more: dict[str, Any]
) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with pytest.raises(ValueError, match="expected"):
        consumer.acknowledge(record, kind, **more)
    with pytest.raises(IllegalState, match="must be acknowledged"):
        consumer.poll(0)


def test_in_implicit_mode_nothing_can_be_said_of_a_record(make: Make) -> None:
    consumer = make(records=1, **{"share.acknowledgement.mode": "implicit"})
    (record,) = consumer.poll(WAIT_S)
    for say in (consumer.accept, consumer.release, consumer.reject, consumer.renew, consumer.give_back):
        with pytest.raises(IllegalState, match="Implicit"):
            say(record)


def other_broker() -> ModelCluster:
    model = ModelCluster()
    model.is_leaselogs = False
    return model


def test_another_broker_gets_the_type_alone_and_that_is_told_once(make: Make, caplog: Any) -> None:
    consumer = make(records=6, model=other_broker())
    caplog.set_level("WARNING", "leaselog.client.share")
    for _ in range(3):
        slow, bad, early, *rest = consumer.poll(WAIT_S)
        assert caplog.text.count("is no leaselog broker") <= 1
        consumer.release(slow, delay=60)
        consumer.reject(bad, reason="no")
        consumer.give_back(early)
        for record in rest:
            consumer.release(record)
        consumer.commit_sync(WAIT_S)
        if not rest:
            break
    assert caplog.text.count("is no leaselog broker") == 1
    assert arrived(consumer, 0)[0] == Arrived(RELEASE)
    assert arrived(consumer, 1) == [Arrived(REJECT)]


def test_what_the_application_did_not_add_is_nothing_to_tell_of(make: Make, caplog: Any) -> None:
    consumer = make(records=3, model=other_broker())
    caplog.set_level("WARNING", "leaselog.client.share")
    first, second, _ = consumer.poll(WAIT_S)
    with consumer.processing(first, suppress=True):
        raise Reject("no")
    with consumer.processing(second):
        pass
    consumer.close(WAIT_S)
    assert consumer.model.ended() == {0: REJECT, 1: ACCEPT}
    assert "leaselog's" not in caplog.text


class Throttled(Transient):
    delay = 30.0


FAILURES: list[tuple[Exception, Arrived]] = [
    (Reject("no such item"), Arrived(REJECT, reason="no such item")),
    (Reject(), Arrived(REJECT, reason="Reject")),
    (ValueError("named"), Arrived(REJECT, reason="ValueError: named")),
    (Transient("later", delay=1.5), Arrived(RELEASE, 1_500)),
    (Transient("later", delay=-3), Arrived(RELEASE, 0)),
    (Throttled("busy"), Arrived(RELEASE, 30_000)),
    (Throttled("busy", delay=2), Arrived(RELEASE, 2_000)),
    (Reject("last"), Arrived(REJECT, reason="last")),
]


@pytest.mark.parametrize(("failure", "expected"), FAILURES, ids=lambda value: repr(value))
def test_processing_says_why_and_until_when(make: Make, failure: Exception, expected: Arrived) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record, reject=(ValueError,), suppress=True):
        raise failure
    consumer.commit_sync(WAIT_S)
    assert arrived(consumer) == [expected]


@pytest.mark.parametrize(
    "failure", [Transient("later"), Transient("later", delay=float("inf")), TimeoutError("late")]
)
def test_processing_leaves_it_to_the_group_when_what_failed_comes_again(
    make: Make, failure: Exception
) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record, suppress=True):
        raise failure
    consumer.commit_sync(WAIT_S)
    assert arrived(consumer) == [Arrived(RELEASE)]


def test_run_says_why_and_until_when(make: Make) -> None:
    consumer = make(records=len(FAILURES))

    def work(record: Any) -> None:
        if record.offset == len(FAILURES) - 1:
            consumer.consumer.wakeup()
        raise FAILURES[record.offset][0]

    consumer.run(consumer.handler(work), reject=(ValueError,))
    assert [arrived(consumer, offset)[0] for offset in range(len(FAILURES))] == [
        expected for _, expected in FAILURES
    ]


def test_a_reject_without_words_names_what_it_was_raised_from(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    with consumer.processing(record, suppress=True):
        raise Reject from ValueError("no such item")
    consumer.commit_sync(WAIT_S)
    assert arrived(consumer) == [Arrived(REJECT, reason="ValueError: no such item")]


def test_run_gives_back_what_waits_for_a_handler_without_a_delivery(make: Make) -> None:
    consumer = make(records=40)
    begun: set[int] = set()

    def work(record: Any) -> None:
        begun.add(record.offset)
        consumer.consumer.wakeup()

    consumer.run(consumer.handler(work), concurrency=3)
    assert len(begun) < 40
    assert {r.offset: r.delivery_count for r in consumer.model.logs[0]} == {
        offset: int(offset in begun) for offset in range(40)
    }


def test_closing_gives_back_what_processing_has_not_begun(make: Make) -> None:
    consumer = make(records=3)
    first, *_ = consumer.poll(WAIT_S)
    with consumer.processing(first):
        pass
    consumer.close(WAIT_S)
    assert [r.delivery_count for r in consumer.model.logs[0]] == [1, 0, 0]
    assert consumer.model.ended() == {0: ACCEPT}
    assert consumer.model.held() == []


def test_closing_counts_what_the_application_may_have_worked_on(make: Make) -> None:
    consumer = make(records=3)
    consumer.poll(WAIT_S)
    consumer.close(WAIT_S)
    assert [r.delivery_count for r in consumer.model.logs[0]] == [1, 1, 1]
    assert consumer.model.held() == []


# -- the end -----------------------------------------------------------------------------------------------


def test_closing_says_what_was_acknowledged_and_gives_back_the_rest(make: Make) -> None:
    consumer = make()
    first, *_ = consumer.poll(WAIT_S)
    consumer.acknowledge(first)
    consumer.close(WAIT_S)
    assert consumer.model.ended() == {0: ACCEPT}
    assert consumer.model.held() == []
    assert consumer.model.members == {}


def test_closing_in_implicit_mode_accepts_nothing(make: Make) -> None:
    consumer = make(**{"share.acknowledgement.mode": "implicit"})
    consumer.poll(WAIT_S)
    consumer.close(WAIT_S)
    assert consumer.model.ended() == {}
    assert consumer.model.held() == []


def test_closing_twice_is_closing_once_and_nothing_else_goes_afterwards(make: Make) -> None:
    consumer = make()
    consumer.poll(WAIT_S)
    consumer.close(WAIT_S)
    consumer.close(WAIT_S)
    for call in (
        lambda: consumer.poll(0),
        lambda: consumer.commit_sync(0),
        lambda: consumer.subscribe(["x"]),
    ):
        with pytest.raises(IllegalState, match="already been closed"):
            call()


def test_closing_what_was_never_used_is_nothing(make: Make) -> None:
    make().close()


def test_the_last_acknowledgements_are_heard_of_in_the_callback(make: Make) -> None:
    consumer = make(records=1)
    heard: list[Any] = []
    consumer.set_acknowledgement_commit_callback(lambda done, error: heard.append(error))
    (record,) = consumer.poll(WAIT_S)
    consumer.acknowledge(record)
    consumer.close(WAIT_S)
    assert heard == [None]


def test_closing_with_no_time_does_not_wait(make: Make) -> None:
    consumer = make(records=1)
    (record,) = consumer.poll(WAIT_S)
    consumer.acknowledge(record)
    consumer.door.unreachable = ShareAcknowledgeRequest
    begun = time.monotonic()
    consumer.close(0)
    assert time.monotonic() - begun < WAIT_S / 2


def test_metrics_have_kafkas_names(make: Make) -> None:
    consumer = make()
    for record in consumer.poll(WAIT_S):
        consumer.acknowledge(record)
    consumer.commit_sync(WAIT_S)
    metrics = consumer.metrics()
    fetching = "consumer-share-fetch-manager-metrics"
    assert metrics[MetricName(fetching, "records-consumed-total")] == 3
    assert metrics[MetricName(fetching, "acknowledgements-send-total")] == 3
    assert metrics[MetricName(fetching, "acknowledgements-error-total")] == 0
    assert metrics[MetricName("consumer-share-coordinator-metrics", "heartbeat-total")] >= 1

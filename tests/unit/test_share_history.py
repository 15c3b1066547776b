"""The history checker: each rule finds what breaks it, and nothing where it is only not certain."""

from __future__ import annotations

import json

import pytest

from leaselog.testing.share_history import (
    Acknowledging,
    Answered,
    BrokerDied,
    Closing,
    Delivered,
    Disconnected,
    Event,
    Kind,
    MalformedHistory,
    Paused,
    Resuming,
    Sent,
    Stored,
    read_lines,
    to_line,
)
from leaselog.testing.share_history_check import RecordPosition, Rules, judge

S = 1_000_000_000
LOCK_S = 10
RULES = Rules(delivery_count_limit=3, lock_duration_ms=LOCK_S * 1000)


def stored(offset: int = 0, record: str = "r") -> list[Event]:
    return [Sent(record, 0), Stored(record, 0, offset)]


def delivered(
    consumer: str, at: float, count: int = 1, *, after: float | None = None, record: str = "r"
) -> Delivered:
    began = at if after is None else after
    return Delivered(consumer, 0, 0, record, count, int(began * S) - 1, int(at * S))


def acknowledged(consumer: str, kind: Kind, at: float, ok: bool | None = True) -> list[Event]:
    """Answered half a second later, or never."""
    asked: list[Event] = [Acknowledging(consumer, 0, 0, kind, int(at * S))]
    return asked if ok is None else [*asked, Answered(consumer, 0, 0, ok, int((at + 0.5) * S))]


def broken(events: list[Event], through: dict[int, int] | None = None) -> list[str]:
    rules = Rules(RULES.delivery_count_limit, RULES.lock_duration_ms, through)
    return [violation.rule for violation in judge(events, rules).violations]


def test_a_record_released_and_then_accepted_is_as_it_should_be() -> None:
    events = [
        *stored(),
        delivered("a", 1),
        *acknowledged("a", "release", 2),
        delivered("b", 3, 2),
        *acknowledged("b", "accept", 4),
    ]
    verdict = judge(events, Rules(3, 1000, {0: 1}))
    assert verdict.violations == ()
    assert verdict.seen["deliveries"] == 2
    assert verdict.seen["release answered"] == verdict.seen["accept answered"] == 1
    assert verdict.seen["more than one consumer"] == 1


@pytest.mark.parametrize("kind", ["accept", "reject"])
def test_what_was_answered_comes_no_more(kind: Kind) -> None:
    first = [*stored(), delivered("a", 1), *acknowledged("a", kind, 2)]
    assert broken([*first, delivered("b", 4, 2)]) == ["undone"]
    assert broken([*first, delivered("b", 4, 2, after=2.2)]) == [], "perhaps leased before the answer"


@pytest.mark.parametrize("ok", [False, None])
def test_what_was_not_answered_may_come_again(ok: bool | None) -> None:
    assert (
        broken([*stored(), delivered("a", 1), *acknowledged("a", "accept", 2, ok), delivered("b", 4)]) == []
    )


def test_a_release_that_was_answered_keeps_its_count() -> None:
    first = [*stored(), delivered("a", 1, 2), *acknowledged("a", "release", 2)]
    assert broken([*first, delivered("b", 4, 2)]) == ["forgotten"]
    assert broken([*first, delivered("b", 4, 3)]) == []
    assert broken([*first, delivered("b", 4, 2, after=2.2)]) == []


def test_a_release_that_came_too_late_proves_nothing() -> None:
    late = [*stored(), delivered("a", 1, 2), *acknowledged("a", "release", 1.2 + LOCK_S)]
    assert broken([*late, delivered("b", 9 + LOCK_S, 2)]) == []


def test_what_was_given_up_before_it_was_accepted_may_come_again() -> None:
    """Found by simulation: the last lease had ended, and that could not be written."""
    at_the_limit = [*stored(), delivered("a", 1, 3), *acknowledged("a", "accept", 1.2 + LOCK_S)]
    assert broken([*at_the_limit, delivered("b", 9 + LOCK_S, 1)]) == []
    before = [*stored(), delivered("a", 1, 2), *acknowledged("a", "accept", 1.2 + LOCK_S)]
    assert "undone" in broken([*before, delivered("b", 9 + LOCK_S, 1)])


@pytest.mark.parametrize("count", [0, 4])
def test_counts_begin_with_one_and_end_with_the_limit(count: int) -> None:
    assert broken([*stored(), delivered("a", 1, count)]) == ["over limit"]
    assert broken([*stored(), delivered("a", 1, 3)]) == []


def test_two_consumers_never_hold_a_record_at_once() -> None:
    assert broken([*stored(), delivered("a", 1), delivered("b", 2)]) == ["two holders"]
    assert broken([*stored(), delivered("a", 1), delivered("a", 2)]) == [], (
        "who asks again may have begun anew"
    )


@pytest.mark.parametrize(
    "between",
    [
        acknowledged("a", "release", 1.5, None),
        [Closing("a", int(1.5 * S))],
        [BrokerDied(int(1.5 * S))],
    ],
    ids=["acknowledged", "closed", "broker died"],
)
def test_a_lease_that_may_have_ended_holds_nothing(between: list[Event]) -> None:
    assert broken([*stored(), delivered("a", 1), *between, delivered("b", 2)]) == []


def test_a_lease_ends_when_its_time_is_up() -> None:
    assert broken([*stored(), delivered("a", 1), delivered("b", 1 + LOCK_S)]) == []
    assert broken([*stored(), delivered("a", 1), delivered("b", 0.9 + LOCK_S)]) == ["two holders"]


def test_a_delivery_from_before_the_brokers_death_holds_nothing() -> None:
    died = BrokerDied(int(0.5 * S))
    assert broken([*stored(), died, delivered("a", 1, after=0.4), delivered("b", 2)]) == []


def test_who_may_have_been_taken_for_gone_holds_nothing_any_more() -> None:
    first = [*stored(), delivered("a", 1)]
    assert broken([*first, delivered("b", 4, 2)]) == ["two holders"]
    assert broken([*first, Disconnected("a", 2 * S), delivered("b", 4, 2)]) == []
    assert broken([*first, Disconnected("b", 2 * S), delivered("b", 4, 2)]) == ["two holders"]


def test_nobody_finishes_what_another_holds() -> None:
    events = [
        *stored(),
        delivered("a", 1),
        Disconnected("a", 2 * S),
        delivered("b", 4, 2),
        *acknowledged("a", "accept", 6),
    ]
    assert broken(events) == ["stolen"]
    refused = [*events[:-2], *acknowledged("a", "accept", 6, ok=False)]
    assert broken(refused) == []
    before_b_had_it = [*events[:-3], *acknowledged("a", "accept", 3), delivered("b", 4, 2)]
    assert "stolen" not in broken(before_b_had_it)
    # what the log has lost is taken for done from anybody, as by Apache Kafka
    assert "stolen" not in [v.rule for v in judge(events, Rules(3, 1000, log_starts={0: 1})).violations]


def test_nobody_finishes_what_was_not_his_any_more() -> None:
    rules = Rules(3, LOCK_S * 1000, {0: 1}, longest_lock_ms=LOCK_S * 1000)
    late = [*stored(), delivered("a", 1), *acknowledged("a", "accept", 1 + LOCK_S + 1)]
    assert [violation.rule for violation in judge(late, rules).violations] == ["overdue"]
    in_time = [*stored(), delivered("a", 1), *acknowledged("a", "accept", LOCK_S)]
    assert judge(in_time, rules).violations == ()
    refused = [*late[:-2], *acknowledged("a", "accept", 12, ok=False)]
    assert judge(refused, rules).violations == ()
    passed = [*late, delivered("b", 11.2, 2), *acknowledged("b", "accept", 11.3)]
    assert judge(passed, rules).violations == (), "what the start has passed may be acknowledged by anybody"
    call, answer = acknowledged("a", "accept", 1 + LOCK_S + 1)
    leased_again = [*stored(), delivered("a", 1), call, answer, delivered("a", 12.5, 2, after=11.5)]
    assert judge(leased_again, rules).violations == (), "a new lease was on its way when it said so"
    another = [*stored(), delivered("a", 1), call, answer, delivered("b", 12.5, 2, after=11.5)]
    assert "overdue" in [violation.rule for violation in judge(another, rules).violations]
    unknown = Rules(3, LOCK_S * 1000, {0: 1})
    assert judge(late, unknown).violations == ()


def test_a_paused_group_gets_nothing_that_was_not_on_its_way() -> None:
    paused: list[Event] = [*stored(), Paused(2 * S), Paused(3 * S), Resuming(6 * S)]
    assert broken([*paused, delivered("a", 4)]) == ["while paused"]
    assert broken([*paused, delivered("a", 4, after=1.5)]) == [], "asked for before"
    assert broken([*paused, delivered("a", 7, after=5)]) == [], "perhaps leased when it went on"
    assert broken([*paused[:-1], delivered("a", 60)]) == ["while paused"]
    assert broken([*paused, delivered("a", 1)]) == []


def test_nobody_has_to_finish_what_the_log_no_longer_has() -> None:
    events = [*stored(0), delivered("a", 1)]
    assert broken(events, {0: 1}) == ["lost"]
    assert judge(events, Rules(3, 1000, {0: 1}, log_starts={0: 1})).violations == ()


def test_nothing_is_invented() -> None:
    assert broken([delivered("a", 1)]) == ["invented"]
    assert broken([Sent("r", 1), delivered("a", 1)]) == ["invented"], "sent to another partition"
    assert broken([Sent("r", 0), delivered("a", 1)]) == [], "what nobody answered may be there"


def test_a_place_has_one_record() -> None:
    assert broken([*stored(), Sent("other", 0), delivered("a", 1, record="other")]) == ["invented"]


def test_what_the_broker_is_done_with_somebody_has_finished() -> None:
    assert broken(stored(), {0: 1}) == ["lost"]
    delivery = delivered("a", 1)
    assert broken([*stored(), delivery, *acknowledged("a", "release", 2)], {0: 1}) == ["lost"]
    assert broken([*stored(), delivery, *acknowledged("a", "accept", 2, None)], {0: 1}) == []
    assert broken([*stored(), delivered("a", 1, 3)], {0: 1}) == [], "out of deliveries"
    assert broken(stored()) == [], "nobody asked the broker"


def test_a_last_delivery_may_have_reached_nobody() -> None:
    events = [*stored(), delivered("a", 1, 2), *acknowledged("a", "release", 2)]
    assert judge(events, Rules(3, 1000, {0: 1}, {RecordPosition(0, 0)})).violations == ()


def test_what_was_stored_lies_before_the_end() -> None:
    assert broken([*stored(), delivered("a", 1), *acknowledged("a", "accept", 2)], {0: 0}) == ["lost"]


def test_a_violation_tells_its_story() -> None:
    (violation,) = judge([*stored(), delivered("a", 1), delivered("b", 2)], RULES).violations
    assert violation.place == (0, 0)
    assert "'a'" in violation.story
    assert "'b'" in violation.story


def test_a_history_is_read_as_it_was_written() -> None:
    events = [
        *stored(),
        delivered("a", 1),
        *acknowledged("a", "accept", 2),
        Closing("a", 3),
        BrokerDied(4),
    ]
    lines = [to_line(event) + "\n" for event in events]
    assert list(read_lines(lines)) == events
    assert list(read_lines([*lines, lines[0][:20]])) == events, "a last line cut off is left out"


@pytest.mark.parametrize(
    "line",
    [
        "accepted 5",
        json.dumps({"event": "stolen"}),
        json.dumps([1]),
        json.dumps({"event": "closing", "consumer": "a"}),
    ],
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(MalformedHistory):
        list(read_lines([line + "\n"]))


def lettered(events: list[Event], *letters: str, log_start: int = 0) -> list[str]:
    """The rules that are broken when everything is through, and these dead letters name the record's place."""
    of_place = {RecordPosition(0, 0): letters} if letters else {}
    rules = Rules(3, LOCK_S * 1000, {0: 1}, log_starts={0: log_start}, dead_letters=of_place)
    return [violation.rule for violation in judge(events, rules).violations]


def test_what_nobody_accepted_has_a_dead_letter() -> None:
    rejected = [*stored(), delivered("a", 1), *acknowledged("a", "reject", 2)]
    assert lettered(rejected) == ["lost"]
    assert lettered(rejected, "r") == lettered(rejected, "r", "r") == []
    assert lettered(rejected, log_start=1) == [], "retention took it"


def test_what_was_accepted_has_none() -> None:
    accepted = [*stored(), delivered("a", 1), *acknowledged("a", "accept", 2)]
    assert lettered(accepted) == []
    assert lettered(accepted, "r") == ["undone"]


def test_an_acceptance_that_came_too_late_proves_nothing() -> None:
    late = [
        *stored(),
        delivered("a", 1),
        delivered("b", LOCK_S + 2, 2),
        *acknowledged("b", "reject", LOCK_S + 3),
        *acknowledged("a", "accept", LOCK_S + 5),  # below the start, where anything is answered well
    ]
    assert lettered(late, "r") == []


@pytest.mark.parametrize("ok", [False, None])
def test_what_may_have_been_accepted_may_have_a_dead_letter_or_not(ok: bool | None) -> None:
    unclear = [*stored(), delivered("a", 1), *acknowledged("a", "accept", 2, ok)]
    assert lettered(unclear) == lettered(unclear, "r") == []


def test_a_dead_letter_is_about_the_record_that_lies_there() -> None:
    events = [*stored(), delivered("a", 1), *acknowledged("a", "reject", 2)]
    assert lettered(events, "other") == ["invented"]


def test_without_a_dead_letter_topic_nobody_asks_for_letters() -> None:
    events = [*stored(), delivered("a", 1), *acknowledged("a", "reject", 2)]
    assert broken(events, {0: 1}) == []


def test_what_is_given_back_keeps_the_count_it_came_with() -> None:
    first = [*stored(), delivered("a", 1, 2), *acknowledged("a", "give back", 2)]
    assert broken([*first, delivered("b", 4, 2)]) == []
    assert broken([*first, delivered("b", 4, 1)]) == ["forgotten"]
    assert broken([*first, delivered("b", 4, 3), *acknowledged("b", "accept", 5)], {0: 1}) == []
    assert broken(first, {0: 1}) == ["lost"]


def test_a_released_record_does_not_come_before_it_may() -> None:
    def early(*events: Event, clock_set_s: float = 0) -> list[str]:
        rules = Rules(
            3,
            LOCK_S * 1000,
            shortest_wait_ms=lambda count: 2_000 * count,
            clock_set_ns=[int(clock_set_s * S)] if clock_set_s else [],
        )
        return [
            violation.rule for violation in judge([*stored(), delivered("a", 1), *events], rules).violations
        ]

    released = acknowledged("a", "release", 2)
    assert early(*released, delivered("b", 3.9, 2)) == ["early"]
    assert early(*released, delivered("b", 4.1, 2)) == []
    assert early(*released, delivered("b", 3.9, 2), clock_set_s=3) == []
    assert early(*released, delivered("b", 3.9, 2), clock_set_s=1) == ["early"]
    assert early(*acknowledged("a", "release", 2, ok=None), delivered("b", 3.9, 2)) == []
    assert early(*acknowledged("a", "give back", 2), delivered("b", 2.6, 1)) == []

"""What a share group's state is after the broker's end: read back from `__share_group_state`.

A member does what chance says and a plain dictionary keeps the books; after every end of the broker, polite or not, the
records that come again and their delivery counts are exactly those of the books.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from interop.broker_process import BrokerProcess
from interop.confluent_io import create_topic, numbered, produce, wait_until
from interop.raw_requests import connect, connected
from interop.share_member import (
    ACCEPT,
    REJECT,
    RELEASE,
    Acks,
    RawShareMember,
    begin,
    codes,
    ranges,
    topic_id_of,
)
from interop.share_state import (
    ACKNOWLEDGED,
    ARCHIVED,
    AVAILABLE,
    STATE_TOPIC,
    Offsets,
    offsets_of,
    stored_states,
)
from interop.test_share_librdkafka import explicit, set_group, take
from interop.test_share_upkeep import log_range
from leaselog.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from leaselog.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from leaselog.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)

SEED = 20261121
LIMIT = 5
PARTITIONS = 2
SETTINGS = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "offsets.topic.replication.factor": "1",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    # nobody's lease ends while the broker lives
    "group.share.record.lock.duration.ms": "60000",
}
#: a snapshot after every other write, and what it makes superfluous cut off at once
PRUNED = {
    "share.coordinator.snapshot.update.records.per.snapshot": "2",
    "share.coordinator.state.topic.prune.interval.ms": "200",
    "share.coordinator.cold.partition.snapshot.interval.ms": "300",
}
Ends = Callable[[BrokerProcess], None]


def stop(broker: BrokerProcess) -> None:
    broker.stop()


def kill(broker: BrokerProcess) -> None:
    broker.kill()


@dataclass(slots=True)
class Books:
    """What the broker has answered, record by record. A place is a partition and an offset."""

    chance: random.Random
    #: places that are through, and as what
    through: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    #: places given back: with what count
    released: dict[tuple[int, int], int] = field(default_factory=dict)
    #: places that a member has and has said nothing about: with what count
    held: dict[tuple[int, int], int] = field(default_factory=dict)
    end: int = 0
    #: the most often that a record was given back
    most_released: int = 0

    def deliver(self, member: RawShareMember, *, max_records: int, mode: int) -> int:
        """One fetch, each record of which has to come as the books say."""
        answer = member.fetch(
            partitions=range(PARTITIONS), max_records=max_records, share_acquire_mode=mode, wait_ms=50
        )
        count = 0
        for partition, found in ranges(answer).items():
            for first, last, delivery_count in found:
                for offset in range(first, last + 1):
                    place = (partition, offset)
                    assert place not in self.through, f"{place} is through"
                    assert place not in self.held, f"{place} is held"
                    assert delivery_count == self.released.get(place, 0) + 1, place
                    self.held[place] = delivery_count
                    count += 1
        return count

    def acknowledge(self, member: RawShareMember, share: float) -> None:
        """Such a share of what is held, in one request, each record as chance says."""
        chosen = sorted(place for place in self.held if self.chance.random() < share)
        if not chosen:
            return
        kinds = {place: self.chance.choices([ACCEPT, RELEASE, REJECT], [4, 5, 1])[0] for place in chosen}
        acks: Acks = {}
        for partition, offset in chosen:
            batches = acks.setdefault(partition, [])
            kind = kinds[partition, offset]
            if batches and batches[-1][1] == offset - 1:
                first, _, types = batches.pop()
                batches.append((first, offset, [*types, kind]))
            else:
                batches.append((offset, offset, [kind]))
        assert codes(member.acknowledge(acks)) == dict.fromkeys(acks, 0)
        for place, kind in kinds.items():
            count = self.held.pop(place)
            if kind == RELEASE and count < LIMIT:
                self.released[place] = count
                self.most_released = max(self.most_released, count)
            else:
                self.released.pop(place, None)
                self.through[place] = (ACKNOWLEDGED if kind == ACCEPT else ARCHIVED, count)

    def left(self) -> set[tuple[int, int]]:
        return {(p, o) for p in range(PARTITIONS) for o in range(self.end)} - self.through.keys()

    def broker_ended(self) -> None:
        """Leases are not durable: what was held was never delivered, or as often as when it was given back."""
        self.held.clear()

    def compare(self, stored: dict[int, dict[int, tuple[int, int]]], starts: dict[int, int]) -> None:
        """What is written down is what was answered, above the start; below it there is nothing but the past."""
        for partition, start in starts.items():
            assert all((partition, offset) in self.through for offset in range(start))
            expected = {
                o: as_what for (p, o), as_what in self.through.items() if p == partition and o >= start
            }
            expected |= {o: (AVAILABLE, n) for (p, o), n in self.released.items() if p == partition}
            assert stored[partition] == expected


def produce_some(broker: BrokerProcess, topic: str, books: Books, count: int) -> None:
    """Batches of all sizes, so that they are acknowledged in part."""
    for partition in range(PARTITIONS):
        size = books.chance.randrange(1, 30)
        produce(broker, topic, numbered(count, partition), batch_num_messages=size, linger_ms=50)
    books.end += count


def work(broker: BrokerProcess, group: str, topic: str, books: Books, turns: int) -> RawShareMember:
    """On a connection that is still open at the end, or else its session would end and give everything back."""
    member = RawShareMember(connect(broker), group, topic_id_of(broker, topic))
    for _ in range(turns):
        books.deliver(member, max_records=books.chance.randrange(1, 40), mode=books.chance.randrange(2))
        books.acknowledge(member, share=books.chance.random())
    books.deliver(member, max_records=20, mode=1)
    return member


def assert_as_written(broker: BrokerProcess, group: str, books: Books) -> None:
    stored = stored_states(broker, group)
    records = {partition: state.records for (_, partition), state in stored.items()}
    books.compare(records, {partition: state.start for (_, partition), state in stored.items()})
    for (_, partition), state in stored.items():
        through = sum(1 for kind, _ in state.records.values() if kind != AVAILABLE)
        assert state.complete_count == through
        (offsets,) = [at for (_, p), at in offsets_of(broker, group).items() if p == partition]
        assert offsets == Offsets(state.start, books.end - state.start - through)


@pytest.mark.parametrize(
    ("settings", "seed"),
    [
        pytest.param({}, SEED, id="updates"),
        pytest.param(PRUNED, SEED + 1, id="snapshots and pruning"),
        *(
            pytest.param(settings, SEED + n, id=f"{n}", marks=pytest.mark.deep)
            for n, settings in enumerate([{}, PRUNED] * 5, 2)
        ),
    ],
)
@pytest.mark.timeout(300)
def test_after_every_death_the_state_is_what_was_answered(broker_factory, fresh, settings, seed) -> None:
    broker = broker_factory({**SETTINGS, **settings})
    topic = create_topic(broker, fresh("topic"), PARTITIONS)
    group = set_group(broker, fresh("group"))
    begin(broker, group, [topic], PARTITIONS)
    books = Books(random.Random(seed))
    for _ in range(4):
        produce_some(broker, topic, books, 60)
        with closing(work(broker, group, topic, books, turns=12).connection):
            if settings:
                pruned = [p for p in range(2) if log_range(broker, STATE_TOPIC, p)[1] > 0]
                wait_until(lambda p=pruned: any(log_range(broker, STATE_TOPIC, q)[0] for q in p), "pruning")
            assert books.held, "somebody has a lease when it ends"
            broker.kill()
        broker.start()
        books.broker_ended()
        assert_as_written(broker, group, books)
    assert {kind for kind, _ in books.through.values()} == {ACKNOWLEDGED, ARCHIVED}
    assert books.most_released > 1, "no record was given back twice"
    expected = books.left()
    with closing(RawShareMember(connect(broker), group, topic_id_of(broker, topic)).connection) as connection:
        member = RawShareMember(connection, group, topic_id_of(broker, topic))
        wait_until(
            lambda: books.deliver(member, max_records=500, mode=0) or books.held.keys() == expected,
            "the first of what is left",
        )
        wait_until(
            lambda: not books.deliver(member, max_records=500, mode=0) and books.held.keys() == expected,
            "exactly what is left",
        )
        acks: Acks = {}
        for partition, offset in sorted(expected):
            acks.setdefault(partition, []).append((offset, offset, [ACCEPT]))
        assert codes(member.acknowledge(acks)) == dict.fromkeys(acks, 0)
    assert {offsets.lag for offsets in offsets_of(broker, group).values()} == {0}


@pytest.mark.parametrize("end", [stop, kill])
def test_leases_end_with_the_broker(broker_factory, fresh, end: Ends) -> None:
    broker = broker_factory(SETTINGS)
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    produce(broker, topic, numbered(10))
    begin(broker, group, [topic], 1)
    member = RawShareMember(connect(broker), group, topic_id_of(broker, topic))
    with closing(member.connection):
        assert member.acquire(until=10) == {0: [(0, 9, 1)]}
        end(broker)
    broker.start()
    other = RawShareMember(connect(broker), group, topic_id_of(broker, topic))
    with closing(other.connection):
        held = other.acquire(until=10)[0]
        assert [(first, last) for first, last, _ in held] == [(0, 9)]
        # a polite end may have been told of as the end of the member's session, which the delivery counts for
        assert held[0][2] in ((1, 2) if end is stop else (1,))
        assert codes(other.acknowledge({0: [(0, 9, [ACCEPT])]})) == {0: 0}


@pytest.mark.parametrize(
    ("end", "settings"),
    [(stop, {}), (kill, {}), (kill, PRUNED)],
    ids=["stop", "kill", "kill after snapshots and pruning"],
)
def test_offsets_that_were_set_are_where_the_group_goes_on(
    broker_factory, fresh, end: Ends, settings
) -> None:
    broker = broker_factory({**SETTINGS, **settings})
    topic, group = create_topic(broker, fresh("topic"), PARTITIONS), set_group(broker, fresh("group"))
    produce(broker, topic, [*numbered(10), *numbered(10, 1)])
    begin(broker, group, [topic], PARTITIONS)
    with closing(connect(broker)) as connection:
        member = RawShareMember(connection, group, topic_id_of(broker, topic))
        member.acquire(partitions=(0, 1), until=20)
        acks: Acks = {0: [(0, 7, [ACCEPT]), (8, 9, [RELEASE])], 1: [(0, 9, [ACCEPT])]}
        assert codes(member.acknowledge(acks)) == {0: 0, 1: 0}
        member.fetch(epoch=-1)
        wanted = AlterShareGroupOffsetsRequest(
            group_id=group,
            topics=[
                AlterShareGroupOffsetsRequestTopic(
                    topic_name=topic,
                    partitions=[AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=5)],
                )
            ],
        )
        answer = connection.ask(wanted, 0, AlterShareGroupOffsetsResponse)
        assert answer.error_code == 0, answer.error_message
        assert [p.error_code for t in answer.responses for p in t.partitions] == [0]
        end(broker)
    broker.start()
    assert offsets_of(broker, group)[topic, 0].start == 5
    assert offsets_of(broker, group)[topic, 1].lag == 0
    with closing(explicit(broker, group, topic)) as consumer:
        came = [(m.partition(), m.offset(), m.delivery_count()) for m in take(consumer, 5)]
        assert sorted(came) == [(0, offset, 1) for offset in range(5, 10)], (
            "and nothing of before is remembered"
        )


@pytest.mark.parametrize("end", [stop, kill])
def test_deleted_offsets_stay_deleted(broker_factory, fresh, end: Ends) -> None:
    broker = broker_factory(SETTINGS)
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    finish(broker, topic, group)
    with connected(broker) as connection:
        wanted = DeleteShareGroupOffsetsRequest(
            group_id=group, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=topic)]
        )
        answer = connection.ask(wanted, 0, DeleteShareGroupOffsetsResponse)
        assert (answer.error_code, [t.error_code for t in answer.responses]) == (0, [0])
    end(broker)
    broker.start()
    assert offsets_of(broker, group) == {}
    assert stored_states(broker, group) == {}
    assert begins_anew(broker, group, topic)


@pytest.mark.parametrize(
    ("end", "settings"),
    [(stop, {}), (kill, {}), (kill, PRUNED)],
    ids=["stop", "kill", "kill after snapshots and pruning"],
)
def test_a_deleted_group_stays_deleted(broker_factory, fresh, end: Ends, settings) -> None:
    broker = broker_factory({**SETTINGS, **settings})
    topic, group = create_topic(broker, fresh("topic")), set_group(broker, fresh("group"))
    finish(broker, topic, group)
    with connected(broker) as connection:
        answer = connection.ask(DeleteGroupsRequest(groups_names=[group]), 2, DeleteGroupsResponse)
        assert [(r.group_id, r.error_code) for r in answer.results] == [(group, 0)]
    end(broker)
    broker.start()
    assert offsets_of(broker, group) == {}
    assert stored_states(broker, group) == {}
    assert begins_anew(broker, group, topic)


def finish(broker: BrokerProcess, topic: str, group: str) -> None:
    """Ten records that the group is through with."""
    produce(broker, topic, numbered(10))
    begin(broker, group, [topic], 1)
    with connected(broker) as connection:
        member = RawShareMember(connection, group, topic_id_of(broker, topic))
        member.acquire(until=10)
        assert codes(member.acknowledge({0: [(0, 9, [ACCEPT])]})) == {0: 0}
        assert member.fetch(epoch=-1).error_code == 0


def begins_anew(broker: BrokerProcess, group: str, topic: str) -> bool:
    set_group(broker, group)  # a group that was deleted has no settings any more
    with closing(explicit(broker, group, topic)) as consumer:
        return [(m.offset(), m.delivery_count()) for m in take(consumer, 10)] == [(n, 1) for n in range(10)]

"""For which partitions the persister keeps state for a share group, and how that begins and ends.

A partition is *initializing* from when the group first wants it until the persister has said yes, *initialized* from
then on, and its topic is *deleting* from when an administrator wants the state gone until it is. Each step is written
down before the persister is asked, so that whoever comes after a crash knows what may be half done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from leaselog.coordination.group_commands import Done
from leaselog.coordination.group_surroundings import ShareSettings, Surroundings
from leaselog.coordination.group_turn import Turn
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_commands import (
    AlterShareOffsets,
    DeleteShareOffsets,
    KnownShareStates,
    Places,
    SettleShareStates,
    ShareOffsetsToSet,
    ShareStatesToDelete,
    StatesOfTopic,
)
from leaselog.coordination.share_group_facts import (
    ShareAssignmentStored,
    ShareEpochStored,
    ShareGroupFact,
    ShareStates,
    ShareStateStored,
    TopicPartitions,
)
from leaselog.model import ErrorCode, Refused, TopicId, TopicPartition

__all__ = [
    "NOT_EMPTY",
    "alter_offsets",
    "begin_missing",
    "delete_all",
    "delete_offsets",
    "drop_lost",
    "forget",
    "known",
    "offerable",
    "settle",
    "tombstones",
]

NOTHING: frozenset[int] = frozenset()
Table = dict[TopicId, TopicPartitions]

NOT_EMPTY = Refused(ErrorCode.NON_EMPTY_GROUP, "The group is not empty.")
UNKNOWN_TOPIC = Refused(
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."
)
NOTHING_TO_DELETE = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete.")


def offerable(group: ShareGroup, around: Surroundings) -> dict[TopicId, frozenset[int]]:
    """What may be assigned: initialized, subscribed to, and still there."""
    found: dict[TopicId, frozenset[int]] = {}
    for name in group.subscribed:
        shape = around.topic(name)
        places = None if shape is None else group.states.initialized.get(shape.topic_id)
        if shape is not None and places is not None:
            found[shape.topic_id] = places.partitions
    return found


# Beginning


def begin_missing(group: ShareGroup, settings: ShareSettings, turn: Turn) -> dict[TopicId, frozenset[int]]:
    """What of the topics subscribed to has no state yet, and nobody is at: it is initializing from now on."""
    missing: Table = {}
    for name in group.subscribed:
        shape = turn.around.topic(name)
        if shape is None:
            continue
        has = _partitions(group.states.initialized, shape.topic_id)
        if _is_under_way(group, shape.topic_id, settings, turn.now_ms):
            has |= _partitions(group.states.initializing, shape.topic_id)
        if len(has) < shape.partition_count:
            lacking = frozenset(range(shape.partition_count)) - has
            missing[shape.topic_id] = TopicPartitions(name, lacking)
    if missing:
        _begin(group, missing, turn)
    return {topic: places.partitions for topic, places in missing.items()}


def _is_under_way(group: ShareGroup, topic: TopicId, settings: ShareSettings, now_ms: int) -> bool:
    since_ms = group.initializing_since_ms.get(topic)
    return since_ms is not None and now_ms - since_ms < settings.initialize_retry_interval_ms


def _begin(group: ShareGroup, places: Mapping[TopicId, TopicPartitions], turn: Turn) -> None:
    states = group.states
    initializing = _with(states.initializing, places)
    deleting = {topic: name for topic, name in states.deleting.items() if topic not in places}
    _store(group, ShareStates(initializing, states.initialized, deleting), turn)
    for topic in places:
        group.initializing_since_ms[topic] = turn.now_ms


def settle(group: ShareGroup, ask: SettleShareStates, turn: Turn) -> Done:
    """What the persister has agreed to is initialized, if the group still wants it; the rest can be asked again."""
    states = group.states
    waiting = states.initializing
    agreed = {
        topic: TopicPartitions(waiting[topic].name, partitions & waiting[topic].partitions)
        for topic, partitions in ask.initialized.items()
        if topic in waiting
    }
    after = ShareStates(
        _without(_without(waiting, ask.initialized), ask.failed),
        _with(states.initialized, agreed),
        states.deleting,
    )
    if after != states:
        _store(group, after, turn)
    return Done()


def alter_offsets(group: ShareGroup, ask: AlterShareOffsets, turn: Turn) -> ShareOffsetsToSet | Refused:
    """Which of the offsets can be set; those partitions are initializing from now on. Only without members."""
    if group.members:
        return NOT_EMPTY
    unknown: set[TopicPartition] = set()
    wanted: Table = {}
    for place in ask.offsets:
        shape = turn.around.topic(place.topic)
        if shape is None or not 0 <= place.partition < shape.partition_count:
            unknown.add(place)
            continue
        before = wanted.get(shape.topic_id, TopicPartitions(place.topic, NOTHING))
        wanted[shape.topic_id] = TopicPartitions(place.topic, before.partitions | {place.partition})
    if wanted:
        _begin(group, wanted, turn)
    return ShareOffsetsToSet(frozenset(unknown), group.epoch.epoch)


# Ending


def delete_offsets(group: ShareGroup, ask: DeleteShareOffsets, turn: Turn) -> ShareStatesToDelete | Refused:
    if group.members:
        return NOT_EMPTY
    refused: dict[str, Refused] = {}
    going: list[TopicId] = []
    for name in ask.topics:
        shape = turn.around.topic(name)
        if shape is None:
            refused[name] = UNKNOWN_TOPIC
        elif shape.topic_id not in _topics(group.states):
            refused[name] = NOTHING_TO_DELETE
        else:
            going.append(shape.topic_id)
    return ShareStatesToDelete(_delete(group, going, turn), refused)


def delete_all(group: ShareGroup, turn: Turn) -> ShareStatesToDelete:
    """Everything is to go, since the group is."""
    return ShareStatesToDelete(_delete(group, _topics(group.states), turn), {})


def _delete(group: ShareGroup, topics: Iterable[TopicId], turn: Turn) -> tuple[StatesOfTopic, ...]:
    """Marks the topics; what there is, or, where a deletion was begun before, what there may be."""
    states = group.states
    found: list[StatesOfTopic] = []
    for topic in topics:
        name = _topics(states)[topic]
        partitions = _partitions(states.initialized, topic) | _partitions(states.initializing, topic)
        if topic in states.deleting:
            shape = turn.around.topic(name)
            is_same = shape is not None and shape.topic_id == topic
            partitions |= frozenset(range(shape.partition_count)) if shape and is_same else NOTHING
        found.append(StatesOfTopic(topic, name, partitions))
    marked = {states_of.topic_id: states_of.name for states_of in found}
    if marked:
        left = ShareStates(
            {topic: places for topic, places in states.initializing.items() if topic not in marked},
            {topic: places for topic, places in states.initialized.items() if topic not in marked},
            {**states.deleting, **marked},
        )
        _store(group, left, turn)
    return tuple(found)


def forget(group: ShareGroup, topics: frozenset[TopicId], turn: Turn) -> Done:
    states = group.states
    left = {topic: name for topic, name in states.deleting.items() if topic not in topics}
    if left != states.deleting:
        _store(group, ShareStates(states.initializing, states.initialized, left), turn)
    return Done()


def drop_lost(group: ShareGroup, around: Surroundings, turn: Turn) -> None:
    """Forgets topics that are no more; what the persister has of them goes without being asked."""
    states = group.states
    lost = {topic for topic, name in _topics(states).items() if not _exists(topic, name, around)}
    if lost:
        left = ShareStates(
            {topic: places for topic, places in states.initializing.items() if topic not in lost},
            {topic: places for topic, places in states.initialized.items() if topic not in lost},
            {topic: name for topic, name in states.deleting.items() if topic not in lost},
        )
        _store(group, left, turn)


def _exists(topic: TopicId, name: str, around: Surroundings) -> bool:
    shape = around.topic(name)
    return shape is not None and shape.topic_id == topic


def tombstones(group: ShareGroup) -> Iterator[ShareGroupFact]:
    """The end of a group that has no members, in Kafka's order; the last one frees its name."""
    yield ShareAssignmentStored(group.group_id, None)
    yield ShareStateStored(group.group_id, None)
    yield ShareEpochStored(group.group_id, None)


# Looking


def known(group: ShareGroup) -> KnownShareStates:
    places = group.states.initialized.items()
    return KnownShareStates(tuple(StatesOfTopic(topic, p.name, p.partitions) for topic, p in places))


def _topics(states: ShareStates) -> dict[TopicId, str]:
    """Every topic there is something about, with its name."""
    named = {
        topic: places.name for topic, places in (*states.initializing.items(), *states.initialized.items())
    }
    return {**states.deleting, **named}


def _partitions(table: Mapping[TopicId, TopicPartitions], topic: TopicId) -> frozenset[int]:
    places = table.get(topic)
    return NOTHING if places is None else places.partitions


def _with(table: Mapping[TopicId, TopicPartitions], more: Mapping[TopicId, TopicPartitions]) -> Table:
    after = dict(table)
    for topic, places in more.items():
        partitions = _partitions(table, topic) | places.partitions
        if partitions:
            after[topic] = TopicPartitions(places.name, partitions)
    return after


def _without(table: Mapping[TopicId, TopicPartitions], less: Places) -> Table:
    left = ((topic, places, places.partitions - less.get(topic, NOTHING)) for topic, places in table.items())
    return {
        topic: TopicPartitions(places.name, partitions) for topic, places, partitions in left if partitions
    }


def _store(group: ShareGroup, states: ShareStates, turn: Turn) -> None:
    group.decide(ShareStateStored(group.group_id, states), turn)

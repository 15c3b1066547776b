"""For which partitions the persister keeps state for a share group, and how that begins and ends.

A partition is *initializing* from when the group first wants it until the persister has said yes, *initialized* from
then on, and its topic is *deleting* from when an administrator wants the state gone until it is. Each step is written
down before the persister is asked, so that whoever comes after a crash knows what may be half done.

Where a group begins on a partition depends on which came first. Partitions that a topic had when the group came to know
of it begin where the group's policy says. One that was added since begins at 0, whatever the policy: its first records
were written for a group that was there (KIP-932, KAFKA-20742; ADR 0021).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from leaselog.coordination.cluster_view import ClusterView, ShareSettings
from leaselog.coordination.group_commands import Done
from leaselog.coordination.group_turn import Turn
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_commands import (
    NO_PLACES,
    AdoptShareStates,
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
    ShareEpoch,
    ShareEpochStored,
    ShareGroupFact,
    ShareStates,
    ShareStateStored,
    TopicPartitions,
)
from leaselog.model import ErrorCode, Refused, TopicId, TopicPartition

__all__ = [
    "NOT_EMPTY",
    "NOTHING_MISSING",
    "Missing",
    "adopt",
    "alter_offsets",
    "begin_missing",
    "delete_all",
    "delete_offsets",
    "drop_lost",
    "forget",
    "is_initializing",
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


def offerable(group: ShareGroup, cluster: ClusterView) -> dict[TopicId, frozenset[int]]:
    """What may be assigned: initialized, subscribed to, and still there."""
    found: dict[TopicId, frozenset[int]] = {}
    for name in group.subscribed:
        shape = cluster.topic(name)
        places = None if shape is None else group.states.initialized.get(shape.topic_id)
        if shape is not None and places is not None:
            found[shape.topic_id] = places.partitions
    return found


# Beginning


class Missing(NamedTuple):
    """What is to begin, and which of it was added to topics that the group knew: that begins at 0."""

    places: Places
    added: Places


NOTHING_MISSING = Missing({}, {})


def begin_missing(group: ShareGroup, settings: ShareSettings, turn: Turn) -> Missing:
    """What of the topics subscribed to has no state yet, and nobody is at: it is initializing from now on."""
    missing: Table = {}
    abandoned: dict[TopicId, frozenset[int]] = {}
    for name in group.subscribed:
        shape = turn.cluster.topic(name)
        if shape is None:
            continue
        has = _partitions(group.states.initialized, shape.topic_id)
        initializing = _partitions(group.states.initializing, shape.topic_id)
        if _is_under_way(group, shape.topic_id, settings, turn.now_ms):
            has |= initializing
        elif initializing & has:
            abandoned[shape.topic_id] = initializing & has
        if len(has) < shape.partition_count:
            lacking = frozenset(range(shape.partition_count)) - has
            missing[shape.topic_id] = TopicPartitions(name, lacking)
    if not missing and not abandoned:
        return NOTHING_MISSING
    counts = _first_counts(group.states)
    _begin(group, missing, turn, abandoned)
    places = {topic: here.partitions for topic, here in missing.items()}
    added = ((t, frozenset(i for i in here if i >= counts[t])) for t, here in places.items() if t in counts)
    return Missing(places, {topic: partitions for topic, partitions in added if partitions})


def is_initializing(group: ShareGroup, cluster: ClusterView) -> bool:
    """Is somebody at state that members wait for? Not for what begins anew: they come back to what was there."""
    shapes = (cluster.topic(name) for name in group.subscribed)
    return any(shape is not None and _has_new(group.states, shape.topic_id) for shape in shapes)


def _has_new(states: ShareStates, topic: TopicId) -> bool:
    return not _partitions(states.initializing, topic) <= _partitions(states.initialized, topic)


def _is_under_way(group: ShareGroup, topic: TopicId, settings: ShareSettings, now_ms: int) -> bool:
    since_ms = group.initializing_since_ms.get(topic)
    return since_ms is not None and now_ms - since_ms < settings.initialize_retry_interval_ms


def _begin(
    group: ShareGroup,
    places: Mapping[TopicId, TopicPartitions],
    turn: Turn,
    abandoned: Places = NO_PLACES,
) -> None:
    """``abandoned``: what an administrator wanted begun anew and nobody is at any more. It stays as it is."""
    states = group.states
    initializing = _with(_without(states.initializing, abandoned), places)
    deleting = {topic: name for topic, name in states.deleting.items() if topic not in places}
    counts = {topic: _partition_count(here.name, turn.cluster) for topic, here in places.items()}
    counts |= _first_counts(states)
    _store(group, ShareStates(initializing, states.initialized, deleting, counts), turn)
    group.initializing_since_ms = {**group.initializing_since_ms, **dict.fromkeys(places, turn.now_ms)}


def _partition_count(name: str, cluster: ClusterView) -> int:
    shape = cluster.topic(name)
    return 0 if shape is None else shape.partition_count


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
        _first_counts(states),
    )
    if after != states:
        _store(group, after, turn)
    return Done()


def adopt(group: ShareGroup, ask: AdoptShareStates, turn: Turn) -> Done:
    """What it does not remember, having lost the end of its log, it knows again. Its epoch is no lower than those that
    it gave out, or it could begin nothing anew. What it wants gone stays so."""
    states = group.states
    found = {topic: here for topic, here in ask.places.items() if topic not in states.deleting}
    initialized = _with(states.initialized, found)
    if initialized != states.initialized:
        partitions = {topic: here.partitions for topic, here in found.items()}
        counts = {topic: _partition_count(here.name, turn.cluster) for topic, here in found.items()}
        after = ShareStates(
            _without(states.initializing, partitions),
            initialized,
            states.deleting,
            {**counts, **_first_counts(states)},
        )
        _store(group, after, turn)
    if ask.state_epoch > group.epoch.epoch:
        raised = ShareEpoch(ask.state_epoch, group.epoch.metadata_hash)
        group.decide(ShareEpochStored(group.group_id, raised), turn)
    return Done()


def alter_offsets(group: ShareGroup, ask: AlterShareOffsets, turn: Turn) -> ShareOffsetsToSet | Refused:
    """Which of the offsets can be set; those partitions are initializing from now on. Only without members."""
    if group.members:
        return NOT_EMPTY
    unknown: set[TopicPartition] = set()
    wanted: Table = {}
    for place in ask.offsets:
        shape = turn.cluster.topic(place.topic)
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
        shape = turn.cluster.topic(name)
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
            shape = turn.cluster.topic(name)
            is_same = shape is not None and shape.topic_id == topic
            partitions |= frozenset(range(shape.partition_count)) if shape and is_same else NOTHING
        found.append(StatesOfTopic(topic, name, partitions))
    marked = {states_of.topic_id: states_of.name for states_of in found}
    if marked:
        left = ShareStates(
            {topic: places for topic, places in states.initializing.items() if topic not in marked},
            {topic: places for topic, places in states.initialized.items() if topic not in marked},
            {**states.deleting, **marked},
            _first_counts(states),
        )
        _store(group, left, turn)
    return tuple(found)


def forget(group: ShareGroup, topics: frozenset[TopicId], turn: Turn) -> Done:
    states = group.states
    left = {topic: name for topic, name in states.deleting.items() if topic not in topics}
    if left != states.deleting:
        _store(group, replace(states, deleting=left), turn)
    return Done()


def drop_lost(group: ShareGroup, cluster: ClusterView, turn: Turn) -> None:
    """Forgets topics that are no more; what the persister has of them goes without being asked."""
    states = group.states
    lost = {topic for topic, name in _topics(states).items() if not _exists(topic, name, cluster)}
    if lost:
        left = ShareStates(
            {topic: places for topic, places in states.initializing.items() if topic not in lost},
            {topic: places for topic, places in states.initialized.items() if topic not in lost},
            {topic: name for topic, name in states.deleting.items() if topic not in lost},
            _first_counts(states),
        )
        _store(turn.draft(group), left, turn)


def _exists(topic: TopicId, name: str, cluster: ClusterView) -> bool:
    shape = cluster.topic(name)
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
    needed = {
        topic: count for topic, count in states.first_counts.items() if _says_more(states, topic, count)
    }
    group.decide(ShareStateStored(group.group_id, replace(states, first_counts=needed)), turn)


def _first_counts(states: ShareStates) -> dict[TopicId, int]:
    """How many partitions each topic that the group knows had when it came to know of it."""
    known = {topic: _told_count(states, topic) for topic in (*states.initializing, *states.initialized)}
    return {**known, **states.first_counts}


def _told_count(states: ShareStates, topic: TopicId) -> int:
    """As the partitions tell: those that a topic has at first begin together, and what is added comes behind them."""
    here = _partitions(states.initialized, topic) or _partitions(states.initializing, topic)
    return max(here, default=-1) + 1


def _says_more(states: ShareStates, topic: TopicId, count: int) -> bool:
    """Than what the partitions tell; of those that have state it need not be known any more where they began."""
    if topic not in states.initializing and topic not in states.initialized:
        return False  # the group knows nothing of the topic any more
    first, end = sorted((count, _told_count(states, topic)))
    initialized = _partitions(states.initialized, topic)
    return any(i not in initialized for i in range(first, end))

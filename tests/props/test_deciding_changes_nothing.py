"""Only replay changes a shard: for every kind of command there is, in states that chance makes.

A command is decided twice: both times the shard is what it was before, and the answer is the same. Then it is carried
out, and what replaying all that was written gives is what the shard holds as durable.
"""

from __future__ import annotations

from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shard_watch import fingerprint, unchanged
from share_group_bench import World

from leaselog.coordination.cluster_features import FeatureUpdate
from leaselog.coordination.cluster_quotas import QuotaAlteration
from leaselog.coordination.cluster_records import ConfigChanged, ResourceType
from leaselog.coordination.cluster_scram import ScramAlterations, ScramDeletion, ScramUpsertion
from leaselog.coordination.cluster_shard import ClusterCommand, ClusterShard, Decision
from leaselog.coordination.group_commands import GroupCommand, JoinGroup, Leaver, OffsetToCommit, Token
from leaselog.coordination.group_facts import NO_TOPIC_ID, GroupFact, Protocol, TransactionalOffsetsEnded
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits
from leaselog.coordination.share_group import ShareGroup
from leaselog.coordination.share_group_facts import TopicPartitions
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_commands import ShareStateCommand
from leaselog.coordination.share_state_facts import ShareFact, SharePartitionKey
from leaselog.coordination.share_state_shard import ShareStateLimits, ShareStateShard
from leaselog.coordination.transaction_commands import ProducerEpoch, TransactionCommand
from leaselog.coordination.transaction_facts import LAST_EPOCH, TransactionFact, TransactionState
from leaselog.coordination.transaction_shard import TransactionLimits, TransactionShard
from leaselog.model import (
    AclBinding,
    AclOperation,
    AclResourceType,
    GroupId,
    MemberId,
    NodeId,
    ProducerId,
    TopicId,
    TopicIdPartition,
    TopicPartition,
    TransactionalId,
)

NOW_MS = 1_000_000
LIMITS = GroupLimits(initial_rebalance_delay_ms=0, min_session_timeout_ms=1_000, max_size=3)
TOPICS = ("t", "u")
SCRAM_USERS = st.sampled_from(["", "alice", "bob"])
MEMBERS = st.sampled_from([MemberId(name) for name in ("", "a", "b", "c")])
INSTANCES = st.sampled_from([None, None, "i"])
PLACES = st.sampled_from([TopicPartition(topic, i) for topic in TOPICS for i in range(2)])
SOME = st.dictionaries(
    st.sampled_from([TopicId(UUID(int=n)) for n in (1, 2, 9)]), st.just(frozenset({0})), max_size=2
)
OFFSETS = st.builds(
    OffsetToCommit,
    PLACES,
    st.integers(0, 9),
    st.just(-1),
    st.sampled_from(["", "x" * 5_000]),
    st.just(NO_TOPIC_ID),
)
#: by the name of the field, whatever the command
GROUP_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "token": st.just(Token(1)),
    "group_id": st.sampled_from([GroupId("g"), GroupId("h"), GroupId("")]),
    "member_id": MEMBERS,
    "fresh_member_id": st.just(MemberId("")),
    "instance_id": INSTANCES,
    "client_id": st.just("client"),
    "client_host": st.just("/host"),
    "session_timeout_ms": st.sampled_from([500, 3_000]),
    "rebalance_timeout_ms": st.just(5_000),
    "protocol_type": st.sampled_from(["consumer", "connect"]),
    "protocols": st.sampled_from([(), (Protocol("x", b"1", frozenset({"t"})),), (Protocol("y", b"2"),)]),
    "member_id_required": st.booleans(),
    "may_skip_assignment": st.booleans(),
    "generation": st.integers(-1, 3),
    "protocol": st.sampled_from([None, "x"]),
    "assignments": st.just({MemberId("a"): b"a", MemberId("b"): b"b"}),
    "members": st.lists(st.builds(Leaver, MEMBERS, INSTANCES), max_size=2).map(tuple),
    "offsets": st.lists(OFFSETS, max_size=2).map(tuple),
    "retention_ms": st.sampled_from([-1, 5]),
    "knows_group_id_not_found": st.booleans(),
    "producer": st.sampled_from([None, (ProducerId(1), 0), (ProducerId(2), 0)]),
    "require_stable": st.booleans(),
    "partitions": st.lists(PLACES, max_size=2).map(tuple),
    "states": st.just(frozenset()),
    "types": st.just(frozenset()),
    "topics": st.sampled_from([None, ("t",), ("t", "u")]),
    "member_epoch": st.integers(-2, 4),
    "rack_id": st.none(),
    "pattern": st.sampled_from([None, "", "t.*"]),
    "assignor": st.sampled_from([None, "range"]),
    "owned": st.sampled_from([None, frozenset(), frozenset({(TopicId(UUID(int=1)), 0)})]),
    "may_lack_id": st.booleans(),
    "continues_from": st.sampled_from([None, 0, 1]),
    "wants_assignment": st.booleans(),
    "may_hold": st.booleans(),
    "not_held": SOME,
    "places": SOME.map(lambda some: {topic: TopicPartitions("t", parts) for topic, parts in some.items()}),
    "state_epoch": st.integers(0, 5),
    "initialized": SOME,
    "failed": SOME,
}
KEYS = st.builds(
    SharePartitionKey,
    st.just(GroupId("g")),
    st.sampled_from([TopicId(UUID(int=1)), TopicId(UUID(int=2))]),
    st.integers(0, 1),
)
BATCHES = st.lists(
    st.builds(
        lambda at, n, state: StateBatch(at, at + n, state, 1),
        st.integers(0, 9),
        st.integers(1, 3),
        st.sampled_from([0, 2, 4]),
    ),
    max_size=1,
).map(tuple)
STATE_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "key": KEYS,
    "topic_id": st.sampled_from([TopicId(UUID(int=1)), TopicId(UUID(int=2))]),
    "state_epoch": st.integers(-1, 2),
    "leader_epoch": st.integers(-1, 2),
    "start_offset": st.integers(-1, 5),
    "delivery_complete_count": st.integers(-1, 5),
    "batches": BATCHES,
    "ends": st.dictionaries(
        st.builds(
            TopicIdPartition, st.sampled_from([TopicId(UUID(int=1)), TopicId(UUID(int=2))]), st.integers(0, 1)
        ),
        st.integers(0, 9),
    ),
}
IDS = [TopicId(UUID(int=n)) for n in range(1, 7)]
NAMES = st.sampled_from(["t", "t_x", "t.x", "u", ""])
ENTITIES = st.sampled_from([(("user", "u"),), (("client-id", None),), ()])
ACL_IDS = st.integers(1, 9).map(lambda n: UUID(int=n))
ACLS = st.builds(
    AclBinding,
    st.sampled_from([AclResourceType.TOPIC, AclResourceType.ANY]),
    st.sampled_from(["t", ""]),
    st.sampled_from(["User:a", "User:b"]),
    st.just(AclOperation.READ),
)
CLUSTER_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "name": NAMES,
    "topic": NAMES,
    "topic_id": st.sampled_from(IDS),
    "partition_count": st.integers(-1, 3),
    "replication_factor": st.sampled_from([-1, 1, 2]),
    "assignments": st.just(()),
    "configs": st.sampled_from([(), (("retention.ms", "5"),)]),
    "default_partition_count": st.just(1),
    "default_replication_factor": st.just(1),
    "count": st.integers(0, 5),
    "changes": st.lists(
        st.builds(
            ConfigChanged,
            st.sampled_from([ResourceType.GROUP, ResourceType.BROKER]),
            st.just("0"),
            st.just("k"),
            st.sampled_from([None, "1", "2"]),
        ),
        max_size=2,
    ).map(tuple),
    "updates": st.lists(
        st.builds(
            FeatureUpdate, st.sampled_from(["share.version", "nope"]), st.integers(0, 2), st.integers(1, 2)
        ),
        max_size=1,
    ).map(tuple),
    "alterations": st.lists(
        st.builds(
            QuotaAlteration,
            ENTITIES,
            st.just((("producer_byte_rate", 5.0),)) | st.just((("producer_byte_rate", None),)),
        ),
        max_size=2,
    ).map(tuple),
    "wanted": st.lists(st.tuples(ACL_IDS, ACLS), max_size=3, unique_by=lambda one: one[0]).map(tuple),
    "acl_ids": st.lists(ACL_IDS, max_size=3).map(tuple),
}
PRODUCERS = st.builds(
    ProducerEpoch,
    st.sampled_from([ProducerId(1), ProducerId(2)]),
    st.sampled_from([0, 1, 2, LAST_EPOCH, LAST_EPOCH + 1]),
)
FRESH_IDS = st.sampled_from([None, ProducerId(1), ProducerId(2)])
TRANSACTION_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "transactional_id": st.sampled_from([TransactionalId("x"), TransactionalId("y"), TransactionalId("")]),
    "timeout_ms": st.sampled_from([0, 500, 60_000]),
    "continues": st.none() | PRODUCERS,
    "fresh_producer_id": FRESH_IDS,
    "producer": PRODUCERS,
    "partitions": st.sets(PLACES, min_size=1, max_size=2).map(frozenset),
    "client_version": st.sampled_from([0, 2]),
    "is_commit": st.booleans(),
    "most": st.integers(0, 2),
    "states": st.sets(st.sampled_from(TransactionState), max_size=2).map(frozenset),
    "producer_ids": st.sets(st.integers(1, 2), max_size=1).map(frozenset),
    "longer_than_ms": st.sampled_from([-1, 0, 700]),
}


def kinds(union: Any) -> tuple[type, ...]:
    return tuple(get_args(union))


def commands(kind: type, fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Whoever adds a command says here what its fields may be."""
    names = getattr(kind, "_fields", None) or tuple(getattr(kind, "__dataclass_fields__", ()))
    known = fields | SPECIAL.get(kind.__name__, {})
    return st.builds(kind, **{name: known[name] for name in names})


SPECIAL: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "AlterScram": {
        "alterations": st.builds(
            ScramAlterations,
            st.lists(st.builds(ScramDeletion, SCRAM_USERS, st.integers(0, 2)), max_size=2),
            st.lists(
                st.builds(
                    ScramUpsertion,
                    SCRAM_USERS,
                    st.integers(0, 2),
                    st.sampled_from([4095, 4096]),
                    st.just(b"salt"),
                    st.sampled_from([b"one", b"other"]),
                ),
                max_size=2,
            ),
        )
    },
    "FetchOffsets": {
        "partitions": st.none()
        | st.lists(PLACES, max_size=2).map(lambda ps: tuple((p, NO_TOPIC_ID) for p in ps))
    },
    "DropTopics": {"topics": st.sampled_from([frozenset({"t"}), frozenset({"u"})])},
    "DeleteShareOffsets": {"topics": st.sampled_from([("t",), ("t", "nope")])},
    "ForgetShareStates": {"topics": st.just(frozenset({TopicId(UUID(int=1))}))},
    "AlterShareOffsets": {"offsets": st.dictionaries(PLACES, st.integers(0, 5), max_size=2)},
    "AdoptShareStates": {
        "state_epoch": st.integers(-1, 2),
        "places": st.dictionaries(
            st.just(TopicId(UUID(int=1))),
            st.just(TopicPartitions("t", frozenset({0}))) | st.just(TopicPartitions("t", frozenset({1, 2}))),
        ),
    },
    "CutStates": {
        "ends": st.dictionaries(
            st.builds(TopicIdPartition, st.just(TopicId(UUID(int=1))), st.integers(0, 2)),
            st.integers(0, 5),
            max_size=2,
        )
    },
    "CreatePartitions": {"assignments": st.none()},
    "VerifyPartitions": {"partitions": st.lists(PLACES, max_size=2).map(tuple)},
}
brief = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def any_of(union: Any, fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.one_of([commands(kind, fields) for kind in kinds(union)]), max_size=12)


def same_twice(shard: Any, *ask: Any) -> Any:
    """The outcome; deciding on it changes nothing, and neither does it the second time."""
    with unchanged(shard):
        first = shard.handle(*ask)
        assert fingerprint(shard.handle(*ask)) == fingerprint(first)
    return first


@pytest.mark.parametrize("kind", kinds(GroupCommand), ids=lambda kind: kind.__name__)
@brief
@given(data=st.data())
def test_a_group_shard_decides_without_changing(kind: type, data: st.DataObject) -> None:
    world = World()
    for topic in TOPICS:
        world.make(topic, 2)
    shard, facts = GroupShard(LIMITS, world), list[GroupFact]()
    now_ms = NOW_MS
    shard.apply(shard.start(now_ms), now_ms)
    before = data.draw(any_of(GroupCommand, GROUP_FIELDS))
    last = data.draw(commands(kind, GROUP_FIELDS))
    fresh = iter("abcdefghijklm")  # a broker makes no id twice
    for command in (*before, last):
        now_ms += 700
        if isinstance(command, JoinGroup):
            command = command._replace(fresh_member_id=MemberId(next(fresh)))
        outcome = same_twice(shard, command, now_ms)
        shard.apply(outcome, now_ms)
        facts += outcome.facts
        with unchanged(shard):
            due = shard.expire(now_ms)
        if due is not None:
            shard.apply(due, now_ms)
            facts += due.facts
        if data.draw(st.integers(0, 3)) == 0:
            ended = TransactionalOffsetsEnded(
                ProducerId(data.draw(st.integers(1, 2))), data.draw(st.booleans())
            )
            shard.replay(ended, now_ms)
            facts.append(ended)
        shard.check()
    again = GroupShard(LIMITS, world)
    for fact in facts:
        again.replay(fact, now_ms)
    assert again.stored_groups() == shard.stored_groups()
    assert again.stored_offsets() == shard.stored_offsets()
    assert again.pending_offsets() == shard.pending_offsets()
    assert shares(again) == shares(shard)


def shares(shard: GroupShard) -> object:
    """What is durable of the share groups that are written."""
    durable = ("members", "currents", "targets", "epoch", "assignment", "states")
    return {
        group.group_id: [fingerprint(getattr(group, name)) for name in durable]
        for group in shard._groups.values()
        if isinstance(group, ShareGroup) and group.is_written
    }


@pytest.mark.parametrize("kind", kinds(ShareStateCommand), ids=lambda kind: kind.__name__)
@brief
@given(data=st.data())
def test_a_share_state_shard_decides_without_changing(kind: type, data: st.DataObject) -> None:
    limits = ShareStateLimits(snapshot_update_records_per_snapshot=3)
    shard, facts = ShareStateShard(limits), list[ShareFact]()
    before = data.draw(any_of(ShareStateCommand, STATE_FIELDS))
    for command in (*before, data.draw(commands(kind, STATE_FIELDS))):
        outcome = same_twice(shard, command, NOW_MS)
        for fact in outcome.facts:
            shard.replay(fact, len(facts))
            facts.append(fact)
    again = ShareStateShard(limits)
    for offset, fact in enumerate(facts):
        again.replay(fact, offset)
    assert fingerprint(again.snapshots()) == fingerprint(shard.snapshots())


@pytest.mark.parametrize("kind", kinds(ClusterCommand), ids=lambda kind: kind.__name__)
@brief
@given(data=st.data())
def test_a_cluster_shard_decides_and_rehearses_without_changing(kind: type, data: st.DataObject) -> None:
    shard, records = ClusterShard(NodeId(0)), list[Any]()
    before = data.draw(any_of(ClusterCommand, CLUSTER_FIELDS))
    for command in (*before, data.draw(commands(kind, CLUSTER_FIELDS))):
        if getattr(command, "topic_id", None) in shard.topics_by_id and hasattr(command, "name"):
            continue  # an id is drawn once
        if any(acl_id in shard.acls for acl_id, _ in getattr(command, "wanted", ())):
            continue  # as are these
        decision = same_twice(shard, command)
        if not isinstance(decision, Decision):
            continue
        with unchanged(shard):
            shard.rehearse(decision.records)
        for record in decision.records:
            shard.replay(record)
            records.append(record)
    again = ClusterShard(NodeId(0))
    for record in records:
        again.replay(record)
    assert fingerprint(again) == fingerprint(shard)


@pytest.mark.parametrize("kind", kinds(TransactionCommand), ids=lambda kind: kind.__name__)
@brief
@given(data=st.data(), version=st.sampled_from([0, 1, 2]))
def test_a_transaction_shard_decides_without_changing(kind: type, version: int, data: st.DataObject) -> None:
    limits = TransactionLimits(held_bytes_max=1_500, partitions_max=3, id_expiration_ms=3_000)
    shard, facts = TransactionShard(limits), list[TransactionFact]()
    now_ms = NOW_MS
    before = data.draw(any_of(TransactionCommand, TRANSACTION_FIELDS))
    for command in (*before, data.draw(commands(kind, TRANSACTION_FIELDS))):
        now_ms += 700
        with unchanged(shard):
            outcome = shard.handle(command, now_ms, version=version)
            assert shard.handle(command, now_ms, version=version) == outcome
        for fact in outcome.facts:
            shard.replay(fact)
            facts.append(fact)
        shard.check()
    again = TransactionShard(limits)
    for fact in facts:
        again.replay(fact)
    assert fingerprint(again) == fingerprint(shard)

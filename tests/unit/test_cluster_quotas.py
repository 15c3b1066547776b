"""Client quotas: who may have which limits, in Kafka 4.3.1's words, and which limit counts."""

from __future__ import annotations

import pytest

from leaselog.broker.cluster.records import decode_cluster_record, encode_cluster_record
from leaselog.coordination import cluster_quotas
from leaselog.coordination.cluster_quota_filter import QuotaFilter, matching_quotas
from leaselog.coordination.cluster_quotas import (
    QuotaAlteration,
    decide_quotas,
    find_limit,
)
from leaselog.coordination.cluster_records import ClusterRecord, QuotaChanged, QuotaEntity
from leaselog.coordination.cluster_shard import AlterQuotas, ClusterShard, Decision
from leaselog.model import ZERO_UUID, ErrorCode, NodeId, Refused

RATE = "producer_byte_rate"
U = (("user", "u"),)
Parts = list[tuple[str, str | None]]


def why_not(entity: Parts, *ops: tuple[str, float | None]) -> str | None:
    """The refusal of one alteration, which then makes no record."""
    records, answers = decide_quotas({}, [QuotaAlteration(entity, ops)])
    (refused,) = answers.values()
    if refused is None:
        return None
    assert records == []
    assert refused.code == ErrorCode.INVALID_REQUEST
    return refused.message


@pytest.mark.parametrize(
    ("entity", "op", "message"),
    [
        ([("user", "u")], ("nope", 5.0), "Invalid configuration key nope"),
        ([("user", "u")], (RATE, 0.0), f"Quota {RATE} must be greater than 0"),
        ([("user", "u")], (RATE, -1.0), f"Quota {RATE} must be greater than 0"),
        ([("user", "u")], (RATE, float("nan")), f"Quota {RATE} must be greater than 0"),
        ([("user", "u")], (RATE, 1.5), f"{RATE} cannot be a fractional value."),
        ([("user", "u")], (RATE, 1e30), f"Proposed value for {RATE} is too large for a LONG."),
        ([("user", "u")], (RATE, float("inf")), f"Proposed value for {RATE} is too large for a LONG."),
        ([], (RATE, 1.0), "Invalid empty client quota entity"),
        ([("user", "")], (RATE, 1.0), "Empty user not supported"),
        ([("foo", "x")], (RATE, 1.0), "Unhandled client quota entity type: foo"),
        (
            [("user", "a"), ("user", "b")],
            (RATE, 1.0),
            "Invalid client quota entity, duplicate entity entry user",
        ),
        (
            [("ip", "1.2.3.4"), ("user", "u")],
            (RATE, 1.0),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ([("ip", "no.host")], (RATE, 1.0), "no.host is not a valid IP or resolvable host."),
        ([("ip", "1.2.3.4")], (RATE, 1.0), f"Invalid configuration key {RATE}"),
        (
            [("user", "u")],
            ("connection_creation_rate", 1.0),
            "Invalid configuration key connection_creation_rate",
        ),
        (
            [("ip", "1.2.3.4")],
            ("connection_creation_rate", 2.0**31),
            "Proposed value for connection_creation_rate is too large for an INT.",
        ),
    ],
)
def test_an_impossible_quota_is_refused_in_kafkas_words(
    entity: Parts, op: tuple[str, float], message: str
) -> None:
    assert why_not(entity, op) == message


@pytest.mark.parametrize(
    ("entity", "op"),
    [
        ([("user", None)], (RATE, 1.0)),
        ([("user", "u"), ("client-id", None)], ("consumer_byte_rate", float(2**63))),
        ([("client-id", "c")], ("request_percentage", 12.5)),
        ([("user", "u")], ("controller_mutation_rate", 0.5)),
        ([("ip", None)], ("connection_creation_rate", 5.0)),
        ([("ip", "::1")], ("connection_creation_rate", 5.0)),
        ([("user", "u")], ("nope", None)),
    ],
)
def test_a_possible_quota_is_taken(entity: Parts, op: tuple[str, float | None]) -> None:
    assert why_not(entity, op) is None


def test_one_bad_limit_refuses_its_entity_and_no_other() -> None:
    good = QuotaAlteration([("user", "good")], [(RATE, 1.0)])
    bad = QuotaAlteration([("user", "bad")], [(RATE, 1.0), ("nope", 1.0)])
    records, answers = decide_quotas({}, [bad, good])
    assert records == [QuotaChanged((("user", "good"),), RATE, 1.0)]
    assert [refused is None for refused in answers.values()] == [False, True]


def test_who_is_named_twice_keeps_what_he_has() -> None:
    alterations = [QuotaAlteration(U, [(RATE, 1.0)]), QuotaAlteration(U, [(RATE, 2.0)])]
    records, answers = decide_quotas({}, alterations)
    assert records == []
    message = "Ignoring duplicate entity ClientQuotaEntity(entries={user=u})"
    assert answers == {U: Refused(ErrorCode.INVALID_REQUEST, message)}
    twice = "Duplicate quota key producer_byte_rate not updating quota for this entity "
    assert (
        why_not([("user", None)], (RATE, 1.0), (RATE, 2.0))
        == twice + "ClientQuotaEntity(entries={user=null})"
    )


def test_what_is_so_already_takes_no_record() -> None:
    same = QuotaAlteration(U, [(RATE, 5.0), ("consumer_byte_rate", None)])
    assert decide_quotas({U: {RATE: 5.0}}, [same]) == ([], {U: None})


def test_one_entity_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_quotas, "MAX_QUOTA_ENTITIES", 2)
    wanted = [QuotaAlteration([("user", name)], [(RATE, 1.0)]) for name in "abu"]
    records, answers = decide_quotas({U: {RATE: 5.0}}, wanted)
    assert [record.entity for record in records] == [(("user", "a"),), U]
    assert [refused and refused.code for refused in answers.values()] == [
        None,
        ErrorCode.POLICY_VIOLATION,
        None,
    ]


# -- state


def replayed(*records: ClusterRecord) -> ClusterShard:
    """A shard that has the records from their bytes, as after a restart."""
    shard = ClusterShard(NodeId(0))
    for record in records:
        shard.replay(decode_cluster_record(encode_cluster_record(record, ZERO_UUID)))
    return shard


def test_quotas_come_back_from_the_log_and_from_a_snapshot_of_it() -> None:
    decision = ClusterShard(NodeId(0)).handle(
        AlterQuotas(
            (
                QuotaAlteration(
                    [("user", "u"), ("client-id", None)], [(RATE, 5.0), ("request_percentage", 2.5)]
                ),
                QuotaAlteration([("ip", "1.2.3.4")], [("connection_creation_rate", 3.0)]),
            )
        )
    )
    assert isinstance(decision, Decision)
    shard = replayed(*decision.records)
    assert shard.quotas == {
        (("client-id", None), ("user", "u")): {RATE: 5.0, "request_percentage": 2.5},
        (("ip", "1.2.3.4"),): {"connection_creation_rate": 3.0},
    }
    assert replayed(*shard.records()).quotas == shard.quotas
    assert shard.record_count() == len(list(shard.records())) + 1, "no producer ids were reserved"


def test_an_entity_without_limits_is_forgotten() -> None:
    shard = replayed(QuotaChanged(U, RATE, 5.0), QuotaChanged(U, RATE, None))
    assert shard.quotas == {}


# -- filters

BOTH = (("client-id", None), ("user", "u"))
EVERYBODY = (("user", None),)
ADDRESS = (("ip", "1.2.3.4"),)
THERE = {entity: {RATE: 1.0} for entity in (U, BOTH, EVERYBODY, ADDRESS)}
EXACT, DEFAULT, SPECIFIED = range(3)


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, [U, BOTH, EVERYBODY, ADDRESS]),
        ([], True, []),
        ([("user", SPECIFIED, None)], False, [U, BOTH, EVERYBODY]),
        ([("user", SPECIFIED, None)], True, [U, EVERYBODY]),
        ([("user", EXACT, "u")], False, [U, BOTH]),
        ([("user", EXACT, "u")], True, [U]),
        ([("user", DEFAULT, None)], False, [EVERYBODY]),
        ([("user", EXACT, "u"), ("client-id", DEFAULT, None)], True, [BOTH]),
        ([("user", EXACT, "nobody")], False, []),
        ([("ip", SPECIFIED, None)], False, [ADDRESS]),
    ],
)
def test_a_filter_finds_what_fits_all_its_components(
    components: list[tuple[str, int, str | None]], strict: bool, found: list[QuotaEntity]
) -> None:
    assert matching_quotas(THERE, QuotaFilter(components, is_strict=strict)) == found


@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        ([("", 0, "x")], 42, "Invalid empty entity type."),
        ([("user", 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null."),
        ([("user", 1, "x")], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
        (
            [("user", 2, "x")],
            42,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        ([("user", 3, None)], 42, "Unknown match type 3"),
        ([("foo", 0, "x")], 35, "Unsupported entity type foo"),
        ([("user", 2, None)] * 2, 42, "Entity type user cannot appear more than once in the filter."),
        (
            [("ip", 2, None), ("user", 2, None)],
            42,
            "Invalid entity filter component combination. IP filter component should not be used with user or "
            "clientId filter component.",
        ),
    ],
)
def test_an_impossible_filter_is_refused_in_kafkas_words(
    components: list[tuple[str, int, str | None]], code: int, message: str
) -> None:
    assert matching_quotas(THERE, QuotaFilter(components, is_strict=False)) == Refused(
        ErrorCode(code), message
    )


# -- precedence

#: from the one that counts most to the one that counts least, each with whose traffic it is compared with
IN_ORDER: list[tuple[QuotaEntity, tuple[str | None, str | None]]] = [
    ((("client-id", "c"), ("user", "u")), ("u", "c")),
    ((("client-id", None), ("user", "u")), ("u", "c")),
    ((("user", "u"),), ("u", None)),
    ((("client-id", "c"), ("user", None)), ("u", "c")),
    ((("client-id", None), ("user", None)), ("u", "c")),
    ((("user", None),), ("u", None)),
    ((("client-id", "c"),), (None, "c")),
    ((("client-id", None),), (None, "c")),
]


@pytest.mark.parametrize("position", range(len(IN_ORDER)))
def test_the_most_particular_limit_counts(position: int) -> None:
    limits = {entity: float(rank) for rank, (entity, _) in enumerate(IN_ORDER) if rank >= position}
    assert find_limit(limits, "u", "c") == (float(position), IN_ORDER[position][1])


def test_who_fits_no_limit_has_none() -> None:
    others: dict[QuotaEntity, float] = {
        (("user", "v"),): 1.0,
        (("client-id", "d"),): 1.0,
        (("client-id", "d"), ("user", "u")): 1.0,
        (("ip", None),): 1.0,
    }
    assert find_limit(others, "u", "c") is None

"""Where fuzzing begins: what leaselog and its peers really write, put into the shape that each target reads."""

from __future__ import annotations

import random
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from uuid import UUID

from fuzz.messages import as_read, make, protocol_messages
from leaselog.broker.cluster.records import encode_cluster_record
from leaselog.broker.groups.records import encode_fact
from leaselog.broker.net.api import apis, load_handlers
from leaselog.broker.share_state.records import encode_share_fact
from leaselog.coordination.cluster_records import (
    ConfigChanged,
    FeatureLevelSet,
    PartitionCreated,
    ProducerIdsReserved,
    QuotaChanged,
    TopicCreated,
    TopicRemoved,
)
from leaselog.coordination.group_facts import (
    CommittedOffset,
    GroupDropped,
    GroupMetadata,
    GroupStored,
    OffsetCommitted,
    OffsetDropped,
)
from leaselog.coordination.share_group_facts import (
    ShareAssignmentStored,
    ShareAssignmentTime,
    ShareCurrent,
    ShareCurrentStored,
    ShareEpoch,
    ShareEpochStored,
    ShareMemberAsked,
    ShareMemberStored,
    ShareStates,
    ShareStateStored,
    ShareTargetStored,
    TopicPartitions,
)
from leaselog.coordination.share_state_batches import StateBatch
from leaselog.coordination.share_state_facts import (
    ShareDropped,
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
)
from leaselog.log import LogConfig, MemoryFiles, Origin, PartitionLog
from leaselog.log.files import read_whole
from leaselog.model import GroupId, MemberId, NodeId, ProducerId, TopicId, TopicPartition
from leaselog.sasl import oauthbearer, plain
from leaselog.sasl.scram import SCRAM_SHA_256, SCRAM_SHA_512, ScramClient
from leaselog.wire.codec import encode, is_flexible
from leaselog.wire.compression import Codec, compress
from leaselog.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from leaselog.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from leaselog.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from leaselog.wire.messages.sasl_handshake import SaslHandshakeRequest
from leaselog.wire.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from leaselog.wire.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from leaselog.wire.record_batch import HEADER_BYTES
from leaselog.wire.records import Record, build_batch
from leaselog.wire.schema import Message

__all__ = ["SEEDS"]

NOW_MS = 1_700_000_000_000
TOPIC_ID = TopicId(UUID(int=7))
GROUP, MEMBER = GroupId("g"), MemberId("m")

RECORDS = [
    Record(b"key", b"value", (("h", b"x"), ("none", None)), NOW_MS),
    Record(None, b"value " * 40, (), NOW_MS + 5),
    Record(b"tombstone", None, (), NOW_MS + 9),
]


def messages(*, answers: bool) -> Iterator[bytes]:
    """Each message in each version, with two draws of values."""
    for kind, version in protocol_messages():
        if kind.NAME.endswith("Response") == answers:
            chance = random.Random(f"{kind.NAME} {version} seed")
            for _ in range(2):
                body = encode(make(as_read(kind), version, chance), version)
                yield struct.pack(">hB", kind.API_KEY, version) + body


def frames() -> Iterator[bytes]:
    for flexible in (b"", b"\x00"):
        head = struct.pack(">hhih", 3, 9, 1, 1) + b"c" + flexible
        for count in (1, 3):
            yield b"\x10" + (len(head).to_bytes(4, "big") + head) * count
    yield b"\x10" + b"GET / HTTP/1.1\r\n"


def handshakes() -> Iterator[bytes]:
    """What clients of TLS begin with, of both versions, and what others take a port with TLS for."""
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context()
        context.minimum_version = context.maximum_version = version
        came, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
        with suppress(ssl.SSLWantReadError):
            context.wrap_bio(came, hello, server_hostname="localhost").do_handshake()
        said = hello.read()
        yield b"\x3c" + said
        yield b"\x80" + said + bytes.fromhex("150301000202 28")
        yield b"\xbc" + said + bytes.fromhex("1403030001 01 1603030020") + bytes(32)
    yield b"\x3c" + bytes.fromhex("0000000b 0012 0000 00000007 0001 78")
    yield b"\x3cGET / HTTP/1.1\r\n\r\n"


def sessions() -> Iterator[bytes]:
    hello = make(ApiVersionsResponse, 4, random.Random(1))
    assert isinstance(hello, ApiVersionsResponse)
    hello.error_code = 0
    kind = type(make(ApiVersionsResponse, 4, random.Random(2)).api_keys[0])  # type: ignore[attr-defined]
    hello.api_keys = [
        kind(api_key=key, min_version=low, max_version=high)
        for key, low, high in ((1, 4, 17), (3, 0, 13), (18, 0, 4), (78, 1, 2))
    ]
    head = struct.pack(">i", 0)
    body = head + encode(hello, 4)
    stream = len(body).to_bytes(4, "big") + body
    yield b"\xff" + stream
    old = head + b"\x00\x23" + b"\x00\x00\x00\x01" + struct.pack(">hhh", 18, 0, 3)
    yield b"\xff" + len(old).to_bytes(4, "big") + old
    for number, (api_key, version) in enumerate(((3, 13), (1, 17), (78, 2)), 1):
        (kind_,) = {k for k, _ in protocol_messages() if api_key == k.API_KEY and k.NAME.endswith("Response")}
        answer = struct.pack(">ib", number, 0) + encode(make(kind_, version, random.Random(number)), version)
        stream += len(answer).to_bytes(4, "big") + answer
        yield b"\xff" + stream


def talks() -> Iterator[bytes]:
    """Each request that is served, in its first and its last version; and one that leads to the next."""
    load_handlers()
    for api in apis():
        for version in sorted({api.versions.first, api.versions.last}):
            chance = random.Random(f"{api.request.NAME} {version} talk")
            yield _frame(version, make(as_read(api.request), version, chance))
    member = {"group_id": "g", "member_id": "AAAAAAAAAAAAAAAAAAAAAw"}
    joins = ShareGroupHeartbeatRequest(**member, member_epoch=0, subscribed_topic_names=["t"])
    fetched = FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(partition_index=0)])
    fetches = ShareFetchRequest(
        **member, share_session_epoch=0, max_bytes=1 << 20, max_records=9, topics=[fetched]
    )
    batch = AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    done = AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    accepts = ShareAcknowledgeRequest(
        **member, share_session_epoch=1, topics=[AcknowledgeTopic(topic_id=TOPIC_ID, partitions=[done])]
    )
    part = PartitionProduceData(index=0, records=bytes(build_batch(RECORDS)))
    produces = ProduceRequest(
        acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=[part])]
    )
    yield _frame(1, joins) + _frame(2, fetches) + _frame(2, accepts)
    begun = _frame(1, joins) + _frame(2, fetches)  # at the end of the log, and what comes then is leased
    fetches.share_session_epoch, accepts.share_session_epoch = 1, 2
    batch.first_offset, batch.last_offset = 1, 3
    yield begun + _frame(12, produces) + _frame(2, fetches) + _frame(2, accepts)


def _frame(version: int, message: Message) -> bytes:
    head = struct.pack(">hhihc", message.API_KEY, version, 7, 1, b"c")
    frame = head + (b"\x00" if is_flexible(type(message), version) else b"") + encode(message, version)
    return len(frame).to_bytes(4, "big") + frame


def codecs() -> Iterator[bytes]:
    for data in (b"", b"x", b"the same few words " * 20, bytes(range(256)), bytes(3000)):
        for codec in Codec:
            yield bytes((codec,)) + compress(codec, data)
    yield bytes((Codec.GZIP,)) + compress(Codec.GZIP, b"") * 5
    yield bytes((Codec.SNAPPY,)) + bytes(compress(Codec.SNAPPY, b"raw"))[20:]


def batches() -> Iterator[bytes]:
    for codec in Codec:
        yield bytes(build_batch(RECORDS, codec=codec))
        yield bytes(build_batch(RECORDS[:1], codec=codec, base_offset=2)) * 2
    yield bytes(build_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=0))
    yield bytes(build_batch(RECORDS[:1], is_control=True, is_transactional=True, log_append_time_ms=NOW_MS))


def bodies() -> Iterator[bytes]:
    plain = bytes(build_batch(RECORDS)[HEADER_BYTES:])
    for codec in Codec:
        for flags in (0, 0x08, 0x28, 0x80, 0xA0):
            yield struct.pack(">BHHq", codec | flags, len(RECORDS), len(RECORDS) - 1, NOW_MS) + plain
        for count in (1, 300, 65_535):
            yield struct.pack(">BHHq", codec | 0xC0, count, count - 1, NOW_MS) + plain


def segments() -> Iterator[bytes]:
    """A log of two segments, stopped in good order or not, and one that was being cleaned."""
    files = MemoryFiles()
    config = LogConfig(segment_bytes=400, index_interval_bytes=100)
    log = PartitionLog.open(files, "data/t-0", TOPIC_ID, config, now_ms=NOW_MS, clean=False)
    for number in range(3):
        producer = {"producer_id": 9, "producer_epoch": 0, "base_sequence": number * 3}
        log.append(build_batch(RECORDS, **producer), leader_epoch=number, now_ms=NOW_MS, origin=Origin.CLIENT)
        log.flush()
    log.close()
    names = files.names("data/t-0")
    contents = {name: read_whole(files, f"data/t-0/{name}") for name in names}
    assert len([name for name in names if name.endswith(".log")]) > 1, names
    parts = [_part(_NUMBERS[name], content) for name, content in contents.items() if name in _NUMBERS]
    for flags in range(4):
        yield bytes((flags,)) + b"".join(parts)
        yield bytes((flags,)) + _part(0, contents[f"{0:020d}.log"])
        yield bytes((flags,)) + _part(8, contents[f"{3:020d}.log"]) + b"".join(parts)


_NUMBERS = {
    name: number
    for number, name in enumerate(
        [f"{base:020d}.{what}" for base in (0, 3) for what in ("log", "index", "timeindex", "snapshot")]
        + [f"{3:020d}.log.swap", "leader-epoch-checkpoint", "partition.metadata"]
    )
}


def _part(number: int, content: bytes) -> bytes:
    return bytes((number,)) + len(content).to_bytes(2, "big") + content


def states() -> Iterator[bytes]:
    share = [encode_share_fact(fact, NOW_MS) for fact in _share_facts()]
    groups = [encode_fact(fact, NOW_MS) for fact in _group_facts()]
    cluster = [Record(b"", encode_cluster_record(fact, UUID(int=1))) for fact in _cluster_facts()]
    letters = [Record(b"__dlq.errors.topic", b"a,b"), Record(b"start-offset", bytes(8))]
    for kind, records in enumerate((share, groups, cluster, letters)):
        written = [_keyed(kind, record) for record in records]
        yield from written
        yield b"".join(written)


def _keyed(kind: int, record: Record) -> bytes:
    key, value = record.key or b"", record.value or b""
    kind |= 0x80 if record.value is None else 0
    return struct.pack(">BHH", kind, len(key), len(value)) + key + value


def _share_facts() -> list[ShareSnapshot | ShareUpdate | ShareDropped]:
    key = SharePartitionKey(GROUP, TOPIC_ID, 1)
    stretches = (StateBatch(5, 9, 2, 1), StateBatch(12, 20, 0, 3))
    return [
        ShareSnapshot(key, 0, 1, 2, 5, 4, NOW_MS, NOW_MS, stretches),
        ShareUpdate(key, 0, 2, -1, -1, stretches[:1]),
        ShareUpdate(key, 0, 2, 9, 0, ()),
        ShareDropped(key),
    ]


def _group_facts() -> list[object]:
    place = TopicPartition("t", 1)
    states = ShareStates(
        {TOPIC_ID: TopicPartitions("t", frozenset({1}))},
        {TOPIC_ID: TopicPartitions("t", frozenset({0, 2}))},
        {TopicId(UUID(int=8)): "gone"},
    )
    return [
        GroupStored(GROUP, GroupMetadata("consumer", 3, "range", MEMBER, NOW_MS, ())),
        OffsetCommitted(GROUP, place, CommittedOffset(5, 1, "note", NOW_MS, -1, TOPIC_ID)),
        OffsetCommitted(GROUP, place, CommittedOffset(5, -1, "", NOW_MS, NOW_MS, TOPIC_ID)),
        OffsetDropped(GROUP, place),
        GroupDropped(GROUP),
        ShareEpochStored(GroupId("s"), ShareEpoch(4, 77)),
        ShareMemberStored(GroupId("s"), MEMBER, ShareMemberAsked("rack", "client", "/127.0.0.1", ("t", "u"))),
        ShareAssignmentStored(GroupId("s"), ShareAssignmentTime(4, NOW_MS)),
        ShareTargetStored(GroupId("s"), MEMBER, {TOPIC_ID: frozenset({0, 1})}),
        ShareCurrentStored(GroupId("s"), MEMBER, ShareCurrent(4, 3, {TOPIC_ID: frozenset({0})})),
        ShareStateStored(GroupId("s"), states),
        ShareMemberStored(GroupId("s"), MEMBER, None),
        ShareEpochStored(GroupId("s"), None),
    ]


def _cluster_facts() -> list[object]:
    return [
        TopicCreated("t", TOPIC_ID),
        PartitionCreated(TOPIC_ID, 0, NodeId(1)),
        ConfigChanged(2, "t", "retention.ms", "1000"),
        ConfigChanged(2, "t", "retention.ms", None),
        FeatureLevelSet("share.version", 1),
        ProducerIdsReserved(NodeId(1), ProducerId(1000)),
        QuotaChanged((("user", None),), "consumer_byte_rate", 1.5),
        TopicRemoved(TOPIC_ID),
    ]


def state_logs() -> Iterator[bytes]:
    share = [encode_share_fact(fact, NOW_MS) for fact in _share_facts()]
    for codec in (Codec.NONE, Codec.GZIP, Codec.ZSTD):
        yield bytes(build_batch(share, codec=codec))
    head = build_batch([Record(struct.pack(">hh", 0, 3), struct.pack(">hqB", 0, NOW_MS, 0))], is_control=True)
    tail = build_batch(
        [Record(struct.pack(">hh", 0, 4), struct.pack(">hB", 0, 0))], base_offset=2, is_control=True
    )
    values = [Record(None, encode_cluster_record(fact, UUID(int=1))) for fact in _cluster_facts()[:1]]  # type: ignore[arg-type]
    yield bytes(head + build_batch(values, base_offset=1) + tail)


def texts() -> Iterator[bytes]:
    yield b"\x00bootstrap.servers=localhost:9092,[::1]:9093\ngroup.id: g\\u00e9\\\n  more\n! no\n#no\nacks=all"
    yield b"\x010\n2\n0 0\n3 17\n"
    yield b"\x020\n1\ntopic 0 17\n"
    yield b"\x03version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw"
    yield b"\x04host:1,other:65535"
    for number in range(40):
        yield (
            bytes((number,)) + b"--bootstrap-server\nlocalhost:9092\n--topic\nt\n--group\ng\n--timeout-ms\n5"
        )
        yield bytes((number,)) + b"--create\n--topic\nt\n--partitions\n3\n--config\na=b"


def knocks() -> Iterator[bytes]:
    """A login by each mechanism, in requests and bare, and what else a stranger may ask for."""
    said = {
        "PLAIN": plain.message("alice", "wrong"),
        "SCRAM-SHA-256": ScramClient(SCRAM_SHA_256, "alice", "wrong", "nonce").first(),
        "SCRAM-SHA-512": ScramClient(
            SCRAM_SHA_512, "alice", "wrong", "nonce", is_delegation_token=True
        ).first(),
        "OAUTHBEARER": oauthbearer.message("token", {"name": "value"}),
        "GSSAPI": b"",
    }
    versions = ApiVersionsRequest(client_software_name="c", client_software_version="1")
    for mechanism, first in said.items():
        shake, answers = (
            SaslHandshakeRequest(mechanism=mechanism),
            (first, b"\x01", b"c=biws,r=nonce,p=cHJvb2Y="),
        )
        yield b"".join(
            [
                _frame(3, versions),
                _frame(1, shake),
                *(_frame(2, SaslAuthenticateRequest(auth_bytes=answer)) for answer in answers),
            ]
        )
        yield _frame(0, shake) + b"".join(struct.pack(">i", len(answer)) + answer for answer in answers)
        yield _frame(1, shake) + _frame(3, versions) + _frame(1, shake)


SEEDS: Mapping[str, Callable[[], Iterator[bytes]]] = MappingProxyType({
    "frames": frames,
    "handshakes": handshakes,
    "session": sessions,
    "requests": lambda: messages(answers=False),
    "responses": lambda: messages(answers=True),
    "codecs": codecs,
    "batches": batches,
    "bodies": bodies,
    "segments": segments,
    "states": states,
    "state_logs": state_logs,
    "broker": talks,
    "logins": knocks,
    "texts": texts,
})  # fmt: skip

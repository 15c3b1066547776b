"""Transactions as the bytes of ``__transaction_state``."""

from __future__ import annotations

from struct import pack

import pytest

from leaselog.broker.transactions.records import decode_transaction_fact, encode_transaction_fact
from leaselog.coordination.transaction_facts import (
    NO_PRODUCER,
    Transaction,
    TransactionDropped,
    TransactionState,
    TransactionStored,
)
from leaselog.model import ProducerId, TopicPartition, TransactionalId
from leaselog.wire.errors import DecodeError
from leaselog.wire.records import Record

NAME = TransactionalId("id")
EMPTY = Transaction(ProducerId(7), 3, 60_000, TransactionState.EMPTY, 1_234)
KEY = b"\x00\x00" + b"\x00\x02id"
HEAD = pack(">qhi", 7, 3, 60_000)


def test_an_old_value_is_written_without_tags() -> None:
    record = encode_transaction_fact(TransactionStored(NAME, EMPTY), 5, version=0)
    assert record.key == KEY
    assert record.value == b"\x00\x00" + HEAD + b"\x00" + pack(">iqq", -1, 1_234, -1)
    assert record.timestamp_ms == 5


def test_partitions_are_written_by_topic() -> None:
    partitions = frozenset({TopicPartition("t", 1), TopicPartition("t", 0), TopicPartition("a", 2)})
    known = Transaction(ProducerId(7), 3, 60_000, TransactionState.ONGOING, 1_234, 1_000, partitions)
    record = encode_transaction_fact(TransactionStored(NAME, known), 5, version=0)
    topics = pack(">i", 2) + b"\x00\x01a" + pack(">ii", 1, 2) + b"\x00\x01t" + pack(">iii", 2, 0, 1)
    assert record.value == b"\x00\x00" + HEAD + b"\x01" + topics + pack(">qq", 1_234, 1_000)


@pytest.mark.parametrize("version", [1, 2])
def test_a_newer_value_tells_the_producers_before_and_after_in_tags(version: int) -> None:
    known = Transaction(
        ProducerId(7),
        3,
        60_000,
        TransactionState.PREPARE_COMMIT,
        1_234,
        1_000,
        frozenset({TopicPartition("t", 0)}),
        previous_producer_id=ProducerId(6),
        next_producer_id=ProducerId(8),
        client_version=2,
    )
    record = encode_transaction_fact(TransactionStored(NAME, known), 5, version=version)
    topics = b"\x02" + b"\x02t" + b"\x02" + pack(">i", 0) + b"\x00"
    tags = b"\x03" + b"\x00\x08" + pack(">q", 6) + b"\x01\x08" + pack(">q", 8) + b"\x02\x02" + pack(">h", 2)
    assert record.value == b"\x00\x01" + HEAD + b"\x02" + topics + pack(">qq", 1_234, 1_000) + tags
    assert decode_transaction_fact(record) == TransactionStored(NAME, known)


def test_what_is_written_is_read_back_in_both_versions() -> None:
    for version in (0, 1):
        for fact in (TransactionStored(NAME, EMPTY), TransactionDropped(NAME)):
            assert decode_transaction_fact(encode_transaction_fact(fact, 5, version=version)) == fact
    assert EMPTY.next_producer_id == NO_PRODUCER


def test_a_key_of_a_type_that_is_not_known_is_passed_over() -> None:
    assert decode_transaction_fact(Record(b"\x00\x01" + b"\x00\x02id", b"\x00\x00")) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\x00", None),
        (KEY[:-1], None),
        (KEY, b"\x00"),
        (KEY, b"\x00\x02" + HEAD),
        (KEY, b"\x00\x00" + HEAD),
        (KEY, b"\x00\x00" + HEAD + b"\x09" + pack(">iqq", -1, 1_234, -1)),
    ],
)
def test_what_is_malformed_is_refused_and_nothing_else_escapes(
    key: bytes | None, value: bytes | None
) -> None:
    with pytest.raises(DecodeError):
        decode_transaction_fact(Record(key, value))

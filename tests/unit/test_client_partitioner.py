"""Keys go where Java's producer sends them; records without one stick to a partition for a batch."""

from __future__ import annotations

from random import Random

import pytest

from leaselog.client.partitioner import Partitioner, murmur2, partition_for_key


# The vectors of Kafka's own UtilsTest, as signed numbers.
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_agrees_with_java(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected & 0xFFFFFFFF


def test_a_key_always_goes_to_the_same_partition() -> None:
    assert {partition_for_key(b"customer-7", 12) for _ in range(3)} == {partition_for_key(b"customer-7", 12)}
    assert {partition_for_key(b"%d" % i, 3) for i in range(100)} == {0, 1, 2}


def test_an_empty_key_is_a_key() -> None:
    partitioner = Partitioner(100, Random(1))
    assert partitioner.partition("t", b"", 50, 10) == partition_for_key(b"", 50)


def test_records_without_a_key_stick_until_a_batch_is_full() -> None:
    partitioner = Partitioner(100, Random(1))
    chosen = [partitioner.partition("t", None, 5, 25) for _ in range(12)]
    runs = [chosen[i : i + 4] for i in range(0, 12, 4)]
    assert all(len(set(run)) == 1 for run in runs)
    assert runs[0][0] != runs[1][0] != runs[2][0]


def test_a_single_partition_is_chosen_again_and_again() -> None:
    partitioner = Partitioner(10, Random(1))
    assert {partitioner.partition("t", None, 1, 10) for _ in range(5)} == {0}


def test_each_topic_has_a_partition_of_its_own_to_stick_to() -> None:
    partitioner = Partitioner(100, Random(1))
    first = partitioner.partition("a", None, 1000, 10)
    partitioner.partition("b", None, 1000, 99)
    assert partitioner.partition("a", None, 1000, 10) == first

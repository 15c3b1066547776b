from __future__ import annotations

import pytest

from leaselog.broker.coordinators.partitions import coordinator_partition


@pytest.mark.parametrize(
    ("group", "of_5", "of_50"),
    [
        ("g", 3, 3),
        ("test-consumer-group", 1, 31),
        ("billing", 4, 9),
        ("polygenelubricants", 0, 0),
        ("žluť", 4, 34),
        ("😀", 4, 49),
    ],
    ids=["positive", "negative", "negative too", "smallest of all", "beyond ASCII", "two UTF-16 units"],
)
def test_a_group_is_found_where_apache_kafka_puts_it(group: str, of_5: int, of_50: int) -> None:
    """The right hand side was printed by Kafka's own Utils.abs(hashCode) % count."""
    assert coordinator_partition(group, 5) == of_5
    assert coordinator_partition(group, 50) == of_50
